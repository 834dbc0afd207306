"""Each organisation's stream of events: numbers that only rise, and one event for each change, in its order."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.simulation.calls import UUID, Answer, Finding, Request
from tests.simulation.events import read_events
from tests.simulation.model import Organisation

if TYPE_CHECKING:
    from tests.simulation.life import Life

MAX_READS = 10
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
    missed = [kind for owner, kind in life.world.due_events if owner == name and all(one != kind for one, _ in heard)]
    if missed:
        return f"events {missed} of {name}"
    return _find_unnamed(name, due + outcomes, heard) or (
        _find_disorder(life, due, heard) if life.consequences.is_ordered else None
    )


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
