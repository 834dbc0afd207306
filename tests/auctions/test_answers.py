"""What each is told of an auction and of no other, and what is refused of it, to the field."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.auctions.conftest import HOUR, Market, bid, wire
from tests.concurrency import await_blocked

from gridloom.auctions import store
from gridloom.auctions.bid_batching import BidBatcher
from gridloom.auctions.bid_store import PlacementResult


class TestAnAuction:
    async def test_is_told_with_its_own_minimum_version_and_bids(self, market: Market) -> None:
        now = await market.now()
        other = await market.auction(start=wire(now + HOUR), end=wire(now + 2 * HOUR))
        tag = (await market.operator.get(f"/auctions/{other}")).headers["etag"]
        auction = await market.auction(minimumAvailability=0.7)
        shown = await market.traders[0].trader.get(f"/auctions/{auction}")
        seen = await market.operator.get(f"/auctions/{auction}")
        assert (shown.json()["minimumAvailability"], seen.json()["minimumAvailability"]) == (0.7, 0.7)
        assert shown.headers["etag"] == seen.headers["etag"]
        rival = await market.auction()
        assert (await bid(market.traders[0], rival, 5)).status_code == 201
        placed = (await bid(market.traders[0], auction, 5)).json()["id"]
        assert (await market.traders[0].trader.delete(f"/auctions/{auction}/bids/{placed}")).status_code == 204
        assert (await market.operator.get(f"/auctions/{auction}")).json()["hasBid"] is False
        listed = (await market.operator.get("/auctions", params={"status": "RUNNING", "limit": 1000})).json()
        assert {one["id"]: one["hasBid"] for one in listed if one["id"] in (auction, rival)} == {
            auction: False,
            rival: True,
        }
        invited = await market.operator.put(f"/auctions/{other}/participants", json=[str(market.traders[1].id)])
        assert invited.headers["etag"] != tag
        assert (await market.operator.get(f"/auctions/{auction}")).headers["etag"] == seen.headers["etag"]


class TestAChange:
    async def test_names_only_what_there_is_and_windows_that_last(self, market: Market) -> None:
        now = await market.now()
        auction = await market.auction(start=wire(now + HOUR), end=wire(now + 2 * HOUR))
        path, unknown = f"/auctions/{auction}", str(uuid4())
        before = (await market.operator.get(path)).json()
        invited = await market.operator.put(f"{path}/participants", json=[str(market.traders[0].id), unknown])
        backed = await market.operator.change(path, json={"backing": [{"physicalAssetID": unknown, "share": 1}]})
        terms = await market.terms(before["backing"][0]["physicalAssetID"])
        empty = terms["item"] | {"end": terms["item"]["start"]}
        refused = [
            (invited, 422, "/participants"),
            (backed, 422, "/backing"),
            (await market.operator.change(path, json={"end": before["start"]}), 400, "/end"),
            (await market.operator.change(path, json={"item": empty}), 400, "/item/end"),
        ]
        for answer, status, pointer in refused:
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (status, pointer), answer.text
        assert (await market.operator.get(path)).json() == before

    async def test_waits_for_the_opening_and_sees_what_came_of_it(self, market: Market) -> None:
        """Who holds the terms has the auction open meanwhile: it takes no other terms any more."""
        now = await market.now()
        auction = await market.auction(start=wire(now + HOUR), end=wire(now + 2 * HOUR))
        async with market.edge.pool.acquire() as connection:
            async with connection.transaction():
                await store.read_locked_terms(connection, UUID(auction))
                change = asyncio.ensure_future(market.operator.change(f"/auctions/{auction}", json={"hurdlePrice": 5}))
                await await_blocked(market.edge, connection, change)
                await connection.execute(
                    "update auction set opens_at = platform_now() - interval '1 s' where id = $1", UUID(auction)
                )
            assert (await change).status_code == 409


class TestARevenueGrant:
    async def test_is_for_whoever_is_not_invited_itself(self, market: Market) -> None:
        battery, (invited, stranger, *_) = await market.battery(), market.traders
        await market.auction(battery, participants=[str(invited.id)])
        for trader, status in ((stranger, 200), (invited, 409)):
            grant = f"/physical-assets/{battery}/grants/{trader.id}"
            answer = await market.owner.admin.put(grant, json={"permissions": ["Read:revenue"]})
            assert answer.status_code == status, answer.text


class TestABid:
    async def test_whose_first_attempt_is_under_way_is_asked_to_come_again(
        self, market: Market, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        auction = await market.auction()

        async def place(*_: Any) -> PlacementResult:
            return PlacementResult("IN_PROGRESS", *(None,) * 8)

        monkeypatch.setattr(BidBatcher, "place", place)
        answer = await market.traders[0].trader.post(
            f"/auctions/{auction}/bids", json={"price": 5}, headers={"Idempotency-Key": "k"}
        )
        assert answer.status_code == 409, answer.text
