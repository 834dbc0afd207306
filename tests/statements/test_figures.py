"""What an investor asks of a month, on the statement: per MW, cycles against their limit, availability, measured."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.statements.conftest import APRIL, FEBRUARY, JANUARY, Books
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.inputs.store import PhysicalParameters
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance
from gridloom.kernel.market_time import market_day_window, period_number
from gridloom.statements.figures import (
    AssetMonth,
    show_figures,
    sum_up_battery,
    sum_up_virtual,
)
from gridloom.statements.model import NamedAsset
from gridloom.statements.views import AssetMonthView

DAY = date(2026, 9, 1)
FIRST = period_number(market_day_window(DAY).start)
"""The first quarter-hour of a market day."""


def perform(asked_kw: list[float], measured_kw: list[float], share: list[float]) -> Performance:
    count = len(asked_kw)
    nothing, whole = np.zeros(count), np.full(count, 1000.0)
    dispatch = DispatchSeries(
        1, FIRST, np.ones(count, dtype=bool), nothing, nothing, whole, {(PartKind.VIRTUAL, 1): np.array(asked_kw)}
    )
    measured = MeasuredMean(np.array(measured_kw), np.array(share))
    return Performance(dispatch, Measurements(measured, MeasuredMean(nothing, nothing), np.full(count, np.nan)))


def limited(daily: float | None, valid_from: datetime = datetime(2020, 1, 1, tzinfo=UTC)) -> PhysicalParameters:
    return PhysicalParameters(1, valid_from, 0.9, 0.9, 0.0, 1.0, None, daily, None)


def sum_up(performance: Performance, parameters: list[PhysicalParameters], rated_mw: float, until: int) -> Any:
    available = np.ones(len(performance.dispatch.is_planned))
    return sum_up_battery(performance, parameters, available, rated_mw, until, 0.0)


class TestABattery:
    def test_has_moved_what_was_measured_and_what_was_dispatched_where_nothing_was(self) -> None:
        month = sum_up(perform([400, 400, -800, 0], [300, 0, -800, 0], [1, 0, 1, 1]), [limited(1.5)], 2.0, FIRST + 4)
        assert month is not None
        assert month.discharged_kwh == pytest.approx(175)
        assert month.charged_kwh == pytest.approx(200)
        assert month.cycles == pytest.approx(0.175)
        assert month.asked_kwh == pytest.approx(400)
        assert month.availability == pytest.approx((75 + 100 + 200) / 400)
        assert month.assumed_kwh == pytest.approx(100)
        assert (month.days, month.cycle_limit) == (1, 1.5)

    def test_that_moves_the_other_way_has_delivered_nothing_then(self) -> None:
        month = sum_up(perform([400, -400, 400], [-200, 200, 500], [1, 1, 1]), [], 2.0, FIRST + 3)
        assert month is not None
        assert month.availability == pytest.approx(1 / 3)

    def test_counts_no_quarter_hour_to_come(self) -> None:
        month = sum_up(perform([400, 400], [400, 400], [1, 1]), [], 2.0, FIRST + 1)
        assert month is not None
        assert month.discharged_kwh == pytest.approx(100)
        assert sum_up(perform([400], [0], [0]), [], 2.0, FIRST) is None

    def test_may_do_each_day_what_was_in_force_that_day(self) -> None:
        second = market_day_window(DAY + timedelta(days=1)).start
        both = perform([0.0] * 97, [0.0] * 97, [1.0] * 97)
        assert sum_up(both, [limited(1.0), limited(2.0, second)], 2.0, FIRST + 97).cycle_limit == 3.0
        assert sum_up(both, [limited(1.0), limited(None, second)], 2.0, FIRST + 97).cycle_limit is None


class TestAVirtualBattery:
    def test_is_counted_up_to_now_whatever_is_to_come(self) -> None:
        asset = asset_of_five_days()
        kw, missing = np.array([400.0, -800.0, 1000.0]), np.array([0.0, 0.5, 1.0])
        month = sum_up_virtual(asset, asset.first, asset.first + 2, kw, missing, 80.0, {})
        assert month is not None
        assert (month.discharged_kwh, month.charged_kwh, month.cycles) == pytest.approx((100, 200, 100 / 2000))
        assert (month.days, month.rated_mw, month.availability, month.earned_eur) == (1, 1.0, 0.75, 80.0)
        assert sum_up_virtual(asset, asset.first, asset.first, kw, missing, 0.0, {}) is None


class TestAStatement:
    def test_divides_its_lines_by_the_mw_and_weighs_batteries_by_what_they_were_asked(self) -> None:
        def did(asked_kwh: float, availability: float, assumed_kwh: float) -> AssetMonth:
            return AssetMonth(30, 5.0, 0.0, 0.0, 0.0, None, availability, asked_kwh, assumed_kwh)

        named = [NamedAsset(UUID(int=place), name == "V", name, "TenneT") for place, name in enumerate("VBA")]
        months = [did(500, 0.2, 400), did(300, 1.0, 30), did(100, 0.6, 0)]
        figures = show_figures(10.0, Decimal("1234.50"), zip(named, months, strict=True))
        assert figures.net_per_mw == 123.45
        assert figures.availability_delivered == 0.9
        assert figures.measured_share == 0.925
        assert [(one.name, one.measured_share) for one in figures.assets] == [("A", 1.0), ("B", 0.9), ("V", 0.2)]

    def test_shows_of_each_asset_its_own_figures_batteries_first(self) -> None:
        battery = AssetMonth(29, 2.5, 12_345.67, 23_456.78, 4.5, 31.0, 0.75, 800.0, 200.0)
        virtual = AssetMonth(31, 4.0, 1_000.0, 2_000.0, 0.5, None, None, earned_eur=81.234)
        unrated = AssetMonth(1, 0.0, 0.0, 0.0, 0.0, None, None, 0.0, 0.0, earned_eur=5.0)
        named = [NamedAsset(UUID(int=place), place > 0, f"N{place}", f"Z{place}") for place in range(3)]
        shown = show_figures(1.0, Decimal(0), [(named[2], unrated), (named[1], virtual), (named[0], battery)]).assets
        assert shown == [
            AssetMonthView(
                asset_id=UUID(int=0),
                kind="PHYSICAL",
                name="N0",
                delivery_zone="Z0",
                rated_power=2.5,
                days=29,
                charged_energy=12.3457,
                discharged_energy=23.4568,
                cycles=4.5,
                cycle_limit=31.0,
                availability_delivered=0.75,
                measured_share=0.75,
            ),
            AssetMonthView(
                asset_id=UUID(int=1),
                kind="VIRTUAL",
                name="N1",
                delivery_zone="Z1",
                rated_power=4.0,
                days=31,
                charged_energy=1.0,
                discharged_energy=2.0,
                cycles=0.5,
                earned=81.23,
                earned_per_mw=20.31,
            ),
            AssetMonthView(
                asset_id=UUID(int=2),
                kind="VIRTUAL",
                name="N2",
                delivery_zone="Z2",
                rated_power=0.0,
                days=1,
                charged_energy=0.0,
                discharged_energy=0.0,
                cycles=0.0,
                earned=5.0,
            ),
        ]

    async def test_that_is_issued_has_them_in_each_format_as_the_preliminary_one_had(self, books: Books) -> None:
        trader = books.traders[0]
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        before = (await books.statement(trader, JANUARY))["figures"]
        await books.issue(JANUARY)
        issued = await books.statement(trader, JANUARY)
        figures = issued["figures"]
        assert figures == before
        assert figures["ratedPower"] == 10.0
        assert figures["netPerMW"] == pytest.approx(float(issued["total"]) / 10.0, abs=0.01)
        assert (figures["earned"], figures["earnedPerMW"]) == (80.0, 8.0)
        [held] = figures["assets"]
        assert (held["kind"], held["ratedPower"], held["days"]) == ("VIRTUAL", 10.0, 31)
        assert (held["earned"], held["earnedPerMW"]) == (80.0, 8.0)
        assert held["availabilityDelivered"] == 1.0
        path = f"/organisations/{trader.id}/statements/{issued['id']}"
        rows = (await trader.viewer.get(path, headers={"Accept": "text/csv"})).text
        assert f",{held['assetID']},{held['name']},earnedPerMW,8.0,EUR/MW" in rows
        assert "figures" not in (await books.list(trader))[0]
        owned = (await books.statement(books.owner, JANUARY))["figures"]
        assert (owned["ratedPower"], owned["assets"]) == (30.0, []), "of both batteries, of which none was dispatched"
        assert owned["netPerMW"] == pytest.approx(62_000 / 30, abs=0.01)
        [running] = (await books.statement(trader, APRIL))["figures"]["assets"]
        assert running["days"] == 20, "the days of April that have begun"

    async def test_that_is_issued_says_what_share_of_foresight_was_earned(self, books: Books) -> None:
        """The sum of the days of its benchmark; nothing where a day of the month has no prices."""
        rows = []
        for number in range(31):
            window = market_day_window(date(2028, 1, 1) + timedelta(days=number))
            noon = window.start + timedelta(hours=12)
            for start, end, price in ((window.start, noon, 40), (noon, window.end, 90 + number)):
                ends = {"start": start.isoformat(), "end": end.isoformat()}
                rows.append({"series": "DAY_AHEAD_DE_LU", **ends, "price": price})
        answer = await books.operator.post("/reference-prices", json=rows)
        assert answer.status_code == 200, answer.text
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        await books.trade(books.held, date(2028, 2, 10), 80.0, trade_id="u")
        await books.issue(JANUARY)
        await books.issue(FEBRUARY)
        trader = books.traders[0]
        january, february = [(await books.statement(trader, month))["figures"] for month in (JANUARY, FEBRUARY)]
        [held] = january["assets"]
        path = f"/revenue-reporting/virtual-assets/{books.held}/benchmark"
        span = {"start": "2028-01-01T00:00:00+01:00", "end": "2028-02-01T00:00:00+01:00"}
        days = (await trader.viewer.get(path, params=span)).json()
        best = sum(day["foresight"] for day in days)
        assert best > 31 * 20
        assert held["foresight"] == january["foresight"] == pytest.approx(best, abs=0.2)
        assert held["foresightShare"] == january["foresightShare"] == pytest.approx(80 / best, abs=1e-4)
        assert "foresight" not in february
        assert "foresightShare" not in february["assets"][0]
