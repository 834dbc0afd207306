"""Feeds in PostgreSQL: switches, how each stands, its days, what each source says, and the last runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

import asyncpg

from gridloom.feeds.model import FeedName, FeedRun, FeedRunStatus, TopicState
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.reference_prices.model import FEED_SOURCES, PublishedPrice

KEPT_RUNS: Final = 100


@dataclass(frozen=True, slots=True)
class LastValue:
    """The newest value of a series from one source."""

    start: datetime
    first_seen_at: datetime


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """Two sources that do not say the same."""

    series: str
    start: datetime
    source: str
    price: Decimal
    other_source: str
    other_price: Decimal


# --- switches and how feeds stand ---------------------------------------------------------------------------------


async def read_switches(db: Database) -> dict[FeedName, bool]:
    """Those that were set by hand."""
    rows = await db.fetch("select name, enabled from feed")
    return {FeedName(row["name"]): row["enabled"] for row in rows}


async def put_switch(db: Database, feed: FeedName, enabled: bool) -> None:
    await db.execute(
        "insert into feed (name, enabled) values ($1, $2) on conflict (name) do update set enabled = excluded.enabled",
        feed, enabled,
    )  # fmt: skip


async def read_states(db: Database) -> dict[tuple[FeedName, str], TopicState]:
    rows = await db.fetch(
        "select feed, topic, asked_at, failures, fault, is_failed, is_late, not_before from feed_topic"
    )
    return {
        (FeedName(row["feed"]), row["topic"]): read_row(TopicState, row, feed=FeedName(row["feed"])) for row in rows
    }


_PUT_STATE: Final = NamedStatement("""
insert into feed_topic (feed, topic, asked_at, failures, fault, is_failed, is_late, not_before)
values (:feed, :topic, :asked_at, :failures, :fault, :is_failed, :is_late, :not_before)
on conflict (feed, topic) do update
  set asked_at = excluded.asked_at, failures = excluded.failures, fault = excluded.fault,
    is_failed = excluded.is_failed, is_late = excluded.is_late, not_before = excluded.not_before
""")


async def put_state(db: Database, state: TopicState) -> None:
    await _PUT_STATE.execute(db, state)


async def leave_alone(db: Database, feed: FeedName, topics: Sequence[str], until: datetime) -> None:
    """No topic of the feed is asked for before this instant of real time."""
    await db.execute(
        """
        insert into feed_topic (feed, topic, not_before) select $1, topic, $3 from unnest($2::text[]) as topic
        on conflict (feed, topic) do update set not_before = excluded.not_before
        """,
        feed, list(topics), until,
    )  # fmt: skip


async def read_operators(db: Database) -> list[UUID]:
    """The organisations to which feeds matter."""
    return [row["id"] for row in await db.fetch("select id from organisation where kind = 'OPERATOR' order by id")]


# --- days and values -----------------------------------------------------------------------------------------------


async def read_complete_days(db: Database, since: date) -> dict[tuple[FeedName, str], frozenset[date]]:
    rows = await db.fetch(
        "select feed, topic, array_agg(day) as days from feed_day where day >= $1 group by feed, topic", since
    )
    return {(FeedName(row["feed"]), row["topic"]): frozenset(row["days"]) for row in rows}


async def put_complete_days(db: Database, feed: FeedName, topic: str, days: Sequence[date], now: datetime) -> None:
    await db.execute(
        """
        insert into feed_day (feed, topic, day, completed_at)
        select $1, $2, day, $4::timestamptz from unnest($3::date[]) as day on conflict (feed, topic, day) do nothing
        """,
        feed, topic, list(days), now,
    )  # fmt: skip


async def put_values(
    db: Database, source: FeedName, prices: Sequence[PublishedPrice], now: datetime
) -> list[PublishedPrice]:
    """Note what a source says; the values that it had not said before."""
    rows = await db.fetch(
        """
        insert into feed_value as v (series, source, start_at, end_at, price, first_seen_at)
        select series, $1, start_at, end_at, price, $6::timestamptz
        from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::numeric[])
          as u(series, start_at, end_at, price)
        on conflict (series, source, start_at) do update
          set end_at = excluded.end_at, price = excluded.price, first_seen_at = excluded.first_seen_at
          where (v.end_at, v.price) is distinct from (excluded.end_at, excluded.price)
        returning series, start_at as start, end_at as "end", price
        """,
        source,
        [one.series for one in prices],
        [one.start for one in prices],
        [one.end for one in prices],
        [one.price for one in prices],
        now,
    )
    return [PublishedPrice(**row) for row in rows]


async def find_differences(
    db: Database, source: FeedName, prices: Sequence[PublishedPrice], tolerance: Decimal
) -> list[ValueDifference]:
    """Where other sources say something else for the same span."""
    rows = await db.fetch(
        """
        select v.series, v.start_at as start, $1::text as source, u.price, v.source as other_source,
          v.price as other_price
        from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::numeric[])
          as u(series, start_at, end_at, price)
        join feed_value v on v.series = u.series and v.start_at = u.start_at and v.end_at = u.end_at
        where v.source <> $1 and abs(v.price - u.price) > $6
        order by v.series, v.source, v.start_at
        """,
        source,
        [one.series for one in prices],
        [one.start for one in prices],
        [one.end for one in prices],
        [one.price for one in prices],
        tolerance,
    )
    return [ValueDifference(**row) for row in rows]


async def read_best_values(
    db: Database, series: str, window: Window
) -> dict[str, list[tuple[PublishedPrice, datetime]]]:
    """By source, what the preferred one of each span says, with when it was first seen."""
    rows = await db.fetch(
        """
        select distinct on (start_at) series, start_at as start, end_at as "end", price, source, first_seen_at
        from feed_value where series = $1 and end_at > $2 and start_at < $3
        order by start_at, array_position($4::text[], source)
        """,
        series, window.start, window.end, list(FEED_SOURCES),
    )  # fmt: skip
    found: dict[str, list[tuple[PublishedPrice, datetime]]] = {}
    for row in rows:
        price = PublishedPrice(row["series"], row["start"], row["end"], row["price"])
        found.setdefault(row["source"], []).append((price, row["first_seen_at"]))
    return found


async def read_last_values(db: Database, wanted: Sequence[tuple[str, FeedName]]) -> dict[tuple[str, str], LastValue]:
    """The newest value of each of these series and sources."""
    rows = await db.fetch(
        """
        select w.series, w.source, v.start_at, v.first_seen_at
        from unnest($1::text[], $2::text[]) as w(series, source)
        cross join lateral (
          select start_at, first_seen_at from feed_value v where v.series = w.series and v.source = w.source
          order by start_at desc limit 1) as v
        """,
        [series for series, _ in wanted], [source for _, source in wanted],
    )  # fmt: skip
    return {(row["series"], row["source"]): LastValue(row["start_at"], row["first_seen_at"]) for row in rows}


async def read_standing_sources(db: Database, series: Sequence[str], since: datetime) -> Mapping[str, str]:
    """Whose the newest recorded price of each series is."""
    rows = await db.fetch(
        """
        select distinct on (series) series, source from reference_price
        where series = any($1::text[]) and start_at >= $2 order by series, start_at desc
        """,
        list(series), since,
    )  # fmt: skip
    return {row["series"]: row["source"] for row in rows}


# --- runs ---------------------------------------------------------------------------------------------------------

_COLUMNS: Final = """feed, id, at, status, asked, window_start, window_end, by_hand, http_status, rows_new,
  rows_changed, bytes, seconds, fault, progress, answer_hash"""
_PUT_RUN: Final = NamedStatement(
    """
