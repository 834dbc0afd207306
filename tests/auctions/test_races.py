"""What happens at the same time, or at a bad one: changes at the opening, cancelled auctions, failures, resets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.auctions.conftest import Market, bid, wire
from tests.concurrency import await_blocked

from gridloom.auctions import clearing, store
from gridloom.auctions.clearing import CLEARING, OPENING, clear, open_auction
from gridloom.platform.jobs import JobRun
from gridloom.platform.jobs import cancel as cancel_job
from gridloom.virtual_assets.allocation import allocate


async def due_of(market: Market, kind: str, auction: str) -> Any:
    return await market.edge.pool.fetchval("select due from job where kind = $1 and key = $2", kind, auction)


async def told(market: Market, type: str, auction: str) -> int:
    count: int = await market.edge.pool.fetchval(
        """
        select (select count(*) from event where type = $1 and subject = $2 and organisation_id = origin_id)
             + (select count(*) from event_outbox where type = $1 and subject = $2)
        """,
        type,
        f"auctions/{auction}",
    )
    return count


class TestABid:
    async def test_of_one_who_is_uninvited_while_it_waits_is_refused(self, market: Market):
        auction, trader = await market.auction(), market.traders[0]
        async with market.edge.pool.acquire() as connection:
            async with connection.transaction():
                await store.lock(connection, UUID(auction))
                waiting = asyncio.create_task(bid(trader, auction, 5))
                await asyncio.sleep(0.1)
                await store.replace_participants(connection, UUID(auction), [market.traders[1].id])
            assert (await waiting).status_code == 403

    async def test_sent_again_with_its_key_counts_once(self, market: Market):
        auction, trader = await market.auction(), market.traders[0].trader
        for key, expected in (("a", None), ("a", "true"), ("b", None)):
            answer = await trader.post(
                f"/auctions/{auction}/bids", json={"price": 5}, headers={"Idempotency-Key": f"{auction}{key}"}
            )
            assert (answer.status_code, answer.headers.get("Idempotency-Replayed")) == (201, expected)
        assert [item["sequence"] for item in (await trader.get(f"/auctions/{auction}/bids")).json()] == [2, 1]
        entries = (await market.traders[0].admin.get(f"/audit-log?resource=/auctions/{auction}")).json()
        assert [(entry["action"], entry["status"]) for entry in entries] == [("placeBid", 201)] * 2

    async def test_that_is_withdrawn_at_the_close_or_later_still_counts(self, market: Market):
        auction, (first, second, *_) = await market.auction(), market.traders
        placed = (await bid(first, auction, 9)).json()["id"]
        await bid(second, auction, 5)
        await market.advance("PT1H")
        late = await first.trader.delete(f"/auctions/{auction}/bids/{placed}")
        assert (late.status_code, late.json()["type"]) == (409, "/docs/problems/auction-not-open")
        assert await market.status(auction, first) == "WON"
        assert [each["withdrawn"] for each in (await first.trader.get(f"/auctions/{auction}/bids")).json()] == [False]

    async def test_that_is_withdrawn_between_the_close_and_the_clearing_still_counts(self, market: Market):
        auction, trader = await market.auction(), market.traders[0]
        placed = (await bid(trader, auction, 9)).json()["id"]
        # Closed without its job, as if the clearing were late.
        await market.edge.pool.execute("update auction set closes_at = platform_now() where id = $1", UUID(auction))
        late = await trader.trader.delete(f"/auctions/{auction}/bids/{placed}")
        assert (late.status_code, late.json()["type"]) == (409, "/docs/problems/auction-not-open")

    async def test_is_withdrawn_and_its_auction_changed_in_turn_with_all_that_happens_to_it(self, market: Market):
        """A bid that is placed, a clearing and another change hold the auction's lock: what they have seen stays so."""
        running, trader = await market.auction(), market.traders[0]
        later = await market.auction(start=wire(await market.now() + timedelta(minutes=9)))
        placed = (await bid(trader, running, 9)).json()["id"]
        for auction, change in (
            (running, trader.trader.delete(f"/auctions/{running}/bids/{placed}")),
            (later, market.operator.change(f"/auctions/{later}", json={"hurdlePrice": 5})),
            (later, market.operator.put(f"/auctions/{later}/participants", json=[])),
            (later, market.operator.delete(f"/auctions/{later}")),
        ):
            async with market.edge.pool.acquire() as connection:
                async with connection.transaction():
                    await store.lock(connection, UUID(auction))
                    asked = asyncio.ensure_future(change)
                    await await_blocked(market.edge, connection, asked)
                    assert not asked.done()
                assert (await asked).status_code in (200, 204)

    async def test_that_was_refused_leaves_no_trace(self, market: Market):
        auction, trader = await market.auction(start=wire(await market.now() + timedelta(minutes=9))), market.traders[0]
        assert (await bid(trader, auction, 5)).status_code == 409
        assert (await trader.admin.get(f"/audit-log?resource=/auctions/{auction}")).json() == []
        assert await told(market, "bid.placed", auction) == 0

    async def test_has_its_events_in_the_order_of_bids(self, market: Market):
        auction, pool = await market.auction(), market.edge.pool
        answers = await asyncio.gather(*(bid(market.traders[0], auction, 1 + number) for number in range(20)))
        in_order = [a.json()["id"] for a in sorted(answers, key=lambda a: int(a.json()["sequence"]))]
        while await pool.fetchval("select exists (select from event_outbox)"):
            await asyncio.sleep(0.02)
        events = await pool.fetch(
            "select data ->> 'bidID' as bid from event where type = 'bid.placed' and subject = $1 order by sequence",
            f"auctions/{auction}",
        )
        assert [row["bid"] for row in events] == in_order


