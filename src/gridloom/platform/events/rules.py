"""Visibility of events: the filters of a reader, and what its permissions leave of an order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from gridloom.platform.events.model import SequencedEvent


@dataclass(frozen=True, slots=True)
class EventFilter:
    """No types means every type; no subjects, everything."""

    types: frozenset[str] = frozenset()
    subjects: tuple[str, ...] = ()

    def matches(self, type: str, subject: str) -> bool:
        """A subject matches itself and all below it: `physical-assets` for every physical asset."""
        if self.types and type not in self.types:
            return False
        return not self.subjects or any(subject == one or subject.startswith(f"{one}/") for one in self.subjects)


def is_visible_to(
    sequenced: SequencedEvent,
    filter: EventFilter,
    permissions: frozenset[str],
    physical_asset_ids: Collection[UUID] | None = None,
) -> bool:
    """Whether a reader with these permissions, now, gets this event of its organisation's order.

    physical_asset_ids: the only assets the reader reaches, where it was made for certain ones.
    """
    if not sequenced.is_open or sequenced.permission not in permissions:
        return False
    if physical_asset_ids is not None:
        own = EventFilter(subjects=tuple(f"physical-assets/{asset_id}" for asset_id in physical_asset_ids))
        if not own.subjects or not own.matches(sequenced.event.type, sequenced.event.subject):
            return False
    return filter.matches(sequenced.event.type, sequenced.event.subject)
