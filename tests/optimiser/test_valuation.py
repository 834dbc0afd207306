"""The value of a window to come: calibrated on real days, bounded, and private to who asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx2
import msgspec
import numpy as np
import pytest
from tests.assets import register_asset
from tests.optimiser.real_prices import needs_real_prices, real_table
from tests.optimiser.synthetic_prices import load_days, shaped_table
from tests.people import OrganisationUnderTest, People

from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.optimiser.backtests.planner import BatterySpec, Planner
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Policy, replay_days
from gridloom.optimiser.day_table import DayTable, table_of
from gridloom.optimiser.prices import load_day_table
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import CancelledError
from gridloom.optimiser.valuations import day_value_cache, routes
from gridloom.optimiser.valuations.formulas import (
    AuctionedBattery,
    Basis,
    Calibration,
    DayValues,
    PastWindow,
    Valuation,
    closed_value,
    value_past_days,
    value_window,
)
from gridloom.platform.http.application import Application

BATTERY = BatterySpec(1000.0, 1000.0, 2000.0, 0.943, 0.943, 1.5)


def offer(first: date, days: int, **changes: Any) -> AuctionedBattery:
    return replace(AuctionedBattery(BATTERY, first, first + timedelta(days=days - 1), 0, 96), **changes)


class TestAnOffer:
    @pytest.mark.parametrize(
        ("initial_soc", "target_soc", "limit", "low", "high"),
        [
            pytest.param(1.0, 0.0, None, 0, 2000 - 1000 / 0.8, id="not as low: it loses energy on the way out"),
            pytest.param(1.0, 0.0, 0.25, 0, 2000 - 500 / 0.8, id="nor lower than its cycles allow"),
            pytest.param(0.0, 1.0, 0.25, 600 * 0.9, 2000, id="not as high: it loses energy on the way in"),
            pytest.param(0.4, 0.5, None, 980, 1020, id="about its target, which it reaches"),
        ],
    )
    def test_ends_as_near_to_its_target_as_it_gets_within_an_hour(
        self, initial_soc: float, target_soc: float, limit: float | None, low: float, high: float
    ) -> None:
        battery = BatterySpec(600.0, 1000.0, 2000.0, 0.9, 0.8, limit)
        asked = offer(date(2026, 6, 1), 1, battery=battery, initial_soc=initial_soc, target_soc=target_soc)
        assert asked.end_kwh(1.0) == pytest.approx((low, high), abs=1e-4)

    def test_has_the_past_of_others_alike_whatever_its_days_but_not_its_hours_of_one_day(self) -> None:
        june, july = date(2026, 6, 1), date(2026, 7, 1)
        assert offer(june, 3, start_quarter=8).shape == offer(july, 5, end_quarter=80).shape
        assert offer(june, 1).shape == offer(july, 1).shape
        shapes = {
            one.shape
            for one in (
                offer(june, 1),
                offer(june, 1, start_quarter=8),
                offer(june, 1, end_quarter=80),
                offer(june, 1, end_quarter=88),
                offer(june, 2),
                offer(june, 2, initial_soc=0.4),
                offer(june, 2, target_soc=0.4),
                offer(june, 2, tolerance=0.2),
                offer(june, 2, battery=replace(BATTERY, charge_kw=7.0)),
            )
        }
        assert len(shapes) == 9


class TestPastValues:
    def test_that_nobody_waits_for_any_more_are_not_computed_to_the_end(self) -> None:
        table, deadline = shaped_table(date(2025, 1, 1), 21), Deadline(60)
        deadline.stop()
        for days in (1, 3):
            with pytest.raises(CancelledError):
                value_past_days(table, offer(table.end, days), Basis.FORESIGHT, deadline)

    def test_of_a_known_past_are_known(self) -> None:
        """From 30 to 60 %, over a day of 23 hours: what they come to only changes where that is meant."""
        table = shaped_table(date(2025, 3, 1), 40)
        battery = replace(BATTERY, charge_kw=800.0, charge_efficiency=0.9)
        asked = offer(table.end, 3, initial_soc=0.3, target_soc=0.6, battery=battery)
        for basis, cost_eur, values in (
            (Basis.FORESIGHT, 67.273, [356.9409, 215.0486, 286.032]),
            (Basis.POLICY, 63.8652, [356.8422, 178.6252, 260.7275]),
        ):
            found = value_past_days(table, asked, basis)
            assert (found.until, len(found.values)) == (table.end, 33)
            assert found.start_end_cost_eur == pytest.approx(cost_eur, rel=1e-4)
            assert found.values[[0, 15, -1]].tolist() == pytest.approx(values, rel=1e-4)

    def test_lose_nothing_by_start_and_end_where_nothing_is_earned(self) -> None:
        days = [date(2025, 1, 1) + timedelta(days=number) for number in range(20)]
        table = table_of(days[0], [np.zeros(96) for _ in days])
        found = value_past_days(table, offer(table.end, 3), Basis.FORESIGHT)
        assert (found.start_end_cost_eur, found.values.tolist()) == (0.0, [0.0] * 13)

    def test_lose_as_little_by_start_and_end_with_cycles_that_suffice_each_day_as_without_a_limit(self) -> None:
        """Two days together may do twice what each may do."""
        table = shaped_table(date(2025, 1, 1), 40)
        costs_eur = [
            value_past_days(
                table, offer(table.end, 3, battery=replace(BATTERY, daily_cycle_limit=limit)), Basis.FORESIGHT
            ).start_end_cost_eur
            for limit in (None, 3.0)
        ]
        assert costs_eur[0] > 0
        assert costs_eur[1] == pytest.approx(costs_eur[0], rel=1e-6)

    @pytest.mark.parametrize(
        ("day", "hours", "count", "earned_eur"),
        [
            pytest.param(date(2026, 3, 29), (0, 92), 96, 100.0, id="the end of a day of 23 hours is that of any"),
            pytest.param(date(2026, 10, 25), (0, 96), 100, 0.0, id="a day of 25 hours does not end an hour earlier"),
            pytest.param(
                date(2026, 10, 25), (96, 100), 92, 25.0, id="what lies beyond a shorter day is its last quarter"
            ),
        ],
    )
    def test_of_a_day_that_is_longer_or_shorter_end_where_it_ends(
        self, day: date, hours: tuple[int, int], count: int, earned_eur: float
    ) -> None:
        prices = np.zeros(count)
        prices[-4:] = 100.0
        asked = offer(day, 1, start_quarter=hours[0], end_quarter=hours[1], target_soc=0.0, tolerance=1.0)
        assert closed_value(Planner(BATTERY), asked, prices, prices) == pytest.approx(earned_eur, abs=0.1)

    def test_are_computed_once_and_anew_where_a_price_was_corrected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        computed: list[float] = []

        def noting(table: DayTable, *rest: Any) -> DayValues:
            computed.append(float(table.quarters.sum()))
            return value_past_days(table, *rest)

        monkeypatch.setattr(day_value_cache, "value_past_days", noting)
        table, cached = shaped_table(date(2025, 1, 1), 30), day_value_cache.DayValueCache()
        asked = offer(table.end, 1)

        def value_of(prices: DayTable, basis: Basis = Basis.FORESIGHT) -> float:
            return float(cached.values(prices, asked, basis, None).values.sum())  # type: ignore[arg-type]

        first = value_of(table)
        assert value_of(table) == first
        assert len(computed) == 1
        corrected = replace(table, quarters=table.quarters.copy())
        corrected.quarters[10, 70:78] += 500.0
        assert value_of(corrected) > first
        assert value_of(table, Basis.POLICY) != first
        assert len(computed) == 3


class TestAValue:
    @pytest.mark.parametrize("basis", list(Basis))
    @pytest.mark.parametrize("days", [1, 7])
    def test_lies_in_order_and_scales_with_the_battery(self, days: int, basis: Basis) -> None:
        table = shaped_table(date(2025, 1, 1), 60)
        asked = offer(table.end, days)
        value = value_window(value_past_days(table, asked, basis), asked)
        assert 0 < value.p10_eur <= value.p50_eur <= value.p90_eur
        twice = replace(asked, battery=BatterySpec(2000.0, 2000.0, 4000.0, 0.943, 0.943, 1.5))
        double = value_window(value_past_days(table, twice, basis), twice)
        assert double.p50_eur == pytest.approx(2 * value.p50_eur, rel=1e-3)
        assert double.per_mw_year_eur == pytest.approx(value.per_mw_year_eur, rel=1e-3)
        uneven = replace(asked, battery=replace(BATTERY, charge_kw=800.0, discharge_kw=1200.0))
        past = DayValues(table.end, np.full(60, 100.0), 0.0)
        assert value_window(past, uneven).per_mw_year_eur == pytest.approx(36_500, rel=1e-3), "of 1 MW on average"

    def test_is_spread_by_the_windows_of_the_last_year(self) -> None:
        """More than a year ago days earned 0 or 1,000 EUR; each has earned 100 EUR since."""
        values = np.concatenate([np.random.default_rng(1).choice([0.0, 1000.0], 100), np.full(340, 100.0)])
        value = value_window(DayValues(date(2025, 3, 1), values, 0.0), offer(date(2025, 3, 1), 1))
        assert value.p90_eur == pytest.approx(100, rel=0.01)

    def test_is_shown_in_cents_with_each_past_window_and_what_it_came_to(self) -> None:
        past = (PastWindow(date(2026, 3, 29), 10.123, 20.234, 30.345, 15.456),)
        value = Valuation(1.111, 2.222, 3.333, 4.444, 5.555, Calibration(past), date(2026, 4, 1))
        assert msgspec.to_builtins(routes._view_valuation(value)) == {
            "p10": 1.11,
            "p50": 2.22,
            "p90": 3.33,
            "mean": 4.44,
            "perMWPerYear": pytest.approx(5.555, abs=0.006),
            "calibration": {
                "windows": 1,
                "coverage": 1.0,
                "below": 0.0,
                "above": 0.0,
                "pastWindows": [
                    {"start": "2026-03-28T23:00:00Z", "p10": 10.12, "p50": 20.23, "p90": 30.34, "value": 15.46}
                ],
            },
            "asOf": "2026-03-31T22:00:00Z",
        }

    def test_of_a_battery_that_may_keep_still_is_never_a_loss(self) -> None:
        past = DayValues(date(2025, 3, 1), np.full(60, 1.0), 5.0)
        values = [value_window(past, offer(past.until, 1, target_soc=end)) for end in (0.5, 1.0)]
        assert (values[0].p10_eur, values[0].p90_eur) == (0, 0)
        assert values[1].p90_eur < 0, "what it must buy, it must buy"

    def test_is_there_for_an_end_out_of_reach(self) -> None:
        table = shaped_table(date(2025, 1, 1), 30)
        asked = offer(table.end, 1, start_quarter=0, end_quarter=2, initial_soc=0.0, target_soc=1.0)
        value = value_window(value_past_days(table, asked, Basis.FORESIGHT), asked)
        assert value.p50_eur < 0  # it can only buy

    def test_with_few_windows_is_spread_wide_and_says_that_nothing_was_calibrated(self) -> None:
        past = DayValues(date(2025, 2, 1), np.full(14, 100.0), 0.0)
        value = value_window(past, offer(date(2025, 2, 1), 28))
        assert value.p10_eur <= 0.5 * 2800 < 1.5 * 2800 <= value.p90_eur
        assert (value.calibration.windows, value.calibration.coverage) == (0, None)

    def test_is_spread_by_half_of_it_to_either_side_below_eight_windows(self) -> None:
        """A day of 100 EUR like all before it: after seven days there is no window, with each further day one more."""
        for count, spread in ((7, (50, 100, 150)), (8, (50, 100, 150)), (14, (50, 100, 150)), (15, (100, 100, 100))):
            past = DayValues(date(2025, 2, 1), np.full(count, 100.0), 0.0)
            value = value_window(past, offer(past.until, 1))
            assert (value.p10_eur, value.p50_eur, value.p90_eur) == pytest.approx(spread), count
            assert value.mean_eur == pytest.approx(100)

    @pytest.mark.parametrize(("days", "lead"), [(1, 0), (7, 0), (3, 5)])
    def test_shows_past_windows_as_they_were_valued_and_what_they_came_to(self, days: int, lead: int) -> None:
        past = DayValues(date(2026, 1, 1), np.random.default_rng(4).uniform(50, 150, 300), 0.0)
        calibration = value_window(past, offer(past.until + timedelta(days=lead), days)).calibration
        windows = calibration.past
        assert len(windows) == calibration.windows
        assert 20 < calibration.windows <= 80, "spread over all of the past"
        assert windows[-1].first <= past.until - timedelta(days=days)
        for one in windows:
            place = len(past.values) - (past.until - one.first).days
            assert one.value_eur == pytest.approx(past.values[place : place + days].sum())
            assert 0 <= one.p10_eur <= one.p50_eur <= one.p90_eur
        shares = (calibration.coverage, calibration.below, calibration.above)
        assert sum(share for share in shares if share is not None) == pytest.approx(1)

    @needs_real_prices
    @pytest.mark.parametrize("days", [1, 7, 28])
    def test_covers_past_real_windows_as_often_as_promised(self, days: int) -> None:
        table = real_table().last(800)
        first = table.first + timedelta(days=7)
        played = replay_days(table, first, table.end, BATTERY, EXPECTATIONS[Policy.FORESIGHT])
        past = DayValues(table.end, np.array([day.earned_eur for day in played]), 0.0)
        calibration = value_window(past, offer(table.end, days)).calibration
        assert calibration.windows >= 50
        assert calibration.coverage is not None
        assert 0.7 <= calibration.coverage <= 0.95


class TestAValuation:
    async def test_is_for_those_invited_and_leaves_no_trace(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        async with People(await fresh_app()) as people:
            operator = (await people.operator()).client
            owner, invited, other = [await people.new_organisation() for _ in range(3)]
            path = f"/auctions/{await _auction(operator, owner, invited)}/valuations"
            missing = await invited.trader.post(path, json={"basis": "POLICY"})
            assert missing.status_code == 422
            assert missing.json()["type"].endswith("/prices-missing")
            now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            tomorrow = market_day_window(market_day_of(now) + timedelta(days=1)).start
            assert datetime.fromisoformat(missing.json()["firstMissingPeriod"]) == tomorrow, "the last it could know"
            await _load_past(operator)
            before = (await invited.admin.get("/audit-log")).json()
            answer = await invited.trader.post(path, json={"basis": "POLICY"}, headers={"Idempotency-Key": "a"})
            assert answer.status_code == 200, answer.text
            value = answer.json()
            assert 0 < value["p10"] <= value["p50"] <= value["p90"]
            assert value["perMWPerYear"] > 0
            assert value["calibration"]["windows"] >= 0
            again = await invited.trader.post(path, json={"basis": "POLICY"}, headers={"Idempotency-Key": "a"})
            assert again.headers["Idempotency-Replayed"] == "true"
            assert again.json() == value
            assert (await other.trader.post(path, json={"basis": "POLICY"})).status_code == 403
            assert (await operator.post(path, json={"basis": "POLICY"})).status_code == 403
            assert (await invited.admin.get("/audit-log")).json() == before
            assert "valuation" not in (await operator.get("/audit-log")).text.lower()

    async def test_wants_one_of_its_bases_and_knows_no_price_of_the_delivery(
        self, fresh_app: Callable[[datetime], Awaitable[Application]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked_for: list[tuple[date, int]] = []

        async def noting(db: Any, series: str, until: date, days: int) -> DayTable:
            asked_for.append((until, days))
            return await load_day_table(db, series, until, days)

        monkeypatch.setattr(routes, "load_day_table", noting)
        noon = datetime(2028, 6, 10, 12, tzinfo=UTC)
        async with People(await fresh_app(noon)) as people:
            operator = (await people.operator()).client
            owner, invited = [await people.new_organisation() for _ in range(2)]
            path = f"/auctions/{await _auction(operator, owner, invited, days_ahead=1)}/valuations"
            answer = await invited.trader.post(path, json={"basis": "LUCK"})
            assert answer.status_code == 400
            assert answer.json()["errors"][0]["pointer"] == "/basis"
            for known, missing in ((12, "2028-06-09T22:00:00Z"), (14, "2028-05-27T22:00:00Z")):
                await load_days(operator, date(2028, 5, 29), known)
                few = await invited.trader.post(path, json={"basis": "FORESIGHT"})
                assert few.json()["firstMissingPeriod"] == missing, "where the days that are known end, or begin"
            await load_days(operator, date(2028, 5, 28), 1)
            valued = await invited.trader.post(path, json={"basis": "FORESIGHT"})
            assert valued.json()["asOf"] == "2028-06-10T22:00:00Z", valued.text
            assert asked_for == [(date(2028, 6, 11), 447)] * 3, "the days that are valued, and a week before them"


async def _load_past(operator: httpx2.AsyncClient) -> None:
    now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
    await load_days(operator, market_day_of(now) - timedelta(days=29), 30)


async def _auction(
    operator: httpx2.AsyncClient, owner: OrganisationUnderTest, invited: OrganisationUnderTest, days_ahead: int = 3
) -> str:
    now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
    first = market_day_window(market_day_of(now) + timedelta(days=days_ahead)).start
    item = {
        "start": first.isoformat(),
        "end": (first + timedelta(days=7)).isoformat(),
        "deliveryZone": "TenneT",
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
        "dailyCycleLimit": 1.5,
    }
    physical = await register_asset(owner)
    answer = await operator.post(
        "/auctions",
        json={
            "start": (now + timedelta(hours=1)).isoformat(),
            "end": (now + timedelta(hours=2)).isoformat(),
            "item": item,
            "backing": [{"physicalAssetID": str(physical.id), "share": 1}],
            "participants": [str(invited.id)],
        },
    )
    assert answer.status_code == 201, answer.text
    identifier: str = answer.json()["id"]
    return identifier
