"""Bodies beyond what memory should hold are refused, not collected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gridloom.kernel.problem import TooManyRequests
from gridloom.kernel.shares import KIBIBYTE, MEBIBYTE, ShareExceeded
from gridloom.platform.http.application import Application
from gridloom.platform.http.decode import body
from gridloom.platform.http.decode.body import BodyBudget


class TestABodyBudget:
    def test_refuses_what_would_exceed_it_and_says_when_to_come_back(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE)
        with budget.hold() as first, budget.hold() as second:
            first.grow_to(80 * MEBIBYTE)
            for refused in (second.grow_to, second.check_announced):
                with pytest.raises(TooManyRequests) as refusal:
                    refused(30 * MEBIBYTE)
                assert refusal.value.headers["Retry-After"] == "1"
            second.grow_to(20 * MEBIBYTE)

    def test_always_lets_a_single_body_in(self) -> None:
        with BodyBudget(MEBIBYTE).hold() as body:
            body.check_announced(5 * MEBIBYTE)
            body.grow_to(5 * MEBIBYTE)


class TestAnOrganisationsShareOfBodies:
    def test_is_refused_beyond_and_leaves_the_rest_to_others(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE, share_bytes=50 * MEBIBYTE)
        with budget.hold("a") as first, budget.hold("a") as second, budget.hold("b") as other:
            first.grow_to(40 * MEBIBYTE)
            with pytest.raises(ShareExceeded) as refusal:
                second.grow_to(20 * MEBIBYTE)
            assert refusal.value.members == {"share": "body-bytes", "limit": 50 * MEBIBYTE}
            second.grow_to(10 * MEBIBYTE)
            other.grow_to(50 * MEBIBYTE)
            assert budget.bytes_of("a") == 50 * MEBIBYTE
        assert budget.bytes_of("a") == budget.held_bytes == 0


class TestASlowBody:
    @pytest.fixture
    def now(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """What the clock shows."""
        shown = [100.0]
        monkeypatch.setattr("gridloom.platform.http.decode.body.time.monotonic", lambda: shown[0])
        return shown

    def test_gives_way_to_another_of_its_organisation(self, now: list[float]) -> None:
        budget = BodyBudget(100 * MEBIBYTE, share_bytes=50 * MEBIBYTE, min_bytes_per_s=64 * KIBIBYTE)
        stopped: list[str] = []
        with budget.hold("b") as other, budget.hold("a") as slow, budget.hold("a") as quick, budget.hold("a") as new:
            other.begin_receiving(lambda: stopped.append("of another organisation"))
            other.grow_to(21 * MEBIBYTE)
            slow.begin_receiving(lambda: stopped.append("slow"))
            quick.begin_receiving(lambda: stopped.append("quick"))
            slow.grow_to(20 * MEBIBYTE)
            quick.grow_to(19 * MEBIBYTE)
            now[0] += 3
            slow.grow_to(20 * MEBIBYTE + 1)
            quick.grow_to(20 * MEBIBYTE)
            now[0] += 0.1
            new.grow_to(20 * MEBIBYTE)
            assert stopped == ["slow"]
            assert budget.bytes_of("a") == 40 * MEBIBYTE
            other.reject_if_evicted()
            with pytest.raises(ShareExceeded):
                slow.reject_if_evicted()
            quick.reject_if_evicted()

    def test_gives_way_to_another_organisation_where_the_process_is_full(self, now: list[float]) -> None:
        budget = BodyBudget(100 * MEBIBYTE, share_bytes=50 * MEBIBYTE, min_bytes_per_s=64 * KIBIBYTE)
        stopped: list[str] = []
        with budget.hold("a") as first, budget.hold("b") as second, budget.hold("c") as third:
            first.begin_receiving(lambda: stopped.append("first"))
            second.begin_receiving(lambda: stopped.append("second"))
            first.grow_to(50 * MEBIBYTE)
            second.grow_to(45 * MEBIBYTE)
            with pytest.raises(TooManyRequests):
                third.grow_to(20 * MEBIBYTE)
            now[0] += 3
            third.grow_to(20 * MEBIBYTE)
            assert stopped == ["first"]


HEADERS = [
    (b"authorization", b"Bearer somebody"),
    (b"content-type", b"application/json"),
    (b"content-length", b"9000000"),
]
PIECE = {"type": "http.request", "body": b"x" * 100_000, "more_body": True}


async def send_body(toys: Application, receive: Any) -> list[dict[str, Any]]:
    """What comes as an answer to a body that is received so."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/toys", "query_string": b"", "headers": HEADERS}
    await asyncio.wait_for(toys(scope, receive, send), 120)
    return sent


class TestABody:
    @pytest.mark.parametrize("pieces", [0, 1])
    async def test_that_stops_coming_is_given_up(
        self, toys: Application, monkeypatch: pytest.MonkeyPatch, pieces: int
    ) -> None:
        monkeypatch.setattr(body, "BODY_IDLE_TIMEOUT_S", 0.05)
        parts = [PIECE] * pieces

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.Event().wait()
            return parts.pop()

        sent = await send_body(toys, receive)
        assert sent[0]["status"] == 400
        assert b"timed out" in sent[1]["body"]
        assert toys.bodies.held_bytes == 0

    async def test_whose_request_is_cancelled_is_no_slow_one(self, toys: Application) -> None:
        waits = asyncio.Event()

        async def receive() -> dict[str, Any]:
            waits.set()
            await asyncio.Event().wait()
            raise AssertionError("nothing comes")

        asking = asyncio.create_task(send_body(toys, receive))
        await waits.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asking.cancelled()
