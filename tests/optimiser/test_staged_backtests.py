"""Past days replayed stage by stage: nothing is known before its gate, and no budget of cycles is exceeded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import BufferReader
from tests.optimiser.synthetic_prices import load_days, shaped_day, shaped_table
from tests.optimiser.test_backtests import ended
from tests.people import People

from gridloom.kernel.market_stages import (
    AUCTION_STAGES,
    INTRADAY_STAGES,
    RESERVE_STAGES,
    STAGE_OF_SERIES,
    STAGES,
    Stage,
)
from gridloom.kernel.market_time import block_window, market_day_window
from gridloom.optimiser.backtests.market_history import MarketHistory
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Policy
from gridloom.optimiser.backtests.staged import StagedDay, StagedReplay
from gridloom.platform.http.application import Application

FIRST, DAYS = date(2026, 2, 1), 75
BATTERY = BatterySpec(1000.0, 1000.0, 2000.0, 0.943, 0.943, 1.5)
CAPACITY = [series for series, stage in STAGE_OF_SERIES.items() if stage in RESERVE_STAGES]


def made_history(seed: int = 1) -> MarketHistory:
    table, rng = shaped_table(FIRST, DAYS), np.random.default_rng(seed)
    auctions, last = {}, table.quarters
    for stage, size in zip(INTRADAY_STAGES, (15.0, 5.0, 5.0), strict=True):
        last = last + rng.normal(0, size, last.shape)
        auctions[stage] = last
    capacity = {series: np.abs(rng.normal(12, 4, (DAYS, 6))) for series in CAPACITY}
    weekend = np.array([(FIRST + timedelta(days=day)).weekday() >= 5 for day in range(DAYS)])
    return MarketHistory(table, auctions, capacity, weekend)


def play(
    history: MarketHistory,
    stages: tuple[Stage, ...],
    policy: Policy = Policy.MEAN_7_DAYS,
    battery: BatterySpec = BATTERY,
    first: int = 55,
    days: int = 6,
) -> list[StagedDay]:
    start = FIRST + timedelta(days=first)
    replay = StagedReplay(
        history, battery, frozenset(stages), EXPECTATIONS[policy], has_foresight=policy is Policy.FORESIGHT
    )
    return list(replay.play(start, start + timedelta(days=days), battery.energy_kwh / 2))


@pytest.mark.pure
class TestAStage:
    @pytest.mark.parametrize("stage", STAGES)
    def test_decides_by_what_is_known_at_its_gate(self, stage: Stage) -> None:
        """Garbage in all prices of the day that come after the gate leaves what the stages before it earned, and of
        this one what it traded: the same volumes earn the garbage's price."""
        history, index = made_history(), 55
        rng = np.random.default_rng(9)

        def spoil(values: Any, own: Stage) -> Any:
            if own.place < stage.place:
                return values
            spoilt = values.copy()
            spoilt[index:] = rng.normal(0, 500, spoilt[index:].shape)
            return spoilt

        table = replace(history.table, quarters=spoil(history.table.quarters, Stage.DAY_AHEAD))
        later = MarketHistory(
            table,
            {own: spoil(values, own) for own, values in history.auctions.items()},
            {series: np.abs(spoil(values, STAGE_OF_SERIES[series])) for series, values in history.capacity.items()},
            history.is_weekend,
        )
        [known], [spoilt] = play(history, STAGES, days=1), play(later, STAGES, days=1)
        for earlier in STAGES[: stage.place]:
            assert spoilt.earned_eur[earlier] == pytest.approx(known.earned_eur[earlier], abs=1e-9)
        if stage is Stage.IDA3:  # the last: its own volumes are the day's
            assert spoilt.discharged_kwh == pytest.approx(known.discharged_kwh, abs=1e-9)

    def test_without_prices_is_held(self) -> None:
        history = made_history()
        history.auctions[Stage.IDA2][57, 20] = np.nan
        days = play(history, AUCTION_STAGES)
        assert [Stage.IDA2 in day.earned_eur for day in days] == [True, True, False, True, True, True]
        assert all(day.earned_eur.keys() >= {Stage.DAY_AHEAD, Stage.IDA1, Stage.IDA3} for day in days)

    def test_of_an_intraday_auction_adds_to_what_the_day_ahead_earned(self) -> None:
        history = made_history()
        days = play(history, AUCTION_STAGES, days=15)
        for stage in INTRADAY_STAGES:
            assert sum(day.earned_eur[stage] for day in days) >= 0
        best = play(history, AUCTION_STAGES, Policy.FORESIGHT, days=15)
        assert sum(day.total_eur for day in days) <= sum(day.total_eur for day in best)
        assert all(-1e-6 <= day.end_kwh <= BATTERY.energy_kwh + 1e-6 for day in days)
        assert all(day.discharged_kwh <= 1.5 * BATTERY.energy_kwh + 1e-3 for day in days)


