"""A new plan keeps what has not changed of the one that stands."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.zones import made_zone

from gridloom.delivery.loading import Zone
from gridloom.delivery.model import Floats, Method
from gridloom.delivery.situation_store import Battery, LiveAsset
from gridloom.delivery.spreading import changes_kwh
from gridloom.delivery.standing import replan


def loaded_zone(seed: int, virtual: int, count: int, periods: int, **more: float) -> tuple[Zone, Floats]:
    """A random zone as it is loaded, and what its batteries hold at the start."""
    made = made_zone(seed, virtual, count, periods, **more)  # type: ignore[arg-type]
    batteries = made.batteries
    zone = Zone(
        0,
        periods,
        [LiveAsset(key, UUID(int=key), UUID(int=0), 0, periods, 0.95, 0.95, None) for key in range(1, virtual + 1)],
        [Battery(10_000 + key, UUID(int=key), UUID(int=0)) for key in range(count)],
        made.power_kw,
        made.share_of,
        made.shares,
        batteries,
        changes_kwh(made.by_share(made.power_kw), batteries.charge_efficiency, batteries.discharge_efficiency),
        batteries.high_kwh,
        [],
    )
    return zone, batteries.energy_kwh


def with_change(zone: Zone, asset: int, first: int, end: int, by_kw: float) -> Zone:
    power_kw = zone.power_kw.copy()
    power_kw[asset, first:end] += by_kw
    return replace(zone, power_kw=power_kw)


class TestReplan:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 8))
    @settings(max_examples=15)
    def test_changes_nothing_where_nothing_changed(self, seed: int, virtual: int, count: int) -> None:
        zone, energy_kwh = loaded_zone(seed, virtual, count, 92)
        first = replan(zone, None, energy_kwh, energy_kwh, keeps_batteries=False)
        second = replan(zone, first.plan, energy_kwh, energy_kwh, keeps_batteries=True)
        assert second.plan.packed() == first.plan.packed()

    def test_keeps_the_periods_before_the_first_change(self) -> None:
        zone, energy_kwh = loaded_zone(3, 12, 5, 96, stress=0.3)
        before = replan(zone, None, energy_kwh, energy_kwh, keeps_batteries=False)
        changed = with_change(zone, 2, 40, 44, 25.0)
        after = replan(changed, before.plan, energy_kwh, energy_kwh, keeps_batteries=True)
        assert (after.plan.virtual_kw[:, :40] == before.plan.virtual_kw[:, :40]).all()
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(after.delivered_kw.sum(axis=0), abs=1e-5)

    def test_lays_a_small_change_over_the_plan_of_a_large_zone(self) -> None:
        zone, energy_kwh = loaded_zone(5, 200, 50, 100, stress=0.5)
        before = replan(zone, None, energy_kwh, energy_kwh, keeps_batteries=False)
        changed = with_change(zone, 7, 50, 54, 5.0)
        after = replan(changed, before.plan, energy_kwh, energy_kwh, keeps_batteries=True)
        assert after.method is Method.CLOSED_FORM
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(after.delivered_kw.sum(axis=0), abs=1e-5)
        assert np.abs(after.delivered_kw - changed.power_kw).max() == 0

    def test_names_a_part_for_each_virtual_asset_that_a_battery_backs(self) -> None:
        zone, energy_kwh = loaded_zone(3, 12, 5, 96, stress=0.3)
        made = replan(zone, None, energy_kwh, energy_kwh, keeps_batteries=False).plan
        sums_kw = np.zeros_like(made.virtual_kw)
        for (battery, _, _), part_kw in zip(made.part_of.tolist(), made.part_kw, strict=True):
            sums_kw[battery] += part_kw
        assert np.abs(sums_kw - made.virtual_kw - made.own_kw).max() < 1e-3
