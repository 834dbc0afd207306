"""Turns at reading: however much one organisation asks for at once, another's read does not wait behind all of it."""

from __future__ import annotations

import asyncio
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

AT_ONCE: Final = 2
"""Reads of one organisation that unpack points at the same time, in one process."""

_turns: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()


def turn_of(organisation_id: UUID) -> asyncio.Semaphore:
    """To be held while one piece of an answer is read; kept for as long as somebody of the organisation reads."""
    turn = _turns.get(organisation_id)
    if turn is None:
        turn = _turns[organisation_id] = asyncio.Semaphore(AT_ONCE)
    return turn
