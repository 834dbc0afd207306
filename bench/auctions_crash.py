"""500 auctions close at once, 8 processes race to clear them, and `kill -9` strikes at random.

In the end each has one winner and one virtual asset with its block and its backing, or nothing and a reason; and every
participant was told once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg

from bench.auctions import Scene
from bench.harness import Harness
from bench.runners import Runners

AUCTIONS, PROCESSES, MOST_S = 500, 8, 240.0
QUICK_AUCTIONS, QUICK_PROCESSES = 20, 3
HURDLE_EUR = 50
PAUSE_S, PATIENCE_S = 0.05, 1.0
"""Between two kills on average, and the longest wait for the runners to get anything done after one."""


@dataclass
class Found:
    """What was found when it was over; `wrong` says what should not be."""

    kills: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def figures(self) -> dict[str, Any]:
        return {"kills": self.kills, "seconds": round(self.seconds, 1), **self.outcomes, "wrong": self.wrong[:10]}


async def storm(database_url: str, auctions: list[UUID], processes: int, seed: int = 5) -> Found:
    """Close the auctions by moving the clock past their ends, and kill runners until all are cleared."""
    chance, found = random.Random(seed), Found()
    connection = await asyncpg.connect(database_url)
    try:
        with Runners(database_url, processes) as runners:
            await connection.execute("update sandbox_clock set ahead = ahead + interval '2 hours'")
            began = time.monotonic()
            found.kills += await asyncio.to_thread(runners.kill_one, chance)  # they may be done before the next
            while left := await _unsettled(connection, auctions):
                if time.monotonic() - began > MOST_S:
                    found.wrong.append(f"not done after {MOST_S} s")
                    break
                await asyncio.sleep(chance.uniform(0, 2 * PAUSE_S))
                found.kills += await asyncio.to_thread(runners.kill_one, chance)
                killed = time.monotonic()
                while left == await _unsettled(connection, auctions) and time.monotonic() - killed < PATIENCE_S:
                    await asyncio.sleep(0.005)
            found.seconds = time.monotonic() - began
        await _inspect(connection, auctions, found)
    finally:
        await connection.close()
    return found


async def _unsettled(connection: asyncpg.Connection, auctions: list[UUID]) -> int:
    count: int = await connection.fetchval(
        """
        select count(*) from auction a where a.id = any($1)
          and (a.state <> 'CLEARED' or exists (select from job where key = a.id::text))
        """,
        auctions,
    )
    return count


async def _inspect(connection: asyncpg.Connection, auctions: list[UUID], found: Found) -> None:
    rows = await connection.fetch(
        """
        select a.id, a.state, a.outcome, a.outcome_detail, a.winner_id, a.winning_bid_id, a.virtual_asset_id,
          best.id as best_bid_id,
          (select array_agg(s.id) from virtual_asset v join asset s on s.key = v.asset_key
           where v.auction_id = a.id and v.organisation_id = a.winner_id) as assets,
          (select count(*) from virtual_asset v where v.auction_id = a.id) as made,
          (select count(*) from virtual_asset v join virtual_block b using (asset_key)
           where v.auction_id = a.id) as blocks,
          (select coalesce(sum(b.share), 0) from virtual_asset v join virtual_backing b using (asset_key)
           where v.auction_id = a.id) as backed,
          (select count(*) from auction_participant p where p.auction_id = a.id) as invited,
          (select count(*) from event e where e.type = 'auction.cleared' and e.subject = 'auctions/' || a.id
             and e.organisation_id = e.origin_id)
          + (select count(*) from event_outbox o where o.type = 'auction.cleared' and o.subject = 'auctions/' || a.id)
            as told
        from auction a
        left join lateral (
          select id from (
            select distinct on (organisation_id) id, price_eur, position from auction_bid
            where auction_id = a.id and withdrawn_at is null order by organisation_id, position desc) standing
          where a.hurdle_price_eur is null or price_eur >= a.hurdle_price_eur
          order by price_eur desc, position limit 1) best on true
        where a.id = any($1)
        """,
        auctions,
    )
    if len(rows) != len(auctions):
        found.wrong.append(f"{len(auctions) - len(rows)} auctions are missing")
    for row in rows:
        found.outcomes[row["outcome"] or row["state"]] += 1
        found.wrong += [f"{row['id']}: {what}" for what in faults_of(row)]


def faults_of(row: Any) -> list[str]:
    """What is not as it should be with one auction."""
    if row["state"] != "CLEARED":
        return ["is not cleared"]
    faults = []
    if row["told"] != row["invited"]:
        faults.append(f"told {row['told']} times to {row['invited']} participants")
    if row["outcome"] == "ALLOCATED":
        if row["winning_bid_id"] != row["best_bid_id"]:
            faults.append("the best bid did not win")
        if row["made"] != 1 or row["assets"] != [row["virtual_asset_id"]]:
            faults.append(f"{row['made']} virtual assets, {row['assets']} of the winner")
        if row["blocks"] != 1 or abs(row["backed"] - 1) > 1e-9:
            faults.append(f"{row['blocks']} blocks, backed to {row['backed']}")
        return faults
    if row["made"] or row["winner_id"]:
        faults.append(f"{row['outcome']}, and yet a winner or an asset")
    if not row["outcome_detail"]:
        faults.append(f"{row['outcome']} without a reason")
    if (row["best_bid_id"] is None) != (row["outcome"] == "NO_VALID_BID"):
        faults.append(f"{row['outcome']} although the best bid is {row['best_bid_id']}")
    return faults


def make_auctions(harness: Harness, count: int) -> list[UUID]:
    """Of ten auctions two end without a valid bid; of those that share a small battery one goes empty."""
    scene = Scene(harness, 3)
    auctions, battery = [], ""
    for number in range(count):
        if number % 10 == 0:
            battery = scene.new_battery(730)  # for 7 of 8 auctions of 100 kW with a valid bid
        [auction] = scene.auctions(1, battery=battery, hurdle_eur=HURDLE_EUR)
        auctions.append(UUID(auction))
        prices = {0: [], 1: [HURDLE_EUR - 1]}.get(number % 10, [HURDLE_EUR, 70 + number % 3, 70])
        for bidder, price in zip(scene.bidders, prices, strict=False):
            bidder.admin.post(f"/auctions/{auction}/bids", {"price": price})
    return auctions


def run(harness: Harness) -> None:
    quick = harness.options.quick
    count, processes = (QUICK_AUCTIONS, QUICK_PROCESSES) if quick else (AUCTIONS, PROCESSES)
    auctions = make_auctions(harness, count)
    found = asyncio.run(storm(harness.database_url, auctions, processes))
    harness.report(
        f"{count} auctions closing at once, {processes} runners under kill -9",
        found.figures,
        target="each cleared once and whole",
        met=not found.wrong,
    )
