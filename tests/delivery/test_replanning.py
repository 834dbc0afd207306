"""A new plan keeps what has not changed of the current one."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.zones import made_zone

from gridloom.delivery.codec import pack
from gridloom.delivery.model import BatteryLimits, StartState
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import ZoneInput, ZonePlan
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.planning.replanning import PlanStart, _widen_slice, replan
from gridloom.market_calendar import Floats

pytestmark = pytest.mark.pure


def loaded_zone(seed: int, virtual: int, count: int, periods: int, **more: float) -> tuple[ZoneInput, PlanStart]:
    """A random zone as it is loaded, and its batteries at the start."""
    made = made_zone(seed, virtual, count, periods, **more)  # type: ignore[arg-type]
    limits = made.limits
    zone = ZoneInput(
        0,
        periods,
        np.arange(1, virtual + 1),
        np.arange(10_000, 10_000 + count),
        made.power_kw,
        made.share_of,
        made.shares,
        limits,
        np.diff(made.share_energy_kwh, axis=1),
        limits.high_kwh,
        np.zeros((0, 3), dtype=np.int64),
        np.zeros((0, periods)),
        np.zeros((0, 3), dtype=np.int64),
        np.zeros((0, periods)),
    )
    return zone, PlanStart(limits.energy_kwh, limits.energy_kwh, StartState.of_rest(count))


def served_kw(plan: ZonePlan) -> Floats:
    """What the batteries must do in each period."""
    exported_kw, imported_kw, _, unserved_kw = plan.totals_kw
    return np.asarray(exported_kw - imported_kw - unserved_kw)


def begun_earlier(plan: ZonePlan, periods: int) -> ZonePlan:
    """The same plan, with periods before its first that are over by now."""
    width = plan.end - plan.first
    arrays = {field.name: getattr(plan, field.name) for field in fields(plan)}
    longer = {
        name: np.concatenate([np.full((*array.shape[:-1], periods), 7, array.dtype), array], axis=-1)
        for name, array in arrays.items()
        if isinstance(array, np.ndarray) and array.shape[-1] in (width, width + 1)
    }
    return replace(plan, first=plan.first - periods, **longer)


def with_change(zone: ZoneInput, asset: int, first: int, end: int, by_kw: float) -> ZoneInput:
    power_kw = zone.power_kw.copy()
    power_kw[asset, first:end] += by_kw
    return replace(zone, power_kw=power_kw)


def _outside_kwh(energy_kwh: Floats, limits: BatteryLimits) -> Floats:
    after_kwh = energy_kwh[:, 1:]
    return np.maximum(limits.low_kwh - after_kwh, 0.0) + np.maximum(after_kwh - limits.high_kwh, 0.0)


class TestReplan:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 8))
    @settings(max_examples=15)
    def test_changes_nothing_where_nothing_changed(self, seed: int, virtual: int, count: int) -> None:
        zone, start = loaded_zone(seed, virtual, count, 92)
        first = replan(zone, None, start, batteries_unchanged=False)
        second = replan(zone, first.plan, start, batteries_unchanged=True)
        assert pack(second.plan.arrays()) == pack(first.plan.arrays())

    def test_keeps_the_periods_before_the_first_change(self) -> None:
        zone, start = loaded_zone(3, 12, 5, 96, stress=0.3)
        before = replan(zone, None, start, batteries_unchanged=False)
        changed = with_change(zone, 2, 40, 44, 25.0)
        after = replan(changed, before.plan, start, batteries_unchanged=True)
        assert (after.plan.virtual_kw[:, :40] == before.plan.virtual_kw[:, :40]).all()
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(served_kw(after.plan), abs=1e-5)

    def test_plans_anew_from_where_another_asset_takes_the_place_of_one(self) -> None:
        """What the one sold is missing in the other's schedule: less is to be moved, not more."""
        zone, start = loaded_zone(3, 12, 5, 96, stress=0.3)
        power_kw = zone.power_kw.copy()
        power_kw[2] = 0.0
        other = replace(zone, asset_keys=np.where(zone.asset_keys == 3, 99, zone.asset_keys), power_kw=power_kw)
        sold = with_change(replace(zone, power_kw=power_kw), 2, 40, 44, 25.0)
        before = replan(sold, None, start, batteries_unchanged=False)
        after = replan(other, before.plan, start, batteries_unchanged=True)
        assert after.changed_slice.start == 40
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(other.power_kw.sum(axis=0), abs=1e-5)

    @pytest.mark.parametrize("earlier", [0, 12])
    def test_overlays_a_small_change_on_the_plan_of_a_large_zone(self, earlier: int) -> None:
        zone, start = loaded_zone(1, 200, 50, 100, alike=True, stress=0.3)
        before = begun_earlier(replan(zone, None, start, batteries_unchanged=False).plan, earlier)
        changed = with_change(with_change(zone, 7, 50, 52, 5.0), 7, 52, 54, -5.0)
        after = replan(changed, before, start, batteries_unchanged=True)
        assert after.changed_slice == slice(50, 54)
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(served_kw(after.plan), abs=1e-5)
        assert not after.plan.unserved_kw.any()

    @given(st.integers(0, 2**32 - 1), st.integers(30, 60), st.integers(1, 8), st.floats(-200, 200))
    @settings(max_examples=25)
    def test_keeps_every_limit_where_a_change_is_overlaid(
        self, seed: int, virtual: int, length: int, by_kw: float
    ) -> None:
        zone, start = loaded_zone(seed, virtual, 30, 92, alike=True, stress=0.5)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        changed = with_change(zone, seed % virtual, 10, 10 + length, by_kw)
        made = replan(changed, before, start, batteries_unchanged=True)
        after, limits = made.plan, zone.limits
        assert after.virtual_kw.sum(axis=0) == pytest.approx(served_kw(after), abs=1e-5)
        power_kw = after.battery_power_kw(slice(None))
        assert (power_kw <= limits.discharge_kw + 1e-6).all()
        assert (power_kw >= -limits.charge_kw - 1e-6).all()
        steps_kwh = energy_changes_kwh(power_kw, limits.charge_efficiency, limits.discharge_efficiency)
        assert np.abs(start.energy_kwh[:, None] + steps_kwh.cumsum(axis=1) - after.energy_kwh[:, 1:]).max() < 1e-6
        if made.changed_slice == slice(10, 10 + length):
            others = np.r_[0:10, 10 + length : 92]
            assert (after.virtual_kw[:, others] == before.virtual_kw[:, others]).all()
            worse_kwh = _outside_kwh(after.energy_kwh, limits) - _outside_kwh(before.energy_kwh, limits)
            assert worse_kwh.max() < 1e-5

    def test_names_a_part_for_each_virtual_asset_that_a_battery_backs(self) -> None:
        zone, start = loaded_zone(3, 12, 5, 96, stress=0.3)
        made = replan(zone, None, start, batteries_unchanged=False).plan
        sums_kw = np.zeros_like(made.virtual_kw)
        for (battery_key, _, _), part_kw in zip(*list_parts(made, 0, 96), strict=True):
            sums_kw[battery_key - 10_000] += part_kw
        assert np.abs(sums_kw - made.battery_power_kw(slice(None))).max() < 1e-3

    def test_reaches_over_the_last_period_in_which_a_reserve_is_held_otherwise(self) -> None:
        def plan(first: int, unstored_kw: list[float]) -> Any:
            return SimpleNamespace(
                first=first,
                end=first + len(unstored_kw),
                reserve_keys=np.array([[10_000, 1, 7]]),
                unstored_reserve_kw=np.array([unstored_kw]),
            )

        before = plan(0, [9.0, 0.0, 5.0, 5.0, 0.0, 0.0, 0.0])
        for now_kw, changed in (
            ([0.0, 5.0, 5.0, 0.0, 0.0, 0.0], slice(2, 4)),
            ([0.0, 5.0, 5.0, 0.0, 3.0, 0.0], slice(2, 5)),
            ([0.0, 0.0, 5.0, 0.0, 0.0, 0.0], slice(1, 4)),
        ):
            assert _widen_slice(slice(2, 4), plan(1, now_kw), before, 1) == changed
        none = plan(1, [0.0] * 6)
        none.reserve_keys, none.unstored_reserve_kw = np.zeros((0, 3), dtype=np.int64), np.zeros((0, 6))
        earlier = plan(0, [9.0, 5.0, 0.0, 0.0, 0.0, 4.0, 0.0])
        assert _widen_slice(slice(2, 4), none, earlier, 1) == slice(0, 5), "a reserve that was given back"
        assert _widen_slice(slice(2, 4), none, None, 0) == slice(2, 4)
