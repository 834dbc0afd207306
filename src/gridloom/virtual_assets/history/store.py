"""Versions of schedules and adjustments in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.market_calendar import Floats, Ints
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.virtual_assets.model import (
    Adjustment,
    AdjustmentReason,
    Author,
    LockedAsset,
    ScheduleVersion,
    VersionKind,
)
from gridloom.virtual_assets.schedule.store import copy_overlap


async def read_versions(
    db: Database,
    key: int,
    *,
    below: int | None,
    limit: int,
    start: datetime | None = None,
    end: datetime | None = None,
) -> list[ScheduleVersion]:
    """The newest first."""
    rows = await db.fetch(
        """select version, kind, accepted_at, author_kind, author_id, block_id from schedule_version
           where asset_key = $1 and ($2::bigint is null or version < $2)
             and ($4::timestamptz is null or accepted_at >= $4) and ($5::timestamptz is null or accepted_at < $5)
           order by version desc limit $3""",
        key,
        below,
        limit,
        start,
        end,
    )
    return [
        read_row(
            ScheduleVersion, row, kind=VersionKind(row["kind"]), author=Author(row["author_kind"], row["author_id"])
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class StoredChange:
    """The periods that a version set on a lane; `power_kw` is None if it was not read."""

    version: int
    lane: int
    run_first: list[int]
    run_length: list[int]
    power_kw: list[float] | None

    def periods(self) -> Ints:
        runs = zip(self.run_first, self.run_length, strict=True)
        return np.concatenate([np.arange(first, first + count) for first, count in runs])


async def read_changes(
    db: Database, key: int, versions: Sequence[int], listed_periods: int | None = None
) -> list[StoredChange]:
    """The changes of these versions, with powers if they set at most `listed_periods` (None: always)."""
    rows = await db.fetch(
        """select version, lane, run_first, run_length,
                  case when $3::int is null or cardinality(power_kw) <= $3 then power_kw end as power_kw
           from schedule_change where asset_key = $1 and version = any($2::int[]) order by version, lane""",
        key,
        list(versions),
        listed_periods,
    )
    return [StoredChange(**row) for row in rows]


async def read_powers_as_of(db: Database, key: int, instant: datetime, first: int, end: int) -> tuple[Floats, Floats]:
    """The asset's power as of an instant, and its accepted power: the same without cuts."""
    lanes_kw: dict[int, tuple[Floats, Floats]] = {}
    for row in await db.fetch(
        """select c.lane, c.run_first, c.run_length, c.power_kw, v.kind <> 'ADJUSTMENT' as is_accepted
           from schedule_version v join schedule_change c on c.asset_key = v.asset_key and c.version = v.version
           where v.asset_key = $1 and c.asset_key = $1 and v.accepted_at <= $2
             and c.end_period > $3 and c.first_period < $4
           order by c.version""",
        key,
        instant,
        first,
        end,
    ):
        power_kw, accepted_kw = lanes_kw.setdefault(row["lane"], (np.zeros(end - first), np.zeros(end - first)))
        values, index = np.array(row["power_kw"]), 0
        for run_first, run_length in zip(row["run_first"], row["run_length"], strict=True):
            copy_overlap(power_kw, first, run_first, values[index : index + run_length])
            if row["is_accepted"]:
                copy_overlap(accepted_kw, first, run_first, values[index : index + run_length])
            index += run_length
    nothing = np.zeros(max(0, end - first))
    return (
        sum((power_kw for power_kw, _ in lanes_kw.values()), nothing),
        sum((accepted_kw for _, accepted_kw in lanes_kw.values()), nothing),
    )


# --- adjustments ---------------------------------------------------------------------------------------------------


_WRITE_ADJUSTMENT = NamedStatement("""
insert into schedule_adjustment (asset_key, period, version, accepted_kw, adjusted_kw, reason, scheduled_kw,
  announced_kw)
values (:asset_key, :period, :version, :accepted_kw, :adjusted_kw, :reason, :scheduled_kw, :announced_kw)
on conflict (asset_key, period) do update set version = excluded.version, adjusted_kw = excluded.adjusted_kw
""")


