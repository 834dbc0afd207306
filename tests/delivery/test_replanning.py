"""A new plan keeps what has not changed of the current one."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.zones import even_limits, made_zone

from gridloom.delivery.codec import pack
from gridloom.delivery.model import CODE_OF_KIND, BatteryLimits, PartKind, StartState, slice_limits
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import ZoneInput, ZonePlan
from gridloom.delivery.planning.parts import PartKeys, list_parts, list_parts_of_both
from gridloom.delivery.planning.replanning import PlanStart, replan
from gridloom.market_calendar import Floats

pytestmark = pytest.mark.pure


FIRST = 2_000_000


def loaded_zone(
    seed: int, virtual: int, count: int, periods: int, first: int = 0, **more: float
) -> tuple[ZoneInput, PlanStart]:
    """A random zone as it is loaded, and its batteries at the start."""
    made = made_zone(seed, virtual, count, periods, **more)  # type: ignore[arg-type]
    limits = made.limits
    zone = ZoneInput(
        first=first,
        end=first + periods,
        asset_keys=np.arange(1, virtual + 1),
        battery_keys=np.arange(10_000, 10_000 + count),
        power_kw=made.power_kw,
        undelivered_kw=np.zeros_like(made.power_kw),
        share_of=made.share_of,
        shares=made.shares,
        limits=limits,
        share_energy_changes_kwh=np.diff(made.share_energy_kwh, axis=1),
        capacity_kwh=limits.high_kwh,
        reserve_keys=np.zeros((0, 3), dtype=np.int64),
        reserve_kw=np.zeros((0, periods)),
        shortfall_keys=np.zeros((0, 3), dtype=np.int64),
        shortfall_kw=np.zeros((0, periods)),
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


def _shorten(zone: ZoneInput, periods: int) -> ZoneInput:
    """The same zone with its first periods only."""
    by_period = ("power_kw", "share_energy_changes_kwh", "capacity_kwh", "reserve_kw", "shortfall_kw")
    shorter = {name: getattr(zone, name)[:, :periods] for name in by_period}
    return replace(
        zone,
        end=zone.first + periods,
        limits=slice_limits(zone.limits, 0, zone.limits.energy_kwh, periods),
        **shorter,
    )


def _check_totals(plan: ZonePlan) -> None:
    """What was scheduled each way and what of it was netted, asset by asset."""
    exports_kw, imports_kw = (np.maximum(sign * plan.power_kw, 0.0).sum(axis=0) for sign in (1, -1))
    left_kw = exports_kw - np.maximum(plan.unserved_kw, 0.0), imports_kw - np.maximum(-plan.unserved_kw, 0.0)
    netted_kw = np.minimum(*left_kw)
    assert plan.totals_kw[0] == pytest.approx(exports_kw)
    assert plan.totals_kw[1] == pytest.approx(imports_kw)
    assert plan.totals_kw[2] == pytest.approx(netted_kw, abs=1e-9)
    for fraction, side_kw in zip(plan.netted_fraction, left_kw, strict=True):
        assert fraction * side_kw == pytest.approx(netted_kw, abs=1e-6)


class TestReplan:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 8))
    @settings(max_examples=15)
    def test_changes_nothing_where_nothing_changed(self, seed: int, virtual: int, count: int) -> None:
        zone, start = loaded_zone(seed, virtual, count, 92, FIRST)
        first = replan(zone, None, start, batteries_unchanged=False)
        second = replan(zone, first.plan, start, batteries_unchanged=True)
        assert pack(second.plan.arrays()) == pack(first.plan.arrays())

    def test_keeps_the_periods_before_the_first_change(self) -> None:
        zone, start = loaded_zone(3, 12, 5, 96, FIRST, stress=0.3)
        before = replan(zone, None, start, batteries_unchanged=False)
        changed = with_change(zone, 2, 40, 44, 25.0)
        after = replan(changed, before.plan, start, batteries_unchanged=True)
        assert (after.plan.virtual_kw[:, :40] == before.plan.virtual_kw[:, :40]).all()
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(served_kw(after.plan), abs=1e-5)

    def test_plans_anew_from_where_another_asset_takes_the_place_of_one(self) -> None:
        """What the one sold is missing in the other's schedule: less is to be moved, not more."""
        zone, start = loaded_zone(3, 12, 5, 96, FIRST, stress=0.3)
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
        zone, start = loaded_zone(1, 200, 50, 100, FIRST, alike=True, stress=0.3)
        before = begun_earlier(replan(zone, None, start, batteries_unchanged=False).plan, earlier)
        changed = with_change(with_change(zone, 7, 50, 52, 5.0), 7, 52, 54, -5.0)
        after = replan(changed, before, start, batteries_unchanged=True)
        assert after.changed_slice == slice(50, 54)
        assert not after.plan.is_cycle_bound.any()
        assert after.plan.virtual_kw.sum(axis=0) == pytest.approx(served_kw(after.plan), abs=1e-5)
        assert not after.plan.unserved_kw.any()

    @given(st.integers(0, 2**32 - 1), st.integers(30, 60), st.integers(1, 8), st.floats(-200, 200))
    @settings(max_examples=25)
    def test_keeps_every_limit_where_a_change_is_overlaid(
        self, seed: int, virtual: int, length: int, by_kw: float
    ) -> None:
        zone, start = loaded_zone(seed, virtual, 30, 92, FIRST, alike=True, stress=0.5)
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

    def test_begins_where_anything_is_another_and_leaves_what_was_before(self) -> None:
        zone, start = loaded_zone(3, 12, 5, 96, FIRST, stress=0.3)
        reserve: dict[str, Any] = {
            "reserve_keys": np.array([[1, 2, 7], [2, 3, 8]]),
            "reserve_kw": np.array([np.where(np.arange(96) < 70, 20.0, 30.0), np.full(96, 5.0)]),
        }
        bare, zone = zone, replace(zone, **reserve)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        held = replace(zone, reserve_kw=zone.reserve_kw + np.where(np.arange(96) >= 61, 4.0, 0.0))
        given_back = replace(zone, reserve_keys=zone.reserve_keys[1:], reserve_kw=zone.reserve_kw[1:])
        swapped = with_change(with_change(zone, 2, 40, 44, 25.0), 3, 40, 44, -25.0)
        for changed, first, end in (
            (with_change(zone, 2, 40, 44, 25.0), 40, 96),
            (with_change(zone, 2, 40, 44, 1e-7), 96, 96),
            (with_change(zone, 2, 0, 1, 25.0), 0, 96),
            (held, 61, 96),
            (given_back, 0, 96),
            (bare, 0, 96),
            (swapped, 40, 96),
            (replace(zone, battery_keys=zone.battery_keys + 1), 0, 96),
        ):
            after = replan(changed, before, start, batteries_unchanged=True)
            assert after.changed_slice == slice(first, end)
            for name in ("virtual_kw", "own_kw", "drift_kw", "totals_kw", "netted_fraction", "is_cycle_bound"):
                assert np.array_equal(getattr(after.plan, name)[..., :first], getattr(before, name)[..., :first]), name
            _check_totals(after.plan)
        idle = replan(bare, None, start, batteries_unchanged=False).plan
        assert replan(zone, idle, start, batteries_unchanged=True).changed_slice == slice(0, 96), (
            "a reserve that begins"
        )
        for sign in (1.0, -1.0):
            power_kw = np.where(np.arange(96) == 80, sign * np.abs(zone.power_kw), zone.power_kw)
            turned = replace(zone, power_kw=power_kw)
            planned = replan(turned, None, start, batteries_unchanged=False).plan
            promised_kwh = zone.limits.promised_kwh.copy()
            promised_kwh[int(np.argmax(sign * planned.virtual_kw[:, 80])), 80] = 0.0
            released = replace(turned, limits=replace(zone.limits, promised_kwh=promised_kwh))
            after = replan(released, planned, start, batteries_unchanged=True)
            assert after.changed_slice == slice(80, 96), "a battery that backs nothing then"
            assert np.array_equal(after.plan.virtual_kw[:, :80], planned.virtual_kw[:, :80])
        begun_later = replan(zone, replace(before, first=FIRST + 2), start, batteries_unchanged=True)
        assert begun_later.changed_slice == slice(0, 96), "nothing of its first periods was planned"
        whole = replan(with_change(zone, 2, 40, 44, 25.0), before, start, batteries_unchanged=False)
        assert whole.changed_slice == slice(0, 96)

    def test_tells_what_was_netted_of_what_could_be_served(self) -> None:
        zone, start = loaded_zone(3, 12, 5, 96, FIRST, stress=6.0)
        for sign in (1.0, -1.0):
            turned = replace(zone, power_kw=sign * zone.power_kw)
            made = replan(turned, None, start, batteries_unchanged=False).plan
            assert (sign * made.unserved_kw > 0).any()
            _check_totals(made)

    def test_goes_on_with_a_plan_that_began_earlier_and_ends_earlier(self) -> None:
        long, start = loaded_zone(3, 12, 5, 96, FIRST, stress=0.3)
        before = begun_earlier(replan(_shorten(long, 90), None, start, batteries_unchanged=False).plan, 7)
        after = replan(long, before, start, batteries_unchanged=True)
        assert after.changed_slice == slice(90, 96)
        assert (after.plan.first, after.plan.end) == (FIRST, FIRST + 96)
        assert np.array_equal(after.plan.energy_kwh[:, :91], before.energy_kwh[:, 7:])
        assert np.array_equal(after.plan.virtual_kw[:, :90], before.virtual_kw[:, 7:])
        _check_totals(after.plan)
        later = replan(_shorten(long, 85), before, start, batteries_unchanged=True)
        assert later.changed_slice == slice(85, 85)
        assert np.array_equal(later.plan.energy_kwh, before.energy_kwh[:, 7:93])

    def test_is_of_all_where_the_rest_would_leave_something_unserved(self) -> None:
        """Drift must be moved before a change for the sake of it: 40 kWh that a full battery is to charge."""
        zone, start = loaded_zone(3, 1, 1, 96, FIRST)
        limits = replace(
            even_limits([1000], [2000], 96, [1.0]),
            energy_kwh=np.array([2000.0]),
            free_discharge_kw=np.full((1, 96), 50.0),
        )
        zone = replace(zone, power_kw=np.zeros((1, 96)), limits=limits, share_energy_changes_kwh=np.zeros((1, 96)))
        start = replace(start, energy_kwh=np.array([2000.0]), share_energy_kwh=np.array([1000.0]))
        before = replan(zone, None, start, batteries_unchanged=False).plan
        assert not before.drift_kw.any()
        after = replan(with_change(zone, 0, 10, 11, -160.0), before, start, batteries_unchanged=True)
        assert after.changed_slice == slice(0, 96)
        assert after.plan.drift_kw[0, :11].tolist() == pytest.approx([16.0] * 10 + [0.0], abs=1e-4)
        assert not after.plan.unserved_kw.any()

    @pytest.mark.parametrize(("length", "end"), [(16, 66), (17, 100)])
    def test_overlays_no_change_of_more_than_four_hours(self, length: int, end: int) -> None:
        zone, start = loaded_zone(1, 200, 50, 100, FIRST, alike=True, stress=0.3)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        half = 50 + length // 2
        changed = with_change(with_change(zone, 7, 50, half, 0.5), 7, half, 50 + length, -0.5)
        after = replan(changed, before, start, batteries_unchanged=True)
        assert after.changed_slice == slice(50, end)
        _check_totals(after.plan)

    def test_overlays_nothing_where_assets_or_the_end_are_others(self) -> None:
        zone, start = loaded_zone(1, 200, 50, 100, FIRST, alike=True, stress=0.3)
        idle = replace(zone, power_kw=np.where(np.arange(200)[:, None] == 199, 0.0, zone.power_kw))
        before = replan(idle, None, start, batteries_unchanged=False).plan
        sold = with_change(with_change(idle, 199, 50, 52, 5.0), 199, 52, 54, -5.0)
        other = replace(sold, asset_keys=np.where(zone.asset_keys == 200, 999, zone.asset_keys))
        assert replan(sold, before, start, batteries_unchanged=True).changed_slice == slice(50, 54)
        after = replan(other, before, start, batteries_unchanged=True)
        assert after.changed_slice == slice(50, 100)
        assert after.plan.asset_keys[-1] == 999
        shorter = replan(_shorten(zone, 96), None, start, batteries_unchanged=False).plan
        longer = replan(zone, shorter, start, batteries_unchanged=True)
        assert longer.changed_slice == slice(96, 100)
        assert longer.plan.virtual_kw.sum(axis=0) == pytest.approx(served_kw(longer.plan), abs=1e-5)

    def test_names_a_part_for_each_virtual_asset_that_a_battery_backs(self) -> None:
        zone, start = loaded_zone(3, 12, 5, 96, FIRST, stress=0.3)
        made = replan(zone, None, start, batteries_unchanged=False).plan
        sums_kw = np.zeros_like(made.virtual_kw)
        for (battery_key, _, _), part_kw in zip(*list_parts(made, 0, 96), strict=True):
            sums_kw[battery_key - 10_000] += part_kw
        assert np.abs(sums_kw - made.battery_power_kw(slice(None))).max() < 1e-3

    def test_lists_parts_after_what_is_netted_and_unserved(self) -> None:
        """Of the first quarter-hour, 600 kW meet 400; of the second, 100 of the other 200 are unserved. The second
        battery does some of it for the first, the first then some for the second, which holds a reserve."""
        zone, start = loaded_zone(1, 2, 2, 2, FIRST)
        plan = replace(
            replan(zone, None, start, batteries_unchanged=False).plan,
            power_kw=np.array([[600.0, 600.0], [-400.0, -400.0]]),
            share_of=np.array([[0, 0], [0, 1], [1, 1]]),
            shares=np.array([0.75, 0.25, 1.0]),
            virtual_kw=np.array([[120.0, 80.0], [80.0, 20.0]]),
            own_kw=np.array([[5.0, 6.0], [7.0, 8.0]]),
            drift_kw=np.array([[-1.0, -2.0], [-3.0, -4.0]]),
            reserve_keys=np.array([[1, CODE_OF_KIND[PartKind.FCR], 2]]),
            reserve_kw=np.array([[50.0, 51.0]]),
            totals_kw=np.array([[600.0, 600.0], [400.0, 400.0], [400.0, 400.0], [0.0, 100.0]]),
        )
        virtual, own, drift, fcr = (
            CODE_OF_KIND[kind] for kind in (PartKind.VIRTUAL, PartKind.OWN, PartKind.DRIFT, PartKind.FCR)
        )
        expected = {
            (10_000, virtual, 0): [0.0, 5.0],
            (10_000, virtual, 1): [120.0, 75.0],
            (10_000, own, 0): [5.0, 6.0],
            (10_000, drift, 0): [-1.0, -2.0],
            (10_001, virtual, 0): [30.0, 0.0],
            (10_001, virtual, 1): [50.0, 20.0],
            (10_001, virtual, 2): [0.0, 0.0],
            (10_001, own, 0): [7.0, 8.0],
            (10_001, fcr, 2): [50.0, 51.0],
            (10_001, drift, 0): [-3.0, -4.0],
        }
        names, part_kw = list_parts(plan, 0, 2)
        assert [tuple(name) for name in names.tolist()] == list(expected)
        assert part_kw.tolist() == [pytest.approx(row) for row in expected.values()]
        later = list_parts(plan, 1, 2)[1].tolist()
        assert later == [pytest.approx(row[1:]) for row in expected.values()]
        keys = PartKeys.of_plan(plan)
        old_kw, new_kw = list_parts_of_both(plan, slice(1, 2), plan, slice(0, 2), keys)
        assert (old_kw.tolist(), new_kw.tolist()) == (later, part_kw.tolist())

    def test_has_another_battery_hold_what_lacks_its_energy(self) -> None:
        """The first lacks half of what 100 kW need from the second quarter-hour on; the second has 150 kW free, of
        which its owner and its drift need some. The plan before ended earlier."""
        zone, start = loaded_zone(1, 2, 2, 4, FIRST)
        stored_kwh = np.array([[0.0, 100.0, 100.0, 100.0], [0.0] * 4])
        limits = replace(
            even_limits([1000.0] * 2, [2000.0] * 2, 4, [1.0] * 2),
            energy_kwh=np.array([250.0, 1000.0]),
            low_kwh=np.array([[0.0, 300.0, 300.0, 300.0], [0.0] * 4]),
            own_kw=np.array([[0.0] * 4, [0.0, 0.0, 970.0, 0.0]]),
            drift_kw=np.array([[0.0] * 4, [0.0, 0.0, 0.0, 130.0]]),
            free_discharge_kw=np.array([[0.0] * 4, [150.0] * 4]),
            reserve_stored_kwh=stored_kwh,
        )
        zone = replace(
            zone,
            power_kw=np.zeros((2, 4)),
            limits=limits,
            share_energy_changes_kwh=np.zeros((2, 4)),
            reserve_keys=np.array([[0, CODE_OF_KIND[PartKind.AFRR_POS], 1]]),
            reserve_kw=np.array([[0.0, 100.0, 100.0, 100.0]]),
        )
        start = replace(start, energy_kwh=limits.energy_kwh, share_energy_kwh=limits.energy_kwh)
        before = replan(_shorten(zone, 3), None, start, batteries_unchanged=False)
        for made, periods in ((before, 3), (replan(zone, before.plan, start, batteries_unchanged=True), 4)):
            held_kw = np.array([[0.0, 50.0, 50.0, 50.0], [0.0, 50.0, 30.0, 20.0]])[:, :periods]
            assert made.plan.reserve_keys[:, 0].tolist() == [0, 1]
            assert made.plan.reserve_kw.tolist() == [pytest.approx(row) for row in held_kw]
            assert made.plan.unstored_reserve_kw.tolist() == [
                pytest.approx(row) for row in (zone.reserve_kw[0, :periods] - held_kw[0], -held_kw[1])
            ]
            assert made.plan.asked_reserve_kw.tolist() == [zone.reserve_kw[0, :periods].tolist(), [0.0] * periods]
        assert made.changed_slice == slice(3, 4)

    def test_counts_the_periods_in_which_batteries_are_moved_against_each_other(self) -> None:
        """Drift that is sold while another battery charges for a virtual asset, not while it does for its owner."""
        zone, start = loaded_zone(1, 2, 2, 3, FIRST)
        limits = even_limits([1000.0] * 2, [2000.0] * 2, 3, [1.0] * 2)
        own_kw = np.array([[0.0] * 3, [0.0, 0.0, -50.0]])
        limits = replace(limits, drift_kw=np.array([[0.0, 50.0, 50.0], [0.0] * 3]), own_kw=own_kw)
        zone = replace(
            zone,
            power_kw=np.array([[0.0] * 3, [-80.0, -80.0, 0.0]]),
            share_of=np.array([[0, 0], [1, 1]]),
            shares=np.ones(2),
            limits=limits,
            share_energy_changes_kwh=np.array([[0.0] * 3, [20.0, 20.0, 0.0]]),
        )
        start = replace(start, energy_kwh=limits.energy_kwh, share_energy_kwh=limits.energy_kwh)
        assert replan(zone, None, start, batteries_unchanged=False).opposed_periods == 1
