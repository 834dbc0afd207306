"""Options of every command, and the client that is made from them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
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

AssetName = Annotated[str, Parameter(help="Its id, the end of it, or its name.")]
BatteryName = Annotated[str, Parameter(help="The battery's id, the end of it, or its name.")]
Confirmed = Annotated[bool, Parameter(negative="", help="Do not ask.")]
CycleLimit = Annotated[float | None, Parameter(help="At most so many full cycles a day.")]
EachWay = Annotated[float, Parameter(help="Of charging and of discharging.")]
ListedID = Annotated[str, Parameter(help="Its id, or the end of it as the list shows it.")]
MarketDay = Annotated[
    str | None,
    Parameter(
        help="Which market day: a date, yesterday, today or tomorrow; today by the service's clock when left out."
    ),
]
ListStart = Annotated[
    datetime | None, Parameter(name="--start", help="From when; without an offset it is market time.")
]
ListEnd = Annotated[datetime | None, Parameter(name="--end", help="Until when, exclusive.")]
NewName = Annotated[str, Parameter(help="What it is called.")]
OrganisationName = Annotated[str | None, Parameter(help="By id or name; your own when left out.")]
OwnerName = Annotated[str | None, Parameter(help="Whose, by id or name; your own when left out.")]
WindowEnd = Annotated[datetime | None, Parameter(help="Until when, exclusive.")]


def make_client(url: str, **options: Any) -> Client:
    """Imported here: no `--help` needs it."""
    from gridloom_client.client import Client

    return Client(url, **options)


def connect(options: Options, *, mentions_history: bool = True) -> Client:
    """A client with the identity of the environment, or else of the signed-in user. While a sandbox plays its history,
    every command says so first, but for those that show it themselves."""
    client = _identify_client(options)
    if mentions_history and options.form == "table":
        mention_history_to_people(client)
    return client


def connect_without_sign_in(options: Options) -> Client:
    """A client for operations that are open to all, also of a service other than the one that the user signed in to."""
    return make_client(find_url(options.url, options.profile))


def _identify_client(options: Options) -> Client:
    who = find_identity(options.url, options.profile)
    if who.is_nobody:
        raise CredentialsError(NOT_SIGNED_IN)
    if isinstance(who.credentials, ApiKey):
        return make_client(who.url, api_key=who.credentials.secret)
    if isinstance(who.credentials, Password):
        return make_client(who.url, username=who.credentials.username, password=who.credentials.password)
    return make_client(who.url, tokens=who.store)
