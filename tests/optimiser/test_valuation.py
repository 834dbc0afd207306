"""The value of a window to come: calibrated on real days, bounded, and private to who asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx2
import numpy as np
import pytest
from tests.assets import register_asset
from tests.optimiser.real_prices import needs_real_prices, real_table
from tests.optimiser.synthetic_prices import load_days, shaped_table
from tests.people import OrganisationUnderTest, People

from gridloom.edge.application import Application
from gridloom.kernel.market_time import block_window, market_day_of, market_day_window
from gridloom.kernel.window import Window
from gridloom.optimiser.backtests.planner import BatterySpec, Planner
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Policy, replay_days
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.valuations import day_value_cache, formulas
from gridloom.optimiser.valuations.formulas import (
    AuctionedBattery,
    Basis,
    DayValues,
    _closed_value,
    _is_hourly,
    _plan_closed,
    value_past_days,
    value_window,
)
from gridloom.optimiser.valuations.routes import offer_of

BATTERY = BatterySpec(1000.0, 1000.0, 2000.0, 0.943, 0.943, 1.5)


def offer(first: date, days: int, **changes: Any) -> AuctionedBattery:
    return replace(AuctionedBattery(BATTERY, first, first + timedelta(days=days - 1), 0, 96), **changes)


class TestAnOffer:
    @pytest.mark.parametrize(
        ("first", "days", "quarters"),
        [
            (date(2026, 6, 1), 1, 20),
            (date(2026, 6, 1), 3, 212),
            (date(2026, 3, 29), 3, 208),
            (date(2026, 10, 25), 3, 216),
        ],
    )
    def test_lasts_from_its_first_quarter_hour_to_its_last(self, first: date, days: int, quarters: int) -> None:
        """From 10:00 on to 15:00, over days of 92, 96 and 100 quarter-hours."""
        assert offer(first, days, start_quarter=40, end_quarter=60).quarters == quarters

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

    def test_is_the_battery_that_is_auctioned(self) -> None:
        delivery = Window(block_window(date(2026, 10, 24), 12, 16).start, block_window(date(2026, 10, 25), 4, 8).start)
        item: Any = SimpleNamespace(
            rated_charge_power_kw=800.0,
            rated_discharge_power_kw=1200.0,
            energy_capacity_kwh=2000.0,
            charge_efficiency=0.96,
            discharge_efficiency=0.92,
            daily_cycle_limit=1.5,
            delivery=delivery,
            initial_soc=0.3,
            last_soc_target=0.6,
            final_soc_tolerance=0.02,
        )
        battery = BatterySpec(800.0, 1200.0, 2000.0, 0.96, 0.92, 1.5)
        days = (date(2026, 10, 24), date(2026, 10, 25))
        assert offer_of(item) == AuctionedBattery(battery, *days, 48, 20, 0.3, 0.6, 0.02), "of the long day five hours"


class TestPastValues:
    def test_are_as_high_where_the_prices_of_an_hour_are_alike_or_nearly_so(self) -> None:
        """A day of hours is planned by hours: twelve of them are bought at 0 and sold at 100 EUR/MWh."""
        battery = BatterySpec(1000.0, 1000.0, 100_000.0, 1.0, 1.0)
        hourly = np.repeat([0.0, 100.0], 48)
        for prices_eur_mwh in (hourly, hourly + np.resize([0.0, 1e-6], 96)):
            value_eur = _plan_closed(Planner(battery), offer(date(2025, 1, 1), 1), prices_eur_mwh, prices_eur_mwh)
            assert value_eur == pytest.approx(1200.0, abs=0.1)

    def test_are_planned_by_hours_only_where_each_is_whole_and_has_one_price(self) -> None:
        for prices, is_hourly in (
            ([5, 5, 5, 5, 7, 7, 7, 7], True),
            ([5, 5, 5, 5, 7, 7, 7, 8], False),
            ([5, 5, 5, 5, 7], False),
            ([5, 5, 5, 5, 7, 7], False),
        ):
            assert _is_hourly(np.array(prices, dtype=np.float64)) is is_hourly

    @pytest.mark.parametrize("days", [1, 3])
    def test_by_policy_are_planned_for_each_day_by_the_forecast_of_that_day(
        self, monkeypatch: pytest.MonkeyPatch, days: int
    ) -> None:
        """A forecast that is right about today and tomorrow is as good as foresight."""
        table = shaped_table(date(2025, 1, 1), 40)

        class RightForecaster:
            def __init__(self, table: DayTable) -> None:
                self.quarters = np.concatenate([table.quarters, table.quarters[-1:]])

            def forecast(self, index: int) -> Any:
                return self.quarters[index : index + 2]

        monkeypatch.setattr(formulas, "WeeklyForecaster", RightForecaster)
        asked = offer(table.end, days, battery=replace(BATTERY, charge_efficiency=0.98))
        policy, foresight = (value_past_days(table, asked, basis).values[-20:-1] for basis in Basis)
        assert policy.tolist() == pytest.approx(foresight.tolist(), rel=1e-6)

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

    def test_count_no_gain_for_a_window_that_may_end_with_less_than_it_began(self) -> None:
        table = shaped_table(date(2025, 1, 1), 40)
        for start, end, is_costly in ((1.0, 0.0, False), (0.0, 1.0, True)):
            asked = offer(table.end, 3, initial_soc=start, target_soc=end)
            cost_eur = value_past_days(table, asked, Basis.FORESIGHT).start_end_cost_eur
            assert (cost_eur > 0) is is_costly
            assert cost_eur >= 0

    @pytest.mark.parametrize(("end_quarter", "is_held"), [(96, True), (80, False)])
    def test_of_a_day_that_ends_at_midnight_reach_to_the_end_of_each_past_day(
        self, end_quarter: int, is_held: bool
    ) -> None:
        """A price in the last hour of the long day and of the short day is earned where the window holds it."""
        for day, count in ((date(2025, 3, 30), 92), (date(2025, 10, 26), 100), (date(2025, 6, 1), 96)):
            prices = np.zeros(count)
            prices[-4:] = 100.0
            asked = offer(date(2025, 6, 2), 1, end_quarter=end_quarter, target_soc=0.0, tolerance=1.0)
            value_eur = _closed_value(Planner(BATTERY), asked, prices, prices)
            assert (value_eur > 50) is is_held, day

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

    def test_of_a_policy_is_not_above_that_of_foresight(self) -> None:
        table = shaped_table(date(2025, 1, 1), 60)
        asked = offer(table.end, 3)
        means = [value_past_days(table, asked, basis).values.mean() for basis in (Basis.POLICY, Basis.FORESIGHT)]
        assert means[0] <= means[1]

    def test_of_part_of_a_day_is_less_than_of_the_whole(self) -> None:
        table = shaped_table(date(2025, 1, 1), 40)
        whole, part = offer(table.end, 1), offer(table.end, 1, start_quarter=16, end_quarter=32)
        values = [value_window(value_past_days(table, one, Basis.FORESIGHT), one).p50_eur for one in (whole, part)]
        assert 0 <= values[1] < values[0]

    def test_of_a_battery_that_may_keep_still_is_never_a_loss(self) -> None:
        past = DayValues(date(2025, 3, 1), np.full(60, 1.0), 5.0)
        values = [value_window(past, offer(past.until, 1, target_soc=end)) for end in (0.5, 1.0)]
        assert (values[0].p10_eur, values[0].p90_eur) == (0, 0)
        assert values[1].p90_eur < 0, "what it must buy, it must buy"

    def test_of_days_that_earned_nothing_is_nothing(self) -> None:
        value = value_window(DayValues(date(2025, 3, 1), np.zeros(60), 0.0), offer(date(2025, 3, 1), 3))
        assert (value.p10_eur, value.p50_eur, value.p90_eur, value.mean_eur) == (0, 0, 0, 0)

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

    @pytest.mark.parametrize(("days", "lead"), [(1, 0), (7, 0), (3, 5)])
    def test_values_a_past_window_with_what_was_known_so_many_days_before_it(self, days: int, lead: int) -> None:
        values = np.random.default_rng(4).uniform(50, 150, 300)
        until, spoilt = date(2026, 1, 1), values.copy()
        spoilt[250:] = 1000.0
        first_spoilt = until - timedelta(days=len(values) - 250)
        clean, dirty = (
            value_window(DayValues(until, some, 0.0), offer(until + timedelta(days=lead), days)).calibration.past
            for some in (values, spoilt)
        )
        unknowing = [
            (one, other)
            for one, other in zip(clean, dirty, strict=True)
            if one.first <= first_spoilt + timedelta(days=lead)
        ]
        assert unknowing[-1][0].first > first_spoilt - timedelta(days=10)
        for one, other in unknowing:
            assert (one.p10_eur, one.p50_eur, one.p90_eur) == (other.p10_eur, other.p50_eur, other.p90_eur), one.first

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
        self, fresh_app: Callable[[datetime], Awaitable[Application]]
    ) -> None:
        noon = datetime(2028, 6, 10, 12, tzinfo=UTC)
        async with People(await fresh_app(noon)) as people:
            operator = (await people.operator()).client
            owner, invited = [await people.new_organisation() for _ in range(2)]
            path = f"/auctions/{await _auction(operator, owner, invited, days_ahead=1)}/valuations"
            answer = await invited.trader.post(path, json={"basis": "LUCK"})
            assert answer.status_code == 400
            assert answer.json()["errors"][0]["pointer"] == "/basis"
            await load_days(operator, date(2028, 5, 20), 23)  # up to the first day of delivery
            valued = await invited.trader.post(path, json={"basis": "FORESIGHT"})
            assert valued.json()["asOf"] == "2028-06-10T22:00:00Z", valued.text


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