@pytest.mark.pure
class TestABudgetOfAYear:
    @pytest.mark.parametrize("first", [10, 40], ids=["few-past-days", "a-price-of-wear"])
    def test_is_spent_and_never_exceeded(self, first: int) -> None:
        """Its life is ten days of the year, in which it may discharge eight times."""
        battery = replace(BATTERY, daily_cycle_limit=None, annual_cycle_limit=8.0)
        days = play(made_history(), (Stage.DAY_AHEAD,), Policy.FORESIGHT, battery, first, 10)
        cycles = sum(day.discharged_kwh for day in days) / battery.energy_kwh
        assert 6.0 <= cycles <= 8.0 + 1e-6


SIZES = {"IDA1_DE_LU": 20.0, "IDA2_DE_LU": 15.0, "IDA3_DE_LU": 15.0}
"""The deviation of each intraday auction's prices from the shape of the day."""


def auction_rows(series: str, days: range, today: date, size: float) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(5), []
    for ahead in days:
        day = today + timedelta(days=ahead)
        start = market_day_window(day).start
        for place, price in enumerate(shaped_day(day).tolist()):
            begins = start + place * timedelta(minutes=15)
            end = begins + timedelta(minutes=15)
            value = round(price + float(rng.normal(0, size)), 2)
            rows.append({"series": series, "start": begins.isoformat(), "end": end.isoformat(), "price": value})
    return rows


def capacity_rows(series: str, days: range, today: date, level: float) -> list[dict[str, Any]]:
    """A price for each block of four hours."""
    rng, rows = np.random.default_rng(5), []
    for ahead in days:
        for start_hour in range(0, 24, 4):
            window = block_window(today + timedelta(days=ahead), start_hour, start_hour + 4)
            price = round(float(rng.uniform(level / 2, level)), 2)
            rows.append(
                {"series": series, "start": window.start.isoformat(), "end": window.end.isoformat(), "price": price}
            )
    return rows


async def replay(trader: Any) -> list[dict[str, Any]]:
    """Five days at all stages, under a limit of cycles in a year."""
    battery = {"ratedPower": 1000, "energyCapacity": 2000, "chargeEfficiency": 0.943, "dischargeEfficiency": 0.943}
    asked = {
        "start": "2026-03-24",
        "end": "2026-03-29",
        "policy": "MEAN_7_DAYS",
        "battery": {**battery, "annualCycleLimit": 4},
        "stages": list(STAGES),
    }
    answer = await trader.post("/backtests", json=asked)
    assert answer.status_code == 202, answer.text
    path = answer.headers["location"]
    done = await ended(trader, path)
    assert done["status"] == "DONE", done
    return list((await trader.get(f"{path}/days")).json())


