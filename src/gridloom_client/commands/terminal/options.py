"""What every command takes, and the client it gets from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from gridloom_client.commands.terminal.history import mention_history_to_people
from gridloom_client.errors import CredentialsError
from gridloom_client.profiles import NOT_SIGNED_IN, find_identity, find_url
from gridloom_client.tokens import ApiKey, Password

if TYPE_CHECKING:
    from gridloom_client.client import Client

EVERYWHERE = "Every command takes"


@Parameter(name="*")
@dataclass(frozen=True)
class Options:
    """Where the service is and how to show its answers."""

    output: Annotated[
        Literal["table", "json", "ndjson", "csv", "parquet"],
        Parameter(
            name=("--output", "-o"),
            group=EVERYWHERE,
            help="How to print the answer; all but the table are for scripts.",
        ),
    ] = "table"
    json: Annotated[bool, Parameter(negative="", show_default=False, group=EVERYWHERE, help="The same as -o json.")] = (
        False
    )
    utc: Annotated[
        bool,
        Parameter(negative="", show_default=False, group=EVERYWHERE, help="Times in UTC instead of market time."),
    ] = False
    url: Annotated[
        str | None,
        Parameter(group=EVERYWHERE, help="The service's address; else GRIDLOOM_URL, else where you signed in."),
    ] = None
    profile: Annotated[
        str | None, Parameter(group=EVERYWHERE, help="Who to be; else GRIDLOOM_PROFILE, else the profile in use.")
    ] = None

    @property
    def form(self) -> str:
        return "json" if self.json else self.output


USUAL = Options()


def address(options: Options) -> str:
    return find_url(options.url, options.profile)


def make_client(url: str, **options: Any) -> Client:
    """Imported here: no `--help` needs it."""
    from gridloom_client.client import Client

    return Client(url, **options)


def connect(options: Options, *, mentions_history: bool = True) -> Client:
    """A client for whoever the environment names, or else whoever signed in. While a sandbox plays its history, every
    command says so first, but for those that show it themselves."""
    client = _identify_client(options)
    if mentions_history and options.form == "table":
        mention_history_to_people(client)
    return client


def _identify_client(options: Options) -> Client:
    who = find_identity(options.url, options.profile)
    if who.is_nobody:
        raise CredentialsError(NOT_SIGNED_IN)
    if isinstance(who.credentials, ApiKey):
        return make_client(who.url, api_key=who.credentials.secret)
    if isinstance(who.credentials, Password):
        return make_client(who.url, username=who.credentials.username, password=who.credentials.password)
    return make_client(who.url, tokens=who.store)
