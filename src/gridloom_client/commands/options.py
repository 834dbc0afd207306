"""What every command takes, and the client it gets from it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter

from gridloom_client.client import DEFAULT_URL, Client
from gridloom_client.commands.credentials import Credentials, CredentialsFile
from gridloom_client.errors import CredentialsError


@Parameter(name="*")
@dataclass(frozen=True)
class Options:
    """Where the service is and how to show its answers."""

    output: Annotated[
        Literal["table", "json", "ndjson", "csv", "parquet"],
        Parameter(name=("--output", "-o"), help="How to print the answer; all but the table are for scripts."),
    ] = "table"
    json: Annotated[bool, Parameter(negative="", help="The same as -o json.")] = False
    utc: Annotated[bool, Parameter(negative="", help="Show times in UTC instead of market time (Europe/Berlin).")] = (
        False
    )
    url: Annotated[
        str | None, Parameter(help="The service's address; else GRIDLOOM_URL, else where you signed in.")
    ] = None

    @property
    def form(self) -> str:
        return "json" if self.json else self.output


USUAL = Options()


def address(options: Options, credentials: Credentials | None = None) -> str:
    return options.url or os.environ.get("GRIDLOOM_URL") or (credentials.url if credentials else DEFAULT_URL)


def connect(options: Options) -> Client:
    """A client for whoever the environment names, or else whoever signed in."""
    environment = os.environ
    if api_key := environment.get("GRIDLOOM_API_KEY"):
        return Client(address(options), api_key=api_key)
    if (username := environment.get("GRIDLOOM_USERNAME")) and (password := environment.get("GRIDLOOM_PASSWORD")):
        return Client(address(options), username=username, password=password)
    file = CredentialsFile()
    credentials = file.read()
    if credentials is None:
        raise CredentialsError("You are not signed in: run gridloom login, or set GRIDLOOM_API_KEY.")
    url = address(options, credentials)
    if url.rstrip("/") != credentials.url.rstrip("/"):
        raise CredentialsError(f"You are signed in to {credentials.url}, not to {url}: run gridloom login --url {url}.")
    if credentials.api_key is not None:
        return Client(url, api_key=credentials.api_key)
    return Client(url, tokens=file)
