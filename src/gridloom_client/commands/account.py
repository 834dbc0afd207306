"""Signing in and out."""

from __future__ import annotations

import getpass
import sys
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.answers.identity import Me
from gridloom_client.client import Client
from gridloom_client.commands.credentials import Credentials, CredentialsFile
from gridloom_client.commands.ending import Misunderstood, ending
from gridloom_client.commands.options import USUAL, Options, address, connect
from gridloom_client.commands.rendering import print_facts, print_json
from gridloom_client.errors import CredentialsError, GridloomError

NO_TERMINAL = "There is no terminal to ask on: give --username, and the rest on standard input (--help says how)."


@ending
def login(
    *,
    username: str | None = None,
    password_stdin: Annotated[bool, Parameter(negative="")] = False,
    api_key_stdin: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Sign in and remember it, in a file that only you can read.

    Parameters
    ----------
    username
        Asked for when left out.
    password_stdin
        Read the password from standard input instead of asking for it.
    api_key_stdin
        Read an API key from standard input and use that instead of a username.
    """
    url, file = address(options), CredentialsFile()
    if api_key_stdin:
        api_key = _first_line("an API key")
        with Client(url, api_key=api_key) as client:
            me = client.auth.me()
        file.write(Credentials(url=url, api_key=api_key))
    else:
        username = username or _ask("Username: ")
        password = _first_line("a password") if password_stdin else _ask_secretly("Password: ")
        with Client(url, username=username, password=password) as client:
            tokens = client.sign_in()
            me = client.auth.me()
        file.write(Credentials(url=url, tokens=tokens))
    if options.form == "json":
        print_json(me)
    else:
        print(f"Signed in to {url} as {_name(me)}.")


@ending
def join(
    *,
    username: str | None = None,
    display_name: str | None = None,
    stdin: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Accept an invitation to an organisation: choose a username and a password, and be signed in.

    Parameters
    ----------
    username
        What you will sign in as; asked for when left out.
    display_name
        What others see; the username when left out.
    stdin
        Read the invitation's token and then the password from standard input, one a line, instead of asking for them.
    """
    url = address(options)
    token = _first_line("the invitation's token") if stdin else _ask_secretly("Token of the invitation: ")
    username = username or _ask("Username: ")
    password = _first_line("a password") if stdin else _ask_secretly("New password: ")
    if not stdin and _ask_secretly("The password again: ") != password:
        raise Misunderstood("The passwords differ. Nothing was done.")
    with Client(url) as client:
        client.auth.accept_invitation(
            token=token, username=username, password=password, display_name=display_name or username
        )
    with Client(url, username=username, password=password) as client:
        tokens = client.sign_in()
        me = client.auth.me()
    CredentialsFile().write(Credentials(url=url, tokens=tokens))
    if options.form == "json":
        print_json(me)
    else:
        print(f"Joined as {me.role} and signed in to {url} as {_name(me)}.")


@ending
def logout(*, options: Options = USUAL) -> None:
    """Sign out: the session ends and what was remembered is removed."""
    file = CredentialsFile()
    credentials = file.read()
    if credentials is not None and credentials.tokens is not None:
        try:
            with Client(credentials.url, tokens=file) as client:
                client.auth.logout()
        except CredentialsError:
            pass  # the session had ended by itself
        except GridloomError as error:
            file.remove()
            print(f"Forgotten here, but the session may go on for a while: {error}", file=sys.stderr)
            return
    file.remove()
    if options.form == "json":
        print_json({"signedIn": False})
    else:
        print("Signed out.")


@ending
def whoami(*, options: Options = USUAL) -> None:
    """Show who you are and what you may do."""
    with connect(options) as client:
        me = client.auth.me()
    if options.form == "json":
        print_json(me)
        return
    facts = {"ID": me.id, "Organisation": me.organisation_id, "Role": me.role, "Permissions": me.permissions}
    print_facts(_name(me), facts)


def _name(me: Me) -> str:
    return me.username or me.display_name or str(me.id)


def _first_line(what: str) -> str:
    line = sys.stdin.readline().strip()
    if not line:
        raise Misunderstood(f"Expected {what} on standard input.")
    return line


def _ask(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise Misunderstood(NO_TERMINAL)
    return input(prompt).strip()


def _ask_secretly(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise Misunderstood(NO_TERMINAL)
    return getpass.getpass(prompt)
