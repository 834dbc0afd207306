"""Which thing was meant: a whole id, or the end of one that only one thing has, or its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from gridloom_client.commands.completion import remember_names
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.rendering import short_id

if TYPE_CHECKING:
    from gridloom_client.client import Client

Kind: TypeAlias = Literal["virtual", "portfolio", "battery", "fleet", "organisation"]


def find_id(text: str, things: Iterable[Any], kind: str) -> UUID:
    """The id that was typed, whole or short; the things are only looked at where it is short."""
    try:
        return UUID(text)
    except ValueError:
        pass
    id: UUID = find_thing(text, things, kind).id
    return id


def find_thing(text: str, things: Iterable[Any], kind: str) -> Any:
    """The one thing whose id ends so or whose name it is; a name in full goes before the end of an id."""
    listed = list(things)
    remember_names(kind, (getattr(thing, "name", None) for thing in listed))
    found = [thing for thing in listed if (getattr(thing, "name", None) or "").casefold() == text.casefold()]
    found = found or [thing for thing in listed if str(thing.id).endswith(text.lower())]
    if len(found) == 1:
        return found[0]
    if not found:
        near = [thing.name for thing in listed if text.casefold() in (getattr(thing, "name", None) or "").casefold()]
        hint = f"did you mean {' or '.join(near[:3])}?" if near else "the list shows which there are."
        raise Misunderstood(f"There is no {kind} {text}; {hint}")
    raise Misunderstood(f"{text} may be {' or '.join(short_id(thing.id) for thing in found[:5])}: type more of the id.")


@dataclass(frozen=True, slots=True)
class Holding:
    """A virtual asset with whose it is."""

    organisation_id: UUID
    id: UUID
    name: str


def find_virtual(client: Client, text: str, organisation: str | None = None) -> Holding:
    """A virtual asset of one's own, or of the organisation that is named."""
    owner = choose_organisation(client, organisation)
    asset = find_thing(text, client.virtual_assets.list(owner), "virtual asset")
    return Holding(owner, asset.id, asset.name)


def find_battery(client: Client, text: str) -> UUID:
    return find_id(text, client.physical_assets.list(), "physical asset")


def find_portfolio(client: Client, text: str, organisation: str | None = None) -> Holding:
    """A portfolio of one's own, or of the organisation that is named."""
    owner = choose_organisation(client, organisation)
    found = find_thing(text, client.virtual_assets.portfolios(owner), "portfolio")
    return Holding(owner, found.id, found.name)


def find_fleet(client: Client, text: str) -> UUID:
    return find_id(text, client.fleets.list(), "fleet")


def find_auction(client: Client, text: str) -> UUID:
    return find_id(text, client.auctions.list(), "auction")


def find_organisation(client: Client, text: str) -> UUID:
    return find_id(text, client.organisations.list(), "organisation")


def choose_organisation(client: Client, text: str | None) -> UUID:
    """The organisation that is named, else the user's own."""
    return find_organisation(client, text) if text else client.auth.me().organisation_id


@dataclass(frozen=True, slots=True)
class Reported:
    """Something that earns."""

    kind: Kind
    id: UUID
    name: str


def find_reported(client: Client, text: str, kind: Kind | None = None) -> Reported:
    """A virtual asset, portfolio, battery, fleet or organisation by its id, the end of it, or its name."""
    owner = client.auth.me().organisation_id
    lists: dict[Kind, Any] = {
        "virtual": lambda: client.virtual_assets.list(owner),
        "battery": client.physical_assets.list,
        "portfolio": lambda: client.virtual_assets.portfolios(owner),
        "fleet": client.fleets.list,
        "organisation": client.organisations.list,
    }
    for each, items in lists.items():
        if kind not in (None, each):
            continue
        things = list(items())
        named = [thing for thing in things if thing.name.casefold() == text.casefold()]
        fits = named or [thing for thing in things if str(thing.id).endswith(text.lower())]
        if fits or kind is not None:
            thing = find_thing(text, things, each)
            return Reported(each, thing.id, thing.name)
    raise Misunderstood(
        f"There is no virtual asset, battery, portfolio, fleet or organisation {text}; the lists show which there are."
    )
