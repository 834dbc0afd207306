"""`gridloom organisations …` and `gridloom invite`: who takes part."""

from __future__ import annotations

from gridloom_client.commands.terminal.ending import CommandGroup
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
    name="organisations", help="Who takes part: list, create, members, usage.", group="Using the platform"
)


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List the organisations that you may see.

    For example:

        gridloom organisations list
        gridloom organisations list -o csv
    """
    with connect(options) as client:
        organisations = list(client.organisations.list())
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
    """List an organisation's members and who is invited to it.

    For example:

        gridloom organisations members
        gridloom organisations members "Nordlicht Speicher" -o json
    """
    with connect(options) as client:
        id = choose_organisation(client, organisation)
        people = list(client.organisations.members(id))
        if print_data(people, options):
            return
        invited = list(client.organisations.invitations(id))
    rows = [(one.username, one.role, one.display_name) for one in people]
    print_table("Members", ["Username", "Role", "Name"], rows, options)
    waiting = [(one.email, one.role, one.expires_at) for one in invited if one.status == "PENDING"]
    if waiting:
        print_table("Invitations", ["Email", "Role", "Until"], waiting, options)


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
