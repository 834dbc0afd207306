"""What the book has as missing, whatever of it lies before the window."""

from __future__ import annotations

from uuid import UUID, uuid4

import numpy as np
import pytest
from msgspec import UNSET

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.physical_assets.commitments.conflicts import conflicts_in
from gridloom.physical_assets.conflicts import CapacityConflict, ConflictKind, MissingCapacity

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

    def test_says_in_words_and_figures_what_is_covered(self):
        """And one that is over stands before it."""
        capacity = self.held(first=100, end=116)
        over = Holding(HoldingKind.FCR, uuid4(), 84, 100, 9_000, 9_000, 1_000, product="NEGPOS_00_04")
        [held] = capacity.holdings
        capacity.ratings_and_outages.outages.append(CapacityOutage(period_start(0), period_start(200), 4_000, 0, 0))
        found = conflicts_in(BatteryCapacity(capacity.ratings_and_outages, [over, held], capacity.own), 100, 200)
        assert found == [
            CapacityConflict(
                kind=ConflictKind.ANCILLARY_BID,
                id=held.holder_id,
                start=period_start(100),
                end=period_start(116),
                power=9_000,
                available=6_000,
                missing=MissingCapacity(charge=3_000, discharge=3_000, energy=0),
                detail=(
                    "The bid is for 9000 kW, and 6000 kW of it are covered; 0 kWh of the energy for it are missing."
                ),
            )
        ]

    def test_beyond_the_limit_is_one_while_it_is_held(self):
        assert len(conflicts_in(self.held(first=84, end=101), 100, 200)) == 1


class TestTheOwnSchedule:
    """Of 3 MW of charging for an hour, of which 1 MW is left after what is promised, or of 2 MW of discharging."""

    def conflicts_of(self, outage: CapacityOutage, power_kw: float) -> list[CapacityConflict]:
        battery = RatingsAndOutages([Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)], [outage])
        promised = Holding(
            HoldingKind.VIRTUAL_ASSET, uuid4(), 100, 116, 4_000, 5_000, 12_000, losses=OneWayEfficiency(1.0, 1.0)
        )
        own = OwnSchedule(np.arange(104, 108), np.full(4, power_kw))
        return conflicts_in(BatteryCapacity(battery, [promised], own), 100, 116)

    @pytest.mark.parametrize(
        ("power_kw", "available_kw", "charge_kw", "discharge_kw"), [(-3_000, 1_000, 2_000, 0), (3_000, 2_000, 0, 1_000)]
    )
    def test_is_in_conflict_with_the_power_that_the_promises_leave_of_its_direction(
        self, power_kw: float, available_kw: float, charge_kw: float, discharge_kw: float
    ):
        out = CapacityOutage(period_start(105), period_start(107), 5_000, 3_000, 0)
        [conflict] = self.conflicts_of(out, power_kw)
        assert (conflict.kind, conflict.start, conflict.end) == (
            ConflictKind.SCHEDULE,
            period_start(105),
            period_start(107),
        )
        assert (conflict.power, conflict.available) == (power_kw, available_kw)
        assert conflict.missing == MissingCapacity(charge=charge_kw, discharge=discharge_kw, energy=0)

    def test_has_all_of_its_power_where_only_energy_for_it_is_missing(self):
        """It swings through 3 MWh, of which 2 are left."""
        out = CapacityOutage(period_start(104), period_start(108), 0, 0, 6_000)
        [conflict] = self.conflicts_of(out, -3_000)
        assert (conflict.start, conflict.end) == (period_start(104), period_start(108))
        assert (conflict.power, conflict.available) == (-3_000, 3_000)
        assert conflict.missing == MissingCapacity(charge=0, discharge=0, energy=1_000)
        assert "asks for 3000 kW and 3000 kWh, where 6000 kW and 2000 kWh are left for it" in conflict.detail


class TestOutages:
    """Of all the power of a battery in the periods 104 and 105, of most of it in 106, and of all of it in 110."""

    def conflicts_of(self, kind: HoldingKind, product: str | None = None) -> list[CapacityConflict]:
        outages = [
            CapacityOutage(period_start(first), period_start(end), kw, kw, 0)
            for first, end, kw in ((104, 106, 10_000), (106, 107, 9_000), (110, 111, 10_000))
        ]
        battery = RatingsAndOutages([Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)], outages)
        losses = None if product else OneWayEfficiency(1.0, 1.0)
        held = Holding(kind, UUID(int=7), 100, 116, 3_000, 4_000, 4_000, losses=losses, product=product)
        return conflicts_in(BatteryCapacity(battery, [held], OwnSchedule.nothing()), 98, 200)

    @pytest.mark.parametrize("kind", [HoldingKind.VIRTUAL_ASSET, HoldingKind.AUCTION])
    def test_that_follow_each_other_are_one_conflict_and_later_ones_another(self, kind: HoldingKind):
        found = self.conflicts_of(kind)
        assert [(one.start, one.end) for one in found] == [
            (period_start(104), period_start(107)),
            (period_start(110), period_start(111)),
        ]
        assert [one.available for one in found] == [0, 0], "the worst of it"
        assert [one.missing for one in found] == 2 * [MissingCapacity(charge=3_000, discharge=4_000, energy=0)]

    def test_take_all_of_a_product(self):
        (found,) = self.conflicts_of(HoldingKind.AFRR_CAPACITY, "POS_00_04")
        assert (found.start, found.end) == (period_start(100), period_start(116))

    @pytest.mark.parametrize(
        ("kind", "product", "conflict", "named"),
        [
            (HoldingKind.VIRTUAL_ASSET, None, ConflictKind.VIRTUAL_ASSET, (UUID(int=7), UNSET, UNSET)),
            (HoldingKind.AUCTION, None, ConflictKind.AUCTION, (UNSET, UUID(int=7), UNSET)),
            (
                HoldingKind.AFRR_CAPACITY,
                "POS_00_04",
                ConflictKind.ANCILLARY_BID,
                (UNSET, UNSET, "1970-01-02_POS_00_04"),
            ),
        ],
    )
    def test_name_the_holder_by_its_kind(
        self, kind: HoldingKind, product: str | None, conflict: ConflictKind, named: tuple[object, ...]
    ):
        found = self.conflicts_of(kind, product)[0]
        assert (found.kind, found.id) == (conflict, UUID(int=7))
        assert (found.virtual_asset_id, found.auction_id, found.product_date_code) == named
