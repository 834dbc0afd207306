"""Auctions are fair to the millisecond, clear exactly once, and disclose no bid."""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import httpx2
from tests.auctions.conftest import Market, bid, wire
from tests.conftest import running
from tests.people import client_of

from gridloom.auctions.clearing import CLEARING, clear
from gridloom.platform.jobs import cancel
from gridloom.settings import Settings


@asynccontextmanager
async def skewed_replica(database_url: str, skew_s: int) -> AsyncIterator[str]:
    """A replica in a process whose own clock is off by some minutes; its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.auctions.skewed_replica", database_url, str(skew_s), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        port = int(await asyncio.wait_for(process.stdout.readline(), 120))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()


class TestTheOrderOfBids:
    async def test_is_one_and_an_acknowledged_bid_counts(self, market: Market):
        """Sixty-four racing bids: positions without gaps, and the ranking is the order of acknowledged prices."""
        auction = await market.auction()
        answers = await asyncio.gather(
            *(bid(trader, auction, 1 + number) for number in range(64) for trader in market.traders[:2])
        )
        assert {answer.status_code for answer in answers} == {201}
        rows = await market.edge.pool.fetch(
            "select position, id, placed_at from auction_bid where auction_id = $1 order by position", UUID(auction)
        )
        assert [row["position"] for row in rows] == list(range(1, 129))
        assert [row["placed_at"] for row in rows] == sorted(row["placed_at"] for row in rows)
        assert {str(row["id"]) for row in rows} == {answer.json()["id"] for answer in answers}

    async def test_ends_with_the_auction_and_not_a_millisecond_later(self, market: Market):
        """Bids rain while the auction closes: each 201 lies before the end, and the best of them wins."""
        now = await market.now()
        closing = now + timedelta(seconds=2)
        auction = await market.auction(end=wire(closing))
        prices = iter(range(1, 10_000))
        acknowledged: list[tuple[int, str]] = []

        async def rain(index: int) -> None:
            while True:
                price = next(prices)
                answer = await bid(market.traders[index], auction, price)
                if answer.status_code == 409:
                    return
                assert answer.status_code == 201
                assert datetime.fromisoformat(answer.json()["timestamp"]) < closing
                acknowledged.append((price, answer.json()["id"]))

        await asyncio.gather(*(rain(index % 3) for index in range(6)))
        async with asyncio.timeout(120):
            while (results := await market.operator.get(f"/auctions/{auction}/results")).status_code != 200:
                await asyncio.sleep(0.05)
        listed = {ranked["id"] for ranked in results.json()["bids"]}
        path = results.links["next"]["url"] if "next" in results.links else None
        while path:
            page = await market.operator.get(path)
            listed |= {ranked["id"] for ranked in page.json()["bids"]}
            path = page.links["next"]["url"] if "next" in page.links else None
        assert listed == {identifier for _, identifier in acknowledged}
        latest: dict[str, tuple[int, str]] = {}
        rows = await market.edge.pool.fetch(
            "select id, organisation_id, price_eur from auction_bid where auction_id = $1 order by position",
            UUID(auction),
        )
        for row in rows:
            latest[row["organisation_id"]] = (int(row["price_eur"]), str(row["id"]))
        assert results.json()["winningBidID"] == max(latest.values())[1]

    async def test_is_the_database_s_whatever_a_replica_s_clock_says(self, market: Market):
        """Replicas whose clocks are five minutes fast and five minutes slow give the same verdicts."""
        url = market.edge.resources[Settings].database_url
        assert url is not None
        now = await market.now()
        running_one = await market.auction()
        upcoming = await market.auction(start=wire(now + timedelta(minutes=4)))
        token = market.traders[0].trader.headers["authorization"].removeprefix("Bearer ")

        async def ask(skew_s: int) -> None:
            async with (
                skewed_replica(url, skew_s) as base_url,
                httpx2.AsyncClient(base_url=base_url, timeout=120) as client,
            ):
                client.headers["Authorization"] = f"Bearer {token}"
                placed = await client.post(f"/auctions/{running_one}/bids", json={"price": 5})
                early = await client.post(f"/auctions/{upcoming}/bids", json={"price": 5})
                assert (placed.status_code, early.status_code) == (201, 409)
                assert abs(datetime.fromisoformat(placed.json()["timestamp"]) - now) < timedelta(minutes=2)
                listed = (await client.get("/auctions?status=RUNNING")).json()
                assert running_one in [item["id"] for item in listed]
                assert upcoming not in [item["id"] for item in listed]

        await asyncio.gather(ask(-300), ask(300))


class TestClearing:
    async def test_happens_once_however_many_try(self, new_market: Callable[..., Awaitable[Market]]):
        """Eight runners race for each of a dozen closed auctions while connections die under them."""
        market = await new_market()
        pool = market.edge.pool
        batteries = [await market.battery() for _ in range(12)]
        auctions = [UUID(await market.auction(battery)) for battery in batteries]
        for number, auction in enumerate(auctions):
            if number % 4:
                await bid(market.traders[number % 3], str(auction), 10 + number)
            async with pool.acquire() as connection:
                await cancel(connection, CLEARING, str(auction))
        await pool.execute("update sandbox_clock set ahead = ahead + interval '2 hours'")
        dice = random.Random(7)

        async def runner() -> None:
            for auction in dice.sample(auctions, len(auctions)):
                try:
                    async with pool.acquire() as connection, connection.transaction():
                        await clear(connection, auction)
                        if dice.random() < 0.4:
                            await connection.execute("select pg_terminate_backend(pg_backend_pid())")
                except (asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError):
                    continue

        for _ in range(3):
            await asyncio.gather(*(runner() for _ in range(8)))
        rows = await pool.fetch(
            """
            select a.id, a.state, a.outcome, a.virtual_asset_id,
              (select count(*) from virtual_asset v where v.auction_id = a.id) as assets
            from auction a where a.id = any($1)
            """,
            auctions,
        )
        assert {row["state"] for row in rows} == {"CLEARED"}
        for row in rows:
            assert row["assets"] == (1 if row["outcome"] == "ALLOCATED" else 0)
        assert sum(row["outcome"] == "ALLOCATED" for row in rows) == 9
        for trader in market.traders:
            # In one statement: an event moves from one table to the other at any time.
            emitted = await pool.fetchval(
                """select (select count(*) from event where type = 'auction.cleared' and organisation_id = $1)
                     + (select count(*) from event_outbox where type = 'auction.cleared' and organisation_id = $1)""",
                trader.id,
            )
            assert emitted == len(auctions)

    async def test_is_done_by_a_second_replica_too(self, market: Market):
        trader = market.traders[0]
        token = trader.trader.headers["authorization"].removeprefix("Bearer ")
        async with running(market.edge.resources[Settings]) as other, client_of(other, token) as elsewhere:
            auction = await market.auction()
            answer = await elsewhere.post(f"/auctions/{auction}/bids", json={"price": 5})
            assert answer.status_code == 201
            await market.advance("PT1H")
            assert (await elsewhere.get(f"/auctions/{auction}")).json()["status"] == "WON"


class TestSecrecy:
    async def test_leaves_bids_out_of_the_audit_log_that_the_operator_reads(self, market: Market):
        auction, bidder = await market.auction(), market.traders[0]
        placed = await bid(bidder, auction, "12.50")
        withdrawn = await bidder.trader.delete(f"/auctions/{auction}/bids/{placed.json()['id']}")
        assert (placed.status_code, withdrawn.status_code) == (201, 204)
        own = (await bidder.admin.get("/audit-log", params={"resource": f"/auctions/{auction}"})).json()
        assert [entry["action"] for entry in own] == ["withdrawBid", "placeBid"]
        for form in ("application/json", "text/csv", "application/x-ndjson"):
            read = await market.operator.get("/audit-log?limit=1000", headers={"Accept": form})
            assert "createAuction" in read.text
            assert not [word for word in ("placeBid", "withdrawBid", placed.json()["id"]) if word in read.text]

    async def test_holds_in_every_byte_of_every_answer(self, new_market: Callable[..., Awaitable[Market]]):
        """A participant's whole view is the same with and without a competitor's losing bids."""
        alone, watched = [await self._view(await new_market(2), competitor=flag) for flag in (False, True)]
        assert alone == watched

    async def _view(self, market: Market, *, competitor: bool) -> list[str]:
        me, other = market.traders
        now = (await market.now()).replace(microsecond=0)
        auction = await market.auction(end=wire(now + timedelta(hours=1)), start=wire(now))
        answers: list[httpx2.Response] = []
        while not await market.edge.pool.fetchval("select count(*) from event where organisation_id = $1", me.id):
            await asyncio.sleep(0.02)

        async def look() -> None:
            answers.append(await me.trader.get("/auctions"))
            answers.append(await me.trader.get(f"/auctions/{auction}"))
            answers.append(await me.trader.get(f"/auctions/{auction}/bids"))

        await look()
        for price in (50, 60):
            if competitor:
                await bid(other, auction, price - 20)
            answers.append(await bid(me, auction, price))
            await look()
        answers.append(await me.trader.delete(f"/auctions/{auction}/bids/{answers[-4].json()['id']}"))
        if competitor:
            await bid(other, auction, 1)
        await look()
        await market.advance("PT1H")
        await look()
        while await market.edge.pool.fetchval("select count(*) from event_outbox"):
            await asyncio.sleep(0.02)
        events = await market.edge.pool.fetch(
            "select sequence, type, data from event where organisation_id = $1 order by sequence", me.id
        )
        told = [self._bare(f"{row['sequence']} {row['type']} {row['data']}") for row in events]
        return [self._bare(f"{a.status_code} {sorted(a.headers.items())} {a.text}") for a in answers] + told

    def _bare(self, text: str) -> str:
        """Without what differs between any two runs: ids, moments, request ids, what is left of the rate limit, and,
        where there is a standby, a sealed position (which is another one each time it is told)."""
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}", "ID", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "MOMENT", text)
        text = re.sub(r"'gridloom-position', '[0-9a-f]+\.[\w-]{48}'", "POSITION", text)
        text = re.sub(r"'content-length', '\d+'", "LENGTH", text)  # a moment may have milliseconds or none
        return re.sub(r'"standard";r=\d+;t=\d+', "LIMIT", text)
