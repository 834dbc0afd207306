"""`gridloom identity-provider`: where an organisation's members sign in instead of here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.fields import print_thing, report_done
from gridloom_client.commands.terminal.finding import choose_organisation
from gridloom_client.commands.terminal.options import USUAL, Confirmed, Options, OrganisationName, connect
from gridloom_client.errors import NotFoundError
from gridloom_client.literals import Role

app = CommandGroup(
    name="identity-provider",
    help="Where your members sign in, by OpenID Connect: show, set, remove.",
    group="Using the platform",
)
FACTS = {
    "Client": "client_id",
    "Domains": "domains",
    "Required": "required",
    "Role claim": "role_claim",
    "Default role": "default_role",
}


@app.command
def show(organisation: OrganisationName = None, *, options: Options = USUAL) -> None:
    """Show an organisation's identity provider.

    For example:

        gridloom identity-provider show
    """
    with connect(options) as client:
        found = client.organisations.identity_provider(choose_organisation(client, organisation))
    print_thing(found.issuer, found, FACTS, options)


@app.command(name="set")
def set_(
    issuer: str,
    client_id: str,
    domains: Sequence[str],
    *,
    secret_stdin: Annotated[bool, Parameter(negative="")] = False,
    required: bool | None = None,
    role_claim: str | None = None,
    default_role: Role | None = None,
    organisation: OrganisationName = None,
    options: Options = USUAL,
) -> None:
    """Set where an organisation's members sign in; for ADMINs.

    For example:

        gridloom identity-provider set https://login.example.org gridloom example.org --secret-stdin < secret.txt

    Parameters
    ----------
    issuer
        The provider's https address.
    client_id
        What this service is called there.
    domains
        Domains of e-mail addresses that it vouches for.
    secret_stdin
        Read the client's secret from standard input; the one that is stored stays without it.
    required
        Whether members other than ADMINs can no longer sign in with a password.
    role_claim
        The claim of its tokens that names a role.
    default_role
        The role of who was not invited; only invited people when left out.
    """
    secret = sys.stdin.readline().strip() if secret_stdin else None
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        try:
            etag = client.organisations.identity_provider.answer(owner).etag
        except NotFoundError:
            etag = None
        made = client.organisations.set_identity_provider(
            owner,
            issuer=issuer,
            client_id=client_id,
            domains=list(domains),
            client_secret=secret,
            required=required,
            role_claim=role_claim,
            default_role=default_role,
            if_match=etag,
        )
    print_thing(made.issuer, made, FACTS, options)


@app.command
def remove(*, yes: Confirmed = False, organisation: OrganisationName = None, options: Options = USUAL) -> None:
    """Remove an organisation's identity provider: members sign in with a password again.

    For example:

        gridloom identity-provider remove --yes
    """
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        seen = client.organisations.identity_provider.answer(owner)
        if not confirm(f"Remove {seen.value.issuer}?", yes=yes):
            return
        client.organisations.remove_identity_provider(owner, if_match=seen.etag)
    report_done("Removed.", options)
