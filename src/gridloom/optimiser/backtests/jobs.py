"""Running back-tests: some months at a time, so that progress shows and a crash costs little."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.market_stages import STAGES, Stage
from gridloom.kernel.market_time import format_instant, market_day_window
from gridloom.optimiser.backtests import store
from gridloom.optimiser.backtests.market_history import MarketHistory, load_market_history
from gridloom.optimiser.backtests.model import Backtest, BacktestDay
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, MIN_HISTORY_DAYS, Expectation, Policy, replay_days
from gridloom.optimiser.backtests.staged import FEE_EUR_MWH, StagedDay, StagedReplay
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.forecasts.formulas import HISTORY_DAYS
from gridloom.optimiser.prices import load_day_table, load_known_table
from gridloom.platform.database.pool import Database
from gridloom.platform.http.long_bodies.decoder_process import compute_apart
from gridloom.platform.jobs import JobRun, enqueue, job

KIND: Final = "backtest.run"
DAYS_PER_JOB: Final = 100
DAYS_A_SECOND: Final = 50


async def queue_backtest(db: Database, backtest: Backtest, due: datetime) -> None:
    """Have its next days played; the shorter back-tests of an organisation come first."""
    days = (backtest.end - backtest.start).days - backtest.days_done
    await enqueue(
        db,
        KIND,
        key=str(backtest.id),
        due=due,
        payload={"organisationID": str(backtest.organisation_id)},
        organisation_id=backtest.organisation_id,
        size=1 + days // DAYS_A_SECOND,
    )


@job(KIND, limit=timedelta(minutes=5), for_organisations=True)
async def run_backtest(run: JobRun) -> None:
    """The next days of one back-test, in one transaction; it queues itself again until all are done.

    One that a newer back-test of its organisation has replaced meanwhile ends here, without its days.
    """
    backtest = await store.read_backtest(run.db, UUID(run.payload["organisationID"]), UUID(run.key))
    if backtest is None or backtest.status in ("DONE", "FAILED"):
        return
    first = backtest.start + timedelta(days=backtest.days_done)
    end = min(backtest.end, first + timedelta(days=DAYS_PER_JOB))
    # One day more than is played: foresight looks a day further, as a plan does.
    table = await load_day_table(run.db, backtest.series, end + timedelta(days=1), HISTORY_DAYS + DAYS_PER_JOB + 1)
    if table.end < end or table.first > first - timedelta(days=MIN_HISTORY_DAYS):
        missing = table.end if table.end < end else table.first - timedelta(days=1)
        instant = format_instant(market_day_window(missing).start)
        await store.note_failure(
            run.db, backtest, f"{backtest.series} lacks prices on the market day that starts {instant}."
        )
        return
    known = await load_known_table(run.db, backtest.series, table)
    last = await store.read_last_day(run.db, backtest)
    if backtest.is_staged:
        history = await load_market_history(run.db, table, frozenset(backtest.stages), first)
        spent_kwh = await store.sum_year_discharges(run.db, backtest, first.year)
        days = await compute_apart(run_staged_days, history, known, backtest, first, end, last, spent_kwh)
    else:
        days = await compute_apart(run_days, table, backtest, first, end, last, known)
    was_added = await store.add_days(run.db, backtest, days, is_last=end == backtest.end)
    if was_added and end < backtest.end:
        await queue_backtest(run.db, replace(backtest, days_done=backtest.days_done + len(days)), run.due)


def run_days(
    table: DayTable,
    backtest: Backtest,
    first: date,
    end: date,
    last: BacktestDay | None,
    known: DayTable | None = None,
) -> list[BacktestDay]:
    """The policy and foresight side by side, each going on from where it was. The policy plans on what was `known`."""
    battery = backtest.battery
    start_kwh = last.foresight_end_kwh if last else None
    foresight = list(replay_days(table, first, end, battery, EXPECTATIONS[Policy.FORESIGHT], start_kwh))
    played = foresight
    if backtest.policy is not Policy.FORESIGHT:
        start_kwh = last.end_kwh if last else None
        played = list(replay_days(table, first, end, battery, _expect_from(known or table, backtest.policy), start_kwh))
    return [
        BacktestDay(
            day.day,
            day.earned_eur,
            best.earned_eur,
            day.charged_kwh,
            day.discharged_kwh,
            day.end_kwh,
            best.end_kwh,
            best.discharged_kwh,
        )
        for day, best in zip(played, foresight, strict=True)
    ]


def _expect_from(known: DayTable, policy: Policy) -> Expectation:
    """A policy's expectation by the prices as they were known; foresight has those that came."""
    expect = EXPECTATIONS[policy]
    return expect if policy is Policy.FORESIGHT else lambda _table, index: expect(known, index)


def run_staged_days(
    history: MarketHistory,
    known: DayTable,
    backtest: Backtest,
    first: date,
    end: date,
    last: BacktestDay | None,
    spent_kwh: tuple[float, float],
) -> list[BacktestDay]:
    """The same stage by stage; `spent_kwh` is what policy and foresight have discharged in the year before `first`."""
    battery = backtest.battery
    stages = frozenset(backtest.stages or (Stage.DAY_AHEAD,))
    half_kwh = battery.energy_kwh / 2

    def play(policy: Policy, start_kwh: float, spent: float) -> list[StagedDay]:
        replay = StagedReplay(
            history,
            battery,
            stages,
            _expect_from(known, policy),
            has_foresight=policy is Policy.FORESIGHT,
            fee_eur_mwh=FEE_EUR_MWH if backtest.stages else 0.0,
            known=None if policy is Policy.FORESIGHT else known,
        )
        return list(replay.play(first, end, start_kwh, spent, backtest.end))

    foresight = play(Policy.FORESIGHT, last.foresight_end_kwh if last else half_kwh, spent_kwh[1])
    played = foresight
    if backtest.policy is not Policy.FORESIGHT:
        played = play(backtest.policy, last.end_kwh if last else half_kwh, spent_kwh[0])
    return [
        copy_fields(
            BacktestDay,
            day,
            earned_eur=day.total_eur,
            foresight_eur=best.total_eur,
            foresight_end_kwh=best.end_kwh,
            foresight_discharged_kwh=best.discharged_kwh,
            **{f"{stage.lower()}_eur": day.earned_eur.get(stage) for stage in STAGES},
        )
        for day, best in zip(played, foresight, strict=True)
    ]
