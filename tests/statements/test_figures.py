"""What an investor asks of a month, on the statement: per MW, cycles against their limit, availability, measured."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from msgspec import UNSET
from tests.statements.conftest import APRIL, JANUARY, Books
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.inputs.store import PhysicalParameters
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance
from gridloom.kernel.market_time import market_day_window, period_number
from gridloom.statements.figures import AssetMonth, show_figures, sum_up_battery, sum_up_virtual
from gridloom.statements.model import NamedAsset

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


class TestABattery:
    def test_has_moved_what_was_measured_and_what_was_dispatched_where_nothing_was(self) -> None:
        month = sum_up_battery(
            perform([400, 400, -800, 0], [300, 0, -800, 0], [1, 0, 1, 1]), [limited(1.5)], 2.0, FIRST + 4
        )
        assert month is not None
        assert month.discharged_kwh == pytest.approx(175)
        assert month.charged_kwh == pytest.approx(200)
        assert month.cycles == pytest.approx(0.175)
        assert month.asked_kwh == pytest.approx(400)
        assert month.availability == pytest.approx((75 + 100 + 200) / 400)
        assert month.assumed_kwh == pytest.approx(100)
        assert (month.days, month.cycle_limit) == (1, 1.5)

    def test_that_moves_the_other_way_has_delivered_nothing_then(self) -> None:
        month = sum_up_battery(perform([400, -400, 400], [-200, 200, 500], [1, 1, 1]), [], 2.0, FIRST + 3)
        assert month is not None
        assert month.availability == pytest.approx(1 / 3)

    def test_counts_no_quarter_hour_to_come(self) -> None:
        month = sum_up_battery(perform([400, 400], [400, 400], [1, 1]), [], 2.0, FIRST + 1)
        assert month is not None
        assert month.discharged_kwh == pytest.approx(100)
        assert sum_up_battery(perform([400], [0], [0]), [], 2.0, FIRST) is None

    def test_may_do_each_day_what_was_in_force_that_day(self) -> None:
        second = market_day_window(DAY + timedelta(days=1)).start
        both = perform([0.0] * 97, [0.0] * 97, [1.0] * 97)
        assert sum_up_battery(both, [limited(1.0), limited(2.0, second)], 2.0, FIRST + 97).cycle_limit == 3.0  # type: ignore[union-attr]
        assert sum_up_battery(both, [limited(1.0), limited(None, second)], 2.0, FIRST + 97).cycle_limit is None  # type: ignore[union-attr]


class TestAVirtualBattery:
    def test_is_counted_up_to_now_whatever_is_to_come(self) -> None:
        asset = asset_of_five_days()
        kw, missing = np.array([400.0, -800.0, 1000.0]), np.array([0.0, 0.5, 1.0])
        month = sum_up_virtual(asset, asset.first, asset.first + 2, kw, missing, 80.0)
        assert month is not None
        assert (month.discharged_kwh, month.charged_kwh, month.cycles) == pytest.approx((100, 200, 100 / 2000))
        assert (month.days, month.rated_mw, month.availability, month.earned_eur) == (1, 1.0, 0.75, 80.0)
        assert sum_up_virtual(asset, asset.first, asset.first, kw, missing, 0.0) is None


class TestAStatement:
    def test_divides_its_lines_by_the_mw_and_weighs_batteries_by_what_they_were_asked(self) -> None:
        def did(asked_kwh: float, availability: float, assumed_kwh: float) -> AssetMonth:
            return AssetMonth(30, 5.0, 0.0, 0.0, 0.0, None, availability, asked_kwh, assumed_kwh)

        named = [NamedAsset(UUID(int=place), name == "V", name, "TenneT") for place, name in enumerate("VBA")]
        months = [did(500, 0.2, 400), did(300, 1.0, 30), did(100, 0.6, 0)]
        figures = show_figures(10.0, Decimal("1234.50"), zip(named, months, strict=True))
        assert figures.earned_per_mw == 123.45
        assert figures.availability_delivered == 0.9
        assert figures.measured_share == 0.925
        assert [(one.name, one.measured_share) for one in figures.assets] == [("A", 1.0), ("B", 0.9), ("V", 0.2)]

    def test_without_mw_or_a_battery_leaves_out_what_it_cannot_say(self) -> None:
        figures = show_figures(0.0, Decimal(5), [])
        assert (figures.earned_per_mw, figures.availability_delivered, figures.measured_share) == (UNSET, UNSET, UNSET)

    async def test_that_is_issued_has_them_in_each_format_as_the_preliminary_one_had(self, books: Books) -> None:
        trader = books.traders[0]
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        before = (await books.statement(trader, JANUARY))["figures"]
        await books.issue(JANUARY)
        issued = await books.statement(trader, JANUARY)
        figures = issued["figures"]
        assert figures == before
        assert figures["ratedPower"] == 10.0
        assert figures["earnedPerMW"] == pytest.approx(float(issued["total"]) / 10.0, abs=0.01)
        [held] = figures["assets"]
        assert (held["kind"], held["ratedPower"], held["days"]) == ("VIRTUAL", 10.0, 31)
        assert (held["earned"], held["earnedPerMW"]) == (80.0, 8.0)
        assert held["availabilityDelivered"] == 1.0
        path = f"/organisations/{trader.id}/statements/{issued['id']}"
        rows = (await trader.viewer.get(path, headers={"Accept": "text/csv"})).text
        assert f",{held['assetID']},{held['name']},earnedPerMW,8.0,EUR/MW" in rows
        assert "figures" not in (await books.list(trader))[0]
        [running] = (await books.statement(trader, APRIL))["figures"]["assets"]
        assert running["days"] == 20, "the days of April that have begun"
