"""Versions of a battery's dispatch, overlaid, are the current one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.test_replanning import loaded_zone, with_change

from gridloom.delivery.codec import pack, unpack
from gridloom.delivery.dispatch.reading import DispatchSeries, overlay_versions
from gridloom.delivery.dispatch.store import StoredVersion
from gridloom.delivery.dispatch.versions import NewDispatchVersion, _find_differing_parts, changed_versions
from gridloom.delivery.model import KIND_OF_CODE, PartKind
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.planning.replanning import replan

pytestmark = pytest.mark.pure

NOW = datetime(2026, 7, 1, tzinfo=UTC)
NOISE = 2e-6
"""What two versions of a plan may differ by without a new one."""


def stored(number: int, one: NewDispatchVersion) -> StoredVersion:
    return StoredVersion(number, NOW, one.first, one.end, one.body)


class TestTheStateOfCharge:
    def test_is_of_what_can_be_stored_then_and_more_than_all_of_it_where_that_is_less_now(self) -> None:
        energy_kwh, capacity_kwh = np.array([500.0, 1500.0, -1e-9]), np.array([2000.0, 1000.0, 1000.0])
        series = DispatchSeries(1, 0, np.ones(3, dtype=bool), energy_kwh, energy_kwh + 7.0, capacity_kwh, {})
        assert series.state_of_charge_percentage.tolist() == [25.0, 150.0, 0.0]


class TestVersions:
    @given(
        seed=st.integers(0, 2**32 - 1),
        virtual=st.integers(1, 30),
        count=st.integers(1, 40),
        first=st.integers(0, 91),
        length=st.integers(1, 20),
    )
    @settings(max_examples=20)
    def test_overlaid_are_the_current_plan(self, seed: int, virtual: int, count: int, first: int, length: int) -> None:
        zone, start = loaded_zone(seed, virtual, count, 92, stress=0.3)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        whole = changed_versions(None, before, slice(0, 92), zone.capacity_kwh)
        written = {one.asset_key: [stored(1, one)] for one in whole}
        changed = with_change(zone, 0, first, first + length, 7.5)
        made = replan(changed, before, start, batteries_unchanged=True)
        for one in changed_versions(before, made.plan, made.changed_slice, zone.capacity_kwh):
            written[one.asset_key].append(stored(2, one))
        names, part_kw = list_parts(made.plan, 0, 92)
        for row, key in enumerate(made.plan.battery_keys.tolist()):
            current = overlay_versions(2, written[key], 0, 92)
            assert current.is_planned.all()
            assert np.abs(current.after_kwh - made.plan.energy_kwh[row, 1:]).max() < NOISE
            for index in np.flatnonzero(names[:, 0] == key).tolist():
                part = KIND_OF_CODE[int(names[index, 1])], int(names[index, 2])
                assert np.abs(current.parts_kw.get(part, np.zeros(92)) - part_kw[index]).max() < NOISE

    def test_say_again_only_what_is_another(self) -> None:
        zone, start = loaded_zone(1, 60, 40, 96, stress=0.3)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        changed = with_change(zone, 4, 40, 44, 5.0)
        made = replan(changed, before, start, batteries_unchanged=True)
        versions = changed_versions(before, made.plan, made.changed_slice, zone.capacity_kwh)
        assert made.changed_slice == slice(40, 44)
        assert versions
        for one in versions:
            arrays = unpack(one.body)
            assert arrays["parts"].shape[1] <= 4
            assert len(arrays["energy"]) == one.end - one.first + 1

    def test_know_a_part_that_turned_round_or_came_or_went_from_one_that_is_the_same(self) -> None:
        """Of battery 3 one part turns round; of 5 one is the same and one a noise off; of 8 one takes another's
        place."""
        names = np.array([[3, 0, 1], [5, 0, 1], [5, 0, 2], [8, 0, 1]])
        before = np.array([[4.0, 4.0, 0.0], [7.0, 7.0, 7.0], [2.0, 2.0, 2.0], [6.0, 0.0, 6.0]])
        after = np.array([[-4.0, 4.0, 0.0], [7.0, 7.0, 7.0], [2.0, 2.0 + 1e-7, 3.0], [6.0, 0.0, 6.0]])
        expected = {3: [True, False, False], 5: [False, False, True], 8: [False, False, False]}
        keys, differs = _find_differing_parts((names, before), (names, after))
        assert dict(zip(keys.tolist(), differs.tolist(), strict=True)) == expected
        others = names.copy()
        others[3, 2] = 2
        keys, differs = _find_differing_parts((names, before), (others, after))
        assert dict(zip(keys.tolist(), differs.tolist(), strict=True)) == {**expected, 8: [True, False, True]}

    def test_say_again_what_is_another_state_of_charge_of_a_battery_that_holds_less_or_more(self) -> None:
        zone, start = loaded_zone(1, 6, 4, 96, stress=0.0)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        smaller = zone.capacity_kwh.copy()
        smaller[2, 30:] /= 2
        versions = changed_versions(before, before, slice(0, 0), smaller, zone.capacity_kwh)
        assert [(one.asset_key, one.first, one.end) for one in versions] == [(before.battery_keys[2], 30, 96)]
        assert unpack(versions[0].body)["capacity"].tolist() == smaller[2, 30:].tolist()
        again = changed_versions(before, before, slice(0, 0), zone.capacity_kwh, smaller)
        assert [(one.asset_key, one.first, one.end) for one in again] == [(before.battery_keys[2], 30, 96)]
        assert unpack(again[0].body)["capacity"].tolist() == zone.capacity_kwh[2, 30:].tolist()

    def test_say_all_where_the_plan_before_began_later(self) -> None:
        zone, start = loaded_zone(1, 6, 4, 96, stress=0.3)
        plan = replan(zone, None, start, batteries_unchanged=False).plan
        later = replace(plan, first=2)
        versions = changed_versions(later, plan, slice(0, 96), zone.capacity_kwh, zone.capacity_kwh)
        assert [(one.asset_key, one.first, one.end) for one in versions] == [
            (key, 0, 96) for key in plan.battery_keys.tolist()
        ]

    def test_say_all_of_a_battery_that_holds_less_from_before_the_first_part_that_is_another(self) -> None:
        zone, start = loaded_zone(1, 60, 40, 96, stress=0.3)
        before = replan(zone, None, start, batteries_unchanged=False).plan
        made = replan(with_change(zone, 4, 40, 44, 5.0), before, start, batteries_unchanged=True)
        moved = changed_versions(before, made.plan, made.changed_slice, zone.capacity_kwh)[0].asset_key
        row = made.plan.battery_keys.tolist().index(moved)
        smaller = zone.capacity_kwh.copy()
        smaller[row, 10:90] /= 2
        written = {
            one.asset_key: [stored(1, one)] for one in changed_versions(None, before, slice(0, 96), zone.capacity_kwh)
        }
        for one in changed_versions(before, made.plan, made.changed_slice, smaller, zone.capacity_kwh):
            written[one.asset_key].append(stored(2, one))
        current = overlay_versions(2, written[moved], 0, 96)
        assert current.capacity_kwh.tolist() == smaller[row].tolist()
        names, part_kw = list_parts(made.plan, 0, 96)
        for index in np.flatnonzero(names[:, 0] == moved).tolist():
            part = KIND_OF_CODE[int(names[index, 1])], int(names[index, 2])
            assert np.abs(current.parts_kw.get(part, np.zeros(96)) - part_kw[index]).max() < NOISE

    def test_that_name_each_part_in_an_array_of_its_own_are_still_read(self) -> None:
        capacity_kwh = np.full(3, 1000.0)
        earlier = {"energy": np.full(4, 500.0), "VIRTUAL:7": np.array([1.0, 2.0, 3.0]), "OWN:0": np.zeros(3)}
        later = {
            "energy": np.full(3, 400.0),
            "names": np.array([[0, 8]]),
            "parts": np.array([[9.0]]),
            "capacity": capacity_kwh[:2],
        }
        versions = [
            StoredVersion(1, NOW, 0, 3, pack({**earlier, "capacity": capacity_kwh})),
            StoredVersion(2, NOW, 1, 3, pack(later)),
        ]
        current = overlay_versions(2, versions, 0, 3)
        assert current.parts_kw[PartKind.VIRTUAL, 7].tolist() == [1.0, 0.0, 3.0]
        assert current.parts_kw[PartKind.VIRTUAL, 8].tolist() == [0.0, 9.0, 0.0]
        assert current.energy_kwh.tolist() == [500.0, 400.0, 400.0]

    @given(
        spans=st.lists(st.tuples(st.integers(0, 11), st.integers(1, 8), st.integers(0, 8)), max_size=8),
        first=st.integers(0, 6),
        count=st.integers(0, 12),
    )
    def test_are_read_as_if_each_were_written_over_those_before(
        self, spans: list[tuple[int, int, int]], first: int, count: int
    ) -> None:
        """Some of them replace others in part or wholly, and say what the parts are of their first periods only."""
        versions, energies, parts = [], np.zeros(30), np.zeros((3, 30))
        for number, (start, length, width) in enumerate(spans, 1):
            width = min(width, length)
            part = number % 3
            body = {
                "energy": np.full(length + 1, float(number)),
                "names": np.array([[0, part]]),
                "parts": np.full((1, width), 10.0 * number),
                "capacity": np.full(length, 100.0),
            }
            versions.append(StoredVersion(number, NOW, start, start + length, pack(body)))
            energies[start : start + length] = number
            parts[:, start : start + width] = 0.0
            parts[part, start : start + width] = 10.0 * number
        end = first + count
        touching = [one for one in versions if one.end > first and one.first < end]
        found = overlay_versions(len(spans), touching, first, end)
        assert found.energy_kwh.tolist() == energies[first:end].tolist()
        assert found.is_planned.tolist() == (energies[first:end] > 0).tolist()
        for part in range(3):
            told = found.parts_kw.get((PartKind.VIRTUAL, part), np.zeros(count))
            assert told.tolist() == parts[part, first:end].tolist()

    def test_that_later_ones_replace_wholly_are_not_unpacked(self) -> None:
        whole = {"energy": np.ones(5), "names": np.array([[0, 7]]), "parts": np.ones((1, 4)), "capacity": np.ones(4)}
        versions = [StoredVersion(1, NOW, 1, 3, b"no version"), StoredVersion(2, NOW, 0, 4, pack(whole))]
        assert overlay_versions(2, versions, 0, 4).is_planned.all()
