"""Bodies beyond what memory should hold are refused, not collected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.people import client_of
from tests.platform.http.conftest import Names

from gridloom.kernel.networks import network_of
from gridloom.kernel.problem import TooManyRequests
from gridloom.kernel.shares import KIBIBYTE, MEBIBYTE, ShareExceeded
from gridloom.platform.http.application import Application
from gridloom.platform.http.decode import body
from gridloom.platform.http.decode.body import SMALL_BYTES, BodyBudget


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

    def test_is_whole_again_when_the_requests_are_over(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE)
        with budget.hold() as body:
            body.begin_receiving(lambda: None)
            body.grow_to(10 * MEBIBYTE)
            body.grow_to(60 * MEBIBYTE)
            body.grow_to(60 * MEBIBYTE)
            assert budget.held_bytes == 60 * MEBIBYTE
            assert list(budget.receiving) == [body]
        assert (budget.held_bytes, list(budget.receiving)) == (0, [])

    def test_always_lets_a_single_body_in(self) -> None:
        with BodyBudget(MEBIBYTE).hold() as body:
            body.check_announced(5 * MEBIBYTE)
            body.grow_to(5 * MEBIBYTE)

    def test_gives_nothing_away_for_an_announcement(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE)
        with budget.hold() as announced, budget.hold() as sent:
            announced.check_announced(90 * MEBIBYTE)
            sent.grow_to(90 * MEBIBYTE)

    def test_lets_small_bodies_in_however_full_it_is(self) -> None:
        budget = BodyBudget(MEBIBYTE)
        with budget.hold() as large, budget.hold() as small:
            large.grow_to(5 * MEBIBYTE)
            small.check_announced(SMALL_BYTES)
            small.grow_to(SMALL_BYTES)


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

    def test_does_not_hold_for_exempt_callers(self) -> None:
        budget = BodyBudget(100 * MEBIBYTE, share_bytes=50 * MEBIBYTE)
        with budget.hold(None) as first, budget.hold(None) as second:
            first.grow_to(40 * MEBIBYTE)
            second.grow_to(40 * MEBIBYTE)


class TestASlowBody:
    def test_gives_way_to_another_of_its_organisation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [100.0]
        monkeypatch.setattr("gridloom.platform.http.decode.body.time.monotonic", lambda: now[0])
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

    def test_gives_way_to_another_organisation_where_the_process_is_full(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [100.0]
        monkeypatch.setattr("gridloom.platform.http.decode.body.time.monotonic", lambda: now[0])
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

    def test_stays_where_there_is_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [100.0]
        monkeypatch.setattr("gridloom.platform.http.decode.body.time.monotonic", lambda: now[0])
        budget = BodyBudget(100 * MEBIBYTE, share_bytes=50 * MEBIBYTE, min_bytes_per_s=64 * KIBIBYTE)
        with budget.hold("a") as slow, budget.hold("a") as new:
            slow.begin_receiving(lambda: pytest.fail("there is room"))
            slow.grow_to(20 * MEBIBYTE)
            now[0] += 30
            new.grow_to(30 * MEBIBYTE)


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

    async def test_that_dribbles_is_given_up_in_the_end(
        self, toys: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "BODY_IDLE_TIMEOUT_S", 2.0)
        monkeypatch.setattr(body, "BODY_TIMEOUT_S", 0.8)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0.01)
            return PIECE | {"body": b"x"}

        sent = await send_body(toys, receive)
        assert sent[0]["status"] == 400
        assert b"timed out" in sent[1]["body"]

    async def test_that_goes_on_in_time_is_waited_for(self, toys: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        """However long that takes altogether: each piece puts the end off."""
        monkeypatch.setattr(body, "BODY_IDLE_TIMEOUT_S", 4.0)
        pieces = [b'{"name": ', *[b" "] * 4, b'"Top"}']

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0.8)
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        sent = await send_body(toys, receive)
        assert sent[0]["status"] == 201
        assert pieces == []

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


class TestTheHolderOfABody:
    async def test_is_its_organisation_or_the_network_that_it_comes_from(
        self, toys: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        holders: list[Any] = []

        class Budget(BodyBudget):
            def hold(self, holder: Any = None) -> Any:
                holders.append(holder)
                return super().hold(holder)

        monkeypatch.setattr(toys, "bodies", Budget())
        for token, path in ((None, "/wishes"), ("ada", "/toys")):
            async with client_of(toys, token, address="203.0.113.7") as client:
                assert (await client.post(path, json={"name": "x"})).is_success
        ada = await Names().authenticate("ada")
        assert holders == [network_of("203.0.113.7"), ada.organisation_id]


class TestABodyThatIsSlow:
    async def test_is_answered_429_when_it_gives_way(self, toys: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(body, "PACE_WINDOW_S", 0.05)
        budget = BodyBudget(MEBIBYTE, share_bytes=MEBIBYTE, min_bytes_per_s=64 * KIBIBYTE)
        monkeypatch.setattr(toys, "bodies", budget)
        parts = [PIECE, PIECE]

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.Event().wait()
            return parts.pop()

        slow = asyncio.create_task(send_body(toys, receive))
        while parts:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        [holder] = budget._bytes_of
        with budget.hold(holder) as other:
            other.grow_to(MEBIBYTE)
            sent = await slow
        assert sent[0]["status"] == 429
        assert b'"share":"body-bytes"' in sent[1]["body"]
        assert budget.held_bytes == 0
