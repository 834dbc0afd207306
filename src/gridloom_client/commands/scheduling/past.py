"""`gridloom schedule history` and `headroom`: how a schedule came about, and how far it may move."""

from __future__ import annotations

from gridloom_client.commands.terminal.fields import print_rows
from gridloom_client.commands.terminal.finding import find_virtual
from gridloom_client.commands.terminal.options import (
    USUAL,
    AssetName,
    ListEnd,
    ListStart,
    MarketDay,
    Options,
    OwnerName,
    connect,
)
from gridloom_client.commands.terminal.windows import day_window, open_window


def history(
    asset: AssetName,
    *,
    start: ListStart = None,
    end: ListEnd = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """List the versions of a virtual battery's schedule, the newest first, and who made them.

    For example:

        gridloom schedule history "Elbe 1"
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        listed = client.virtual_assets.schedule_history(found.organisation_id, found.id, **open_window(start, end))
        columns = {
            "Version": "version",
            "Accepted": "accepted_at",
            "Kind": "kind",
            "By": "author_name",
            "Author": "author_kind",
            "Changes": "#changes",
        }
        print_rows("Versions", listed, columns, options)


def headroom(
    asset: AssetName, *, day: MarketDay = None, organisation: OwnerName = None, options: Options = USUAL
) -> None:
    """Show by how many kW the power of each quarter-hour may move by itself, and what limits it.

    For example:

        gridloom schedule headroom "Elbe 1" --day tomorrow
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        points = client.optimisations.headroom(found.organisation_id, found.id, **day_window(client, day))
    columns = {
        "Time": "time",
        "Up kW": "up",
        "Down kW": "down",
        "Up limited by": "limited_by.up",
        "Down limited by": "limited_by.down",
    }
    print_rows(f"Headroom of {found.name}", points, columns, options)
