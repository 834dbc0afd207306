"""`gridloom sessions`, `gridloom second-factor` and `gridloom keys`: one's own credentials."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.finding import find_id, find_organisation
from gridloom_client.commands.terminal.options import USUAL, Confirmed, NewName, Options, connect
from gridloom_client.commands.terminal.rendering import print_data, print_one, print_table, show_lines
from gridloom_client.literals import Permission

_GROUP = "Your account"
MembersOf = Annotated[str | None, Parameter(help="As an ADMIN: the members' keys of this organisation, by id or name.")]
KeyName = Annotated[str, Parameter(help="Its name, its id or the end of it.")]
sessions = CommandGroup(name="sessions", help="Where you are signed in: list, end.", group=_GROUP)
second_factor = CommandGroup(name="second-factor", help="One-time codes of a device: enable, disable.", group=_GROUP)
keys = CommandGroup(name="keys", help="API keys, for machines: list, create, revoke.", group=_GROUP)


@sessions.command(name="list")
def list_sessions(*, options: Options = USUAL) -> None:
    """List where you are signed in.

    For example:

        gridloom sessions list
    """
    with connect(options) as client:
        found = list(client.auth.sessions())
    if print_data(found, options):
        return
    rows = [
        (str(one.id), "this one" if one.current else one.kind, one.last_used_at, one.network, one.user_agent)
        for one in found
    ]
    print_table("Sessions", ["ID", "Kind", "Last used", "Network", "Program"], rows, options)


@sessions.command(name="end")
def end_sessions(
    session: Annotated[str | None, Parameter(help="Which one: its id, or the end of it.")] = None,
    *,
    others: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """End a session, or all but this one.

    For example:

        gridloom sessions end --others
        gridloom sessions end 099a8057

    Parameters
    ----------
    others
        All but this one.
    """
    if (session is None) is not others:
        raise Misunderstood("Name a session, or say --others.")
    with connect(options) as client:
        if session is None:
            client.auth.end_other_sessions()
        else:
            client.auth.end_session(find_id(session, client.auth.sessions(), "session"))
    show_lines("Ended.", to_stderr=options.form != "table")


@second_factor.command
def enable(*, options: Options = USUAL) -> None:
    """Set up one-time codes: shows a secret for your authenticator app, asks for a code, and prints recovery codes.

    For example:

        gridloom second-factor enable
    """
    with connect(options) as client:
        begun = client.auth.begin_totp()
        show_lines(
            "Add this to your authenticator app",
            f"Secret   {begun.secret}",
            f"Address  {begun.uri}",
            to_stderr=options.form != "table",
        )
        confirmed = client.auth.confirm_totp(code=_ask_for_code("Code that it shows: "))
    if print_one(confirmed, options):
        return
    show_lines("Keep these recovery codes; each works once:", *(f"  {code}" for code in confirmed.recovery_codes))


@second_factor.command
def disable(*, options: Options = USUAL) -> None:
    """Remove your second factor, with a code of it or a recovery code.

    For example:

        gridloom second-factor disable
    """
    from gridloom_client.inputs import TotpRemoval

    with connect(options) as client:
        client.auth.remove_totp(TotpRemoval(code=_ask_for_code("Code, or recovery code: ")))
    show_lines("Removed.", to_stderr=options.form != "table")


@keys.command(name="list")
def list_keys(*, organisation: MembersOf = None, options: Options = USUAL) -> None:
    """List your API keys, or as an ADMIN those of all members.

    For example:

        gridloom keys list
        gridloom keys list --organisation "Nordlicht Speicher"
    """
    with connect(options) as client:
        if organisation is not None:
            members = list(client.organisations.api_keys(find_organisation(client, organisation)))
            if not print_data(members, options):
                theirs = [(str(one.id), one.name, one.username, one.expires_at, one.permissions) for one in members]
                print_table("API keys", ["ID", "Name", "Member", "Ends", "Permissions"], theirs, options)
            return
        own = list(client.auth.api_keys())
    if not print_data(own, options):
        rows = [(str(one.id), one.name, one.expires_at, one.permissions) for one in own]
        print_table("API keys", ["ID", "Name", "Ends", "Permissions"], rows, options)


@keys.command(name="create")
def create_key(
    name: NewName,
    permissions: Sequence[Permission],
    *,
    expires_at: datetime | None = None,
    asset: Annotated[Sequence[str], Parameter(negative="")] = (),
    network: Annotated[Sequence[str], Parameter(negative="")] = (),
    options: Options = USUAL,
) -> None:
    """Create an API key; its secret is printed this once.

    For example:

        gridloom keys create "Gateway Oldenburg" Create:monitoring --network 203.0.113.0/24

    Parameters
    ----------
    permissions
        What it may do, never more than you.
    expires_at
        When it ends; the organisation's longest time when left out.
    asset
        The only batteries it reaches, by id or name; may be repeated.
    network
        The only networks it works from; may be repeated.
    """
    if expires_at is not None and expires_at.tzinfo is None:
        raise Misunderstood("--expires-at needs an offset, such as 2027-01-01T00:00:00Z.")
    with connect(options) as client:
        known = list(client.physical_assets.list()) if asset else []
        made = client.auth.create_api_key(
            name=name,
            permissions=list(permissions),
            expires_at=expires_at,
            physical_asset_ids=[find_id(each, known, "physical asset") for each in asset] or None,
            allowed_networks=list(network) or None,
        )
    if print_one(made, options):
        return
    reach = f" with {', '.join(asset)} alone" if asset else ""
    show_lines(
        f"{made.name} may {', '.join(made.permissions)}{reach}, until {made.expires_at:%Y-%m-%d}.",
        "This is its secret, shown this once:",
        to_stderr=True,
    )
    print(made.secret)


@keys.command(name="revoke")
def revoke_key(
    key: KeyName, *, yes: Confirmed = False, organisation: MembersOf = None, options: Options = USUAL
) -> None:
    """Revoke an API key; it stops working within a second.

    For example:

        gridloom keys revoke "Gateway Oldenburg" --yes
        gridloom keys revoke 099a8057 --organisation "Nordlicht Speicher" --yes
    """
    with connect(options) as client:
        owner = find_organisation(client, organisation) if organisation else None
        known = client.auth.api_keys() if owner is None else client.organisations.api_keys(owner)
        id = find_id(key, known, "API key")
        if not confirm(f"Revoke the key {key}?", yes=yes):
            return
        if owner is None:
            client.auth.revoke_api_key(id)
        else:
            client.organisations.revoke_api_key(owner, id)
    show_lines("Revoked.", to_stderr=options.form != "table")


def _ask_for_code(prompt: str) -> str:
    if sys.stdin.isatty():
        return input(prompt).strip()
    code = sys.stdin.readline().strip()
    if not code:
        raise Misunderstood("Expected a code on standard input.")
    return code
