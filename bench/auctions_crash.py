"""500 auctions close at once, 8 processes race to clear them, and `kill -9` strikes at random.

In the end each has one winner and one virtual asset with its block and its backing, or nothing and a reason; and every
participant was told once. Each question that is asked then is one that a distributed database answers, too.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg

from bench.auctions import Scene
from bench.harness import Harness
from bench.runners import Runners

AUCTIONS, PROCESSES, MAX_S = 500, 8, 240.0
EXPECTED_ERRORS = ("worker.exited", "job.crashed")
"""What a log says of processes that were killed."""
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
                if time.monotonic() - began > MAX_S:
                    found.wrong.append(f"not done after {MAX_S} s")
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
    """How many are not cleared, and jobs not done: two questions, for jobs lie on one machine and auctions on many."""
    open_auctions: int = await connection.fetchval(
        "select count(*) from auction where id = any($1) and state <> 'CLEARED'", auctions
    )
    jobs: int = await connection.fetchval("select count(*) from job where key = any($1)", [str(id) for id in auctions])
    return open_auctions + jobs


async def _inspect(connection: asyncpg.Connection, auctions: list[UUID], found: Found) -> None:
    rows = await connection.fetch(
        """
        select id, state, outcome, outcome_detail, winner_id, winning_bid_id, virtual_asset_id, hurdle_price_eur
        from auction where id = any($1)
        """,
        auctions,
    )
    if len(rows) != len(auctions):
        found.wrong.append(f"{len(auctions) - len(rows)} auctions are missing")
    standing = await _read_standing_bids(connection, auctions)
    made = await _read_assets(connection, auctions)
    invited = await connection.fetch("select auction_id from auction_participant where auction_id = any($1)", auctions)
    invitations = Counter(row["auction_id"] for row in invited)
    told = await _count_told(connection, auctions)
    for row in rows:
        seen = {
            **row,
            "best_bid_id": find_best_bid(standing[row["id"]], row["hurdle_price_eur"]),
            "assets": made[row["id"]],
            "invited": invitations[row["id"]],
            "told": told[f"auctions/{row['id']}"],
        }
        found.outcomes[row["outcome"] or row["state"]] += 1
        found.wrong += [f"{row['id']}: {what}" for what in faults_of(seen)]


async def _read_standing_bids(
    connection: asyncpg.Connection, auctions: list[UUID]
) -> dict[UUID, dict[UUID, asyncpg.Record]]:
    """The last bid of each organisation that it has not withdrawn, by auction."""
    rows = await connection.fetch(
        """
        select auction_id, organisation_id, id, price_eur, position from auction_bid
        where auction_id = any($1) and withdrawn_at is null order by position
        """,
        auctions,
    )
    standing: dict[UUID, dict[UUID, asyncpg.Record]] = defaultdict(dict)
    for row in rows:
        standing[row["auction_id"]][row["organisation_id"]] = row
    return standing


def find_best_bid(standing: Mapping[UUID, Any], hurdle_eur: Decimal | None) -> UUID | None:
    valid = [bid for bid in standing.values() if hurdle_eur is None or bid["price_eur"] >= hurdle_eur]
    best = min(valid, key=lambda bid: (-bid["price_eur"], bid["position"]), default=None)
    return None if best is None else best["id"]


async def _read_assets(connection: asyncpg.Connection, auctions: list[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """The virtual assets that came of each auction: whose, with how many blocks, and backed to which share."""
    rows = await connection.fetch(
        """
        select v.auction_id, v.organisation_id, v.asset_key, a.id
        from virtual_asset v join asset a on a.key = v.asset_key where v.auction_id = any($1)
        """,
        auctions,
    )
    keys = [row["asset_key"] for row in rows]
    blocks = await connection.fetch(
        "select asset_key, count(*) as n from virtual_block where asset_key = any($1::int[]) group by asset_key", keys
    )
    shares = await connection.fetch(
        "select asset_key, sum(share) as n from virtual_backing where asset_key = any($1::int[]) group by asset_key",
        keys,
    )
    block_counts = {row["asset_key"]: row["n"] for row in blocks}
    backed = {row["asset_key"]: row["n"] for row in shares}
    made: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        key = row["asset_key"]
        made[row["auction_id"]].append({**row, "blocks": block_counts.get(key, 0), "backed": float(backed.get(key, 0))})
    return made


async def _count_told(connection: asyncpg.Connection, auctions: list[UUID]) -> Counter[str]:
    """By subject: the events that are in their place, and those that still wait for one (they may move meanwhile)."""
    subjects = [f"auctions/{id}" for id in auctions]
    waiting = await connection.fetch(
        "select event_id, subject from event_outbox where type = 'auction.cleared' and subject = any($1)", subjects
    )
    placed = await connection.fetch(
        """
        select id, subject from event
        where type = 'auction.cleared' and subject = any($1) and organisation_id = origin_id
        """,
        subjects,
    )
    there = {row["id"] for row in placed}
    told = Counter(row["subject"] for row in placed)
    told.update(row["subject"] for row in waiting if row["event_id"] not in there)
    return told


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
        return faults + _find_faults_of_asset(row)
    if row["assets"] or row["winner_id"]:
        faults.append(f"{row['outcome']}, and yet a winner or an asset")
    if not row["outcome_detail"]:
        faults.append(f"{row['outcome']} without a reason")
    if (row["best_bid_id"] is None) != (row["outcome"] == "NO_VALID_BID"):
        faults.append(f"{row['outcome']} although the best bid is {row['best_bid_id']}")
    return faults


def _find_faults_of_asset(row: Any) -> list[str]:
    assets = row["assets"]
    if len(assets) != 1:
        return [f"{len(assets)} virtual assets"]
    [asset] = assets
    if (asset["id"], asset["organisation_id"]) != (row["virtual_asset_id"], row["winner_id"]):
        return [f"the virtual asset {asset['id']} of {asset['organisation_id']} is not what was won"]
    if asset["blocks"] != 1 or abs(asset["backed"] - 1) > 1e-9:
        return [f"{asset['blocks']} blocks, backed to {asset['backed']}"]
    return []


def make_auctions(harness: Harness, count: int) -> list[UUID]:
    """Ten auctions share a battery, which each holds a tenth of; two of them end without a valid bid."""
    scene = Scene(harness, 3)
    auctions, battery = [], ""
    for number in range(count):
        if number % 10 == 0:
            battery = scene.new_battery(1000)
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
