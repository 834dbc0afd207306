"""Signing in and out."""

from __future__ import annotations

import base64
import getpass
import hashlib
import secrets
import sys
import time
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from cyclopts import Parameter

from gridloom_client.commands.completion import forget_names
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.options import USUAL, Options, connect, make_client
from gridloom_client.commands.terminal.rendering import print_facts, print_one, show_lines
from gridloom_client.errors import CredentialsError, GridloomError, ProblemError, TransportError, UnauthenticatedError
from gridloom_client.profiles import DEFAULT_PROFILE, Profile, Profiles, ProfileTokens, Secret, find_url
from gridloom_client.tokens import InMemoryTokenStore, Tokens
from gridloom_client.wire import RawResponse

if TYPE_CHECKING:
    from gridloom_client.answers import Me, SignedIn

NO_TERMINAL = "There is no terminal to ask on: give --username, and the rest on standard input (--help says how)."


def login(
    *,
    username: str | None = None,
    password_stdin: Annotated[bool, Parameter(negative="")] = False,
    api_key_stdin: Annotated[bool, Parameter(negative="")] = False,
    sso: str | None = None,
    options: Options = USUAL,
) -> None:
    """Sign in and remember it, in the keyring or in a file that only you can read.

    For example:

        gridloom login
        gridloom login --username ada --url https://gridloom.example
        gridloom login --sso "Nordlicht Speicher"
        gridloom login --profile robot --api-key-stdin < key.txt

    Parameters
    ----------
    username
        Asked for when left out.
    password_stdin
        Read the password from standard input instead of asking for it, and the code of a second factor from its second
        line.
    api_key_stdin
        Read an API key from standard input and use that instead of a username.
    sso
        The organisation, by name or id, whose identity provider signs you in, in a browser on this machine.
    """
    name, url = choose_profile(options)
    if api_key_stdin:
        secret = Secret(api_key=_read_line("an API key"))
        with make_client(url, api_key=secret.api_key) as client:
            me = client.auth.me()
    elif sso is not None:
        tokens = sign_in_by_browser(url, sso)
        secret = Secret(tokens=tokens)
        with make_client(url, tokens=InMemoryTokenStore(tokens)) as client:
            me = client.auth.me()
    else:
        if sys.stdin.isatty():
            _show_service(url)
        username = username or _ask_openly("Username: ")
        password = _read_line("a password") if password_stdin else _ask_secretly("Password: ")
        tokens = sign_in(url, username, password, code_on_stdin=password_stdin)
        secret = Secret(tokens=tokens)
        with make_client(url, tokens=InMemoryTokenStore(tokens)) as client:
            me = client.auth.me()
    remember(name, url, me, secret)
    if not print_one(me, options):
        print(f"Signed in to {url} as {name_of(me)}.")
    if me.must_enrol_second_factor:
        show_lines("Your organisation demands a second factor: run gridloom second-factor enable.", to_stderr=True)


