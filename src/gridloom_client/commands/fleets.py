"""`gridloom fleets`: groups of physical batteries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_rows, print_thing, report_done
from gridloom_client.commands.terminal.finding import choose_organisation, find_fleet, find_id
from gridloom_client.commands.terminal.options import USUAL, Confirmed, NewName, Options, OwnerName, connect
from gridloom_client.wire import UNSET

app = CommandGroup(
    name="fleets", help="Groups of batteries: list, show, create, change, delete.", group="Using the platform"
)
FleetName = Annotated[str, Parameter(help="Its id, the end of it, or its name.")]
FACTS = {"ID": "id", "Organisation": "organisation_id", "Batteries": "physical_asset_ids", "Made": "created_at"}


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List the fleets within your reach.

    For example:

        gridloom fleets list
    """
    with connect(options) as client:
        columns = {"ID": "id", "Name": "name", "Batteries": "#physical_asset_ids", "Made": "created_at"}
        print_rows("Fleets", client.fleets.list(), columns, options)


@app.command
def show(fleet: FleetName, *, options: Options = USUAL) -> None:
    """Show one fleet with its batteries.

    For example:

        gridloom fleets show North
    """
    with connect(options) as client:
        found = client.fleets.get(find_fleet(client, fleet))
    print_thing(found.name, found, FACTS, options)


@app.command
def create(
    name: NewName,
    assets: Annotated[Sequence[str], Parameter(negative="")] = (),
    *,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Create a fleet.

    For example:

        gridloom fleets create North "Husum 1" "Husum 2"

    Parameters
    ----------
    assets
        The batteries in it, by id, the end of it, or name.
    """
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        known = list(client.physical_assets.list()) if assets else []
        members = [find_id(each, known, "physical asset") for each in assets]
        made = client.fleets.create(name=name, organisation_id=owner, physical_asset_ids=members)
    print_thing(made.name, made, FACTS, options)


@app.command
def change(
    fleet: FleetName,
    *,
    name: str | None = None,
    assets: Annotated[Sequence[str] | None, Parameter(negative="")] = None,
    options: Options = USUAL,
) -> None:
    """Give a fleet another name or other batteries.

    For example:

        gridloom fleets change North --name "North Sea"
        gridloom fleets change North --assets "Husum 1" --assets "Husum 2"

    Parameters
    ----------
    name
        What it is called from now on.
    assets
        All batteries that are in it from now on; may be repeated.
    """
    if name is None and assets is None:
        raise Misunderstood("Say what to change: --name, --assets or both.")
    with connect(options) as client:
        seen = client.fleets.get.answer(find_fleet(client, fleet))
        known = list(client.physical_assets.list()) if assets else []
        changed = client.fleets.update(
            seen.value.id,
            name=name if name is not None else UNSET,
            physical_asset_ids=[find_id(each, known, "physical asset") for each in assets] if assets else UNSET,
            if_match=seen.etag,
        )
    print_thing(changed.name, changed, FACTS, options)


@app.command
def delete(fleet: FleetName, *, yes: Confirmed = False, options: Options = USUAL) -> None:
    """Delete a fleet; its batteries stay.

    For example:

        gridloom fleets delete North --yes
    """
    with connect(options) as client:
        seen = client.fleets.get.answer(find_fleet(client, fleet))
        if not confirm(f"Delete the fleet {seen.value.name}?", yes=yes):
            return
        client.fleets.delete(seen.value.id, if_match=seen.etag)
    report_done("Deleted.", options)
