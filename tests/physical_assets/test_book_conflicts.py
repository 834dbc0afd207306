"""What the book has as missing, whatever of it lies before the window."""

from __future__ import annotations

from uuid import uuid4

import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.physical_assets.commitments.conflicts import conflicts_in
from gridloom.physical_assets.conflicts import MissingCapacity

pytestmark = pytest.mark.pure


class TestAnFCRBlock:
    def held(self, first: int, end: int) -> BatteryCapacity:
        battery = RatingsAndOutages([Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)], [])
        return BatteryCapacity(
            battery,
            [Holding(HoldingKind.FCR, uuid4(), first, end, 9_000, 9_000, 1_000)],
            OwnSchedule.nothing(),
        )

    def test_that_is_over_is_no_conflict(self):
        assert conflicts_in(self.held(first=84, end=100), 100, 200) == []

    @pytest.mark.parametrize(("charge_kw", "discharge_kw"), [(5_000, 0), (0, 5_000), (5_000, 1_000)])
    def test_has_what_an_outage_leaves_of_the_weaker_direction(self, charge_kw: float, discharge_kw: float):
        capacity = self.held(first=100, end=116)
        out = CapacityOutage(period_start(104), period_start(105), charge_kw, discharge_kw, 0)
        capacity.ratings_and_outages.outages.append(out)
        [conflict] = conflicts_in(capacity, 100, 200)
        assert (conflict.power, conflict.available) == (9_000, 5_000)
        assert conflict.missing == MissingCapacity(charge=4_000, discharge=4_000, energy=0)

    def test_that_is_yet_to_come_is_no_conflict(self):
        assert conflicts_in(self.held(first=200, end=216), 100, 200) == []
        assert conflicts_in(self.held(first=201, end=217), 100, 200) == []

    def test_beyond_the_limit_is_one_while_it_is_held(self):
        assert len(conflicts_in(self.held(first=84, end=101), 100, 200)) == 1


class TestAHolding:
    """Of a battery of 10 MW that an outage leaves 2 MW of charging and 3 MW of discharging."""

    @pytest.mark.parametrize(
        ("kind", "charge_kw", "discharge_kw", "power_kw", "available_kw"),
        [
            pytest.param(HoldingKind.AFRR_CAPACITY, 4_000, 0, -4_000, 2_000, id="of charging"),
            pytest.param(HoldingKind.AFRR_CAPACITY, 0, 4_000, 4_000, 3_000, id="of discharging"),
            pytest.param(HoldingKind.VIRTUAL_ASSET, 4_000, 4_000, -4_000, 2_000, id="that loses more of charging"),
            pytest.param(HoldingKind.VIRTUAL_ASSET, 4_000, 9_000, 9_000, 3_000, id="that loses more of discharging"),
        ],
    )
    def test_is_in_conflict_with_the_power_of_the_direction_that_loses_most(
        self, kind: HoldingKind, charge_kw: float, discharge_kw: float, power_kw: float, available_kw: float
    ):
        out = CapacityOutage(period_start(104), period_start(105), 8_000, 7_000, 0)
        battery = RatingsAndOutages([Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)], [out])
        losses = OneWayEfficiency(1.0, 1.0) if kind is HoldingKind.VIRTUAL_ASSET else None
        held = Holding(kind, uuid4(), 100, 116, charge_kw, discharge_kw, 4_000, losses=losses)
        [conflict] = conflicts_in(BatteryCapacity(battery, [held], OwnSchedule.nothing()), 100, 200)
        assert [conflict.power, conflict.available] == pytest.approx([power_kw, available_kw])
        missing = MissingCapacity(charge=max(0, charge_kw - 2_000), discharge=max(0, discharge_kw - 3_000), energy=0)
        assert conflict.missing == missing
