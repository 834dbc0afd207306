"""A change laid over what stands, against a plain reckoning period by period."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridloom.kernel.ids import OrganisationID, VirtualAssetID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.virtual_assets.energy.projection import Cut, Projection, ProjectionInput, project
from gridloom.virtual_assets.energy.trajectory import DaySummaries
from gridloom.virtual_assets.model import AdjustmentReason, AssetTerms, Efficiency, VirtualAsset
from gridloom.virtual_assets.schedule import views
from gridloom.virtual_assets.schedule.change.draft import draft_from
from gridloom.virtual_assets.schedule.change.validation import (
    first_energy_cut,
    first_energy_excess,
)
from gridloom.virtual_assets.schedule.projection_loading import precheck_uncut
from gridloom.virtual_assets.schedule.store import LaneChange
from gridloom.virtual_assets.schedule.views import CAPACITY_COLUMNS, series_fields

pytestmark = pytest.mark.pure

DAYS = 5
FIRST_DAY = 20_000
FIRST = FIRST_DAY * 96
POWERS = st.floats(-1000, 1000, allow_nan=False)


def asset_of_five_days() -> VirtualAsset:
    terms = AssetTerms(
        name="Loom",
        window=Window(period_start(FIRST), period_start(FIRST + 96 * DAYS)),
        delivery_zone="TenneT",
        charge_kw=1000.0,
        discharge_kw=1000.0,
        energy_capacity_kwh=2000.0,
        efficiency=Efficiency(0.9, 0.95),
        backing=(),
    )
    return VirtualAsset(
        key=1,
        id=VirtualAssetID(uuid4()),
        organisation_id=OrganisationID(uuid4()),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        terms=terms,
        version=1,
        end_kwh=1000.0,
        first_misfit=None,
        judged_until=None,
        first_activated=None,
        revision=0,
        promises=(),
    )


@st.composite
def lane_changes(draw: st.DrawFn) -> LaneChange:
    """A run of periods, or periods anywhere, some of them side by side."""
    if draw(st.booleans()):
        start = draw(st.integers(0, 96 * DAYS - 1))
        places = list(range(start, draw(st.integers(start + 1, min(96 * DAYS, start + 250)))))
    else:
        scattered = draw(st.sets(st.integers(0, 96 * DAYS - 4), min_size=1, max_size=12))
        places = sorted(scattered | {min(scattered) + step for step in range(draw(st.integers(1, 4)))})
    values = draw(st.lists(POWERS, min_size=3, max_size=3))
    power_kw = np.array([values[place % 3] for place in range(len(places))])
    return LaneChange(np.array(places, dtype=np.int64) + FIRST, power_kw)


def standing_lanes(seed: int, lanes: int) -> Any:
    """Each begins a day after the one before it: what stands on one day alone counts as well."""
    found_kw = np.random.default_rng(seed).uniform(-900, 900, (lanes, DAYS * 96))
    for lane in range(lanes):
        found_kw[lane, : lane * 96] = 0.0
    return found_kw


def run_of(first: int, *powers_kw: float) -> LaneChange:
    return LaneChange(np.arange(first, first + len(powers_kw)) + FIRST, np.array(powers_kw))


class TestADraft:
    @example(7, 1, {0: run_of(5, 30.0)})
    @example(7, 1, {1: run_of(5, 30.0)})
    @example(7, 2, {0: run_of(100, 30.0)})
    @example(7, 1, {0: run_of(95, 30.0, 40.0)})
    @example(7, 3, {1: run_of(200, 30.0), 2: run_of(300, 40.0)})
    @given(
        st.integers(0, 1000),
        st.integers(1, 3),
        st.dictionaries(st.integers(0, 2), lane_changes(), min_size=1, max_size=3),
    )
    def test_has_in_every_period_what_a_plain_reckoning_has(
        self, seed: int, count: int, changes: dict[int, LaneChange]
    ) -> None:
        asset, lanes_kw = asset_of_five_days(), dict(enumerate(standing_lanes(seed, count)))
        before = DaySummaries.of(sum(lanes_kw.values()).reshape(DAYS, 96), asset.terms.efficiency)
        touched = sorted({int(period) // 96 for change in changes.values() for period in change.periods})
        powers = {
            day: {lane: part for lane, row in lanes_kw.items() if (part := row[(day - FIRST_DAY) * 96 :][:96]).any()}
            for day in touched
        }

        draft = draft_from(asset, changes, powers, before)

        expected_kw = {lane: row.copy() for lane, row in lanes_kw.items()}
        for lane, change in changes.items():
            row = expected_kw.setdefault(lane, np.zeros(DAYS * 96))
            for period, power_kw in zip(change.periods.tolist(), change.power_kw.tolist(), strict=True):
                row[period - FIRST] = power_kw
        total_kw = sum(expected_kw.values())
        full = DaySummaries.of(total_kw.reshape(DAYS, 96), asset.terms.efficiency)
        assert draft.days == touched
        np.testing.assert_allclose(draft.after.rows_kwh, full.rows_kwh, rtol=0, atol=1e-9)
        assert abs(draft.end_kwh - (asset.initial_kwh + full.change_kwh.sum())) < 1e-6
        for row, day in enumerate(touched):
            part = slice((day - FIRST_DAY) * 96, (day - FIRST_DAY + 1) * 96)
            np.testing.assert_allclose(draft.after_kw[row], total_kw[part], rtol=0, atol=1e-9)
            np.testing.assert_allclose(draft.sum_before_kw()[row], sum(lanes_kw.values())[part], rtol=0, atol=1e-9)
            for lane in changes:
                assert draft.lanes_kw[lane][row].tolist() == expected_kw[lane][part].tolist()

    @given(lane_changes())
    def test_keeps_all_periods_of_a_change_in_its_runs(self, change: LaneChange) -> None:
        firsts, lengths = change.intervals()
        runs = [
            period for first, length in zip(firsts, lengths, strict=True) for period in range(first, first + length)
        ]
        assert runs == change.periods.tolist()
        assert all(first + length < later for first, length, later in zip(firsts, lengths, firsts[1:], strict=False))
        assert change.days() == sorted({period // 96 for period in runs})


class TestAChangeAfterWhichAllFits:
    @given(st.integers(0, 10_000), st.floats(1, 900), st.floats(1, 300))
    def test_is_refused_by_no_validation_whatever_stood_before(self, seed: int, wild_kw: float, calm_kw: float) -> None:
        """So what stood need not be looked at."""
        asset, dice = asset_of_five_days(), np.random.default_rng(seed)
        shape = (1, DAYS * 96)
        wild = dice.uniform(-wild_kw, wild_kw, shape)
        calm = dice.uniform(-calm_kw, calm_kw, shape)
        after = DaySummaries.of(calm.reshape(DAYS, 96), asset.terms.efficiency)
        if not precheck_uncut(asset, after):
            return
        before, changed = (
            ProjectionInput(
                power_kw=power_kw,
                charge_kw=np.full(shape, 1000.0),
                discharge_kw=np.full(shape, 1000.0),
                lowest_kwh=np.zeros(DAYS * 96),
                highest_kwh=np.full(DAYS * 96, asset.terms.energy_capacity_kwh),
                energy_kwh=asset.initial_kwh,
                capacity_kwh=asset.terms.energy_capacity_kwh,
                efficiency=asset.terms.efficiency,
            )
            for power_kw in (wild, calm)
        )
        was, will_be = project(before), project(changed)
        assert not will_be.cuts
        assert first_energy_cut(changed, was, will_be, np.ones(DAYS * 96, dtype=np.bool_)) is None
        assert first_energy_excess(changed, was, will_be) is None
        assert abs(will_be.end_kwh - (asset.initial_kwh + after.change_kwh.sum())) < 1e-6


class TestAnEnergyCut:
    """Of 100 kW that were accepted in the period 1, and of -80 kW in the period 2."""

    ENERGY, CYCLES = AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES, AdjustmentReason.CYCLE_LIMIT

    @pytest.mark.parametrize(
        ("cut", "changed_at", "excess"),
        [
            pytest.param(Cut(1, 100.0, 60.0, ENERGY, 60.0, 60.0), None, (1, -10 / 0.95), id="of an accepted point"),
            pytest.param(Cut(2, -80.0, -40.0, ENERGY, -40.0, -40.0), None, (2, 10 * 0.9), id="of one that charges"),
            pytest.param(Cut(1, 140.0, 100.0, ENERGY, 100.0, 100.0), None, None, id="to what it was cut to before"),
            pytest.param(Cut(1, 140.0, 120.0, ENERGY, 120.0, 120.0), 1, (1, -5 / 0.95), id="of the change itself"),
            pytest.param(Cut(1, 140.0, 120.0, ENERGY, 120.0, 120.0), 2, None, id="beside it, to more than before"),
            pytest.param(Cut(1, 100.0, 60.0, CYCLES, 60.0, 60.0), 1, None, id="by the cycles"),
        ],
    )
    def test_is_a_reason_to_refuse_where_it_is_the_changes_own_or_greater_than_before(
        self, cut: Cut, changed_at: int | None, excess: tuple[int, float] | None
    ) -> None:
        given = inputs_of(np.array([[0.0, 60.0, -50.0], [0.0, 40.0, -30.0]]))
        before = Projection(given.power_kw, np.full(4, 50.0), (), *np.zeros((2, 3)))
        first = Cut(0, 5.0, 0.0, AdjustmentReason.AVAILABILITY, 0.0, 0.0)
        after = replace(before, cuts=(first, cut))
        found = first_energy_cut(given, before, after, np.arange(3) == changed_at)
        if excess is None:
            assert found is None
            return
        assert found is not None
        assert (found.position, found.excess_kwh) == pytest.approx(excess)


def inputs_of(power_kw: Any) -> ProjectionInput:
    """Of a store of 100 kWh that is half full."""
    lanes, count = power_kw.shape
    return ProjectionInput(
        power_kw=power_kw,
        charge_kw=np.full((lanes, count), 1000.0),
        discharge_kw=np.full((lanes, count), 1000.0),
        lowest_kwh=np.zeros(count),
        highest_kwh=np.full(count, 100.0),
        energy_kwh=50.0,
        capacity_kwh=100.0,
        efficiency=asset_of_five_days().terms.efficiency,
    )


class TestAStoreOutOfBounds:
    """An outage has left less room than is stored, or more was drawn than there was: no change may add to it."""

    @pytest.mark.parametrize(
        ("was_kwh", "is_kwh", "excess_kwh"),
        [(5, 2, -8), (5, 5, None), (5, 7, None), (105, 108, 8), (105, 105, None), (105, 103, None), (50, 9, -1)],
    )
    def test_is_refused_to_go_further_out(self, was_kwh: float, is_kwh: float, excess_kwh: float | None) -> None:
        given = replace(inputs_of(np.zeros((1, 2))), lowest_kwh=np.full(2, 10.0))
        before, after = (replace(project(given), energy_kwh=np.array([50.0, 50.0, one])) for one in (was_kwh, is_kwh))
        found = first_energy_excess(given, before, after)
        assert (None if found is None else (found.position, found.excess_kwh)) == (
            None if excess_kwh is None else (1, excess_kwh)
        )


class TestASeries:
    @given(st.lists(POWERS, min_size=1, max_size=40), st.integers(0, 100))
    def test_reads_the_same_point_by_point_and_by_columns(self, powers: list[float], offset: int) -> None:
        power_kw = np.array(powers)
        columns = [power_kw + place for place in range(len(CAPACITY_COLUMNS))]
        read = []
        for few in (0, 1000):
            views.FEW_POINTS, before = few, views.FEW_POINTS  # type: ignore[misc]
            try:
                read.append(msgspec.json.decode(msgspec.json.encode(series_fields(FIRST + offset, power_kw, columns))))
            finally:
                views.FEW_POINTS = before  # type: ignore[misc]
        assert read[0] == read[1]
