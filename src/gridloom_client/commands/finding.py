"""Which thing was meant: a whole id, or the end of one that only one thing has, or its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from gridloom_client.commands.ending import Misunderstood
from gridloom_client.commands.rendering import short_id


def find_id(text: str, things: Iterable[Any], kind: str) -> UUID:
    """The id that was typed, whole or short; the things are only looked at where it is short."""
    try:
        return UUID(text)
    except ValueError:
        pass
    found = [thing for thing in things if str(thing.id).endswith(text.lower()) or getattr(thing, "name", None) == text]
    if len(found) == 1:
        id: UUID = found[0].id
        return id
    if not found:
        raise Misunderstood(f"There is no {kind} {text}; the list shows which there are.")
    raise Misunderstood(f"{text} may be {' or '.join(short_id(thing.id) for thing in found[:5])}: type more of the id.")
