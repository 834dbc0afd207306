"""Back-tests in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from uuid import UUID

import asyncpg
import msgspec

from gridloom.kernel.copying import field_names_of
from gridloom.kernel.market_stages import STAGES, Stage
from gridloom.optimiser.backtests.model import Backtest, BacktestDay, StageSum
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import Policy
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement

_BACKTEST = """
  select id, organisation_id, asked_at, status, start_day, end_day, series, policy, battery::text as battery,
    earned_eur, foresight_eur, days_done, failure, stages
  from backtest b
"""
_STAGE_SUMS = """
  select backtest_id, array[sum(fcr_eur), count(fcr_eur), sum(afrr_eur), count(afrr_eur), sum(day_ahead_eur),
    count(day_ahead_eur), sum(ida1_eur), count(ida1_eur), sum(ida2_eur), count(ida2_eur), sum(ida3_eur),
    count(ida3_eur)] as sums
  from backtest_day where organisation_id = $1 and backtest_id = any($2::uuid[]) group by backtest_id
"""


_INSERT = NamedStatement("""
insert into backtest (organisation_id, id, asked_by, asked_at, status, start_day, end_day, series, policy, battery,
  stages)
values (:organisation_id, :id, :asked_by, :asked_at, :status, :start, :end, :series, :policy, :battery::text::jsonb,
  :stages::text[])
""")
_INSERT_DAYS = NamedStatement("""
insert into backtest_day (organisation_id, backtest_id, delivery_day, earned_eur, foresight_eur, charged_kwh,
  discharged_kwh, end_kwh, foresight_end_kwh, foresight_discharged_kwh, fcr_eur, afrr_eur, day_ahead_eur, ida1_eur,
  ida2_eur, ida3_eur)
select :organisation_id, :id, u.* from unnest(
  :day::date[], :earned_eur::float8[], :foresight_eur::float8[], :charged_kwh::float8[], :discharged_kwh::float8[],
  :end_kwh::float8[], :foresight_end_kwh::float8[], :foresight_discharged_kwh::float8[], :fcr_eur::float8[],
  :afrr_eur::float8[], :day_ahead_eur::float8[], :ida1_eur::float8[], :ida2_eur::float8[], :ida3_eur::float8[]) u
""")
_DAYS = """
  select delivery_day as day, earned_eur, foresight_eur, charged_kwh, discharged_kwh, end_kwh, foresight_end_kwh,
    foresight_discharged_kwh, fcr_eur, afrr_eur, day_ahead_eur, ida1_eur, ida2_eur, ida3_eur
  from backtest_day
"""


async def insert_backtest(db: Database, backtest: Backtest, asked_by: UUID) -> None:
    battery = msgspec.json.encode(asdict(backtest.battery)).decode()
    await _INSERT.execute(db, backtest, asked_by=asked_by, battery=battery, stages=list(backtest.stages))


async def delete_oldest(db: Database, organisation_id: UUID, kept: int) -> None:
    """Delete all but the newest of an organisation."""
    await db.execute(
        """
        delete from backtest where organisation_id = $1 and id in (
          select id from backtest where organisation_id = $1 order by id desc offset $2)
        """,
        organisation_id, kept,
    )  # fmt: skip


async def read_backtest(db: Database, organisation_id: UUID, id: UUID) -> Backtest | None:
    row = await db.fetchrow(_BACKTEST + "where b.organisation_id = $1 and id = $2", organisation_id, id)
    found = await _read_with_stages(db, organisation_id, [] if row is None else [row])
    return found[0] if found else None


async def list_backtests(db: Database, organisation_id: UUID, before: UUID | None, limit: int) -> list[Backtest]:
    rows = await db.fetch(
        _BACKTEST + "where b.organisation_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        organisation_id, before, limit,
    )  # fmt: skip
    return await _read_with_stages(db, organisation_id, rows)


async def _read_with_stages(db: Database, organisation_id: UUID, rows: Sequence[asyncpg.Record]) -> list[Backtest]:
    """The sums of stages apart: a distributed database takes no correlated sub-query."""
    staged = [row["id"] for row in rows if row["stages"]]
    found = await db.fetch(_STAGE_SUMS, organisation_id, staged) if staged else []
    sums = {row["backtest_id"]: row["sums"] for row in found}
    return [_read_backtest(row, sums.get(row["id"])) for row in rows]


def _read_backtest(row: asyncpg.Record, stage_sums: Sequence[float | None] | None) -> Backtest:
    stages = tuple(Stage(name) for name in row["stages"])
    sums = stage_sums or [None, 0] * len(STAGES)
    return read_row(
        Backtest,
        row,
        stages=stages,
        stage_sums=tuple(
            StageSum(stage, sums[2 * stage.place] or 0.0, int(sums[2 * stage.place + 1] or 0)) for stage in stages
        ),
        start=row["start_day"],
        end=row["end_day"],
        policy=Policy(row["policy"]),
        battery=msgspec.json.decode(row["battery"], type=BatterySpec),
    )


async def add_days(db: Database, backtest: Backtest, days: Sequence[BacktestDay], *, is_last: bool) -> bool:
    """Write the days and what they add up to; False, and nothing written, when the back-test was replaced meanwhile.

    The sum comes first: it locks the back-test, so that none is removed between the sum and its days.
    """
    status = await db.execute(
        """
        update backtest set status = $3, days_done = days_done + $4, earned_eur = earned_eur + $5,
          foresight_eur = foresight_eur + $6
        where organisation_id = $1 and id = $2
        """,
        backtest.organisation_id,
        backtest.id,
        "DONE" if is_last else "RUNNING",
        len(days),
        sum(day.earned_eur for day in days),
        sum(day.foresight_eur for day in days),
    )
    if str(status) != "UPDATE 1":
        return False
    columns = {name: [getattr(day, name) for day in days] for name in field_names_of(BacktestDay)}
    await _INSERT_DAYS.execute(db, organisation_id=backtest.organisation_id, id=backtest.id, **columns)
    return True


async def note_failure(db: Database, backtest: Backtest, failure: str) -> None:
    await db.execute(
        "update backtest set status = 'FAILED', failure = $3 where organisation_id = $1 and id = $2",
        backtest.organisation_id, backtest.id, failure,
    )  # fmt: skip


async def read_days(db: Database, organisation_id: UUID, id: UUID, after: date | None, limit: int) -> list[BacktestDay]:
    rows = await db.fetch(
        _DAYS
        + """where organisation_id = $1 and backtest_id = $2 and ($3::date is null or delivery_day > $3)
             order by delivery_day limit $4""",
        organisation_id, id, after, limit,
    )  # fmt: skip
    return [BacktestDay(**row) for row in rows]


async def sum_year_discharges(db: Database, backtest: Backtest, year: int) -> tuple[float, float]:
    """Discharged in a year so far, by the policy and by foresight."""
    row = await db.fetchrow(
        """
        select coalesce(sum(discharged_kwh), 0) as played, coalesce(sum(foresight_discharged_kwh), 0) as best
        from backtest_day where organisation_id = $1 and backtest_id = $2 and delivery_day >= $3
        """,
        backtest.organisation_id, backtest.id, date(year, 1, 1),
    )  # fmt: skip
    assert row is not None
    return row["played"], row["best"]


async def read_last_day(db: Database, backtest: Backtest) -> BacktestDay | None:
    row = await db.fetchrow(
        _DAYS + "where organisation_id = $1 and backtest_id = $2 order by delivery_day desc limit 1",
        backtest.organisation_id, backtest.id,
    )  # fmt: skip
    return None if row is None else BacktestDay(**row)
