"""Each organisation's stream of events: numbers that only rise, and one event for each change, in its order."""

from __future__ import annotations

import asyncio
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.simulation.calls import UUID, Answer, Finding, Request
from tests.simulation.events import read_events
from tests.simulation.market import from_text, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Organisation, Told
from tests.simulation.oracle.clearing import status_for

if TYPE_CHECKING:
    from tests.simulation.life import Life

MAX_READS = 10
MAX_PERIODS = 100
"""An event lists no more."""
SLACK_KW = 0.001
ALL_OF = frozenset(
    {
        "bid.placed",
        "unavailability.created",
        "unavailability.cancelled",
        "exchange-notification.published",
        "ancillary.result",
        "virtual-asset.allocated",
    }
)
"""Types of which there is no event but for the changes that a life has made itself."""


async def compare_events(life: Life) -> None:
    """A stream has no end, so it is read until it has been quiet for a moment; where something is missing, again."""
    organisations = life.world.organisations
    for attempt in range(MAX_READS):
        requests = [_follow(life, organisation) for organisation in organisations]
        answers = await asyncio.gather(*(life.ask(request) for request in requests))
        for organisation, request, answer in zip(organisations, requests, answers, strict=True):
            _take_events(life, organisation, request, answer)
        off = [_find_difference(life, organisation) for organisation in organisations]
        wrong = next(((one, place) for place, one in enumerate(off) if one is not None), None)
        if wrong is None:
            return
        if attempt == MAX_READS - 1:
            raise Finding("events", wrong[0], requests[wrong[1]], answers[wrong[1]])


def _follow(life: Life, organisation: Organisation) -> Request:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(life.consequences.heard.get(organisation.name, 0))}
    return Request("followEvents", organisation.admin, "GET", "/events", headers=headers, expect=200)


def _take_events(life: Life, organisation: Organisation, request: Request, answer: Answer) -> None:
    events = read_events(answer.content)
    numbers = [number for number, _ in events]
    if numbers != sorted(set(numbers)):
        raise Finding("events", f"numbers that rise, not {numbers}", request, answer)
    if numbers:
        life.consequences.heard[organisation.name] = numbers[-1]
    for _, event in events:
        life.reach.events[event["type"]] += 1
        if event["organisationID"] == organisation.id:  # others' are told where there is a grant
            life.consequences.events.setdefault(organisation.name, []).append(event)
        if event["id"] in life.consequences.event_ids.setdefault(organisation.name, set()):
            raise Finding("events", f"event {event['id']} once", request, answer)
        life.consequences.event_ids[organisation.name].add(event["id"])


def _find_difference(life: Life, organisation: Organisation) -> str | None:
    """A change without its event, an event too many, two in another order than their changes."""
    name = organisation.name
    heard = [(event["type"], _find_ids(event)) for event in life.consequences.events.get(name, ())]
    due = [(kind, subject) for owner, kind, subject in life.consequences.caused if owner == name]
    outcomes = list(_list_outcomes(life, name))
    for kind, count in Counter(kind for kind, _ in due + outcomes).items():
        found = sum(one == kind for one, _ in heard)
        if found < count or (kind in ALL_OF and found != count):
            return f"{count} events {kind} of {name}, not {found}"
    life.world.compared["events of changes"] += len(due)
    untold = _find_untold(life, organisation) or _find_wrong_outcome(life, organisation)
    if untold is not None:
        return untold
    missed = [kind for owner, kind in life.world.due_events if owner == name and all(one != kind for one, _ in heard)]
    if missed:
        return f"events {missed} of {name}"
    return _find_unnamed(name, due + outcomes, heard) or (
        _find_disorder(life, due, heard) if life.consequences.is_ordered else None
    )


