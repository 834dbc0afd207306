"""`gridloom grants`: what other organisations may do with a battery."""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App

from gridloom_client.commands.terminal.ending import ending
from gridloom_client.commands.terminal.finding import find_battery, find_organisation
from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.commands.terminal.rendering import print_data, print_one, print_table, show_lines
from gridloom_client.literals import Permission

app = App(name="grants", help="What others may do with a battery: list, set, revoke.", group="Using the platform")


@app.command(name="list")
@ending
def list_(asset: str, *, options: Options = USUAL) -> None:
    """List who may do what with a battery.

    For example:

        gridloom grants list "Elbe 20 MW"

    Parameters
    ----------
    asset
        The battery's id, the end of it, or its name.
    """
    with connect(options) as client:
        found = list(client.physical_assets.grants(find_battery(client, asset)))
    if print_data(found, options):
        return
    rows = [(one.organisation_name or one.organisation_id, one.permissions, one.updated_at) for one in found]
    print_table("Grants", ["Organisation", "Permissions", "Since"], rows, options)


@app.command(name="set")
@ending
def set_(asset: str, organisation: str, permissions: Sequence[Permission], *, options: Options = USUAL) -> None:
    """Set what another organisation may do with a battery.

    For example:

        gridloom grants set "Elbe 20 MW" "Nordlicht Trading" Read:monitoring Read:schedules

    Parameters
    ----------
    asset
        The battery's id, the end of it, or its name.
    organisation
        The other organisation's id, the end of it, or its name.
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
@ending
def revoke(asset: str, organisation: str, *, options: Options = USUAL) -> None:
    """Take back all that another organisation may do with a battery.

    For example:

        gridloom grants revoke "Elbe 20 MW" "Nordlicht Trading"

    Parameters
    ----------
    asset
        The battery's id, the end of it, or its name.
    organisation
        The other organisation's id, the end of it, or its name.
    """
    with connect(options) as client:
        battery, other = find_battery(client, asset), find_organisation(client, organisation)
        etag = client.physical_assets.grant.answer(battery, other).etag
        client.physical_assets.revoke_grant(battery, other, if_match=etag)
    show_lines("Revoked.", to_stderr=options.form != "table")
