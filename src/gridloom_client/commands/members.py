"""`gridloom members`: the people of an organisation, their roles and invitations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_rows, print_thing, report_done
from gridloom_client.commands.terminal.finding import choose_organisation
from gridloom_client.commands.terminal.options import USUAL, Confirmed, Options, OrganisationName, connect
from gridloom_client.literals import Role

if TYPE_CHECKING:
    from gridloom_client.client import Client

app = CommandGroup(
    name="members",
    help="People of an organisation: list, role, remove, reset-second-factor, invitations.",
    group="Using the platform",
)
MemberName = Annotated[str, Parameter(help="The member's username, or the end of the id.")]


@app.command(name="list")
def list_(organisation: OrganisationName = None, *, options: Options = USUAL) -> None:
    """List the members of an organisation.

    For example:

        gridloom members list
        gridloom members list "Nordlicht Speicher" -o csv
    """
    with connect(options) as client:
        found = client.organisations.members(choose_organisation(client, organisation))
        columns = {
            "Username": "username",
            "Role": "role",
            "Name": "display_name",
            "Second factor": "has_second_factor",
            "Since": "created_at",
            "Email": "email",
        }
        print_rows("Members", found, columns, options)


@app.command
def role(member: MemberName, role: Role, *, organisation: OrganisationName = None, options: Options = USUAL) -> None:
    """Give a member another role; for ADMINs.

    For example:

        gridloom members role ada ENGINEER

    Parameters
    ----------
    role
        ADMIN, TRADER, ENGINEER or VIEWER.
    """
    with connect(options) as client:
        owner, found = _find_member(client, member, organisation)
        changed = client.organisations.change_role(owner, found.id, role=role)
    print_thing(changed.username, changed, {"Role": "role"}, options)


@app.command
def remove(
    member: MemberName,
    *,
    yes: Confirmed = False,
    organisation: OrganisationName = None,
    options: Options = USUAL,
) -> None:
    """Remove a member: sessions and API keys end at once; for ADMINs.

    For example:

        gridloom members remove ada --yes
    """
    with connect(options) as client:
        owner, found = _find_member(client, member, organisation)
        if not confirm(f"Remove {found.username}, with all sessions and API keys?", yes=yes):
            return
        client.organisations.remove_member(owner, found.id)
    report_done("Removed.", options)


@app.command
def reset_second_factor(
    member: MemberName,
    *,
    yes: Confirmed = False,
    organisation: OrganisationName = None,
    options: Options = USUAL,
) -> None:
    """Remove the second factor of a member who has lost it; for ADMINs.

    For example:

        gridloom members reset-second-factor ada --yes
    """
    with connect(options) as client:
        owner, found = _find_member(client, member, organisation)
        if not confirm(f"Remove the second factor of {found.username}?", yes=yes):
            return
        client.organisations.reset_second_factor(owner, found.id)
    report_done("The password alone signs in until a second factor is set up again.", options)


@app.command
def invitations(organisation: OrganisationName = None, *, options: Options = USUAL) -> None:
    """List who is invited; `gridloom invite` invites.

    For example:

        gridloom members invitations
    """
    with connect(options) as client:
        found = client.organisations.invitations(choose_organisation(client, organisation))
        columns = {"ID": "id", "Email": "email", "Role": "role", "Status": "status", "Until": "expires_at"}
        print_rows("Invitations", found, columns, options)


@app.command
def revoke_invitation(
    invitation: Annotated[str, Parameter(help="Its id, the end of it, or the e-mail address.")],
    *,
    organisation: OrganisationName = None,
    options: Options = USUAL,
) -> None:
    """Revoke an invitation that was not accepted yet.

    For example:

        gridloom members revoke-invitation ada@example.com
    """
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        known = [one for one in client.organisations.invitations(owner) if one.status == "PENDING"]
        found = [one for one in known if one.email == invitation or str(one.id).endswith(invitation)]
        if len(found) != 1:
            raise Misunderstood(
                f"{len(found)} open invitations are {invitation}; gridloom members invitations lists them."
            )
        client.organisations.revoke_invitation(owner, found[0].id)
    report_done("Revoked.", options)


def _find_member(client: Client, text: str, organisation: str | None) -> tuple[Any, Any]:
    owner = choose_organisation(client, organisation)
    people = list(client.organisations.members(owner))
    found = [one for one in people if one.username.casefold() == text.casefold()]
    found = found or [one for one in people if str(one.id).endswith(text.lower())]
    if len(found) != 1:
        raise Misunderstood(f"There is no member {text}; the members are {', '.join(one.username for one in people)}.")
    return owner, found[0]
