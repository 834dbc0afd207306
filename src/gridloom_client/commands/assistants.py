"""`gridloom mcp`: the platform as tools for an AI assistant."""

from __future__ import annotations

import os
import secrets
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.rendering import show_lines
from gridloom_client.profiles import find_identity
from gridloom_client.tokens import ApiKey

TOKEN_VARIABLE = "GRIDLOOM_MCP_TOKEN"  # noqa: S105  # the name of a variable


def mcp(
    *,
    allow_writes: Annotated[bool, Parameter(negative="")] = False,
    http: str | None = None,
    url: str | None = None,
    profile: str | None = None,
) -> None:
    """Serve an assistant over the Model Context Protocol; it reads, and changes nothing.

    It needs an API key of its own, in GRIDLOOM_API_KEY or in a profile. For example:

        gridloom mcp
        gridloom mcp --profile assistant --http 127.0.0.1:8765

    Parameters
    ----------
    allow_writes
        Offer changes too: each is a preview, then its confirmation.
    http
        Serve at this address of this machine instead of standard input and output; callers send the bearer token of
        GRIDLOOM_MCP_TOKEN, or the one that is printed.
    url
        The service's address; else GRIDLOOM_URL, else where you signed in.
    profile
        Whose API key to use; else GRIDLOOM_PROFILE, else the profile in use.
    """
    if find_spec("mcp") is None:
        raise Misunderstood("The server for assistants needs a package more: pip install 'gridloom[mcp]'.")
    who = find_identity(url, profile)
    if not isinstance(who.credentials, ApiKey):
        raise Misunderstood(
            "An assistant has an API key of its own: gridloom keys create assistant; then GRIDLOOM_API_KEY."
        )
    key = who.credentials.secret
    if http is None:
        _import_running().run_stdio(who.url, key, allow_writes=allow_writes)
        return
    address = _read_loopback(http)
    bearer = os.environ.get(TOKEN_VARIABLE)
    if not bearer:
        bearer = secrets.token_urlsafe(32)
        show_lines(f"Authorization: Bearer {bearer}", to_stderr=True)
    show_lines(f"http://{http}/mcp", to_stderr=True)
    _import_running().run_http(who.url, key, address, bearer, allow_writes=allow_writes)


def _read_loopback(address: str) -> tuple[str, int]:
    """`127.0.0.1:8765` or `[::1]:8765`; another host is refused, since the API key would answer to the network."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]").replace("localhost", "127.0.0.1")
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback or not port.isdigit() or not 0 < int(port) < 65536:
        raise Misunderstood(f"{address} is not an address of this machine alone; expected one such as 127.0.0.1:8765.")
    return host, int(port)


def _import_running() -> Any:
    """The server is a package of its own, which imports this one."""
    return import_module("gridloom_mcp.running")