insert into feed_run ({columns})
values (:feed, :id, :at, :status, :asked, :window_start, :window_end, :by_hand, :http_status, :rows_new, :rows_changed,
  :bytes, :seconds, :fault, :progress, :answer_hash)
on conflict (feed, id) do update
  set status = excluded.status, asked = excluded.asked, http_status = excluded.http_status,
    rows_new = excluded.rows_new, rows_changed = excluded.rows_changed, bytes = excluded.bytes,
    seconds = excluded.seconds, fault = excluded.fault, progress = excluded.progress,
    answer_hash = excluded.answer_hash
""",
    columns=_COLUMNS,
)


async def put_run(db: Database, run: FeedRun) -> None:
    """Write a run and forget the oldest of its feed."""
    await _PUT_RUN.execute(db, run, window_start=run.window.start, window_end=run.window.end)
    await db.execute(
        """
        delete from feed_run where feed = $1 and id in (
          select id from feed_run where feed = $1 order by id desc offset $2)
        """,
        run.feed, KEPT_RUNS,
    )  # fmt: skip


async def read_run(db: Database, feed: FeedName, id: UUID) -> FeedRun | None:
    row = await db.fetchrow(
        _READ_RUNS.text, *_READ_RUNS.arguments({"feed": feed, "before": None, "id": id, "limit": 1})
    )
    return None if row is None else _make_run(row)


_READ_RUNS: Final = NamedStatement(
    """
select {columns} from feed_run
where feed = :feed and (:before::uuid is null or id < :before) and (:id::uuid is null or id = :id)
order by id desc limit :limit
""",
    columns=_COLUMNS,
)


async def list_runs(db: Database, feed: FeedName, before: UUID | None, limit: int) -> list[FeedRun]:
    rows = await _READ_RUNS.fetch(db, feed=feed, before=before, id=None, limit=limit)
    return [_make_run(row) for row in rows]


def _make_run(row: asyncpg.Record) -> FeedRun:
    return read_row(
        FeedRun,
        row,
        feed=FeedName(row["feed"]),
        status=FeedRunStatus(row["status"]),
        window=Window(row["window_start"], row["window_end"]),
    )


async def look_soon(db: Database, kind: str) -> None:
    """Bring a feed's next look forward to now."""
    await db.execute("update job set due = least(due, platform_now()) where kind = $1 and key = ''", kind)