def join(
    *,
    username: str | None = None,
    display_name: str | None = None,
    stdin: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Accept an invitation to an organisation: choose a username and a password, and be signed in.

    For example:

        gridloom join
        gridloom join --username ada --url https://gridloom.example

    Parameters
    ----------
    username
        What you will sign in as; asked for when left out.
    display_name
        What others see; the username when left out.
    stdin
        Read the invitation's token and then the password from standard input, one a line, instead of asking for them.
    """
    name, url = choose_profile(options)
    token = _read_line("the invitation's token") if stdin else _ask_secretly("Token of the invitation: ")
    username = username or _ask_openly("Username: ")
    password = _read_line("a password") if stdin else _ask_secretly("New password: ")
    if not stdin and _ask_secretly("The password again: ") != password:
        raise Misunderstood("The passwords differ. Nothing was done.")
    with make_client(url) as client:
        client.auth.accept_invitation(
            token=token, username=username, password=password, display_name=display_name or username
        )
    with make_client(url, username=username, password=password) as client:
        secret = Secret(tokens=client.sign_in())
        me = client.auth.me()
    remember(name, url, me, secret)
    if not print_one(me, options):
        print(f"Joined as {me.role} and signed in to {url} as {name_of(me)}.")


def password(
    *,
    stdin: Annotated[bool, Parameter(negative="")] = False,
    keep_api_keys: bool | None = None,
    options: Options = USUAL,
) -> None:
    """Change your password; your other sessions end.

    For example:

        gridloom password

    Parameters
    ----------
    stdin
        Read the present and the new password from standard input, one a line, instead of asking for them.
    keep_api_keys
        --no-keep-api-keys revokes your API keys too.
    """
    present = _read_line("the present password") if stdin else _ask_secretly("Present password: ")
    new = _read_line("the new password") if stdin else _ask_secretly("New password: ")
    if not stdin and _ask_secretly("Again: ") != new:
        raise Misunderstood("The two are not the same; nothing was changed.")
    with connect(options) as client:
        client.auth.change_password(current_password=present, new_password=new, keep_api_keys=keep_api_keys)
    show_lines("The password is changed.", to_stderr=options.form != "table")


def logout(*, options: Options = USUAL) -> None:
    """Sign out: the session ends and what was remembered is removed.

    For example:

        gridloom logout
        gridloom logout --profile production
    """
    profiles = Profiles()
    name = options.profile or profiles.current
    profile, secret = profiles.find(name), profiles.secret_of(name)
    if profile is not None and secret is not None and secret.tokens is not None:
        try:
            with make_client(profile.url, tokens=ProfileTokens(profiles, name)) as client:
                client.auth.logout()
        except CredentialsError:
            pass  # the session had ended by itself
        except GridloomError as error:
            profiles.delete_secret(name)
            print(f"Forgotten here, but the session may go on for a while: {error}", file=sys.stderr)
            return
    profiles.delete_secret(name)
    forget_names()
    if not print_one({"signedIn": False}, options):
        print("Signed out.")


def whoami(*, options: Options = USUAL) -> None:
    """Show who you are and what you may do.

    For example:

        gridloom whoami
        gridloom whoami --profile production -o json
    """
    with connect(options) as client:
        me = client.auth.me()
        if print_one(me, options):
            return
        organisation = client.organisations.get(me.organisation_id)
    facts = {"ID": me.id, "Organisation": organisation.name, "Role": me.role, "Permissions": me.permissions}
    print_facts(name_of(me), facts)


def _show_service(url: str) -> None:
    """Which service answers, before anything is asked for; a TransportError where none does."""
    with make_client(url) as client:
        found = client.platform.home()
    show_lines(f"Gridloom {found.get('version', '')} at {url}", to_stderr=True)


def sign_in(url: str, username: str, password: str, *, code_on_stdin: bool = False) -> Tokens:
    """Tokens for a username and a password, and for the code of a second factor where the service asks for one."""
    with make_client(url, username=username, password=password) as client:
        try:
            return client.sign_in()
        except UnauthenticatedError as refusal:
            if refusal.name != "second-factor-required":
                raise
            challenge = str(refusal.members["challenge"])
    code = _read_line("the code of your second factor") if code_on_stdin else _ask_openly("Code, or recovery code: ")
    with make_client(url) as client:
        signed_in = client.auth.complete_login(challenge=challenge, code=code)
    return tokens_of(signed_in)


def sign_in_by_browser(url: str, organisation: str) -> Tokens:
    """Tokens for a one-time code that the browser brings to a port of this machine."""
    import webbrowser

    from gridloom_client.commands.terminal.browser_code import WaitingForCode

    verifier = secrets.token_urlsafe(48)
    with WaitingForCode() as waiting:
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "organisation": organisation,
            "redirect": waiting.address,
            "code-challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        }
        page = f"{url.rstrip('/')}/auth/public/sso/start?{urlencode(query)}"
        _check_sign_on(page)
        show_lines(f"Sign in with your browser: {page}", to_stderr=True)
        webbrowser.open(page)
        code = waiting.wait()
    if code is None:
        raise Misunderstood("No sign-in came back from the browser.")
    with make_client(url) as client:
        return tokens_of(client.auth.exchange_sso_code(code=code, verifier=verifier))


def _check_sign_on(page: str) -> None:
    """Raises what the service has against it, before a browser is opened and waited for."""
    import httpx2

    from gridloom_client.client import trust_certificates

    try:
        answer = httpx2.get(page, follow_redirects=False, timeout=30, verify=trust_certificates(True))
    except httpx2.RequestError as error:
        raise TransportError(f"The service cannot be reached: {error}.", is_sent=False) from None
    if answer.status_code >= 400:
        raise ProblemError.of(RawResponse(answer.status_code, dict(answer.headers), answer.content))


def tokens_of(signed_in: SignedIn) -> Tokens:
    return Tokens(
        access_token=signed_in.access_token,
        refresh_token=signed_in.refresh_token,
        expires_at=time.time() + signed_in.expires_in,
    )


def choose_profile(options: Options) -> tuple[str, str]:
    """Under which name to remember, and where to sign in; a profile of another service is never overwritten unasked."""
    profiles = Profiles()
    known = profiles.all()
    if options.profile is not None:
        stored = known.get(options.profile)
        return options.profile, options.url or (stored.url if stored else find_url())
    url = find_url(options.url)
    same = [name for name, profile in known.items() if profile.url.rstrip("/") == url.rstrip("/")]
    return (profiles.current if profiles.current in same else next(iter(same), DEFAULT_PROFILE)), url


def remember(name: str, url: str, me: Me, secret: Secret) -> None:
    """The sign-in, under a profile that is in use from now on."""
    profiles = Profiles()
    profiles.put(name, Profile(url=url, username=name_of(me)), secret)
    profiles.use(name)


def name_of(me: Me) -> str:
    return me.username or me.display_name or str(me.id)


def _read_line(what: str) -> str:
    line = sys.stdin.readline().strip()
    if not line:
        raise Misunderstood(f"Expected {what} on standard input.")
    return line


def _ask_openly(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise Misunderstood(NO_TERMINAL)
    return input(prompt).strip()


def _ask_secretly(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise Misunderstood(NO_TERMINAL)
    return getpass.getpass(prompt)
