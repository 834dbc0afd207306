"""The SQL of the job queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec

from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.platform.jobs.declare import Clock
from gridloom.platform.jobs.rules import STUCK_AFTER

if TYPE_CHECKING:
    import asyncpg

    from gridloom.platform.database.pool import Database, Pool

CHANNEL = "gridloom_job"
"""Wakes the runners for jobs that are due soon; later ones they find when they poll."""

SOON = timedelta(seconds=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A job that this transaction has claimed."""

    kind: str
    key: str
    payload: Mapping[str, Any]
    due: datetime
    attempts: int
    crashes: int
    begun_at: datetime | None
    revision: int
    lag_s: float
    organisation_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHealth:
    """The state of the queue for readiness and metrics."""

    dead: int
    stuck: int
    failing: int
    overdue_s: float
    troubled_kinds: Sequence[str]
    troubled: Sequence[Mapping[str, Any]]


# A notification costs a lock that all notifying commits share, so it is sent only for what cannot wait for a look.
# Platform jobs that a walk of a sandbox's clock enqueues are run by the walk, in their turn.
_PUT: Final = NamedStatement("""
with put as (
  insert into job (kind, key, clock, due, payload, organisation_id, size)
  values (:kind, :key, :clock, :due, :payload::text::jsonb, :organisation_id, :size)
  on conflict (kind, key) do update
    set clock = excluded.clock, payload = excluded.payload, state = 'WAITING', attempts = 0,
        organisation_id = excluded.organisation_id, size = excluded.size,
        due = case when :keep_earlier_due and job.state = 'WAITING' then least(job.due, excluded.due)
                   else excluded.due end,
        deaths = 0, begun_at = null, not_before = null, last_error = null, failed_at = null,
        revision = job.revision + 1, enqueued_at = clock_timestamp()
    where :restart or (job.state = 'WAITING' and job.attempts = 0)
  returning due, clock, pg_try_advisory_xact_lock(job_put_lock(kind, key, enqueued_at)) as is_held
)
select pg_notify(:channel, '') from put
where due < job_now(clock) + :soon::interval
  and (clock = 'real' or coalesce(current_setting('gridloom.clock_walk', true), '') <> 'on')
""")


async def put(
    db: Database,
    kind: str,
    key: str,
    clock: Clock,
    due: datetime,
    payload: Mapping[str, Any],
    restart: bool,
    keep_earlier_due: bool,
    organisation_id: UUID | None,
    size: int,
) -> None:
    await _PUT.execute(
        db,
        kind=kind,
        key=key,
        clock=clock,
        due=due,
        payload=msgspec.json.encode(payload).decode(),
        restart=restart,
        keep_earlier_due=keep_earlier_due,
        organisation_id=organisation_id,
        size=size,
        channel=CHANNEL,
        soon=SOON,
    )


async def put_recurring(db: Database, kind: str, clock: Clock, every: timedelta) -> None:
    """A recurring job exists from the first start on; a changed interval holds from its next run."""
    await db.execute(
        """
        insert into job (kind, key, clock, due, every) values ($1, '', $2, job_now($2), $3)
        on conflict (kind, key) do update set every = excluded.every, clock = excluded.clock
          where job.every is distinct from excluded.every or job.clock <> excluded.clock
        """,
        kind, clock, every,
    )  # fmt: skip


async def lock_recurring(db: Database) -> None:
    """Wait for what recurs on the platform's clock to end, and let none of it begin until this transaction ends.

    A transaction that puts that clock back, and with it when such a job is due, calls it first: a run under way has
    read the clock as it was.
    """
    await db.execute(
        """
        select pg_advisory_xact_lock(job_lock(kind, key)) from job
        where every is not null and clock = 'platform' order by kind, key
        """
    )


async def remove(db: Database, kind: str, key: str) -> bool:
    return await db.fetchval("delete from job where kind = $1 and key = $2 returning true", kind, key) is not None


