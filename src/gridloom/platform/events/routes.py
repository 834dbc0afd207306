"""`GET /events`: the organisation's order of events as a stream that can be resumed."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from gridloom.kernel.problem import BadRequest, Conflict
from gridloom.platform.events import store
from gridloom.platform.events.hub import EventHub
from gridloom.platform.events.rules import EventFilter
from gridloom.platform.events.stream import cloud_frame, own_frame, stream_events
from gridloom.platform.events.stream_slots import StreamSlots
from gridloom.platform.events.types import EVENT_TYPES
from gridloom.platform.http import (
    CLOUD_EVENTS,
    EVENT_STREAM,
    SIGNED_IN,
    EventStream,
    QueryParameters,
    Request,
    operation,
)

TAG = "Events"

_PLACE = re.compile(r"\d{1,18}")


class EventsForgotten(Conflict, title="The events after this one are no longer kept"):
    """The position named by `Last-Event-ID` lies before the oldest event that is still retained.

    Going on from there would skip events without saying so. Read the resources themselves, then open the stream anew:
    without `Last-Event-ID` for what happens from now on, or with `0` for everything that is still retained.
    """


Subject = Annotated[str, Meta(min_length=1, max_length=300)]


class EventQuery(QueryParameters):
    types: tuple[str, ...] | None = None
    subjects: tuple[Subject, ...] | None = None


@operation(
    "GET",
    "/events",
    summary="Follow what happens, as server-sent events",
    access=SIGNED_IN,
    produces=(EVENT_STREAM, CLOUD_EVENTS),
    problems=(EventsForgotten,),
    asset_scope="filtered",
)
async def follow_events(request: Request, query: EventQuery) -> EventStream:
    """Every event of the caller's organisation that the caller may read, each once and in order.

    `id` is the event's position in that order. A client that comes back with `Last-Event-ID` misses none and gets none
    twice. Without it the stream starts with what happens next; with `0` it starts with the oldest event that is stored
    (30 days). A comment or a bare `id` follows what was stored, and comes every 15 seconds without an event. The
    stream ends when the token does.

    With `Accept: application/cloudevents+json` the data of each event is a CloudEvent (1.0.2, structured JSON); the
    answer is a `text/event-stream` all the same.
    """
    hub = request.resources[EventHub]
    filter = EventFilter(_known_types(query.types or ()), tuple(part.strip("/") for part in query.subjects or ()))
    position = await _starting_place(request)
    slot = await request.resources[StreamSlots].take(request)
    frame_of = cloud_frame if request.accepts == CLOUD_EVENTS else own_frame
    return EventStream(stream_events(request, hub, slot, filter, position, frame_of))


def _known_types(types: tuple[str, ...]) -> frozenset[str]:
    unknown = [type for type in types if type not in EVENT_TYPES]
    if unknown:
        raise BadRequest.at("query:types", f"There is no event type {unknown[0]}.", f"{unknown[0]} is not a type")
    return frozenset(types)


async def _starting_place(request: Request) -> int:
    """The position after which the stream starts."""
    organisation_id = request.caller.organisation_id
    asked = request.header("last-event-id")
    head = (await store.last_sequences(request.db, [organisation_id])).get(organisation_id, 0)
    if asked is None:
        return head
    if _PLACE.fullmatch(asked) is None or int(asked) > head:
        raise BadRequest.at(
            "header:Last-Event-ID",
            "Last-Event-ID is not the id of an event of your organisation.",
            "is not a place in this order",
        )
    position = int(asked)
    oldest = await store.first_retained_sequence(request.db, organisation_id)
    first = head + 1 if oldest is None else oldest
    if position == 0:
        return first - 1
    if position < first - 1:
        raise EventsForgotten(f"The oldest event that is kept is {first}; {position} is further back.")
    return position
