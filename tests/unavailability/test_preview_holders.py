"""Whom the preview of an outage names: those who hold capacity at its worst moment, and no others."""

from __future__ import annotations

from uuid import UUID, uuid4

import numpy as np
import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.unavailability.preview import HolderPreview, preview_of

pytestmark = pytest.mark.pure

FIRST, END = 1016, 1032
HOLDER = UUID(int=9)
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


class TestEachHolder:
    """Of 10 MW that an outage leaves 4 MW of charging and 3 MW of discharging, with all of the energy in place."""

    def holders(self, held: list[Holding], own: OwnSchedule | None = None) -> list[HolderPreview]:
        outage = CapacityOutage(period_start(FIRST), period_start(END), 6_000, 7_000, 0)
        before, after = (
            BatteryCapacity(RatingsAndOutages([RATING], outages), held, own or OwnSchedule.nothing())
            for outages in ([], [outage])
        )
        return preview_of(before, after, FIRST, END, {HOLDER: "Traders"})[2]

    def test_loses_power_of_the_direction_that_is_cut_most(self) -> None:
        """Of 8 MW of charging 4 are left and of 4 MW of discharging 3."""
        losses = OneWayEfficiency(1.0, 1.0)
        held = [
            Holding(HoldingKind.AUCTION, UUID(int=number), FIRST, END, charge, discharge, 500, losses=losses)
            for number, charge, discharge in ((1, 6_000, 1_000), (2, 2_000, 3_000))
        ]
        assert [(one.before, one.after) for one in self.holders(held)] == [(6_000, 3_000), (2_000, 1_000)]

    @pytest.mark.parametrize(("power_kw", "before_kw", "after_kw"), [(5_000.0, 5_000, 1_000), (-7_000.0, 7_000, 4_000)])
    def test_may_be_the_own_schedule_which_loses_first(
        self, power_kw: float, before_kw: float, after_kw: float
    ) -> None:
        """Discharging, 2 MW of what is left are promised."""
        firm = Holding(
            HoldingKind.VIRTUAL_ASSET, UUID(int=1), FIRST, END, 0, 2_000, 500, losses=OneWayEfficiency(1.0, 1.0)
        )
        own = OwnSchedule(np.array([FIRST + 2]), np.array([power_kw]))
        found = self.holders([firm], own)
        assert [one.kind for one in found] == [HoldingKind.VIRTUAL_ASSET, HoldingKind.OWN_SCHEDULE]
        assert (found[1].before, found[1].after) == (before_kw, after_kw)
        assert found[1].energy_before == found[1].energy_after == abs(power_kw) / 4

    def test_may_be_the_own_schedule_where_it_loses_energy_alone(self) -> None:
        """Discharging is cut most from the beginning on, energy where the owner charges as well."""
        outage = CapacityOutage(period_start(FIRST), period_start(END), 0, 7_000, 20_000)
        own = OwnSchedule(np.array([FIRST + 4]), np.array([-100.0]))
        before, after = (
            BatteryCapacity(RatingsAndOutages([RATING], outages), [promise(FIRST, END)], own)
            for outages in ([], [outage])
        )
        found = preview_of(before, after, FIRST, END, {})[2]
        assert [(one.kind, one.before, one.after, one.energy_before, one.energy_after) for one in found] == [
            (HoldingKind.VIRTUAL_ASSET, 8_000, 3_000, 8_000, 0),
            (HoldingKind.OWN_SCHEDULE, 0, 0, 25, 0),
        ]