HELD_UP_BID = """
  select pid from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%place_auction_bid%'
"""


class TestARush:
    async def test_on_one_auction_leaves_the_others_their_connections(self, market: Market):
        """Forty bids wait for one auction's lock; other requests are answered."""
        rushed, quiet = await market.auction(), await market.auction()
        assert await market.status(rushed, market.traders[0]) == "RUNNING"  # so that the token is known
        async with market.edge.pool.acquire() as connection:
            async with connection.transaction():
                await store.lock(connection, UUID(rushed))
                waiting = [asyncio.create_task(bid(market.traders[0], rushed, 5 + n)) for n in range(40)]
                await asyncio.sleep(0.1)
                async with asyncio.timeout(120):
                    assert (await bid(market.traders[0], quiet, 5)).status_code == 201
                    assert await market.status(rushed, market.traders[0]) == "RUNNING"
                assert not any(task.done() for task in waiting)
            answers = await asyncio.gather(*waiting)
        assert {answer.status_code for answer in answers} == {201}
        rows = await market.edge.pool.fetch(
            "select price_eur from auction_bid where auction_id = $1 order by position", UUID(rushed)
        )
        assert [int(row["price_eur"]) for row in rows] == list(range(5, 45)), "first come, first placed"

    async def test_goes_on_after_a_statement_that_failed(self, market: Market):
        auction, pool = await market.auction(), market.edge.pool
        async with pool.acquire() as connection:
            async with connection.transaction():
                await store.lock(connection, UUID(auction))
                waiting = [asyncio.create_task(bid(market.traders[0], auction, 5))]
                # By another connection: a transaction goes on seeing what it saw at its first look.
                async with asyncio.timeout(120):
                    while not await pool.fetchval(f"select count(*) from ({HELD_UP_BID})"):
                        await asyncio.sleep(0.02)
                waiting += [asyncio.create_task(bid(market.traders[0], auction, 6 + n)) for n in range(4)]
                await asyncio.sleep(0.1)  # for them to queue behind it
                assert await pool.fetchval(f"select count(pg_terminate_backend(pid)) from ({HELD_UP_BID})") == 1
            statuses = [answer.status_code for answer in await asyncio.gather(*waiting)]
        assert statuses == [503, 201, 201, 201, 201]


