"""Back-tests over HTTP: a battery and a policy over past days, run by a job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

import msgspec
import pyarrow as pa
from msgspec import Meta

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_stages import STAGES, Stage
from gridloom.kernel.market_time import market_day_of, market_day_window, period_number
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, NotFound
from gridloom.optimiser.backtests import jobs, store
from gridloom.optimiser.backtests.model import Backtest, BacktestDay
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import MIN_HISTORY_DAYS, Policy
from gridloom.optimiser.prices import DAY_AHEAD, PricesMissing, load_day_table, prices_missing
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.platform.database.clock import real_now
from gridloom.platform.http import (
    ARROW,
    CSV,
    JSON,
    PARQUET,
    Page,
    Paging,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    Stream,
    operation,
)
from gridloom.platform.http.fields import accept_day, accept_instant, view_of
from gridloom.platform.http.tables import stream_table
from gridloom.platform.jobs import admit_job

TAG = "Decisions"
MAX_DAYS = 3660
MAX_STORED_BACKTESTS = 100
ROW_BATCH_SIZE = 1000

Day = Annotated[str, Meta(extra_json_schema={"anyOf": [{"format": "date"}, {"format": "date-time"}]})]


class BacktestBattery(RequestBody, kw_only=True):
    rated_power: Annotated[float, Meta(gt=0, le=10_000_000)]
    energy_capacity: Annotated[float, Meta(gt=0, le=100_000_000)]
    charge_efficiency: Annotated[float, Meta(ge=0.1, le=1)]
    discharge_efficiency: Annotated[float, Meta(ge=0.1, le=1)]
    daily_cycle_limit: Annotated[float, Meta(gt=0, le=100)] | None = None
    annual_cycle_limit: Annotated[float, Meta(gt=0, le=36_500)] | None = None


class NewBacktest(RequestBody, kw_only=True):
    start: Day
    end: Day
    series: Literal["DAY_AHEAD_DE_LU"] | None = None
    policy: Policy
    battery: BacktestBattery
    stages: Annotated[list[Stage], Meta(max_length=6)] | None = None


class BacktestBatteryView(ResponseBody):
    rated_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None
    annual_cycle_limit: float | None


class BacktestStage(ResponseBody):
    """EUR of a stage, and on how many days it had prices; on the others it was held."""

    stage: Stage
    earned: float
    days: int


class BacktestView(ResponseBody):
    """EUR; `earned` and `foresight` are of the days played so far. With stages, foresight knows the true prices of each
    stage, one after the other."""

    id: UUID
    status: Literal["QUEUED", "RUNNING", "DONE", "FAILED"]
    progress: float
    start: date
    end: date
    series: str
    policy: Policy
    battery: BacktestBatteryView
    earned: float
    foresight: float
    share: float | None
    stages: list[BacktestStage]
    created_at: datetime
    failure: str | None


class BacktestDayView(ResponseBody):
    """EUR and kWh of a market day."""

    delivery_day: date
    earned: float
    foresight: float
    charged: float
    discharged: float
    end_state_of_charge_percentage: float
    fcr: float | None
    afrr: float | None
    day_ahead: float | None
    ida1: float | None
    ida2: float | None
    ida3: float | None


@operation(
    "POST",
    "/backtests",
    summary="Run a back-test",
    access=Permission.CREATE_OPTIMISATIONS,
    status=202,
    audited=False,
    problems=(PricesMissing,),
)
async def create_backtest(request: Request, body: NewBacktest) -> Response[BacktestView]:
    """The earnings of a battery on past market days, each planned on what was known the day before.

    A job runs it. The newest hundred of an organisation are kept.
    """
    start, end = requested_days(body)
    _check_stages(body.stages or [])
    await _demand_prices(request, start, end)
    now, asked = await real_now(request.db), body.battery
    battery = BatterySpec(
        asked.rated_power,
        asked.rated_power,
        asked.energy_capacity,
        asked.charge_efficiency,
        asked.discharge_efficiency,
        asked.daily_cycle_limit,
        asked.annual_cycle_limit,
    )
    backtest = Backtest(
        id=uuid7(),
        organisation_id=request.caller.organisation_id,
        asked_at=now,
        status="QUEUED",
        start=start,
        end=end,
        series=body.series or DAY_AHEAD,
        policy=body.policy,
        battery=battery,
        earned_eur=0.0,
        foresight_eur=0.0,
        days_done=0,
        failure=None,
        stages=tuple(stage for stage in STAGES if stage in (body.stages or ())),
    )
    await admit_job(request, request.db)
    await store.insert_backtest(request.db, backtest, request.caller.id)
    await store.delete_oldest(request.db, backtest.organisation_id, MAX_STORED_BACKTESTS)
    await jobs.queue_backtest(request.db, backtest, now)
    return Response(_view_backtest(backtest), headers={"Location": f"/backtests/{backtest.id}", "Retry-After": "1"})


def _check_stages(stages: Sequence[Stage]) -> None:
    faults = [
        FieldError(f"/stages/{place}", "is named twice") for place, one in enumerate(stages) if one in stages[:place]
    ]
    if Stage.DAY_AHEAD not in stages:
        faults += [
            FieldError(f"/stages/{place}", "needs DAY_AHEAD beside it, whose position it changes")
            for place, one in enumerate(stages)
            if one.is_intraday
        ]
    if faults:
        raise BadRequest(f"{faults[0].pointer}: {faults[0].detail}.", faults)


def requested_days(body: NewBacktest) -> tuple[date, date]:
    faults = []
    days: list[date] = []
    for name, text in (("start", body.start), ("end", body.end)):
        try:
            days.append(_day_of(text))
        except (ValueError, msgspec.ValidationError):
            faults.append(FieldError(f"/{name}", "Expected a day such as 2025-01-01, or an instant with an offset."))
    if not faults and not days[0] < days[1]:
        faults.append(FieldError("/end", "Expected a day after start."))
    if not faults and (days[1] - days[0]).days > MAX_DAYS:
        faults.append(FieldError("/end", "Expected ten years at most."))
    if faults:
        raise BadRequest(f"{faults[0].pointer}: {faults[0].detail}", faults)
    return days[0], days[1]


def _day_of(text: str) -> date:
    if "T" not in text.upper():
        return accept_day(date.fromisoformat(text))
    return market_day_of(accept_instant(msgspec.convert(text, Annotated[datetime, Meta(tz=True)])))


async def _demand_prices(request: Request, start: date, end: date) -> None:
    """The first days needed and the last one, which are what is missing where something is; the job sees them all."""
    before = await load_day_table(request.db, DAY_AHEAD, start, MIN_HISTORY_DAYS)
    if len(before) < MIN_HISTORY_DAYS:
        missing = before.end if before.end < start else start - timedelta(days=MIN_HISTORY_DAYS)
        raise prices_missing(DAY_AHEAD, period_number(market_day_window(missing).start))
    if len(await load_day_table(request.db, DAY_AHEAD, end, 1)) < 1:
        async with request.resources[SolverQueue].turn(request, is_long=True):  # up to ten years of prices
            missing = (await load_day_table(request.db, DAY_AHEAD, end, (end - start).days)).end
        raise prices_missing(DAY_AHEAD, period_number(market_day_window(max(missing, start)).start))


@operation("GET", "/backtests", summary="List back-tests", access=Permission.CREATE_OPTIMISATIONS, replica_read=True)
async def list_backtests(request: Request, query: Paging) -> Page[BacktestView]:
    """Your organisation's, the newest first."""
    found = await store.list_backtests(request.db, request.caller.organisation_id, query.after(UUID), query.limit + 1)
    page = query.page(found, lambda backtest: backtest.id)
    return Page([_view_backtest(backtest) for backtest in page.items], page.next_cursor)