class TestABacktestByStage:
    async def test_says_what_each_earned_in_every_format(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        async with People(await fresh_app()) as people:
            operator, trader = (await people.operator()).client, (await people.new_organisation()).trader
            today = date(2026, 3, 20)
            await load_days(operator, today, 20)
            posted = await operator.post(
                "/reference-prices", json=auction_rows("IDA1_DE_LU", range(8, 14), today, 20.0)
            )
            assert posted.status_code == 200, posted.text
            asked = {
                "start": "2026-03-28",
                "end": "2026-04-05",
                "policy": "MEAN_7_DAYS",
                "battery": {
                    "ratedPower": 1000,
                    "energyCapacity": 2000,
                    "chargeEfficiency": 0.943,
                    "dischargeEfficiency": 0.943,
                },
                "stages": ["IDA1", "DAY_AHEAD", "IDA2"],
            }
            answer = await trader.post("/backtests", json=asked)
            assert answer.status_code == 202, answer.text
            path = answer.headers["location"]
            done = await ended(trader, path)
            assert done["status"] == "DONE", done
            assert [(one["stage"], one["days"]) for one in done["stages"]] == [
                ("DAY_AHEAD", 8),
                ("IDA1", 6),
                ("IDA2", 0),
            ]
            assert sum(one["earned"] for one in done["stages"]) == pytest.approx(done["earned"])
            assert done["stages"][1]["earned"] > 0
            assert 0 < done["share"] <= 1
            days = (await trader.get(f"{path}/days")).json()
            assert [day["ida1"] is None for day in days] == [False] * 6 + [True] * 2
            assert {(day["ida2"], day["fcr"]) for day in days} == {(None, None)}
            table = await trader.get(f"{path}/days", headers={"Accept": "application/vnd.apache.parquet"})
            columns = pq.read_table(BufferReader(table.content)).to_pydict()
            assert columns["ida1"] == [day["ida1"] for day in days]
            assert columns["dayAhead"] == [day["dayAhead"] for day in days]

    async def test_decides_by_prices_as_they_stood_at_its_gates(
        self, fresh_app: Callable[..., Awaitable[Application]]
    ) -> None:
        """Garbage comes weeks later for every series and day: it is paid, where auctions are, and changes no plan."""
        today = date(2026, 2, 1)
        edge = await fresh_app(market_day_window(today).start)
        async with People(edge) as people:
            operator = (await people.operator()).client
            late = range(44, 57)
            rows = auction_rows("DAY_AHEAD_DE_LU", range(57), today, 0.0)
            rows += [row for series, size in SIZES.items() for row in auction_rows(series, late, today, size)]
            rows += [row for series in CAPACITY for row in capacity_rows(series, late, today, 12)]
            assert (await operator.post("/reference-prices", json=rows, timeout=120)).status_code == 200
            for days in (30, 60):
                moved = {"now": market_day_window(today + timedelta(days=days)).start.isoformat()}
                assert (await operator.put("/sandbox/clock", json=moved, timeout=120)).status_code == 200
            before = await replay(operator)
            rng = np.random.default_rng(9)
            garbage = [{**row, "price": round(float(rng.uniform(0, 900)), 2)} for row in rows]
            assert (await operator.post("/reference-prices", json=garbage, timeout=120)).status_code == 200
            after = await replay(operator)
        decided = ("charged", "discharged", "afrr")
        assert [[day[name] for name in decided] for day in after] == [[day[name] for name in decided] for day in before]
        for stage in ("fcr", "dayAhead", "ida1", "ida2", "ida3"):
            assert any(day[stage] for day in before), stage
            assert [day[stage] for day in after] != [day[stage] for day in before], stage

    @pytest.mark.parametrize(
        ("stages", "pointer"),
        [(["IDA1"], "/stages/0"), (["DAY_AHEAD", "IDA3", "DAY_AHEAD"], "/stages/2"), (["CONTINUOUS"], "/stages/0")],
    )
    async def test_points_at_a_stage_that_cannot_be(
        self, new_organisation: Any, stages: list[str], pointer: str
    ) -> None:
        battery = {"ratedPower": 1, "energyCapacity": 2, "chargeEfficiency": 1, "dischargeEfficiency": 1}
        body = {"start": "2026-01-02", "end": "2026-01-09", "policy": "FORESIGHT", "battery": battery, "stages": stages}
        answer = await (await new_organisation()).trader.post("/backtests", json=body)
        assert answer.status_code == 400, answer.text
        assert answer.json()["errors"][0]["pointer"] == pointer
