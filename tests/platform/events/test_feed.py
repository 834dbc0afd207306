"""The feed of an organisation's streams: they share what is read, for a moment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from gridloom.platform.events import hub
from gridloom.platform.events.hub import EventHub, OrganisationFeed


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[UUID, int, int]]:
    """What was asked of the database."""
    asked: list[tuple[UUID, int, int]] = []

    async def read_events(_: Any, organisation_id: UUID, after: int, most: int) -> list[str]:
        asked.append((organisation_id, after, most))
        return ["an event"] if after < 9 else []

    monkeypatch.setattr("gridloom.platform.events.store.read_events", read_events)
    return asked


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(hub, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


class TestStreamsAtTheSamePosition:
    async def test_look_again_at_once_where_there_was_nothing(self, reads: list[Any], clock: SimpleNamespace) -> None:
        feed = OrganisationFeed(None, UUID(int=7))  # type: ignore[arg-type]
        for count in (1, 2):
            assert await feed.read(9) == []
            assert len(reads) == count


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


class TestANotice:
    async def test_moves_the_orders_that_it_names_on_and_never_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Notices of several replicas may overtake each other."""
        ours, others, strangers = (UUID(int=number) for number in (7, 8, 9))

        async def last_sequences(_: Any, organisation_ids: list[UUID]) -> dict[UUID, int]:
            return dict.fromkeys(organisation_ids, head)

        head = 5
        monkeypatch.setattr("gridloom.platform.events.store.last_sequences", last_sequences)
        told = EventHub(None)  # type: ignore[arg-type]
        woken: list[UUID] = []
        monkeypatch.setattr(told._waker, "wake", lambda organisation_id, _: woken.append(organisation_id))
        async with told.follow(ours) as (feed, _), told.follow(others) as (other, _):
            told._on_events(f"{ours}:9 {strangers}:20")
            assert (feed.head, other.head, woken) == (9, 5, [ours])
            told._on_events(f"{others}:6 {ours}:8")
            assert (feed.head, other.head, woken) == (9, 6, [ours, others, ours])
            head = 7
            for payload in ("*", None):
                woken.clear()
                told._on_events(payload)
                await asyncio.gather(*told._chores)
                assert (feed.head, other.head, woken) == (9, 7, [ours, others]), "each is looked up"
