"""Whatever is written, rewritten and folded in whatever order reads back as a plain dictionary would."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any

import asyncpg
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import Resolution
from gridloom.market_calendar import market_date, market_day_number
from gridloom.monitoring import codec
from gridloom.monitoring.compaction import day_compaction, jobs
from gridloom.monitoring.compaction_rules import BUSY_SEGMENTS
from gridloom.monitoring.ingest.ingest import ingest
from gridloom.monitoring.model import DAY_US, MAX_SIGNALS, MINUTE_US, Points, day_number, day_start
from gridloom.monitoring.query.aggregation import Aggregation, Downsampling, aggregate
from gridloom.monitoring.query.series import read, read_each
from gridloom.monitoring.query.summaries import aggregate_days, read_spans
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.monitoring.store import heads
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.migrate import MIGRATIONS
from gridloom.platform.database.pool import create_pool
from gridloom.platform.jobs import JobRun
from gridloom.wiring import provide_dependencies

START = 1_774_738_800_000_000 - DAY_US
"""Midnight in Berlin on 28 March 2026, the day before the clock changes."""
END = START + 4 * DAY_US
SIGNALS = ("active_power", "state_of_charge", "temperature.rack_1")
NOW = timedelta()

Stored = dict[tuple[str, int], float]


@pytest.fixture(scope="module")
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool]:
    provide_dependencies()
    pool = await create_pool(database_url, size=8)
    yield pool
    await pool.close()


async def new_asset(pool: asyncpg.Pool) -> int:
    organisation_id = uuid7()
    await pool.execute("insert into organisation (id, name, kind) values ($1, 'Test', 'PARTICIPANT')", organisation_id)
    key: int = await pool.fetchval(
        "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2) returning key",
        uuid7(),
        organisation_id,
    )
    return key


def points(rows: Any) -> Points:
    names = list(dict.fromkeys(signal for signal, _, _ in rows))
    return Points(
        names,
        np.array([names.index(signal) for signal, _, _ in rows], dtype=np.intp),
        np.array([time for _, time, _ in rows], dtype=np.int64),
        np.array([value for _, _, value in rows], dtype=np.float64),
    )


async def write(pool: asyncpg.Pool, asset_key: int, rows: Any) -> Any:
    async with transaction(pool) as connection:
        return (await ingest(connection, {asset_key: points(rows)}))[asset_key]


async def everything(pool: asyncpg.Pool, asset_key: int, start: int = START, end: int = END) -> Stored:
    ids = await heads.signal_ids(pool, asset_key)
    found = await read(pool, asset_key, list(ids.values()), start, end)
    return {
        (name, time): value
        for name, signal_id in ids.items()
        for time, value in zip(found[signal_id].times.tolist(), found[signal_id].values.tolist(), strict=True)
    }


async def daily(pool: asyncpg.Pool, asset_key: int, signal_id: int, start: int, end: int, by: Aggregation) -> Any:
    async for _, span, first_us, stop_us in read_spans(pool, asset_key, [signal_id], start, end):
        yield aggregate_days(span, by, first_us, stop_us)


async def fold_day(pool: asyncpg.Pool, asset_key: int, day: date, *, join: bool = False) -> None:
    async with pool.acquire() as connection, connection.transaction():
        rows = await connection.fetch(
            "select sequence from telemetry_segment where asset_key = $1 and day = $2 order by 1", asset_key, day
        )
        if not rows or not await compaction_store.try_fold_lock(connection, asset_key):
            return
        if join and len(rows) > 1:
            await day_compaction.merge_segments(
                connection, asset_key, day, rows[len(rows) // 2]["sequence"], rows[-1]["sequence"]
            )
        else:
            await day_compaction.compact(connection, asset_key, day, rows[-1]["sequence"])


async def join_days(pool: asyncpg.Pool, asset_key: int, last: int = 3) -> None:
    """The compacted days from the first on as one block."""
    days = market_date(day_number(START)), market_date(day_number(START) + last)
    async with pool.acquire() as connection, connection.transaction():
        assert await compaction_store.try_fold_lock(connection, asset_key)
        await day_compaction.rewrite_days(connection, asset_key, *days)


TIME = st.integers(0, 4 * 24 * 4 - 1).map(lambda quarter: START + quarter * 15 * MINUTE_US)
VALUE = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-1000, 1000).map(lambda number: number / 10),
    st.just(-0.0),
)
BATCH = st.lists(st.tuples(st.sampled_from(SIGNALS), TIME, VALUE), min_size=1, max_size=30)
FRAMES = st.tuples(
    st.lists(st.sampled_from(SIGNALS), min_size=1, unique=True), st.sets(TIME, min_size=1, max_size=8)
).map(lambda frames: [(signal, time, 1.0) for time in sorted(frames[1]) for signal in frames[0]])
"""Signals that are sampled together share their times, which are then stored and compared once."""
JOIN = "join days"
CORRECTED = [(SIGNALS[0], START, 1.0)], [(SIGNALS[0], START, 2.0)]
STEP = st.one_of(BATCH, FRAMES, st.tuples(st.integers(0, 3), st.booleans()), st.just(JOIN))


class TestTelemetry:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=st.lists(STEP, min_size=1, max_size=12))
    @example(steps=[CORRECTED[0], (0, False), JOIN, CORRECTED[1], (0, False)])
    async def test_reads_back_as_a_dictionary_would(self, pool: asyncpg.Pool, steps: list[Any]) -> None:
        asset_key = await new_asset(pool)
        expected: Stored = {}
        for step in steps:
            if isinstance(step, tuple):
                day, join = step
                await fold_day(pool, asset_key, market_date(day_number(START) + day), join=join)
                continue
            if step == JOIN:
                await join_days(pool, asset_key)
                continue
            known = set(expected)
            stored = await write(pool, asset_key, step)
            expected.update({(signal, time): value for signal, time, value in step})
            assert stored.written == len(set(expected) - known)
            assert stored.overwritten == len(step) - stored.written
        found = await everything(pool, asset_key)
        assert found == expected
        assert all(np.signbit(found[key]) == np.signbit(expected[key]) for key in expected)
        await self._latest_is_that_of(pool, asset_key, expected)
        await self._days_are_those_of(pool, asset_key, expected)

    async def _days_are_those_of(self, pool: asyncpg.Pool, asset_key: int, expected: Stored) -> None:
        """From the second quarter-hour on: the first day is asked for in part."""
        start = START + 15 * MINUTE_US
        for name, signal_id in (await heads.signal_ids(pool, asset_key)).items():
            moments = sorted(time for signal, time in expected if signal == name and time >= start)
            last = {day_number(time): expected[name, time] for time in moments}
            days = [day async for day in daily(pool, asset_key, signal_id, start, END, Aggregation.LAST)]
            found = {day_number(time): value for day in days for time, value in zip(day.times, day.values, strict=True)}
            assert found == last

    async def _latest_is_that_of(self, pool: asyncpg.Pool, asset_key: int, expected: Stored) -> None:
        head = await heads.find_head(pool, asset_key)
        if not expected:
            return
        assert head is not None
        for name, signal_id in (await heads.signal_ids(pool, asset_key)).items():
            time, value = np.frombuffer(head.latest, [("time", "<i8"), ("value", "<f8")])[signal_id]
            assert time == max(moment for signal, moment in expected if signal == name)
            assert value == expected[name, int(time)]

    @pytest.mark.parametrize("aggregation", [Aggregation.AVG, Aggregation.SUM, Aggregation.MAX, Aggregation.COUNT])
    async def test_of_a_day_counts_points_that_came_after_it_was_folded(
        self, pool: asyncpg.Pool, aggregation: Aggregation
    ) -> None:
        asset_key = await new_asset(pool)
        await write(pool, asset_key, [("x", START + number * MINUTE_US, 1.0) for number in range(10)])
        await fold_day(pool, asset_key, market_date(day_number(START)))
        late = [("x", START, 100.0), ("x", START + 600 * MINUTE_US, 50.0)]  # one corrects, one is new
        await write(pool, asset_key, late)
        expected = {"avg": 159 / 11, "sum": 159.0, "max": 100.0, "count": 11.0}[aggregation.value]
        days = [day async for day in daily(pool, asset_key, 0, START, START + DAY_US, aggregation)]
        assert [value for day in days for value in day.values.tolist()] == [pytest.approx(expected)]

    async def test_holds_at_most_so_many_signals(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        stored = await write(pool, asset_key, [(f"s{number}", START, 1.0) for number in range(MAX_SIGNALS + 5)])
        assert (stored.written, stored.refused) == (MAX_SIGNALS, 5)
        again = await write(pool, asset_key, [("one.more", START, 1.0), ("s7", START, 2.0)])
        assert (again.written, again.overwritten, again.refused) == (0, 1, 1)


class TestFolding:
    async def test_rolled_back_at_any_step_leaves_everything_as_it_was(
        self, pool: asyncpg.Pool, database_url: str
    ) -> None:
        asset_key = await new_asset(pool)
        rows = [(signal, START + minute * MINUTE_US, float(minute)) for signal in SIGNALS for minute in range(600)]
        await write(pool, asset_key, rows)
        await fold_day(pool, asset_key, market_date(day_number(START)))
        await write(pool, asset_key, [(signal, time, value + 0.5) for signal, time, value in rows[::3]])
        expected = await everything(pool, asset_key)
        for pause in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016):
            connection = await asyncpg.connect(database_url)
            pid = connection.get_server_pid()
            task = asyncio.create_task(self._fold_on(connection, asset_key))
            await asyncio.sleep(pause)
            await pool.execute("select pg_terminate_backend($1)", pid)
            await asyncio.gather(task, return_exceptions=True)
            connection.terminate()
            assert await everything(pool, asset_key) == expected

    async def _fold_on(self, connection: Any, asset_key: int) -> None:
        async with connection.transaction():
            await compaction_store.try_fold_lock(connection, asset_key)
            await day_compaction.compact(connection, asset_key, market_date(day_number(START)), 1_000_000)

    async def test_is_done_by_one_replica_at_a_time(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        await write(pool, asset_key, [("x", START, 1.0)])
        async with pool.acquire() as first, pool.acquire() as second, first.transaction(), second.transaction():
            assert await compaction_store.try_fold_lock(first, asset_key)
            assert not await compaction_store.try_fold_lock(second, asset_key)
            pending = compaction_store.Pending(asset_key, market_date(day_number(START)), True, [1], [1])
            assert await day_compaction.run_step(second, pending) is None
            done = await day_compaction.run_step(first, pending)
            assert done is not None
            assert done.points == 1

    async def test_plans_closed_days_at_once_and_open_ones_when_busy(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        await write(pool, asset_key, [("x", START, 1.0)])
        waiting = [
            day
            for day in await compaction_store.read_pending(pool, settle=NOW, most=10_000)
            if day.asset_key == asset_key
        ]
        assert [day.is_closed for day in waiting] == [True]
        assert not [day for day in await compaction_store.read_pending(pool, most=10_000) if day.asset_key == asset_key]

    async def test_never_makes_a_reader_miss_what_was_committed_nor_a_writer_wait(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        committed: Stored = {}
        generator = random.Random(6)
        stop = asyncio.Event()
        reads = 0

        async def keep_writing() -> None:
            for number in range(120):
                rows = [
                    (generator.choice(SIGNALS), START + generator.randrange(200) * MINUTE_US, float(number))
                    for _ in range(20)
                ]
                await asyncio.wait_for(write(pool, asset_key, rows), 120)
                committed.update({(signal, time): value for signal, time, value in rows})
            stop.set()

        async def keep_folding() -> None:
            while not stop.is_set():
                await fold_day(pool, asset_key, market_date(day_number(START)), join=generator.random() < 0.5)
                await asyncio.sleep(0)

        async def keep_reading() -> None:
            nonlocal reads
            while not stop.is_set():
                before = dict(committed)
                found = await everything(pool, asset_key)
                # Values only grow, so what was committed before the read must be there or be newer.
                assert all(found[key] >= value for key, value in before.items())
                reads += 1

        await asyncio.gather(keep_writing(), keep_folding(), keep_folding(), keep_reading(), keep_reading())
        assert await everything(pool, asset_key) == committed
        assert reads > 20


class TestADayThatIsOverwrittenAgainAndAgain:
    async def count_segments(self, pool: asyncpg.Pool, asset_key: int) -> int:
        count: int = await pool.fetchval("select count(*) from telemetry_segment where asset_key = $1", asset_key)
        return count

    async def test_keeps_few_segments_where_writes_overlap(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        generator = random.Random(36)
        expected: Stored = {}
        most = 0
        for number in range(120):
            first = generator.randrange(1000)
            rows = [("x", START + (first + minute) * MINUTE_US, float(number)) for minute in range(50)]
            await write(pool, asset_key, rows)
            expected |= {(signal, time): value for signal, time, value in rows}
            most = max(most, await self.count_segments(pool, asset_key))
        assert 1 < most <= BUSY_SEGMENTS + 1
        assert await everything(pool, asset_key) == expected


class TestDaysOfAMonth:
    async def test_become_one_block_that_holds_their_shared_times_once(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        first = day_number(START) - 20
        moments = [day_start(first + day) + minute * MINUTE_US + minute % 7 for day in range(9) for minute in range(60)]
        await write(pool, asset_key, [(signal, time, float(time % 11)) for time in moments for signal in SIGNALS])
        for day in range(9):
            await fold_day(pool, asset_key, market_date(first + day))
        expected = await everything(pool, asset_key, day_start(first), START)
        async with pool.acquire() as connection, connection.transaction():
            assert [result.points for result in await day_compaction.join_days(connection, asset_key)] == [3 * 9 * 60]
        rows = await pool.fetch("select * from telemetry_block where asset_key = $1", asset_key)
        assert [(row["first_day"], row["last_day"]) for row in rows] == [(market_date(first), market_date(first + 8))]
        assert len(rows[0]["times"]) < 1.5 * len(moments)
        assert await everything(pool, asset_key, day_start(first), START) == expected
        span = day_start(first + 2) + 30 * MINUTE_US, day_start(first + 6) + 20 * MINUTE_US
        counted = [series async for series in daily(pool, asset_key, 0, *span, Aggregation.COUNT)]
        assert [value for series in counted for value in series.values] == [30, 60, 60, 60, 20], "of a part of its days"
        async with pool.acquire() as connection, connection.transaction():
            assert not await day_compaction.join_days(connection, asset_key)

    @pytest.mark.parametrize("late", [0, 1, 900])
    async def test_are_averaged_without_a_point_as_with_them(self, pool: asyncpg.Pool, late: int) -> None:
        """Days at either side of a month's end; a late point lies over one of them, or behind it in the next hour."""
        asset_key = await new_asset(pool)
        days = [market_day_number(date(2026, 1, 31)) + day for day in range(2)]
        draw = random.Random(36)
        moments = [day_start(day) + minute * MINUTE_US for day in days for minute in range(240)]
        await write(pool, asset_key, [("x", time, draw.randrange(10**5) / 10) for time in moments])
        for day in days:
            await fold_day(pool, asset_key, market_date(day))
        if late:
            await write(pool, asset_key, [("x", moments[0] + late * 1_000_000, 7.25)])
        span = day_start(days[0]), day_start(days[-1] + 1)
        (_, series), *_ = [one async for one in read_each(pool, asset_key, [0], *span)]
        for by in (Aggregation.AVG, Aggregation.SUM, Aggregation.MAX):
            way = Downsampling(Resolution.QUARTER_HOUR, by, *span)
            (_, found), *_ = [one async for one in read_each(pool, asset_key, [0], *span, way)]
            expected = aggregate(series, Resolution.QUARTER_HOUR, by, *span)
            assert found.times.tolist() == expected.times.tolist()
            assert found.values == pytest.approx(expected.values, rel=1e-12)

    async def migrate_chunks(self, pool: asyncpg.Pool, asset_key: int, day: date, times: Any, values: Any) -> None:
        """The day as releases up to 0.2 compacted it, for each signal; then the migration that makes it segments."""
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("alter table telemetry_chunk drop constraint telemetry_chunk_closed")
            for signal_id in range(len(SIGNALS)):
                await connection.execute(
                    """
                    insert into telemetry_chunk (asset_key, signal_id, day, points, first_us, last_us, first_value,
                                                 last_value, lowest, highest, total, body)
                    values ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, $7)
                    """,
                    asset_key, signal_id, day, len(times), int(times[0]), int(times[-1]), codec.encode(times, values),
                )  # fmt: skip
            await connection.execute((MIGRATIONS / "0460_telemetry_chunks_as_segments.sql").read_text("utf-8"))
        with pytest.raises(asyncpg.CheckViolationError):
            await pool.execute(
                """
                insert into telemetry_chunk (asset_key, signal_id, day, points, first_us, last_us, first_value,
                                             last_value, lowest, highest, total, body)
                values ($1, 0, $2, 1, 0, 0, 0, 0, 0, 0, 0, '')
                """,
                asset_key, day,
            )  # fmt: skip


