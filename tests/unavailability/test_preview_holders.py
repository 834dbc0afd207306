"""Whom the preview of an outage names: those who hold capacity at its worst moment, and no others."""

from __future__ import annotations

from uuid import uuid4

import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.unavailability.preview import preview_of

pytestmark = pytest.mark.pure

FIRST, END = 1016, 1032
RATING = Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)


def promise(first: int, end: int) -> Holding:
    kind, losses = HoldingKind.VIRTUAL_ASSET, OneWayEfficiency(1.0, 1.0)
    return Holding(kind, uuid4(), first, end, 8_000, 8_000, 8_000, losses=losses)


class TestHolders:
    @pytest.mark.parametrize(
        ("first", "end", "is_named"), [(1000, 1016, False), (1000, 1017, True), (1031, 1096, True), (1032, 1096, False)]
    )
    def test_are_those_whose_periods_the_outage_touches(self, first: int, end: int, is_named: bool) -> None:
        outage = CapacityOutage(period_start(FIRST), period_start(END), 10_000, 10_000, 0)
        held = [promise(first, end)]
        before, after = (
            BatteryCapacity(RatingsAndOutages([RATING], outages), held, OwnSchedule.nothing())
            for outages in ([], [outage])
        )
        _, cut, holders = preview_of(before, after, FIRST, END, {})
        assert [one.virtual_asset_id for one in holders] == ([held[0].holder_id] if is_named else [])
        assert cut == (8_000 if is_named else 0)

    def test_lose_power_and_energy_each_where_most_of_it_is_cut(self) -> None:
        """Power while one other outage takes some already, energy while a second one leaves 5,000 of 8,000 kWh."""
        known = [
            CapacityOutage(period_start(1018), period_start(1020), 0, 1_000, 0),
            CapacityOutage(period_start(1024), period_start(1028), 0, 0, 15_000),
        ]
        outage = CapacityOutage(period_start(FIRST), period_start(END), 4_000, 6_000, 4_000)
        before, after = (
            BatteryCapacity(RatingsAndOutages([RATING], outages), [promise(1000, 1096)], OwnSchedule.nothing())
            for outages in (known, [*known, outage])
        )
        free, cut, [holder] = preview_of(before, after, FIRST, END, {})
        assert (free, cut, holder.before, holder.after) == (1_000, 5_000, 8_000, 3_000)
        assert (holder.energy_before, holder.energy_after) == (5_000, 1_000)


class TestWhatIsFree:
    @pytest.mark.parametrize(("charge_kw", "discharge_kw"), [(3_000, 1_000), (1_000, 3_000)])
    def test_is_lost_in_the_direction_that_loses_most(self, charge_kw: float, discharge_kw: float) -> None:
        outage = CapacityOutage(period_start(FIRST), period_start(END), charge_kw, discharge_kw, 0)
        before, after = (
            BatteryCapacity(RatingsAndOutages([RATING], outages), [], OwnSchedule.nothing())
            for outages in ([], [outage])
        )
        assert preview_of(before, after, FIRST, END, {}) == (3_000, 0, [])
