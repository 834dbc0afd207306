"""Imbalances and projections of assets: from which period on they can be cut, and what is read for them; pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from msgspec import structs

from gridloom.kernel.ids import BlockID, OrganisationID, VirtualAssetID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.projection import Projection, ProjectionInput
from gridloom.virtual_assets.energy.trajectory import DaySummaries
from gridloom.virtual_assets.model import AssetTerms, Block, Efficiency, Market, VirtualAsset
from gridloom.virtual_assets.schedule import projection_loading as loading
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.projection_input import READ_ACTIVATED_AS_OF, ActivationsAsOf

pytestmark = pytest.mark.pure

DAY = 96
FIRST = 20_000 * DAY
END = FIRST + 2 * DAY
NOTHING: Any = None
BATTERY = VirtualAsset(
    7,
    VirtualAssetID(UUID(int=7)),
    OrganisationID(UUID(int=1)),
    datetime(2024, 1, 1, tzinfo=UTC),
    AssetTerms(
        "Loom",
        Window(period_start(FIRST), period_start(END)),
        "TenneT",
        1000.0,
        800.0,
        2000.0,
        Efficiency(0.9, 0.8),
        (),
        gate_closure_s=480,
    ),
    (),
    1,
    1000.0,
)


def at(period: int) -> datetime:
    """An instant at which the gate of this period has just closed, and the next is the first that is open."""
    return period_start(period) - timedelta(seconds=480)


def living(first: int, end: int, **changes: Any) -> VirtualAsset:
    terms = replace(BATTERY.terms, window=Window(period_start(first), period_start(end)))
    return structs.replace(BATTERY, terms=terms, periods=(first, end), **changes)


class TestTheFirstPeriodThatCanBeCut:
    @pytest.mark.parametrize(
        ("changes", "first_open", "found"),
        [
            pytest.param({}, FIRST + 5, FIRST + 5, id="is the first that is open"),
            pytest.param({}, FIRST - 5, FIRST, id="no earlier than the asset's life"),
            pytest.param({}, END + 5, END, id="no later than its end"),
            pytest.param({"judged_until": FIRST + 9}, FIRST + 5, FIRST + 9, id="after all that was judged"),
            pytest.param({"first_misfit": FIRST + 3}, FIRST + 5, FIRST + 3, id="the first that waits to be judged"),
            pytest.param({"first_misfit": FIRST + 8}, FIRST + 5, FIRST + 5, id="where that is closed already"),
            pytest.param({"first_misfit": FIRST + 3, "judged_until": FIRST + 4}, FIRST + 5, FIRST + 4, id="not again"),
        ],
    )
    def test_is(self, changes: dict[str, int], first_open: int, found: int) -> None:
        assert loading.first_cuttable_from(structs.replace(BATTERY, **changes), first_open) == found


class TestWhatFollowsItsSchedule:
    def summaries(self, change: float, lowest: float, highest: float) -> DaySummaries:
        """Of a first day that does nothing, and of a second."""
        return DaySummaries(np.array([[0, change], [0, lowest], [0, highest], [0, 10]], dtype=float))

    @pytest.mark.parametrize(
        ("lowest", "highest", "is_uncut"),
        [(-1000.0, 0.0, True), (-1000.1, 0.0, False), (0.0, 1000.0, True), (0.0, 1000.1, False)],
    )
    def test_stays_within_the_store_from_what_it_holds_each_day(
        self, lowest: float, highest: float, is_uncut: bool
    ) -> None:
        assert loading.precheck_uncut(BATTERY, self.summaries(0.0, lowest, highest)) is is_uncut

    def test_waits_for_no_cut(self) -> None:
        summaries = self.summaries(0.0, 0.0, 0.0)
        assert not loading.precheck_uncut(structs.replace(BATTERY, first_misfit=FIRST), summaries)

    def test_has_lost_neither_power_nor_energy(self) -> None:
        whole, less = np.ones(4), np.array([1.0, 1.0, 0.9, 1.0])
        for parts in ((less, whole, whole), (whole, less, whole), (whole, whole, less)):
            available = AvailableFraction(FIRST, *parts)
            assert not loading.is_fully_available(available, FIRST + 1, FIRST + 3)
            assert loading.is_fully_available(available, FIRST, FIRST + 2)
            assert loading.is_fully_available(available, FIRST + 3, FIRST + 3)


class TestAProjection:
    async def test_is_of_what_is_available_from_the_first_period_that_can_be_cut(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An earlier cut leaves other energy for the periods that are asked for."""
        asked: list[tuple[int, int]] = []

        class EnoughError(Exception):
            pass

        async def load_available(db: Any, asset: Any, first: int, end: int) -> AvailableFraction:
            asked.append((first, end))
            raise EnoughError

        monkeypatch.setattr(loading, "load_available", load_available)
        for now, first, end in ((FIRST + 9, FIRST + 40, FIRST + 50), (FIRST + 60, FIRST + 40, FIRST + 50)):
            with pytest.raises(EnoughError):
                await loading.load_projection(NOTHING, BATTERY, at(now), first, end)
        assert asked == [(FIRST + 10, FIRST + 50), (FIRST + 50, FIRST + 50)]

    async def test_as_of_an_instant_cuts_nothing_whose_gate_was_closed_then(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        then, up_kwh = at(FIRST + 9), np.arange(8.0)

        async def read_activated(db: Any, key: int, first: int, end: int, instant: datetime) -> ActivationsAsOf:
            assert (key, first, end, instant) == (7, FIRST, FIRST + 8, then)
            return ActivationsAsOf(up_kwh, 2 * up_kwh)

        async def load_input(db: Any, asset: Any, version: int, closed: int, end: int, activated_kwh: Any) -> Any:
            assert (asset, version, closed, end) == (BATTERY, 3, FIRST + 10, FIRST + 8)
            assert activated_kwh.tolist() == (2 * up_kwh * 0.9 - up_kwh / 0.8).tolist()
            return "inputs"

        def project(inputs: Any) -> Projection:
            assert inputs == "inputs"
            return Projection(np.full((1, 8), 40.0), np.arange(9.0), (), np.arange(8.0) + 20)

        monkeypatch.setattr(READ_ACTIVATED_AS_OF, "get", lambda: read_activated)
        monkeypatch.setattr(loading, "load_projection_input_as_of", load_input)
        monkeypatch.setattr(loading, "project", project)
        found, activated = await loading.load_projection_as_of(NOTHING, BATTERY, 3, then, FIRST + 5, FIRST + 8)
        assert (activated.before_kwh, activated.period_kwh.tolist()) == (0 + 1 + 2 + 3 + 4, [5, 6, 7])
        assert (found.trajectory.first, found.trajectory.energy_kwh.tolist()) == (FIRST + 5, [5, 6, 7, 8])
        assert found.trajectory.exported_before_kwh == 5 * 10
        assert found.unexplained_kwh.tolist() == [25, 26, 27]


class TestAnImbalanceAtTheEnd:
    def test_is_that_to_the_assets_own_target_within_its_own_tolerance(self) -> None:
        """Of 2000 kWh: 600 are meant to be left, and 100 more or less will do."""
        terms = replace(BATTERY.terms, final_soc_target=0.3, final_soc_tolerance=0.05)
        asset = structs.replace(BATTERY, terms=terms)
        for end_kwh, beyond_kwh, balanced in ((700.0, 100, True), (701.0, 101, False), (500.0, -100, True)):
            found = loading.imbalance_at_end(asset, end_kwh)
            assert found.imbalance_discharge_kwh - found.imbalance_charge_kwh == pytest.approx(beyond_kwh)
            assert found.balanced is balanced


class TestWhatCanStillBeRepaired:
    def test_counts_no_period_whose_gate_is_closed(self) -> None:
        """500 kWh too many at the end; 800 kW for a quarter-hour draw 250 kWh."""
        inputs = ProjectionInput(
            power_kw=np.zeros((1, 8)),
            charge_kw=np.full((1, 8), 1000.0),
            discharge_kw=np.full((1, 8), 800.0),
            lowest_kwh=np.zeros(8),
            highest_kwh=np.full(8, 2000.0),
            energy_kwh=1500.0,
            capacity_kwh=2000.0,
            efficiency=BATTERY.terms.efficiency,
        )
        projection = Projection(inputs.power_kw, np.full(9, 1500.0), (), np.zeros(8))
        for closed, feedback in ((END - 3, "discharge 500.000 kWh more"), (END - 2, "250.000 kWh remain")):
            found = loading.projected_imbalance(BATTERY, at(closed), END - 8, inputs, projection)
            assert (found.imbalance_discharge_kwh, found.balanced) == (500, False)
            assert feedback in found.feedback

    @pytest.mark.parametrize(
        ("end", "market", "is_known"),
        [
            pytest.param(END, Market.WHOLESALE, True, id="with a block that lasts until the end"),
            pytest.param(END - 1, Market.WHOLESALE, False, id="with none that ends before"),
            pytest.param(END, Market.FCR, False, id="with none of another market"),
        ],
    )
    def test_is_repaired_on_idle_days(self, end: int, market: Market, is_known: bool) -> None:
        blocks = [Block(BlockID(UUID(int=3)), 0, FIRST, end, market, 1000.0, 800.0)]
        found = loading.imbalance_from_summaries(BATTERY, at(FIRST), 1500.0, blocks, DaySummaries.zeros(2))
        assert (found is not None) is is_known
        if found is not None:
            assert found == loading.imbalance_at_end(BATTERY, 1500.0)

    def test_is_repaired_on_the_last_day_beside_its_schedule_and_from_what_is_stored_then(self) -> None:
        """The day charges 1440 kWh in its first two hours and keeps them: 500 too many, and in two quarter-hours they
        are drawn."""
        day_kw = np.zeros(DAY)
        day_kw[:8] = -800.0
        block = Block(BlockID(UUID(int=3)), 0, FIRST, END, Market.WHOLESALE, 1000.0, 800.0)
        efficiency = BATTERY.terms.efficiency
        idle, busy = np.zeros(DAY), DaySummaries.of(np.stack([np.zeros(DAY), day_kw]), efficiency)
        low = structs.replace(BATTERY, terms=replace(BATTERY.terms, initial_soc=0.03))
        days = {20_000: idle, 20_001: day_kw}
        for closed, is_known in ((END - 3, True), (END - 2, False), (END, False)):
            found = loading.imbalance_from_summaries(low, at(closed), 1500.0, [block], busy, days.get)
            assert (found is not None) is is_known, closed

    def test_is_shown_by_the_schedules_of_days_that_were_not_read(self) -> None:
        day_kw = np.full(DAY, -1.0)
        busy = DaySummaries.of(np.stack([day_kw, day_kw]), BATTERY.terms.efficiency)
        assert loading.imbalance_from_summaries(BATTERY, at(FIRST), 1500.0, [], busy, lambda _: None) is None


class TestImbalancesOfSeveral:
    async def read(
        self, monkeypatch: pytest.MonkeyPatch, assets: list[VirtualAsset], lost: dict[int, float], now: int
    ) -> tuple[dict[int, Any], list[tuple[int, int]]]:
        """What was found, `full` for a whole computation, and the windows of availability that were read."""
        windows: list[tuple[int, int]] = []

        async def load_available_of_each(db: Any, lasting: list[VirtualAsset], window: Window) -> Any:
            first, end = (round(edge.timestamp() / 900) for edge in (window.start, window.end))
            windows.append((first, end))
            part = {one.key: np.full(end - first, lost.get(one.key, 1.0)) for one in lasting}
            return [(one, AvailableFraction(first, part[one.key], part[one.key], part[one.key])) for one in lasting]

        async def load_input(db: Any, asset: VirtualAsset, first: int, end: int, **known: Any) -> Any:
            assert end == asset.end
            return None, (asset.key, first, known["closed"])

        monkeypatch.setattr(loading, "load_available_of_each", load_available_of_each)
        monkeypatch.setattr(loading, "load_projection_input", load_input)
        monkeypatch.setattr(loading, "project", lambda inputs: inputs)
        monkeypatch.setattr(loading, "projected_imbalance", lambda *given: ("full", *given[3]))
        found = await loading.read_imbalances(NOTHING, assets, {one.key: () for one in assets}, at(now))
        return {key: one.feedback if hasattr(one, "feedback") else one for key, one in found.items()}, windows

    async def test_need_one_window_for_all_that_last_and_no_schedule_of_those_that_are_whole(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sooner = living(FIRST + 4, FIRST + 60, key=2, end_kwh=1500.0)
        later = living(FIRST + 20, FIRST + 40, key=1)
        limited = structs.replace(sooner, key=3, terms=replace(sooner.terms, daily_cycle_limit=1.0))
        over = living(FIRST - 40, FIRST - 20, key=4, end_kwh=1500.0)
        misfit = structs.replace(sooner, key=5, first_misfit=FIRST + 6)

        async def read_summaries(db: Any, asset: VirtualAsset) -> DaySummaries:
            assert asset.key == 3, "cycles alone show in a schedule"
            return DaySummaries(np.array([[0.0], [0.0], [0.0], [9000.0]]))

        monkeypatch.setattr(schedule_store, "read_summaries", read_summaries)
        found, windows = await self.read(monkeypatch, [sooner, limited, over, misfit, later], {}, FIRST + 9)
        assert windows == [(FIRST + 6, FIRST + 60)]
        assert found[1].endswith("nothing to do.")
        assert "discharge 500.000 kWh more from the store" in found[2]
        assert found[3] == ("full", 3, FIRST + 10, FIRST + 10), "what exceeds its cycles is cut"
        assert "500.000 kWh remain to discharge" in found[4], "nothing can be done about what is over"
        assert found[5] == ("full", 5, FIRST + 6, FIRST + 6)

    async def test_are_computed_where_something_is_lost_or_was_activated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assets = [structs.replace(BATTERY, key=1), structs.replace(BATTERY, key=2, first_activated=FIRST)]
        found, _ = await self.read(monkeypatch, assets, {1: 0.5}, FIRST + 9)
        assert found == {key: ("full", key, FIRST + 10, FIRST + 10) for key in (1, 2)}
        over = living(FIRST - 40, FIRST - 20, key=4, first_activated=FIRST - 30)
        found, windows = await self.read(monkeypatch, [over], {}, FIRST + 9)
        assert (found, windows) == ({4: ("full", 4, FIRST - 21, FIRST - 20)}, [])