def _find_untold(life: Life, organisation: Organisation) -> str | None:
    """An event of changed availability for each change of what a virtual asset has left, with the new figures."""
    if not life.consequences.is_ordered:
        return None
    held = {one.id for one in life.world.virtuals.values() if one.holder is organisation}
    waiting: dict[str, list[dict[str, Any]]] = {}
    for event in life.consequences.events.get(organisation.name, ()):
        if event["type"] == "virtual-asset.availability-changed":
            waiting.setdefault(event["data"]["virtualAssetID"], []).append(event["data"])
    for told in life.world.told:
        if told.virtual not in held:
            continue
        life.world.compared["events of availability"] += 1
        listed = waiting.get(told.virtual, [])
        while listed and not _says(listed[0], told):
            listed.pop(0)
        if not listed:
            left = {to_text(start_of_quarter(at)): [float(one) for one in left] for at, left in told.left.items()}
            return f"an event of {organisation.name} that {told.virtual} has left {left}"
        listed.pop(0)
    return None


def _find_wrong_outcome(life: Life, organisation: Organisation) -> str | None:
    """The event of a cleared auction tells a participant its own outcome."""
    for event in life.consequences.events.get(organisation.name, ()):
        auction = life.world.auctions.get(event["data"].get("auctionID", ""))
        if event["type"] != "auction.cleared" or auction is None or not auction.is_cleared:
            continue
        due = status_for(life.world, auction, organisation.name)
        life.world.compared["outcomes of auctions"] += due != "NO_BIDS_SUBMITTED"
        if event["data"]["status"] != due:
            return f"an event that tells {organisation.name} {due} of {auction.id}, not {event['data']['status']}"
    return None


def _says(data: dict[str, Any], told: Told) -> bool:
    return all(_shows(data["periods"], quarter, left) for quarter, left in told.left.items())


def _shows(periods: list[dict[str, Any]], quarter: int, left: tuple[Fraction, ...]) -> bool:
    for one in periods:
        if quarter_of(from_text(one["start"])) <= quarter < quarter_of(from_text(one["end"])):
            said = (one["availableChargePower"], one["availableDischargePower"], one["availableEnergyCapacity"])
            return all(abs(value - float(due)) <= SLACK_KW for value, due in zip(said, left, strict=True))
    return len(periods) >= MAX_PERIODS


def _find_ids(event: dict[str, Any]) -> frozenset[str]:
    return frozenset(UUID.findall(f"{event['subject']} {event['data']}"))


def _find_unnamed(name: str, due: list[tuple[str, str]], heard: list[tuple[str, frozenset[str]]]) -> str | None:
    """Each change is named by as many events of its type as it was made."""
    for (kind, subject), count in Counter(due).items():
        found = sum(one == kind and subject in ids for one, ids in heard)
        if found < count or (kind in ALL_OF and found != count):
            return f"{count} events {kind} of {name} for {subject}, not {found}"
    return None


def _find_disorder(life: Life, due: list[tuple[str, str]], heard: list[tuple[str, frozenset[str]]]) -> str | None:
    """Events come in the order in which the changes were committed."""
    due = [one for one in due if one[0] in ALL_OF]
    life.world.compared["order of events"] += max(0, len(due) - 1)
    wanted = set(due)
    said = [(kind, subject) for kind, ids in heard for subject in ids if (kind, subject) in wanted]
    return None if said == due else f"events in the order {due}, not {said}"


def _list_outcomes(life: Life, name: str) -> list[tuple[str, str]]:
    """Everyone who was invited learns how an auction ended, and everyone with a statement that it was issued."""
    found = []
    for auction in life.world.auctions.values():
        if auction.is_cleared and name in auction.participants:
            found.append(("auction.cleared", auction.id))
            found.append(("auction.opened", auction.id))
        if auction.winner == name:
            found.append(("virtual-asset.allocated", auction.id))
    issued = [(key, one) for key, (owner, one) in life.world.statements.items() if owner == name]
    return found + [("statement.issued", key) for key, one in issued if one["status"] == "ISSUED"]
