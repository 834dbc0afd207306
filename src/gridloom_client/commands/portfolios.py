"""`gridloom portfolios`: groups of virtual batteries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.completion import remember_names
from gridloom_client.commands.portfolio_schedules import optimise, schedule
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_thing
from gridloom_client.commands.terminal.finding import find_id, find_portfolio, find_thing
from gridloom_client.commands.terminal.options import USUAL, NewName, Options, OwnerName, connect
from gridloom_client.commands.terminal.rendering import print_data, print_one, print_table, show_lines
from gridloom_client.wire import UNSET

app = CommandGroup(
    name="portfolios",
    help="Groups of virtual batteries: list, show, create, change, schedule, optimise.",
    group="Using the platform",
)


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List your organisation's portfolios.

    For example:

        gridloom portfolios list
    """
    with connect(options) as client:
        owner = client.auth.me().organisation_id
        found = list(client.virtual_assets.portfolios(owner))
        remember_names("portfolio", (one.name for one in found))
    if print_data(found, options):
        return
    rows = [(one.id, one.name, len(one.virtual_asset_ids), one.created_at) for one in found]
    print_table("Portfolios", ["ID", "Name", "Virtual assets", "Made"], rows, options)


@app.command
def create(
    name: NewName, assets: Annotated[Sequence[str], Parameter(negative="")] = (), *, options: Options = USUAL
) -> None:
    """Create a portfolio.

    For example:

        gridloom portfolios create "North" 099a8057 55443322

    Parameters
    ----------
    assets
        The virtual batteries in it, by id, the end of it, or name.
    """
    with connect(options) as client:
        owner = client.auth.me().organisation_id
        known = list(client.virtual_assets.list(owner)) if assets else []
        members = [find_id(asset, known, "virtual asset") for asset in assets]
        made = client.virtual_assets.create_portfolio(owner, name=name, virtual_asset_ids=members)
    if not print_one(made, options):
        show_lines(f"{made.name} has {len(made.virtual_asset_ids)} virtual assets; its id is {made.id}.")


@app.command
def change(
    portfolio: str,
    *,
    name: str | None = None,
    assets: Annotated[Sequence[str] | None, Parameter(negative="")] = None,
    options: Options = USUAL,
) -> None:
    """Give a portfolio another name or other virtual batteries.

    For example:

        gridloom portfolios change North --name "North Sea"
        gridloom portfolios change North --assets 099a8057 --assets 55443322

    Parameters
    ----------
    portfolio
        Its id, the end of it, or its name.
    name
        What it is called from now on.
    assets
        All virtual batteries that are in it from now on; may be repeated.
    """
    if name is None and assets is None:
        raise Misunderstood("Say what to change: --name, --assets or both.")
    with connect(options) as client:
        owner = client.auth.me().organisation_id
        found = find_thing(portfolio, client.virtual_assets.portfolios(owner), "portfolio")
        known = list(client.virtual_assets.list(owner)) if assets else []
        changed = client.virtual_assets.update_portfolio(
            owner,
            found.id,
            name=name if name is not None else UNSET,
            virtual_asset_ids=[find_id(each, known, "virtual asset") for each in assets] if assets else UNSET,
            if_match=client.virtual_assets.portfolio.answer(owner, found.id).etag,
        )
    if not print_one(changed, options):
        show_lines(f"{changed.name} has {len(changed.virtual_asset_ids)} virtual assets.")


@app.command
def show(portfolio: str, *, organisation: OwnerName = None, options: Options = USUAL) -> None:
    """Show one portfolio with its virtual batteries.

    For example:

        gridloom portfolios show North

    Parameters
    ----------
    portfolio
        Its id, the end of it, or its name.
    """
    with connect(options) as client:
        known = find_portfolio(client, portfolio, organisation)
        found = client.virtual_assets.portfolio(known.organisation_id, known.id)
    facts = {"ID": "id", "Virtual assets": "virtual_asset_ids", "Made": "created_at"}
    print_thing(found.name, found, facts, options)


app.command(schedule)
app.command(optimise)
