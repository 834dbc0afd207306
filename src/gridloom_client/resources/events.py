"""Everything that happens, as it happens."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence

from gridloom_client.operations import M, Resource, stream
from gridloom_client.streams import Event


class Events(Resource[M]):
    """What the caller may read of what changes."""

    @stream("/events")
    def follow(
        self,
        *,
        types: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        last_event_id: str | None = None,
    ) -> Event:
        """Events as they happen, until you stop; after `last_event_id`, if given. A lost connection is resumed."""
