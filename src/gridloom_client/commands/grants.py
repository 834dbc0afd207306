"""`gridloom grants`: what other organisations may do with a battery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.finding import find_battery, find_organisation
from gridloom_client.commands.terminal.options import USUAL, BatteryName, Confirmed, Options, connect
from gridloom_client.commands.terminal.rendering import instant_text, print_data, print_facts, print_one, show_lines
from gridloom_client.literals import Permission

OtherOrganisation = Annotated[str, Parameter(help="The other organisation's id, the end of it, or its name.")]
app = CommandGroup(
    name="grants", help="What others may do with a battery: list, set, revoke.", group="Using the platform"
)


@app.command(name="list")
def list_(asset: BatteryName, *, options: Options = USUAL) -> None:
    """List who may do what with a battery.

    For example:

        gridloom grants list "Elbe 20 MW"
    """
    with connect(options) as client:
        found = list(client.physical_assets.grants(find_battery(client, asset)))
    if print_data(found, options):
        return
    if not found:
        show_lines("No grants.")
        return
    facts = {
        f"{one.organisation_name or one.organisation_id}": f"{', '.join(one.permissions)};"
        f" since {instant_text(one.updated_at, utc=options.utc)}"
        for one in found
    }
    print_facts("Grants", facts, options)


@app.command(name="set")
def set_(
    asset: BatteryName, organisation: OtherOrganisation, permissions: Sequence[Permission], *, options: Options = USUAL
) -> None:
    """Set what another organisation may do with a battery.

    For example:

        gridloom grants set "Elbe 20 MW" "Nordlicht Trading" Read:monitoring Read:schedules

    Parameters
    ----------
    permissions
        All that it may do from now on.
    """
    with connect(options) as client:
        battery, other = find_battery(client, asset), find_organisation(client, organisation)
        known = [one for one in client.physical_assets.grants(battery) if one.organisation_id == other]
        etag = client.physical_assets.grant.answer(battery, other).etag if known else None
        grant = client.physical_assets.set_grant(battery, other, permissions=list(permissions), if_match=etag)
    if not print_one(grant, options):
        show_lines(f"{grant.organisation_name or other} may now: {', '.join(grant.permissions)}.")


@app.command
def revoke(
    asset: BatteryName, organisation: OtherOrganisation, *, yes: Confirmed = False, options: Options = USUAL
) -> None:
    """Take back all that another organisation may do with a battery.

    For example:

        gridloom grants revoke "Elbe 20 MW" "Nordlicht Trading" --yes
    """
    with connect(options) as client:
        battery, other = find_battery(client, asset), find_organisation(client, organisation)
        etag = client.physical_assets.grant.answer(battery, other).etag
        if not confirm(f"Take back all that {organisation} may do with {asset}?", yes=yes):
            return
        client.physical_assets.revoke_grant(battery, other, if_match=etag)
    show_lines("Revoked.", to_stderr=options.form != "table")