class TestCancelling:
    async def test_while_bids_come_in_is_all_or_nothing(self, market: Market):
        auction = await market.auction()
        coming = [asyncio.create_task(bid(market.traders[n % 3], auction, 5 + n)) for n in range(20)]
        cancelled = await market.operator.delete(f"/auctions/{auction}")
        assert cancelled.status_code == 204
        assert {answer.status_code for answer in await asyncio.gather(*coming)} <= {201, 409}
        assert (await due_of(market, OPENING, auction), await due_of(market, CLEARING, auction)) == (None, None)
        await market.advance("PT2H")
        assert (await market.operator.get(f"/auctions/{auction}")).json()["state"] == "CANCELLED"
        assert await told(market, "auction.cleared", auction) == 0


class TestOpening:
    async def test_waits_for_a_change_that_began_before_it(self, market: Market):
        """The operator's change moves the opening just as it comes: participants are notified then, and not before."""
        now, pool = await market.now(), market.edge.pool
        auction = await market.auction(start=wire(now + timedelta(minutes=10)))
        async with pool.acquire() as changing, pool.acquire() as connection:
            async with changing.transaction():
                await store.lock(changing, UUID(auction))
                await store.lock_terms(changing, UUID(auction))
                opening = asyncio.create_task(self._open(connection, auction))
                await asyncio.sleep(0.1)
                assert not opening.done()
                await changing.execute(
                    "update auction set opens_at = opens_at + interval '9 minutes' where id = $1", UUID(auction)
                )
            await opening
        assert await told(market, "auction.opened", auction) == 0
        assert await due_of(market, OPENING, auction) - now > timedelta(minutes=18)
        await market.advance("PT20M")
        assert await told(market, "auction.opened", auction) == 3

    async def test_of_an_auction_that_was_cancelled_is_told_to_nobody(self, market: Market):
        auction = await market.auction()
        assert (await market.operator.delete(f"/auctions/{auction}")).status_code == 204
        before = await told(market, "auction.opened", auction)
        async with market.edge.pool.acquire() as connection:
            await self._open(connection, auction)
        assert await told(market, "auction.opened", auction) == before

    async def _open(self, connection: Any, auction: str) -> None:
        async with connection.transaction():
            due = await connection.fetchval("select platform_now()")
            await open_auction(JobRun(db=connection, kind=OPENING, key=auction, payload={}, due=due, attempt=1))


class TestClearing:
    async def test_that_comes_early_is_planned_anew(self, market: Market):
        now, pool = await market.now(), market.edge.pool
        auction = await market.auction()
        async with pool.acquire() as connection, connection.transaction():
            await cancel_job(connection, CLEARING, auction)
            await clear(connection, UUID(auction))
        assert await due_of(market, CLEARING, auction) - now > timedelta(minutes=59)
        await market.advance("PT1H")
        assert await market.status(auction, market.traders[0]) == "NO_BIDS_SUBMITTED"

    async def test_that_failed_is_tried_again_and_leaves_nothing_of_the_failure(
        self, market: Market, monkeypatch: pytest.MonkeyPatch
    ):
        failures, is_full = 0, True

        async def allocate_badly(*arguments: Any) -> Any:
            nonlocal failures
            asset = await allocate(*arguments)
            if is_full:
                failures += 1
                raise RuntimeError("the disk is full")
            return asset

        monkeypatch.setattr(clearing, "allocate", allocate_badly)
        auction, trader = await market.auction(), market.traders[0]
        await bid(trader, auction, 5)
        await market.advance("PT1H")
        async with asyncio.timeout(120):
            while failures < 2:
                await asyncio.sleep(0.05)
        assert await market.status(auction, trader) == "PENDING"
        is_full = False
        async with asyncio.timeout(120):
            while await market.status(auction, trader) != "WON":
                await asyncio.sleep(0.05)
        assert await told(market, "auction.cleared", auction) == 3
        made = await market.edge.pool.fetchval(
            "select count(*) from virtual_asset where auction_id = $1", UUID(auction)
        )
        assert made == 1

    async def test_keeps_what_it_has_offered_of_a_battery_that_retires(self, market: Market):
        battery = await market.battery()
        auction = await market.auction(battery, minimumAvailability=0)
        await bid(market.traders[0], auction, 5)
        refused = await market.owner.admin.change(f"/physical-assets/{battery}", json={"status": "INACTIVE"})
        assert refused.status_code == 409, refused.text
        await market.lose(battery, auction, 10_000)
        retired = await market.owner.admin.change(f"/physical-assets/{battery}", json={"status": "INACTIVE"})
        assert retired.status_code == 200, retired.text
        await market.advance("PT1H")
        results = (await market.operator.get(f"/auctions/{auction}/results")).json()
        assert (results["outcome"], results["bids"][0]["fate"]) == ("ALLOCATED", "WON")
        refused = await market.operator.post("/auctions", json=await market.terms(battery))
        assert refused.status_code == 409, refused.text

    async def test_of_auctions_that_share_batteries_in_any_order_never_stops(self, market: Market):
        """Two batteries back two auctions in opposite orders; both are cleared at the same moment."""
        one, two = await market.battery(20_000), await market.battery(20_000)
        halves = [{"physicalAssetID": battery, "share": 0.5} for battery in (one, two)]
        auctions = [await market.auction(backing=backing) for backing in (halves, halves[::-1]) for _ in range(2)]
        for auction in auctions:
            await bid(market.traders[0], auction, 5)
        for auction in auctions:
            async with market.edge.pool.acquire() as connection:
                await cancel_job(connection, CLEARING, auction)
        await market.edge.pool.execute("update sandbox_clock set ahead = ahead + interval '2 hours'")

        async def clear_one(auction: str) -> None:
            async with market.edge.pool.acquire() as connection, connection.transaction():
                await clear(connection, UUID(auction))

        await asyncio.gather(*(clear_one(auction) for auction in auctions))
        assert [await market.status(auction, market.traders[0]) for auction in auctions] == ["WON"] * 4


