"""`gridloom organisations …` and `gridloom invite`: who takes part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.completion import remember_names
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_thing
from gridloom_client.commands.terminal.finding import choose_organisation
from gridloom_client.commands.terminal.options import USUAL, NewName, Options, OrganisationName, connect
from gridloom_client.commands.terminal.rendering import (
    instant_text,
    print_data,
    print_facts,
    print_one,
    print_table,
    show_lines,
)
from gridloom_client.literals import OrganisationKind, Role

app = CommandGroup(
    name="organisations", help="Who takes part: list, show, create, change, members, usage.", group="Using the platform"
)

FACTS = {
    "ID": "id",
    "Kind": "kind",
    "Address": "address",
    "Second factor demanded": "require_second_factor",
    "Keys end after days": "max_key_age_days",
    "Networks": "allowed_networks",
    "Telemetry bytes": "telemetry_quota",
    "Made": "created_at",
}


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List the organisations that you may see.

    For example:

        gridloom organisations list
        gridloom organisations list -o csv
    """
    with connect(options) as client:
        organisations = list(client.organisations.list())
        remember_names("organisation", (one.name for one in organisations))
    if print_data(organisations, options):
        return
    rows = [(one.id, one.name, one.kind) for one in organisations]
    print_table("Organisations", ["ID", "Name", "Kind"], rows, options)


@app.command
def create(name: NewName, *, kind: OrganisationKind = "PARTICIPANT", options: Options = USUAL) -> None:
    """Create an organisation; for the platform's operator. One of that name that exists already is named.

    For example:

        gridloom organisations create "Nordlicht Speicher"

    Parameters
    ----------
    kind
        PARTICIPANT, or OPERATOR.
    """
    with connect(options) as client:
        same = next((one for one in client.organisations.list() if one.name == name), None)
        made = same or client.organisations.create(name=name, kind=kind)
    if same is not None:
        show_lines(f"{name} exists already; nothing was created.", to_stderr=True)
    if print_one(made, options):
        return
    print_facts(made.name, {"ID": made.id, "Kind": made.kind}, options)


@app.command
def members(organisation: OrganisationName = None, *, options: Options = USUAL) -> None:
    """List an organisation's members; `gridloom members` changes them.

    For example:

        gridloom organisations members
        gridloom organisations members "Nordlicht Speicher" -o json
    """
    with connect(options) as client:
        id = choose_organisation(client, organisation)
        people = list(client.organisations.members(id))
        if print_data(people, options):
            return
        invited = [one for one in client.organisations.invitations(id) if one.status == "PENDING"]
    rows = [(one.username, one.role, one.display_name) for one in people]
    print_table("Members", ["Username", "Role", "Name"], rows, options)
    if invited:
        waiting = ", ".join(one.email for one in invited)
        show_lines(f"Invited: {waiting}. gridloom members invitations says until when.")


@app.command
def usage(organisation: OrganisationName = None, *, options: Options = USUAL) -> None:
    """Show what an organisation uses of each of its shares.

    For example:

        gridloom organisations usage
        gridloom organisations usage "Nordlicht Speicher" -o json
    """
    with connect(options) as client:
        id = choose_organisation(client, organisation)
        found = client.organisations.usage(id)
    if print_data(list(found.shares), options):
        return
    rows = [(one.share, one.used, one.limit, one.waiting, one.unit, one.counted) for one in found.shares]
    print_table("Shares", ["Share", "Used", "Limit", "Waiting", "Unit", "Counted"], rows, options)


@app.command
def show(organisation: OrganisationName = None, *, options: Options = USUAL) -> None:
    """Show one organisation and its rules for signing in.

    For example:

        gridloom organisations show
        gridloom organisations show "Nordlicht Speicher" -o json
    """
    with connect(options) as client:
        found = client.organisations.get(choose_organisation(client, organisation))
    print_thing(found.name, found, FACTS, options)


@app.command
def change(
    organisation: OrganisationName = None,
    *,
    name: str | None = None,
    address: str | None = None,
    require_second_factor: bool | None = None,
    max_key_age_days: int | None = None,
    network: Annotated[Sequence[str] | None, Parameter(negative="")] = None,
    telemetry_quota: int | None = None,
    options: Options = USUAL,
) -> None:
    """Change an organisation's name, address or rules; for ADMINs.

    For example:

        gridloom organisations change --require-second-factor --max-key-age-days 90
        gridloom organisations change --network 203.0.113.0/24 --network 198.51.100.7/32

    Parameters
    ----------
    name
        What it is called from now on.
    address
        Its postal address on statements.
    require_second_factor
        Whether every member must have one.
    max_key_age_days
        Days after which an API key ends at the latest.
    network
        All networks from which calls are taken; may be repeated.
    telemetry_quota
        Bytes of telemetry that its batteries may store; for the platform's operator.
    """
    named = {
        "name": name,
        "address": address,
        "require_second_factor": require_second_factor,
        "max_key_age_days": max_key_age_days,
        "allowed_networks": network,
        "telemetry_quota": telemetry_quota,
    }
    changes: dict[str, Any] = {field: value for field, value in named.items() if value is not None}
    if not changes:
        raise Misunderstood("Say what to change, such as --address; --help lists it.")
    with connect(options) as client:
        seen = client.organisations.get.answer(choose_organisation(client, organisation))
        changed = client.organisations.update(seen.value.id, **changes, if_match=seen.etag)
    print_thing(changed.name, changed, FACTS, options)


def invite(
    email: str, *, role: Role = "TRADER", organisation: OrganisationName = None, options: Options = USUAL
) -> None:
    """Invite a person to an organisation; the token that `gridloom join` asks for is printed this once.

    For example:

        gridloom invite ada@example.com
        gridloom invite ada@example.com --role ADMIN --organisation "Nordlicht Speicher"

    Parameters
    ----------
    email
        Whom; an e-mail is sent where the service can.
    role
        What the new member may do.
    """
    with connect(options) as client:
        id = choose_organisation(client, organisation)
        issued = client.organisations.invite(id, email=email, role=role)
    if print_one(issued, options):
        return
    until = instant_text(issued.expires_at, utc=options.utc)
    show_lines(f"{email} may join as {role} until {until}. gridloom join asks for this token:", "")
    print(issued.token)
