"""Turns at reading: however much one organisation asks for at once, another's read does not wait behind all of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

T = TypeVar("T")

MAX_CONCURRENT_READS: Final = 2
"""Reads of one organisation that unpack points at the same time, in one process."""

_turns: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()


def turn_of(organisation_id: UUID) -> asyncio.Semaphore:
    """To be held while one piece of an answer is read; kept while a request of the organisation reads."""
    turn = _turns.get(organisation_id)
    if turn is None:
        turn = _turns[organisation_id] = asyncio.Semaphore(MAX_CONCURRENT_READS)
    return turn


async def take_turns(turn: asyncio.Semaphore, steps: AsyncIterator[T]) -> AsyncIterator[T]:
    """The same steps, each under its own semaphore; the consumer holds none between them."""
    while True:
        async with turn:
            try:
                step = await anext(steps)
            except StopAsyncIteration:
                return
        yield step