class TestAList:
    async def test_by_status_pages_without_gap_or_double(self, still_market: Market):
        market, trader = still_market, still_market.traders[0].trader
        """Whether they opened one after the other or at the same time."""
        now = await market.now()
        battery = await market.battery(32_000)
        expected = [await market.auction(battery, start=wire(now)) for _ in range(3)]
        expected += [await market.auction(battery) for _ in range(3)]
        await market.auction(battery, start=wire(now + timedelta(minutes=50)))
        listed, path = [], "/auctions?status=RUNNING&limit=2"
        while path:
            page = await trader.get(path)
            listed += [item["id"] for item in page.json()]
            path = page.links["next"]["url"] if "next" in page.links else ""
            if len(listed) == 2:
                await market.auction(battery)  # the newest come first, and they have been read
        assert listed == expected[::-1]


class TestAReset:
    async def test_amid_bids_and_clearing_leaves_an_empty_platform_that_works(
        self, new_market: Callable[..., Awaitable[Market]]
    ):
        market = await new_market(2)
        pool = market.edge.pool
        auctions = [await market.auction() for _ in range(6)]
        for auction in auctions[:3]:
            await bid(market.traders[0], auction, 5)
        await pool.execute(
            "update auction set closes_at = platform_now() where id = any($1)", [*map(UUID, auctions[:3])]
        )
        await pool.execute(
            "update job set due = platform_now() where kind = $1 and key = any($2)", CLEARING, auctions[:3]
        )
        await pool.execute("select pg_notify('gridloom_job', '')")
        racing = [asyncio.create_task(bid(market.traders[n % 2], auctions[3 + n % 3], 5)) for n in range(12)]
        assert (await market.operator.post("/sandbox/reset")).status_code == 204
        assert {answer.status_code for answer in await asyncio.gather(*racing)} <= {201, 401, 403, 404, 503}
        assert (await market.operator.get("/auctions")).json() == []
        for table in ("auction", "auction_bid", "virtual_asset", "capacity_holding"):
            assert await pool.fetchval(f"select count(*) from {table}") == 0, table
        assert await pool.fetchval("select count(*) from job where kind like 'auction.%'") == 0
        market.owner = await market.people.new_organisation("Owner")
        market.traders = [await market.people.new_organisation("Trader")]
        auction = await market.auction()
        assert (await bid(market.traders[0], auction, 5)).status_code == 201
        await market.advance("PT1H")
        assert await market.status(auction, market.traders[0]) == "WON"