async def claim_due(db: Database, kinds: Sequence[str]) -> ClaimedJob | None:
    row = await db.fetchrow(
        """
        select kind, key, payload::text as payload, due, attempts, deaths, begun_at, revision,
               extract(epoch from greatest('0', least(
                 job_now(clock) - due, clock_timestamp() - coalesce(not_before, enqueued_at))))::float8 as lag_s
        from claim_job($1)
        """,
        kinds,
    )
    return None if row is None else _read_claimed_row(row)


async def claim_due_of_organisation(db: Database, kinds: Sequence[str], max_running: int) -> ClaimedJob | None:
    """The next job of the organisation whose turn it is; at most so many of one run on all replicas together."""
    row = await db.fetchrow(
        """
        select kind, key, payload::text as payload, due, attempts, deaths, begun_at, revision, organisation_id,
               extract(epoch from greatest('0', least(
                 job_now(clock) - due, clock_timestamp() - coalesce(not_before, enqueued_at))))::float8 as lag_s
        from claim_organisation_job($1, $2)
        """,
        kinds, max_running,
    )  # fmt: skip
    return None if row is None else _read_claimed_row(row)


async def lock_count(db: Database, organisation_id: UUID) -> None:
    """Locks counting and adding jobs of the organisation until this transaction ends."""
    await db.execute("select pg_advisory_xact_lock(job_count_lock($1))", organisation_id)


async def count_jobs(db: Database, organisation_id: UUID) -> tuple[int, int]:
    """How many jobs of the organisation are running, and how many wait."""
    row = await db.fetchrow(
        """
        select count(begun_at)::int as running, (count(*) - count(begun_at))::int as queued
        from job where organisation_id = $1 and state = 'WAITING'
        """,
        organisation_id,
    )
    assert row is not None
    return row["running"], row["queued"]


async def claim_one(db: Database, kind: str, key: str) -> ClaimedJob | None:
    """This one job, once no transaction runs or enqueues it; None if it is done by then, or rests after a failure."""
    await db.execute("select pg_advisory_xact_lock(job_lock($1, $2))", kind, key)
    row = await db.fetchrow(
        """
        select kind, key, payload::text as payload, due, attempts, deaths, begun_at, revision, 0::float8 as lag_s,
               pg_advisory_xact_lock_shared(job_put_lock(kind, key, enqueued_at)) is null as is_held
        from job
        where kind = $1 and key = $2 and state = 'WAITING' and due <= job_now(clock)
          and (not_before is null or not_before <= clock_timestamp())
        """,
        kind, key,
    )  # fmt: skip
    return None if row is None else _read_claimed_row(row)


def _read_claimed_row(row: asyncpg.Record) -> ClaimedJob:
    return read_row(
        ClaimedJob,
        row,
        payload=msgspec.json.decode(row["payload"]),
        crashes=row["deaths"],
        organisation_id=row.get("organisation_id"),
    )


async def record_started(pool: Pool, job: ClaimedJob) -> bool:
    """Commit, while the claim is held by another connection, that the job is being run; False if it was moved or
    cancelled meanwhile.

    A runner that claims the job and finds this note knows that the noted run is over and that its process died. A note
    that a crash of the database takes along is not missed: the run is undone with it. The commit does not wait for the
    disk.
    """
    noted = await pool.fetchval(
        """
        with quickly as materialized (select set_config('synchronous_commit', 'off', true) as is_off),
        turn as (
          insert into job_turn (organisation_id, claimed_at)
          select $4::uuid, clock_timestamp() from quickly where $4::uuid is not null and is_off = 'off'
          on conflict (organisation_id) do update set claimed_at = excluded.claimed_at
        )
        update job set begun_at = clock_timestamp() from quickly
        where kind = $1 and key = $2 and revision = $3 and is_off = 'off' returning true
        """,
        job.kind, job.key, job.revision, job.organisation_id,
    )  # fmt: skip
    return noted is not None


