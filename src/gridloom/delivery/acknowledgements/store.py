"""Acknowledgements in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec import UNSET

from gridloom.delivery.acknowledgements.model import (
    Acknowledgement,
    AcknowledgementCursor,
    AcknowledgementStatus,
    LatestAcknowledgement,
    NewAcknowledgement,
)
from gridloom.kernel.market_time import period_number, period_start
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement


async def has_version(db: Database, asset_key: int, version: int) -> bool:
    found = await db.fetchval(
        "select true from dispatch_version where asset_key = $1 and version = $2", asset_key, version
    )
    return found is not None


_ADD = NamedStatement("""
insert into dispatch_acknowledgement (
  asset_key, period, version, status, at, sequence, reason, author_id, recorded_at)
values (:asset_key, :period, :version, :status, :at, :sequence, :reason, :author_id, :now) on conflict do nothing
returning period, version, status, at, reason, recorded_at
""")


async def add_acknowledgement(
    db: Database, asset_key: int, new: NewAcknowledgement, author_id: UUID, now: datetime
) -> Acknowledgement | None:
    """None where the same was recorded before: a repeated statement is one fact."""
    sequence = await db.fetchval("select nextval('dispatch_acknowledgement_sequence')")
    rows = await _ADD.fetch(
        db,
        new,
        sequence=sequence,
        asset_key=asset_key,
        period=period_number(new.time),
        status=new.status.value,
        author_id=author_id,
        now=now,
    )
    return _read_row(rows[0]) if rows else None


async def read_same(db: Database, asset_key: int, new: NewAcknowledgement) -> Acknowledgement:
    row = await db.fetchrow(
        """select period, version, status, at, reason, recorded_at from dispatch_acknowledgement
           where asset_key = $1 and period = $2 and version = $3 and status = $4 and at = $5""",
        asset_key,
        period_number(new.time),
        new.version,
        new.status.value,
        new.at,
    )
    assert row is not None, "an acknowledgement is never removed"
    return _read_row(row)


async def list_acknowledgements(
    db: Database, asset_key: int, first: int | None, end: int | None, after: AcknowledgementCursor | None, limit: int
) -> list[tuple[AcknowledgementCursor, Acknowledgement]]:
    """The latest quarter-hour first, within it what was recorded last."""
    rows = await db.fetch(
        """select period, version, status, at, reason, recorded_at, sequence from dispatch_acknowledgement
           where asset_key = $1 and ($2::int is null or period >= $2) and ($3::int is null or period < $3)
             and ($4::int is null or (period, sequence) < ($4, $5::bigint))
           order by period desc, sequence desc limit $6""",
        asset_key,
        first,
        end,
        None if after is None else after.period,
        None if after is None else after.sequence,
        limit,
    )
    return [(AcknowledgementCursor(row["period"], row["sequence"]), _read_row(row)) for row in rows]


async def read_latest(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None
) -> tuple[int, Mapping[int, LatestAcknowledgement]]:
    """By quarter-hour, what was recorded last, now or at an instant; and the sequence number of the last of all, 0
    where there are none."""
    rows = await db.fetch(
        """select distinct on (period) period, sequence, version, status, at, reason from dispatch_acknowledgement
           where asset_key = $1 and period >= $2 and period < $3 and ($4::timestamptz is null or recorded_at <= $4)
           order by period, sequence desc""",
        asset_key,
        first,
        end,
        as_of,
    )
    latest = {
        row["period"]: LatestAcknowledgement(
            version=row["version"],
            status=AcknowledgementStatus(row["status"]),
            at=row["at"],
            reason=row["reason"] or UNSET,
        )
        for row in rows
    }
    return max((row["sequence"] for row in rows), default=0), latest


def _read_row(row: asyncpg.Record) -> Acknowledgement:
    return Acknowledgement(
        version=row["version"],
        time=period_start(row["period"]),
        status=AcknowledgementStatus(row["status"]),
        at=row["at"],
        reason=row["reason"] or UNSET,
        recorded_at=row["recorded_at"],
    )
