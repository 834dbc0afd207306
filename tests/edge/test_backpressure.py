"""Bodies beyond what memory should hold are refused, not collected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gridloom.edge.dispatch import Edge
from gridloom.edge.receiving import bodies
from gridloom.edge.receiving.backpressure import MEBIBYTE, SMALL_BYTES, BodyBudget
from gridloom.kernel.problem import TooManyRequests


class TestABodyBudget:
    def test_refuses_what_would_exceed_it_and_says_when_to_come_back(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE)
        with budget.hold() as first, budget.hold() as second:
            first.reach(80 * MEBIBYTE)
            for refused in (second.reach, second.foresee):
                with pytest.raises(TooManyRequests) as refusal:
                    refused(30 * MEBIBYTE)
                assert refusal.value.headers["Retry-After"] == "1"
            second.reach(20 * MEBIBYTE)

    def test_is_whole_again_when_the_requests_are_over(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE)
        with budget.hold() as body:
            body.reach(10 * MEBIBYTE)
            body.reach(60 * MEBIBYTE)
            body.reach(60 * MEBIBYTE)
            assert budget.held_bytes == 60 * MEBIBYTE
        assert budget.held_bytes == 0

    def test_always_lets_a_single_body_in(self) -> None:
        with BodyBudget(MEBIBYTE).hold() as body:
            body.foresee(5 * MEBIBYTE)
            body.reach(5 * MEBIBYTE)

    def test_gives_nothing_away_for_an_announcement(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE)
        with budget.hold() as announced, budget.hold() as sent:
            announced.foresee(90 * MEBIBYTE)
            sent.reach(90 * MEBIBYTE)

    def test_lets_small_bodies_in_however_full_it_is(self) -> None:
        budget = BodyBudget(MEBIBYTE)
        with budget.hold() as large, budget.hold() as small:
            large.reach(5 * MEBIBYTE)
            small.foresee(SMALL_BYTES)
            small.reach(SMALL_BYTES)


class TestABody:
    async def test_that_stops_coming_is_given_up(self, toys: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "BODY_PAUSE_S", 0.05)
        sent: list[dict[str, Any]] = []
        parts = [{"type": "http.request", "body": b"x" * 100_000, "more_body": True}]

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.Event().wait()
            return parts.pop()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = [
            (b"authorization", b"Bearer somebody"),
            (b"content-type", b"application/json"),
            (b"content-length", b"9000000"),
        ]
        scope = {"type": "http", "method": "POST", "path": "/toys", "query_string": b"", "headers": headers}
        await asyncio.wait_for(toys(scope, receive, send), 5)
        assert sent[0]["status"] == 400
        assert b"too slowly" in sent[1]["body"]
        assert toys.bodies.held_bytes == 0