async def clear_started(pool: Pool, job: ClaimedJob) -> None:
    """The run was undone by a runner that stops: no fault of the job's."""
    await pool.execute(
        "update job set begun_at = null where kind = $1 and key = $2 and revision = $3",
        job.kind, job.key, job.revision,
    )  # fmt: skip


async def limit_transaction(db: Database, limit: timedelta, *, is_walk: bool = False) -> None:
    """`is_walk`: the job is run by a walk of a sandbox's clock, not by a runner."""
    limit_ms = str(round(limit.total_seconds() * 1000))
    await db.execute(
        """
        select set_config('statement_timeout', $1, true),
               set_config('idle_in_transaction_session_timeout', $1, true),
               set_config('gridloom.clock_walk', $2, true)
        """,
        limit_ms, "on" if is_walk else "off",
    )  # fmt: skip


async def finish(db: Database, job: ClaimedJob) -> bool:
    """End the job in the transaction of its effects; False if it was cancelled while it ran.

    A recurring job comes back at its next time; one that was enqueued again meanwhile stays as it is.
    """
    remains = await db.fetchval(
        """
        with done as (
          delete from job where kind = $1 and key = $2 and revision = $3 and every is null returning true
        ), returns as (
          update job
          set due = due + every * greatest(1, ceil(
                extract(epoch from case clock when 'platform' then due else clock_timestamp() end - due)
                / extract(epoch from every))),
              attempts = 0, deaths = 0, begun_at = null, not_before = null, last_error = null, failed_at = null
          where kind = $1 and key = $2 and revision = $3 and every is not null
          returning true
        )
        select true from done union all select true from returns
        union all select true from job where kind = $1 and key = $2 and revision <> $3
        limit 1
        """,
        job.kind, job.key, job.revision,
    )  # fmt: skip
    if remains is not None:
        return True
    # It may have been enqueued again while this statement waited for them.
    again = await db.fetchval("select true from job where kind = $1 and key = $2", job.kind, job.key)
    return again is not None


async def fail(db: Database, job: ClaimedJob, error: str, pause: timedelta) -> None:
    """Note an attempt that failed and let the job rest: a recurring one until its next time at most."""
    await db.execute(
        """
        update job
        set attempts = attempts + 1, begun_at = null, last_error = $4, failed_at = clock_timestamp(),
            not_before = clock_timestamp() + least($5::interval, coalesce(every, $5::interval))
        where kind = $1 and key = $2 and revision = $3
        """,
        job.kind, job.key, job.revision, error, pause,
    )  # fmt: skip


async def record_crash(db: Database, job: ClaimedJob, error: str, pause: timedelta, most_deaths: int) -> bool:
    """Record an attempt whose process died; let the job rest or, after the last one it is granted, lay it aside.

    True if it is dead-lettered now. A recurring job never is, but it may rest for longer than its interval.
    """
    state = await db.fetchval(
        """
        update job
        set attempts = attempts + 1, deaths = deaths + 1, begun_at = null, last_error = $4,
            failed_at = clock_timestamp(),
            not_before = case when $5::interval > '0' then clock_timestamp() + $5::interval end,
            state = case when deaths + 1 >= $6 and every is null then 'DEAD' else 'WAITING' end
        where kind = $1 and key = $2 and revision = $3
        returning state
        """,
        job.kind, job.key, job.revision, error, pause, most_deaths,
    )  # fmt: skip
    return bool(state == "DEAD")


