"""What each is told of an auction and of no other, and what is refused of it, to the field."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.auctions.conftest import HOUR, Market, bid, wire
from tests.concurrency import await_blocked
from tests.emitted import events_of

from gridloom.auctions import store
from gridloom.auctions.bid_batching import BidBatcher
from gridloom.auctions.bid_store import PlacementResult
from gridloom.auctions.clearing import clear
from gridloom.capacity.store import lock_batteries

HELD_UP_BID = """
  select count(*) from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%place_auction_bid%'
"""


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

    async def test_that_is_cancelled_is_told_to_each_with_the_reason_and_its_own_status(self, market: Market) -> None:
        auction = await market.auction()
        await bid(market.traders[1], auction, 5)
        before = await market.now()
        assert (await market.operator.delete(f"/auctions/{auction}")).status_code == 204
        after = await market.now()
        told = [await events_of(market.edge.pool, one.id, subject=f"auctions/{auction}") for one in market.traders]
        assert [each[-1].type for each in told] == ["auction.cancelled"] * 3
        assert [each[-1].data for each in told] == [
            {"auctionID": auction, "reason": "BY_OPERATOR", "status": status}
            for status in ("NO_BIDS_SUBMITTED", "LOST", "NO_BIDS_SUBMITTED")
        ]
        cancelled = (await market.operator.get(f"/auctions/{auction}")).json()["cancelled"]
        assert cancelled["reason"] == "BY_OPERATOR"
        # Stored to the nearest millisecond.
        millisecond = timedelta(milliseconds=1)
        assert before - millisecond <= datetime.fromisoformat(cancelled["at"]) <= after + millisecond

    async def test_is_judged_by_what_its_batteries_have_once_nothing_changes_them(self, market: Market) -> None:
        """The outage that grows while it is cleared is seen, and nothing is sold."""
        battery, pool = await market.battery(4000), market.edge.pool
        auction = await market.auction(battery)
        await bid(market.traders[0], auction, 5)
        await market.lose(battery, auction, 100)
        async with pool.acquire() as changing, pool.acquire() as connection:
            await connection.execute("update auction set closes_at = platform_now() where id = $1", UUID(auction))
            async with changing.transaction():
                [key] = await lock_keys(changing, battery)
                clearing = asyncio.ensure_future(clear_in_transaction(connection, auction))
                await await_blocked(market.edge, changing, clearing)
                await changing.execute(
                    """update unavailability set charge_power_kw = 4000, discharge_power_kw = 4400, energy_kwh = 8000
                       where asset_key = $1""",
                    key,
                )
            await clearing
        seen = (await market.operator.get(f"/auctions/{auction}")).json()
        assert (seen["state"], seen["cancelled"]["reason"]) == ("CANCELLED", "NOT_DELIVERABLE")


async def lock_keys(connection: Any, battery: str) -> list[int]:
    key = await connection.fetchval("select key from asset where id = $1", UUID(battery))
    return list((await lock_batteries(connection, [key])).keys)


async def clear_in_transaction(connection: Any, auction: str) -> None:
    async with connection.transaction():
        await clear(connection, UUID(auction))


class TestAChange:
    async def test_names_only_what_there_is_and_windows_that_last(self, market: Market) -> None:
        now = await market.now()
        auction = await market.auction(start=wire(now + HOUR), end=wire(now + 2 * HOUR))
        path, unknown = f"/auctions/{auction}", str(uuid4())
        before = (await market.operator.get(path)).json()
        invited = await market.operator.put(f"{path}/participants", json=[str(market.traders[0].id), unknown])
        backed = await market.operator.patch(path, json={"backing": [{"physicalAssetID": unknown, "share": 1}]})
        terms = await market.terms(before["backing"][0]["physicalAssetID"])
        empty = terms["item"] | {"end": terms["item"]["start"]}
        refused = [
            (invited, 422, "/participants"),
            (backed, 422, "/backing"),
            (await market.operator.patch(path, json={"end": before["start"]}), 400, "/end"),
            (await market.operator.patch(path, json={"item": empty}), 400, "/item/end"),
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
                change = asyncio.ensure_future(market.operator.patch(f"/auctions/{auction}", json={"hurdlePrice": 5}))
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
    async def test_that_waited_with_others_is_told_its_own_place(self, market: Market) -> None:
        auction, pool = await market.auction(), market.edge.pool
        first, second, third = market.traders
        async with pool.acquire() as connection:
            async with connection.transaction():
                await store.lock(connection, UUID(auction))
                waiting = [asyncio.create_task(bid(first, auction, 5))]
                async with asyncio.timeout(120):
                    while not await pool.fetchval(HELD_UP_BID):
                        await asyncio.sleep(0.02)
                coming = ((first, 6), (second, 7), (first, 8), (third, 9))
                waiting += [asyncio.create_task(bid(trader, auction, price)) for trader, price in coming]
                await asyncio.sleep(0.1)  # for them to queue behind it
            told = [answer.json() for answer in await asyncio.gather(*waiting)]
        for trader in market.traders:
            listed = (await trader.trader.get(f"/auctions/{auction}/bids")).json()
            by_id = {one["id"]: one for one in listed}
            assert by_id == {one["id"]: one for one in told if one["id"] in by_id}
            assert [one["sequence"] for one in listed] == list(range(len(listed), 0, -1))

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