class TestBlocks:
    """Replicas of the release before would not find them."""

    async def test_are_written_at_once_only_where_the_database_never_had_an_earlier_release(
        self, pool: asyncpg.Pool
    ) -> None:
        wait = timedelta(hours=1)
        async with pool.acquire() as db:
            change = db.transaction()
            await change.start()
            try:
                assert await compaction_store.may_write_blocks(db, wait)
                await db.execute("update schema_migration set applied_at = clock_timestamp() where name >= '0340'")
                await db.execute(
                    "update schema_migration set applied_at = clock_timestamp() - interval '1 day' where name < '0340'"
                )
                assert not await compaction_store.may_write_blocks(db, wait)
                await db.execute(
                    "update schema_migration set applied_at = applied_at - interval '61 minutes' where name >= '0340'"
                )
                assert await compaction_store.may_write_blocks(db, wait)
            finally:
                await change.rollback()


class TestRetention:
    async def test_drops_the_oldest_days_and_nothing_else(self, pool: asyncpg.Pool) -> None:
        asset_key = await new_asset(pool)
        keep = timedelta(days=399)  # which may begin in summer and end in winter: a day is local, and this is a span
        oldest = day_number(int((await platform_now(pool) - keep).timestamp() * 1_000_000))
        for place in (-1, 0, 300):
            await write(pool, asset_key, [("x", day_start(oldest + place), float(place))])
            await fold_day(pool, asset_key, market_date(oldest + place))
        while await compaction_store.drop_before(pool, keep, 1):
            pass
        rows = await pool.fetch("select first_day from telemetry_block where asset_key = $1 order by 1", asset_key)
        assert [row["first_day"] for row in rows] == [market_date(oldest), market_date(oldest + 300)]

    async def test_is_done_by_the_job_where_it_is_asked_for(
        self, pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys = [await new_asset(pool) for _ in range(3)]
        oldest = day_number(int((await platform_now(pool) - timedelta(days=399)).timestamp() * 1_000_000))
        for key in keys:
            for place in (-1, 0):
                await write(pool, key, [("x", day_start(oldest + place), 1.0)])
                await fold_day(pool, key, market_date(oldest + place))
        monkeypatch.setattr(jobs, "ASSET_BATCH_SIZE", 1)
        for keep, kept in ((None, 6), (timedelta(days=399), 3)):
            monkeypatch.setattr(jobs.Retention, "keep", keep)
            async with pool.acquire() as db, db.transaction():
                now = await platform_now(db)
                await jobs.delete_expired_telemetry(JobRun(db=db, kind="", key="", payload={}, due=now, attempt=1))
            count = "select count(*) from telemetry_block where asset_key = any($1::int[])"
            assert await pool.fetchval(count, keys) == kept

    async def test_keeps_a_block_as_long_as_one_of_its_days(self, pool: asyncpg.Pool) -> None:
        asset_key, keep = await new_asset(pool), timedelta(days=399)
        oldest = day_number(int((await platform_now(pool) - keep).timestamp() * 1_000_000))
        spans = [(oldest - 9, oldest - 8), (oldest - 3, oldest - 1), (oldest - 2, oldest)]
        for first, last in [*spans[:2], (oldest, oldest)]:
            for day in range(first, last + 1):
                await write(pool, asset_key, [("x", day_start(day), 1.0)])
                await fold_day(pool, asset_key, market_date(day))
        async with pool.acquire() as db, db.transaction():
            assert await compaction_store.try_fold_lock(db, asset_key)
            for first, last in (spans[0], spans[2]):
                await day_compaction.rewrite_days(db, asset_key, market_date(first), market_date(last))
        while await compaction_store.drop_before(pool, keep, 1):
            pass
        rows = await pool.fetch("select first_day, last_day from telemetry_block where asset_key = $1", asset_key)
        assert [tuple(row) for row in rows] == [(market_date(oldest - 2), market_date(oldest))]
