"""`gridloom sheets`: workbooks for spreadsheets."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.finding import find_virtual
from gridloom_client.commands.terminal.options import USUAL, AssetName, Options, OwnerName, WindowEnd, connect
from gridloom_client.commands.terminal.rendering import MARKET_ZONE, show_lines
from gridloom_client.commands.terminal.windows import past_window, service_time
from gridloom_client.profiles import find_identity
from gridloom_client.workbook import write_query_workbook

app = CommandGroup(name="sheets", help="Workbooks for spreadsheets.", group="Using the platform")


@app.command
def workbook(
    asset: AssetName,
    file: Annotated[Path, Parameter(help="Such as elbe.xlsx; one that exists is not overwritten.")],
    *,
    start: datetime | None = None,
    end: WindowEnd = None,
    resolution: Literal["15-minute", "hourly", "daily"] = "daily",
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Write a workbook that asks for revenue, position and statement of a virtual battery by itself (Power Query).

    Its sheet Settings says which and when, in cells of their own, and has an empty one for an API key.

    For example:

        gridloom sheets workbook "Elbe 1" elbe.xlsx
        gridloom sheets workbook "Elbe 1" october.xlsx --start 2026-10-01 --end 2026-11-01

    Parameters
    ----------
    start
        From when; without an offset it is market time. The last 30 days when left out.
    resolution
        Of revenue and statement: 15-minute, hourly or daily.
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        first, last = past_window(start, end, service_time(client), 30)
    settings = {
        "url": find_identity(options.url, options.profile).url,
        "organisation": str(found.organisation_id),
        "asset": str(found.id),
        "start": first.astimezone(MARKET_ZONE).isoformat(),
        "end": last.astimezone(MARKET_ZONE).isoformat(),
        "resolution": resolution,
    }
    try:
        with file.open("xb") as target:
            target.write(write_query_workbook(settings))
    except OSError as error:
        raise Misunderstood(f"{file} cannot be written: {error.strerror}.") from None
    show_lines(f"{file}: paste an API key into the sheet Settings, then Data > Refresh All.")
