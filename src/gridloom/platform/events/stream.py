"""One reader's stream: what is past from its position on, then what happens, as long as its token holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress

from gridloom.kernel.problem import Forbidden, Unauthenticated
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.events.framing import HEARTBEAT, frame, opening_frame, sequence_frame
from gridloom.platform.events.hub import EventHub
from gridloom.platform.events.model import SequencedEvent, to_cloud_event
from gridloom.platform.events.rules import EventFilter, is_visible_to
from gridloom.platform.events.stream_slots import StreamSlot
from gridloom.platform.http import Request, to_json
from gridloom.platform.http.answer.errors import report_broken_stream

HEARTBEAT_S = 15.0
RETRY_MS = 2000


def own_frame(one: SequencedEvent) -> bytes:
    return one.frame


def cloud_frame(one: SequencedEvent) -> bytes:
    return frame(one.sequence, one.event.type, to_json(to_cloud_event(one.event)))


async def stream_events(
    request: Request,
    hub: EventHub,
    slot: StreamSlot,
    filter: EventFilter,
    position: int,
    frame_of: Callable[[SequencedEvent], bytes],
    heartbeat_s: float = HEARTBEAT_S,
) -> AsyncIterator[bytes]:
    """Frames of the events after `position`, each once and in order; the slot is released with the stream.

    The first heart-beat follows what was stored, so that a client knows when it has caught up.

    The caller's rights are looked at anew before each delivery and at each heart-beat; the stream ends with the token,
    the session or the membership it rests on.
    """
    organisation_id = request.caller.organisation_id
    sent_position = position
    has_caught_up = False
    async with AsyncExitStack() as held:
        held.enter_context(slot)
        channel, changed = await held.enter_async_context(hub.follow(organisation_id))
        yield opening_frame(position, RETRY_MS)
        while True:
            changed.clear()
            try:
                caller = await request.reauthenticate()
                events = await channel.read(position) if channel.head > position else []
            except (Unauthenticated, Forbidden):
                return  # the client learns the reason when it reconnects
            except DATABASE_ERRORS as error:
                # A client that reconnects resumes here, or gets 503 while the database is unreachable.
                report_broken_stream(request.operation.operation_id, error, request_id=request.request_id)
                return
            if caller.organisation_id != organisation_id:
                return
            if events:
                position = events[-1].sequence
                readable = [
                    one for one in events if is_visible_to(one, filter, caller.permissions, caller.physical_asset_ids)
                ]
                if readable:
                    sent_position = readable[-1].sequence
                    yield b"".join(frame_of(one) for one in readable)
                continue
            if has_caught_up:
                with suppress(TimeoutError):
                    async with asyncio.timeout(heartbeat_s):
                        await changed.wait()
                    continue
            has_caught_up = True
            yield HEARTBEAT if sent_position == position else sequence_frame(position)
            sent_position = position
