"""`gridloom portfolios schedule` and `optimise`: the schedules of several virtual batteries at once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gridloom_client.commands.terminal.asking import read_text
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.fields import print_answer, print_rows
from gridloom_client.commands.terminal.finding import find_portfolio
from gridloom_client.commands.terminal.options import USUAL, MarketDay, Options, OwnerName, connect
from gridloom_client.commands.terminal.progress import waiting
from gridloom_client.commands.terminal.rendering import print_one, show_lines
from gridloom_client.commands.terminal.windows import day_window


def schedule(
    portfolio: str, file: Path | None = None, *, organisation: OwnerName = None, options: Options = USUAL
) -> None:
    """Replace the schedules of several virtual batteries, all or none, by JSON such as `optimise -o json` prints.

    For example:

        gridloom portfolios optimise North --day tomorrow -o json > plan.json
        gridloom portfolios schedule North plan.json

    Parameters
    ----------
    portfolio
        Its id, the end of it, or its name.
    file
        `{"assets": [{"virtualAssetID": …, "schedule": [{"time": …, "power": …}]}]}`; standard input when left out.
    """
    try:
        plan = msgspec.json.decode(read_text(file, "JSON"))
        wanted = [{"virtualAssetID": one["virtualAssetID"], "schedule": one["schedule"]} for one in plan["assets"]]
    except (msgspec.DecodeError, KeyError, TypeError):
        raise Misunderstood("It is no plan; `gridloom portfolios optimise -o json` prints one.") from None
    with connect(options) as client:
        found = find_portfolio(client, portfolio, organisation)
        made = client.virtual_assets.set_portfolio_schedules(found.organisation_id, found.id, schedules=wanted)
    if not print_one(made, options):
        show_lines(f"The schedules of {len(wanted)} virtual batteries were put.")


def optimise(
    portfolio: str,
    *,
    day: MarketDay = None,
    import_limit: float | None = None,
    export_limit: float | None = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Find the schedules of a portfolio's virtual batteries that earn most together; `portfolios schedule` puts them.

    For example:

        gridloom portfolios optimise North --day tomorrow --export-limit 20000
        gridloom portfolios optimise North --day tomorrow -o json > plan.json

    Parameters
    ----------
    portfolio
        Its id, the end of it, or its name.
    import_limit
        All of them together charge at most so many kW.
    export_limit
        All of them together discharge at most so many kW.
    """
    with connect(options) as client, waiting("optimising"):
        found = find_portfolio(client, portfolio, organisation)
        window = day_window(client, day)
        best = client.optimisations.optimise_portfolio(
            found.organisation_id,
            found.id,
            prices={"forecast": True},
            import_limit=import_limit,
            export_limit=export_limit,
            **window,
        )
    columns = {"Virtual asset": "virtual_asset_id", "Value EUR": "value", "Quarter-hours": "#schedule"}
    if print_answer(f"Schedules of {found.name}", best, best.assets, columns, options):
        show_lines(f"{best.status}: {best.value:,.2f} EUR together.")
        for asset in best.assets:
            rows = [point for point in asset.schedule if point.power]
            print_rows(f"Of {asset.virtual_asset_id}", rows, {"Time": "time", "Power kW": "power"}, options)
