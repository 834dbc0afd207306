"""What an assistant is answered is bounded and marked, and a preview is good for one change, for a while."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from gridloom_mcp.answers import MAX_TEXT_CHARS, bound, join_runs, present
from gridloom_mcp.platform import ArgumentError
from gridloom_mcp.previews import LIFETIME_S, MAX_WAITING, Previews

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ({"name": "Husum 3"}, {"name": {"writtenByPeople": "Husum 3"}}),
            ({"name": "SELL_EVERYTHING"}, {"name": {"writtenByPeople": "SELL_EVERYTHING"}}),
            ({"name": "a\u202eb\u200b\n\x1b[1mc"}, {"name": {"writtenByPeople": "a b   [1mc"}}),
            ({"status": "OK", "units": "kW"}, {"status": "OK", "units": "kW"}),
            ({"tags": ["one", "two"]}, {"tags": [{"writtenByPeople": "one"}, {"writtenByPeople": "two"}]}),
            ({"price": Decimal("12.50"), "none": None}, {"price": 12.5}),
            ({"id": UUID(int=7), "at": NOON}, {"id": str(UUID(int=7)), "at": "2026-11-17T12:00:00Z"}),
        ],
    )
    def test_has_texts_of_people_marked_and_the_platforms_own_as_they_are(self, value: Any, shown: Any):
        assert present(value) == shown

    def test_cuts_a_text_that_is_too_long(self):
        (text,) = present({"name": "x" * 10_000})["name"].values()
        assert len(text) == MAX_TEXT_CHARS

    def test_says_how_much_it_leaves_out(self):
        assert bound(range(3), 5) == {"rows": [0, 1, 2]}
        assert bound(range(7), 5) == {"rows": [0, 1, 2, 3, 4], "leftOut": 2}

    def test_joins_quarter_hours_of_the_same_power(self):
        @dataclass
        class Point:
            time: datetime
            power: float

        quarter = timedelta(minutes=15)
        places = {0: 5.0, 1: 5.0, 2: 0.0, 5: 0.0}
        rows = join_runs([Point(NOON + place * quarter, power) for place, power in places.items()])
        spans = [((row["start"] - NOON) // quarter, (row["end"] - NOON) // quarter, row["power"]) for row in rows]
        assert spans == [(0, 2, 5.0), (2, 3, 0.0), (5, 6, 0.0)]


class TestAPreview:
    async def _make(self, key: str) -> dict[str, Any]:
        self.made.append(key)
        return {"key": key}

    @pytest.fixture(autouse=True)
    def _begin(self) -> None:
        self.made: list[str] = []
        self.now = 0.0
        self.previews = Previews(lambda: self.now)

    async def test_ends_after_a_while_and_changes_nothing_then(self):
        token = self.previews.offer(self._make)
        self.now = LIFETIME_S
        with pytest.raises(ArgumentError, match="older than ten minutes"):
            await self.previews.confirm(token, "a key of its own")
        assert self.made == []

    async def test_that_failed_may_be_confirmed_again_under_its_own_key_alone(self):
        async def fail(key: str) -> dict[str, Any]:
            self.made.append(key)
            raise ConnectionError

        token = self.previews.offer(fail)
        for _ in range(2):
            with pytest.raises(ConnectionError):
                await self.previews.confirm(token, "the same")
        with pytest.raises(ArgumentError, match="another idempotency_key"):
            await self.previews.confirm(token, "another")
        assert self.made == ["the same"] * 2

    async def test_is_one_of_so_many_that_wait(self):
        tokens = {self.previews.offer(self._make) for _ in range(MAX_WAITING)}
        assert len(tokens) == MAX_WAITING
        with pytest.raises(ArgumentError, match="wait for their confirmation"):
            self.previews.offer(self._make)
        self.now = LIFETIME_S
        assert self.previews.offer(self._make)
