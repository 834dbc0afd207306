"""The feed of an organisation's streams: they share what is read, for a moment."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gridloom.platform.events.hub import EventHub


class TestAStreamThatBegins:
    async def test_takes_nothing_back_of_how_far_the_order_has_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is read may be older than what was told meanwhile."""
        ours, heads = UUID(int=7), iter([5, 4, 6])

        async def last_sequences(_: Any, organisation_ids: list[UUID]) -> dict[UUID, int]:
            return dict.fromkeys(organisation_ids, next(heads))

        monkeypatch.setattr("gridloom.platform.events.store.last_sequences", last_sequences)
        follow = EventHub(None).follow  # type: ignore[arg-type]
        async with follow(ours) as (first, _):
            assert first.head == 5
            for expected in (5, 6):
                async with follow(ours) as (same, _):
                    assert same is first
                    assert same.head == expected
