# ruff: noqa: E501 — lines of a page
"""`python -m bench.scaling`: writes docs/scaling.md from what the benches have measured, so that it stays true."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import RESULTS
from bench.read_your_writes import LAGS
from bench.scaling_cluster import list_cluster_lines

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"

BATTERIES = 100_000
SIGNALS = 20
ORGANISATIONS = 10_000
AUCTIONS_A_DAY = 1_000
BIDS_AN_AUCTION = 100
TRADES_A_BATTERY_DAY = 24
CHANGES_AN_ORGANISATION_DAY = 200
READS_AN_ORGANISATION_DAY = 5_000
READERS_OF_AN_EVENT = 2
DAY_S = 86_400
GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class Growth:
    """What a table gains in a day."""

    table: str
    place: str
    rows_day: float
    bytes_a_row: float
    is_kept_for_a_day: bool = False

    @property
    def gigabytes_day(self) -> float:
        return self.rows_day * self.bytes_a_row / GIGABYTE

    @property
    def year(self) -> str:
        return "–" if self.is_kept_for_a_day else f"{self.gigabytes_day * 0.365:,.2f}"


def figures_of(bench: str, name: str) -> dict[str, Any]:
    content = json.loads((RESULTS / f"{bench}.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = next(result["figures"] for result in content["results"] if result["name"] == name)
    return found


def list_growth() -> list[Growth]:
    def weigh(table: str) -> float:
        return float(figures_of("bytes_per_row", table)["bytes_a_row"])

    bids = AUCTIONS_A_DAY * BIDS_AN_AUCTION
    changes = ORGANISATIONS * CHANGES_AN_ORGANISATION_DAY + bids
    point = float(figures_of("monitoring", "stored after folding, with indexes")["bytes_a_point"])
    return [
        Growth("telemetry_block (points)", "workers, by asset", BATTERIES * SIGNALS * DAY_S, point),
        Growth("wholesale_trade", "workers, by asset", BATTERIES * TRADES_A_BATTERY_DAY, weigh("wholesale_trade")),
        Growth("settled_day", "workers, by asset", BATTERIES, weigh("settled_day")),
        Growth("auction_bid", "workers, by auction", bids, weigh("auction_bid")),
        Growth("event", "workers, by organisation", changes * READERS_OF_AN_EVENT, weigh("event")),
        Growth("audit_log", "workers, by organisation", changes, weigh("audit_log")),
        Growth("idempotency (kept a day)", "coordinator", changes, weigh("idempotency"), is_kept_for_a_day=True),
    ]


def _name_machine(bench: str) -> str:
    machine = json.loads((RESULTS / f"{bench}.json").read_text(encoding="utf-8"))["machine"]
    return f"{machine['cores']} cores of {machine['processor']}"


def write_page() -> str:
    growth = list_growth()
    points_s = BATTERIES * SIGNALS
    ingest = figures_of("monitoring", "ingest, Arrow, wide, 10,000 points a body")
    folding = figures_of("monitoring", "folding into day chunks")["points_s"]
    read = figures_of("reads", "GET /organisations/{id}")["product"]
    change = figures_of("writes", "a battery: POST /physical-assets")["product"]
    machines = sorted(
        {_name_machine(bench) for bench in ("monitoring", "reads", "writes", "auctions", "bytes_per_row")}
    )
    changes_s = (ORGANISATIONS * CHANGES_AN_ORGANISATION_DAY + AUCTIONS_A_DAY * BIDS_AN_AUCTION) / DAY_S
    reads_s = ORGANISATIONS * READS_AN_ORGANISATION_DAY / DAY_S
    lines = [
        "# Capacity estimates",
        "",
        "Written by `python -m bench.scaling` from the files in `bench/results/`; a test compares. Nothing here was run at this size: it is arithmetic on what was measured",
        f"on small machines ({'; '.join(machines)}). Read it for where the first bottleneck is, not for what to buy.",
        "",
        "## The world",
        "",
        f"{BATTERIES:,} batteries × {SIGNALS} signals × 1 s, {ORGANISATIONS:,} organisations, {AUCTIONS_A_DAY:,} auctions a day. Assumed besides: {BIDS_AN_AUCTION} bids an auction,",
        f"{TRADES_A_BATTERY_DAY} trades a battery and day, {CHANGES_AN_ORGANISATION_DAY} changes and {READS_AN_ORGANISATION_DAY:,} reads an organisation and day, {READERS_OF_AN_EVENT} readers an event.",
        "",
        "## Growth",
        "",
        "| Table | Lies on | Rows a day | Bytes a row, measured | GB a day | TB a year |",
        "|---|---|---|---|---|---|",
        *(
            f"| {one.table} | {one.place} | {one.rows_day:,.0f} | {one.bytes_a_row:g} | {one.gigabytes_day:,.1f} | {one.year} |"
            for one in growth
        ),
        "",
        f"Together {sum(one.gigabytes_day for one in growth):,.0f} GB a day, of which telemetry is {100 * growth[0].gigabytes_day / sum(one.gigabytes_day for one in growth):.0f} %. `GRIDLOOM_MONITORING_RETENTION_DAYS` bounds it. (The bytes a point are those of the bench's telemetry; how well a signal packs depends on how much it moves.)",
        "",
        "## Resources",
        "",
        "| Load | A second | One such machine does | Machines |",
        "|---|---|---|---|",
        f"| telemetry taken in | {points_s:,} points | {ingest['points_s']:,} points | {points_s / ingest['points_s']:.1f} |",
        f"| telemetry folded | {points_s:,} points | {folding:,} points | {points_s / folding:.1f} |",
        f"| changes | {changes_s:,.0f} | {change['rate_s']:,.0f} | {changes_s / change['rate_s']:.2f} |",
        f"| reads | {reads_s:,.0f} | {read['rate_s']:,.0f} | {reads_s / read['rate_s']:.2f} |",
        "",
        f"A service's worker spends {read['cpu_us']:.0f} µs of CPU on a small read and {change['cpu_us']:.0f} µs on a change with its line of the audit log, its event and its safe retry.",
        "",
        "## Read-your-writes",
        "",
        "A caller writes and reads at once, through a service that reads from a standby; the standby is made to hold back what it receives. Half of the reads hand the position along that the write was given.",
        "",
        "| The standby's lag | Pairs | Reads that missed the write | Look-ups that the standby counted |",
        "|---|---|---|---|",
        *(
            f"| {name} | {one['pairs']:,} | {one['hidden']} | {one['read_from_standby']:,} |"
            for name in LAGS
            for one in [figures_of("read_your_writes", f"own writes, lag {name}")]
        ),
        "",
        *list_cluster_lines(BATTERIES, changes_s, reads_s),
        "## First bottlenecks",
        "",
        "1. **Telemetry**: taking in and folding are nearly all of the work and of the room. Both go by asset, so they spread over workers without meeting.",
        "2. **The coordinator's log**: every change writes its outbox and its safe retry there, in the transaction of the change. "
        f"{changes_s:,.0f} a second are {100 * changes_s / change['rate_s']:.1f} % of what one machine does.",
        "3. **The order of events** is given by one caller at a time; it moves events in batches and is no bottleneck before the coordinator is.",
        "4. **One auction** takes its bids in one order, on one worker: "
        f"{figures_of('auctions', 'POST /auctions/{auctionID}/bids, 1 auction')['product']['rate_s']:,.0f} bids a second were measured on one machine.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    PAGE.write_text(write_page(), encoding="utf-8")
    print(f"written: {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