@operation(
    "GET",
    "/backtests/{backtestID}",
    summary="Read a back-test",
    access=Permission.CREATE_OPTIMISATIONS,
    replica_read=True,
)
async def read_backtest(request: Request, backtest_id: UUID) -> BacktestView:
    """With its progress while it runs, and the shares of foresight when it is done."""
    return _view_backtest(await _require_backtest(request, backtest_id))


@operation(
    "GET",
    "/backtests/{backtestID}/days",
    summary="List the days of a back-test",
    access=Permission.CREATE_OPTIMISATIONS,
    produces=(JSON, CSV, ARROW, PARQUET),
    response_schema=list[BacktestDayView],
    replica_read=True,
)
async def list_backtest_days(request: Request, backtest_id: UUID, query: Paging) -> Page[BacktestDayView] | Stream:
    """By day, as far as it has been played. A table has all of them, whatever `limit` says."""
    backtest = await _require_backtest(request, backtest_id)
    if request.accepts != JSON:
        return stream_table(
            request.accepts, _DAYS, _stream_batches(request, backtest), file_name=f"backtest-{backtest.id}"
        )
    found = await store.read_days(request.db, backtest.organisation_id, backtest.id, query.after(date), query.limit + 1)
    page = query.page(found, lambda day: day.day)
    return Page([_day_view(day, backtest) for day in page.items], page.next_cursor)


_DAYS = pa.schema(
    [
        ("deliveryDay", pa.date32()),
        ("earned", pa.float64()),
        ("foresight", pa.float64()),
        ("charged", pa.float64()),
        ("discharged", pa.float64()),
        ("endStateOfChargePercentage", pa.float64()),
        *((name, pa.float64()) for name in ("fcr", "afrr", "dayAhead", "ida1", "ida2", "ida3")),
    ]
)


async def _stream_batches(request: Request, backtest: Backtest) -> AsyncIterator[pa.RecordBatch]:
    after: date | None = None
    while True:
        days = await store.read_days(request.pool, backtest.organisation_id, backtest.id, after, ROW_BATCH_SIZE)
        if not days:
            return
        after = days[-1].day
        views = [_day_view(day, backtest) for day in days]
        yield pa.RecordBatch.from_pylist(msgspec.to_builtins(views, builtin_types=(date,)), schema=_DAYS)


async def _require_backtest(request: Request, backtest_id: UUID) -> Backtest:
    backtest = await store.read_backtest(request.db, request.caller.organisation_id, backtest_id)
    if backtest is None:
        raise NotFound(f"Your organisation has no back-test {backtest_id}.")
    return backtest


def _day_view(day: BacktestDay, backtest: Backtest) -> BacktestDayView:
    charged_percentage = min(max(100 * day.end_kwh / backtest.battery.energy_kwh, 0.0), 100.0)
    return view_of(BacktestDayView, day, delivery_day=day.day, end_state_of_charge_percentage=charged_percentage)


def _view_backtest(backtest: Backtest) -> BacktestView:
    battery = backtest.battery
    return copy_fields(
        BacktestView,
        backtest,
        battery=copy_fields(
            BacktestBatteryView, battery, rated_power=battery.charge_kw, energy_capacity=battery.energy_kwh
        ),
        earned=backtest.earned_eur,
        foresight=backtest.foresight_eur,
        stages=[copy_fields(BacktestStage, one, earned=one.earned_eur) for one in backtest.stage_sums],
        created_at=backtest.asked_at,
    )
