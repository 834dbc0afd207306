"""Bids under an Idempotency-Key queue with the others, and have one effect however often they are sent."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.auctions.conftest import Market
from tests.emitted import events_of

from gridloom.auctions import bid_batching
from gridloom.auctions.bid_batching import BidBatcher
from gridloom.auctions.bid_store import PendingBid
from gridloom.platform.http.idempotency import IdempotencyKey


async def send(market: Market, auction: str, key: str, price: float = 5, trader: int = 0) -> Any:
    client = market.traders[trader].trader
    return await client.post(
        f"/auctions/{auction}/bids", json={"price": price}, headers={"Idempotency-Key": f"{auction} {key}"}
    )


class TestAKeyedBid:
    async def test_sent_again_is_answered_byte_for_byte(self, market: Market):
        auction = await market.auction()
        for price in ("12.5", "12.50", "0.01", "100", "1e2", "700.0", "10000000"):
            path, headers = f"/auctions/{auction}/bids", {"Idempotency-Key": f"{auction} {price}"}
            content, kind = f'{{"price":{price}}}', {"Content-Type": "application/json"}
            first, again = [
                await market.traders[0].trader.post(path, content=content, headers=headers | kind) for _ in range(2)
            ]
            assert (first.status_code, "Idempotency-Replayed" in first.headers) == (201, False), first.text
            assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
            assert again.content == first.content
            assert again.headers["Content-Type"] == first.headers["Content-Type"]
            assert again.json()["price"] == float(price)

    async def test_with_another_price_is_refused(self, market: Market):
        auction = await market.auction()
        await send(market, auction, "k", 5)
        assert (await send(market, auction, "k", 6)).status_code == 422

    async def test_sent_again_after_the_cancellation_is_answered_as_it_was(self, market: Market):
        auction = await market.auction()
        first = await send(market, auction, "k")
        assert (await market.operator.delete(f"/auctions/{auction}")).status_code == 204
        again, late = await send(market, auction, "k"), await send(market, auction, "late")
        assert (again.status_code, again.content, late.status_code) == (201, first.content, 409)

    async def test_whose_key_is_a_day_old_is_placed_anew(self, market: Market):
        auction = await market.auction()
        first = await send(market, auction, "k")
        await market.edge.pool.execute("update idempotency set created_at = created_at - interval '25 hours'")
        again = await send(market, auction, "k")
        assert (first.json()["sequence"], again.json()["sequence"]) == (1, 2)
        assert "Idempotency-Replayed" not in again.headers

    async def test_sent_many_times_at_once_is_placed_once(self, market: Market):
        auction = await market.auction()
        others = [send(market, auction, f"other {number}", 1, 1) for number in range(20)]
        same = [send(market, auction, "same", 7) for _ in range(20)]
        answers = await asyncio.gather(*(each for pair in zip(others, same, strict=True) for each in pair))
        assert {answer.status_code for answer in answers[0::2]} == {201}
        assert {answer.status_code for answer in answers[1::2]} <= {201, 409}
        bids = (await market.traders[0].trader.get(f"/auctions/{auction}/bids")).json()
        assert [bid["price"] for bid in bids] == [7]


def offer(key: IdempotencyKey | None) -> PendingBid:
    event: Any = None
    entry: Any = None
    return PendingBid(UUID(int=1), UUID(int=2), UUID(int=3), uuid4(), Decimal(1), event, entry, key, "")


class TestABatch:
    async def test_is_as_large_as_a_statement_takes_and_fails_alone(self, monkeypatch: pytest.MonkeyPatch):
        """What has queued behind the first is placed by twos; each bid learns what became of itself."""
        placed: list[list[UUID]] = []

        async def place(_: Any, offers: list[PendingBid]) -> list[str]:
            placed.append([one.bid_id for one in offers])
            await asyncio.sleep(0)
            if len(placed) == 2:
                raise ConnectionError("lost")
            return [f"placed {one.bid_id}" for one in offers]

        monkeypatch.setattr(bid_batching, "place_bids", place)
        monkeypatch.setattr(bid_batching, "MAX_BATCH_SIZE", 2)
        pool: Any = None
        batcher, offers = BidBatcher(pool), [offer(None) for _ in range(6)]
        answers = await asyncio.gather(*(batcher.place(one) for one in offers), return_exceptions=True)
        ids = [one.bid_id for one in offers]
        assert placed == [ids[:1], ids[1:3], ids[3:5], ids[5:]]
        expected = [f"placed {ids[0]}", "lost", "lost", *(f"placed {id}" for id in ids[3:])]
        assert [str(answer) for answer in answers] == expected

    async def test_answers_the_others_where_one_of_its_callers_has_gone(self, monkeypatch: pytest.MonkeyPatch):
        is_first_placed = asyncio.Event()

        async def place(_: Any, offers: list[PendingBid]) -> list[str]:
            await is_first_placed.wait()
            return [f"placed {one.bid_id}" for one in offers]

        monkeypatch.setattr(bid_batching, "place_bids", place)
        pool: Any = None
        batcher, offers = BidBatcher(pool), [offer(None) for _ in range(4)]
        placing = [asyncio.create_task(batcher.place(one)) for one in offers]
        await asyncio.sleep(0)
        placing[1].cancel()
        is_first_placed.set()
        first, gone, *others = await asyncio.gather(*placing, return_exceptions=True)
        assert isinstance(gone, asyncio.CancelledError)
        assert [str(one) for one in (first, *others)] == [f"placed {one.bid_id}" for one in (offers[0], *offers[2:])]


class TestABidByParts:
    """As a distributed database takes it: a statement for each table."""

    async def test_has_its_place_its_event_its_entry_and_its_safe_retry(self, market: Market) -> None:
        pool: Any = market.edge.pool
        auction = await market.auction()
        pool.is_distributed = True
        try:
            first, again = await send(market, auction, "k", 12.5), await send(market, auction, "k", 12.5)
            other = await send(market, auction, "l", 13)
            refused = await send(market, auction, "k", 14)
            rush = await asyncio.gather(*(send(market, auction, f"rush {number}", 15) for number in range(4)))
        finally:
            pool.is_distributed = False
        assert (first.status_code, again.status_code, other.status_code, refused.status_code) == (201, 201, 201, 422)
        assert again.content == first.content
        assert (first.json()["sequence"], other.json()["sequence"]) == (1, 2)
        assert sorted(answer.json()["sequence"] for answer in rush) == [3, 4, 5, 6], "some of them in one statement"
        rows = await pool.fetch("select id from auction_bid where auction_id = $1 order by position", UUID(auction))
        assert [str(row["id"]) for row in rows][:2] == [first.json()["id"], other.json()["id"]]
        entries = await market.traders[0].admin.get("/audit-log", params={"resource": f"/auctions/{auction}/bids"})
        assert len(entries.json()) == 6
        told = await events_of(pool, market.traders[0].id, subject=f"auctions/{auction}")
        assert {row["id"] for row in rows} == {UUID(one.data["bidID"]) for one in told if one.type == "bid.placed"}

    async def test_that_is_late_leaves_nothing(self, market: Market) -> None:
        pool: Any = market.edge.pool
        auction = await market.auction()
        await market.advance("PT2H")
        pool.is_distributed = True
        try:
            assert (await send(market, auction, "late")).status_code == 409
        finally:
            pool.is_distributed = False
        assert await pool.fetchval("select count(*) from auction_bid where auction_id = $1", UUID(auction)) == 0