async def write_adjustments(db: Database, asset: LockedAsset, version: int, adjustments: Sequence[Adjustment]) -> None:
    await _WRITE_ADJUSTMENT.executemany(db, adjustments, asset_key=asset.key, version=version)


async def read_accepted_kw(db: Database, key: int, first: int, power_kw: Floats) -> Floats:
    """The accepted power in the periods from `first` on: `power_kw` with cuts undone."""
    accepted_kw = power_kw.copy()
    for row in await db.fetch(
        """select period, accepted_kw from schedule_adjustment
           where asset_key = $1 and period >= $2 and period < $3""",
        key,
        first,
        first + len(power_kw),
    ):
        accepted_kw[row["period"] - first] = row["accepted_kw"]
    return accepted_kw


@dataclass(frozen=True, slots=True)
class UnannouncedCut:
    """The unannounced part of the cut in a period, with the sign of the cut power; and how much of it the schedule, and
    with it the virtual store, does not follow."""

    period: int
    power_kw: float
    unfollowed_kw: float


async def read_unannounced_cuts(
    db: Database, keys: Sequence[int], first: int, end: int, as_of: datetime | None = None
) -> dict[int, list[UnannouncedCut]]:
    """By asset; assets without one in these periods are left out."""
    found: dict[int, list[UnannouncedCut]] = {}
    for row in await fetch_by_keys(
        db,
        """select a.asset_key, a.period, a.announced_kw - a.adjusted_kw as power_kw,
                  a.scheduled_kw - a.adjusted_kw as unfollowed_kw
           from schedule_adjustment a join schedule_version v on v.asset_key = a.asset_key and v.version = a.version
           where a.asset_key = any($1::int[]) and a.period >= $2 and a.period < $3 and a.announced_kw <> a.adjusted_kw
             and ($4::timestamptz is null or v.accepted_at <= $4)""",
        keys,
        first,
        end,
        as_of,
    ):
        found.setdefault(row["asset_key"], []).append(
            UnannouncedCut(row["period"], row["power_kw"], row["unfollowed_kw"])
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class CutPowers:
    """In each of some periods, with the sign of the cut power: the unannounced part of the cut, and how much of it the
    schedule does not follow."""

    unannounced_kw: Floats
    unfollowed_kw: Floats

    def copy(self) -> CutPowers:
        return CutPowers(self.unannounced_kw.copy(), self.unfollowed_kw.copy())


def spread_cuts(cuts: Sequence[UnannouncedCut], first: int, end: int) -> CutPowers:
    """In each period from `first` up to but not `end`."""
    powers = CutPowers(np.zeros(max(0, end - first)), np.zeros(max(0, end - first)))
    for cut in cuts:
        if first <= cut.period < end:
            powers.unannounced_kw[cut.period - first] = cut.power_kw
            powers.unfollowed_kw[cut.period - first] = cut.unfollowed_kw
    return powers


async def read_cuts(db: Database, key: int, first: int, end: int, as_of: datetime | None = None) -> CutPowers:
    """The power cut in each period beyond what was announced in time."""
    return spread_cuts((await read_unannounced_cuts(db, [key], first, end, as_of)).get(key, ()), first, end)


async def read_adjustments(
    db: Database, key: int, first: int, end: int, *, after: int | None = None, limit: int = 100
) -> list[Adjustment]:
    rows = await db.fetch(
        """select period, accepted_kw, adjusted_kw, reason, scheduled_kw, announced_kw from schedule_adjustment
           where asset_key = $1 and period >= $2 and period < $3 and ($4::bigint is null or period > $4)
           order by period limit $5""",
        key,
        first,
        end,
        after,
        limit,
    )
    return [read_row(Adjustment, row, reason=AdjustmentReason(row["reason"])) for row in rows]