async def next_due(db: Database, kinds: Sequence[str]) -> tuple[bool, float | None]:
    """Whether a job is due (running ones included), and the real seconds until the next one that is not due yet.

    The platform's clock runs at the real clock's pace, so a difference on it is one in real time; where it stands
    still (in a sandbox), nothing comes due by waiting.
    """
    row = await db.fetchrow(
        """
        with clocks as materialized (
          select clock, job_now(clock) as now,
                 case clock when 'platform' then nullif(platform_pace(), 0) else 1 end as pace
          from unnest(array['real', 'platform']) as clock
        ), resting as materialized (
          select case when due <= now then extract(epoch from not_before - clock_timestamp())
                      when pace is null then null
                      else extract(epoch from greatest((due - now) / pace, not_before - clock_timestamp()))
                 end as left_s
          from job join clocks using (clock)
          where state = 'WAITING' and not_before is not null and kind = any($1)
        )
        select exists (select from resting where left_s <= 0)
            or exists (select from clocks, lateral (
                 select from job where state = 'WAITING' and job.clock = clocks.clock and due <= now
                   and not_before is null and kind = any($1) order by due limit 1) as overdue) as is_due,
          least(
            (select min(left_s) from resting where left_s > 0),
            (select min(extract(epoch from coming.due - now) / pace) from clocks, lateral (
               select due from job where state = 'WAITING' and job.clock = clocks.clock and due > now
                 and not_before is null and kind = any($1) order by due limit 1) as coming))::float8 as next_s
        """,
        kinds,
    )
    assert row is not None
    return row["is_due"], row["next_s"]


async def earliest_platform_jobs(
    db: Database, kinds: Sequence[str], until: datetime, most: int
) -> list[tuple[str, str, datetime]]:
    """Kind, key and due instant of the next ones, in the order in which they are run."""
    rows = await db.fetch(
        """
        select kind, key, due from job
        where state = 'WAITING' and clock = 'platform' and due <= $2 and kind = any($1)
          and (not_before is null or not_before <= clock_timestamp())
        order by due, kind, key
        limit $3
        """,
        kinds, until, most,
    )  # fmt: skip
    return [(row["kind"], row["key"], row["due"]) for row in rows]


async def health(db: Database, most_shown: int = 20) -> QueueHealth:
    """A running job is not late; the lock of a run shows in two halves. An organisation's jobs are never
    late: they wait for its turn.

    Troubled is what is dead, and what has failed so often that it will hardly succeed by itself.
    """
    row = await db.fetchrow(
        """
        with running as materialized (
          select coalesce(array_agg(classid::bigint << 32 | objid::bigint), '{}') as locks
          from pg_locks where locktype = 'advisory' and objsubid = 1
        )
        select count(*) filter (where state = 'DEAD') as dead,
               count(*) filter (where state = 'WAITING' and attempts >= $1) as stuck,
               count(*) filter (where state = 'WAITING' and attempts > 0) as failing,
               coalesce(array_agg(distinct kind) filter (where state = 'DEAD' or attempts >= $1), '{}') as troubled,
               extract(epoch from greatest('0', max(least(
                 job_now(clock) - due, clock_timestamp() - coalesce(not_before, enqueued_at)))
                 filter (where state = 'WAITING' and organisation_id is null
                   and job_lock(kind, key) <> all(running.locks))))::float8 as overdue_s
        from job, running
        """,
        STUCK_AFTER,
    )
    assert row is not None
    troubled = await db.fetch(
        """
        select state, kind, key, attempts, deaths, last_error, failed_at, not_before from job
        where state = 'DEAD' or attempts >= $1
        order by state, failed_at desc
        limit $2
        """,
        STUCK_AFTER, most_shown,
    )  # fmt: skip
    return read_row(QueueHealth, row, troubled_kinds=row["troubled"], troubled=[dict(job) for job in troubled])


async def wake(db: Database) -> None:
    """Have every runner poll."""
    await db.execute("select pg_notify($1, '')", CHANNEL)


async def retry_now(db: Database, kind: str, key: str) -> bool:
    """Have a job that is dead or rests after a failure tried at once, as if it had never failed."""
    revived = await db.fetchval(
        """
        with revived as (
          update job
          set state = 'WAITING', attempts = 0, deaths = 0, begun_at = null, not_before = null, revision = revision + 1
          where kind = $1 and key = $2 and (state = 'DEAD' or attempts > 0)
          returning 1
        )
        select true, pg_notify($3, '') from revived
        """,
        kind, key, CHANNEL,
    )  # fmt: skip
    return revived is not None
