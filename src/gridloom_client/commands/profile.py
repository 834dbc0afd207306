"""`gridloom profile …`: several services, or several people at one."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.account import login
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.options import USUAL, Options
from gridloom_client.commands.terminal.rendering import print_data, print_table
from gridloom_client.profiles import Profile, Profiles

app = CommandGroup(
    name="profile", help="Who you are at which service: production, sandbox, a robot.", group="Your account"
)


@app.command
def add(
    name: str,
    address: str,
    *,
    username: str | None = None,
    sign_in: bool = True,
    password_stdin: Annotated[bool, Parameter(negative="")] = False,
    api_key_stdin: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Add a profile and sign in to it; from then on it is the one in use.

    For example:

        gridloom profile add sandbox http://127.0.0.1:8000
        gridloom profile add production https://gridloom.example --username ada
        gridloom profile add robot https://gridloom.example --api-key-stdin < key.txt

    Parameters
    ----------
    name
        What you want to call it.
    address
        Where the service is.
    username
        Asked for when left out.
    sign_in
        --no-sign-in only notes the address; gridloom login --profile NAME does the rest later.
    password_stdin
        Read the password from standard input instead of asking for it.
    api_key_stdin
        Read an API key from standard input and use that instead of a username.
    """
    if sign_in:
        placed = Options(output=options.output, json=options.json, url=address, profile=name)
        login(username=username, password_stdin=password_stdin, api_key_stdin=api_key_stdin, options=placed)
        return
    profiles = Profiles()
    known = profiles.find(name)
    # A secret is for its own address alone.
    is_same = known is not None and known.url.rstrip("/") == address.rstrip("/")
    profiles.put(name, Profile(url=address, username=username), profiles.secret_of(name) if is_same else None)
    print(f"{name} is {address}. Sign in with gridloom login --profile {name}.")


@app.command
def use(name: str) -> None:
    """Use a profile from now on, until another is chosen.

    For example:

        gridloom profile use production

    Parameters
    ----------
    name
        Which one; the list shows those there are.
    """
    profiles = Profiles()
    profiles.use(name)
    print(f"{name} ({profiles.get(name).url}) is in use.")


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List your profiles; the one in use is marked.

    For example:

        gridloom profile list
        gridloom profile list -o json
    """
    profiles = Profiles()
    current = options.profile or profiles.current
    rows = [
        {
            "inUse": name == current,
            "name": name,
            "url": profile.url,
            "username": profile.username,
            "secret": "keyring" if profile.in_keyring else "file" if profile.secret else None,
        }
        for name, profile in profiles.all().items()
    ]
    if print_data(rows, options):
        return
    shown = [["*" if row["inUse"] else "", row["name"], row["url"], row["username"], row["secret"]] for row in rows]
    print_table("Profiles", ["", "Name", "Address", "Signed in as", "Secret kept in"], shown, options)


@app.command
def remove(name: str) -> None:
    """Forget a profile and its secret; gridloom logout --profile NAME first ends its session.

    For example:

        gridloom profile remove robot

    Parameters
    ----------
    name
        Which one.
    """
    Profiles().remove(name)
    print(f"{name} is forgotten.")
