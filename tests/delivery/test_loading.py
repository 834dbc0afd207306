"""A zone as it is loaded: every figure of two virtual assets on two batteries, of which no two are alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.delivery.inputs import loading, store
from gridloom.delivery.inputs.store import ActiveAsset, BackingRow, PhysicalParameters, Reserve
from gridloom.delivery.model import CODE_OF_KIND, PartKind
from gridloom.kernel.market_time import period_start

pytestmark = pytest.mark.pure

DAY_FIRST = 96 * 20_500
FIRST = DAY_FIRST + 2
END = FIRST + 4
INF = np.inf
ENDING = ActiveAsset(5, FIRST - 10, FIRST + 3, 0.9, 0.8, FIRST + 1, None, 400.0, 100.0, 50.0, 2.0, None)
BEGINNING = ActiveAsset(6, FIRST + 1, FIRST + 5, 0.97, 0.96, END, None, 1000.0, 300.0, 200.0, 1.5, 100.0)
SINCE_DAY_KW = np.array([[400.0, -400.0, 10.0, 20.0, 30.0, 0.0], [0.0, 0.0, 0.0, 5.0, -6.0, 7.0]])
FCR, POS, NEG = (CODE_OF_KIND[kind] for kind in (PartKind.FCR, PartKind.AFRR_POS, PartKind.AFRR_NEG))


def _book(*steps: tuple[list[float], list[float], list[float]], rated_kwh: float) -> Any:
    """Steps of two quarter-hours: what is available, free and firmly held to charge, to discharge and to store."""
    available, free, firm = (np.array(rows) for rows in zip(*steps, strict=True))
    edges = np.linspace(FIRST, END, len(steps) + 1).astype(np.int64)
    book = SimpleNamespace(
        edges=edges, available=available, free=free, firm=firm, rated=np.full((len(steps), 3), rated_kwh)
    )
    return SimpleNamespace(book=lambda first, end: book)


BOOKS = {
    11: _book(([1000.0, 1200.0, 2000.0], [30.0, 200.0, 300.0], [0.0] * 3), rated_kwh=2500.0),
    12: _book(
        ([800.0, 900.0, 3000.0], [0.0, 60.0, 70.0], [0.0] * 3),
        ([400.0, 500.0, 1500.0], [0.0, 60.0, 70.0], [0.0, 1000.0, 0.0]),
        rated_kwh=3300.0,
    ),
}
PARAMETERS = [
    PhysicalParameters(11, period_start(FIRST - 99), 0.92, 0.95, 0.1, 0.9, 0.5, 1.5, 300.0),
    PhysicalParameters(12, period_start(FIRST - 3), 0.9, 0.94, 0.0, 1.0, None, None, None),
    PhysicalParameters(12, period_start(FIRST + 2), 0.8, 0.85, 0.05, 0.95, None, 0.5, None),
]


@pytest.fixture
async def loaded(monkeypatch: pytest.MonkeyPatch) -> loading.LoadedZone:
    """The first asset ends after three quarter-hours, and its schedule will be cut; the second begins after one."""
    answers = {
        "read_active_assets": [ENDING, BEGINNING],
        "read_powers_kw": SINCE_DAY_KW.copy(),
        "read_backing": [BackingRow(5, 11, 0.25), BackingRow(5, 12, 0.75), BackingRow(6, 12, 1.0)],
        "read_block_reserves": [
            Reserve(5, "AFRR_POS", FIRST - 2, FIRST + 1, 40.0, 1.0),
            Reserve(6, "FCR", FIRST + 1, FIRST + 4, 100.0, 0.25),
        ],
        "read_awarded_reserves": [Reserve(11, "AFRR_NEG", FIRST + 2, FIRST + 9, 30.0, 0.5)],
        "read_holdings_digest": np.array([71, 72]),
        "read_parameters": PARAMETERS,
        "read_own_kw": np.array([[1.0] * 4, [2.0] * 4]),
        "read_drift_kw": np.array([[3.0] * 4, [4.0] * 4]),
        "read_energy_changes_kwh": np.array([7.0, 11.0]),
        "read_activated_changes_kwh": np.array([-3.0, 2.0]),
    }

    def answer(given: Any) -> Any:
        async def call(*_: Any) -> Any:
            return given

        return call

    for name, given in answers.items():
        monkeypatch.setattr(store, name, answer(given))
    monkeypatch.setattr(loading, "load_battery_capacity", answer(BOOKS))

    async def read_asset_by_key(db: Any, key: int) -> Any:
        return key

    async def load_projection_input(db: Any, asset: Any, low: int, high: int) -> Any:
        assert (asset, low, high) == (5, FIRST, FIRST + 3), "while it lives in the window"
        return None, asset

    cut = SimpleNamespace(power_kw=np.array([[9.0, 8.0, 7.0], [0.5, 0.25, 0.0]]))
    monkeypatch.setattr(loading, "read_asset_by_key", read_asset_by_key)
    monkeypatch.setattr(loading, "load_projection_input", load_projection_input)
    monkeypatch.setattr(loading, "project", lambda given: cut)
    db: Any = None
    return await loading.load_zone(db, "TenneT", FIRST, END)


def _rows(found: Any) -> list[Any]:
    return [pytest.approx(row) for row in found]


class TestALoadedZone:
    def test_has_schedules_after_expected_cuts_and_the_energy_that_assets_have_by_then(
        self, loaded: loading.LoadedZone
    ) -> None:
        """The first loses 125 kWh today and charges 90."""
        zone, inputs = loaded.zone, loaded.inputs
        assert (zone.first, zone.end, inputs.first) == (FIRST, END, FIRST)
        assert (zone.asset_keys.tolist(), zone.battery_keys.tolist()) == ([5, 6], [11, 12])
        assert zone.power_kw.tolist() == [[9.5, 8.25, 7.0, 0.0], [0.0, 5.0, -6.0, 7.0]]
        assert (zone.share_of.tolist(), zone.shares.tolist()) == ([[0, 0], [0, 1], [1, 1]], [0.25, 0.75, 1.0])
        assert inputs.energies_kwh.tolist() == _rows([[69.0, 400.0, 50.0], [313.0, 1000.0, 200.0]])
        assert inputs.efficiencies.tolist() == [[0.9, 0.8], [0.97, 0.96]]
        assert inputs.lifetimes.tolist() == [[FIRST - 10, FIRST + 3], [FIRST + 1, FIRST + 5]]
        assert inputs.block_keys.tolist() == [[5, POS, FIRST - 2, FIRST + 1], [6, FCR, FIRST + 1, FIRST + 4]]
        assert inputs.blocks.tolist() == [[40.0, 1.0], [100.0, 0.25]]
        assert inputs.holdings_digest.tolist() == [71, 72]

    def test_has_what_shares_and_own_schedules_do_to_each_battery(self, loaded: loading.LoadedZone) -> None:
        """The first asset ends at 50 kWh, whatever its schedule leaves of 69."""
        ending_kwh = np.array([-9.5 / 3.2, -8.25 / 3.2, 50 - 69 + (9.5 + 8.25) / 3.2, 0.0])
        beginning_kwh = np.array([0.0, -5 / 3.84, 1.5 * 0.97, -7 / 3.84])
        own_kwh = np.array([[-0.25 / 0.95] * 4, [-0.5 / 0.94, -0.5 / 0.94, -0.5 / 0.85, -0.5 / 0.85]])
        expected_kwh = own_kwh + np.array([0.25 * ending_kwh, 0.75 * ending_kwh + beginning_kwh])
        assert loaded.zone.share_energy_changes_kwh.tolist() == _rows(expected_kwh)

    def test_has_reserves_by_share_those_of_a_weak_battery_held_by_another_and_the_rest_short(
        self, loaded: loading.LoadedZone
    ) -> None:
        """The second battery is to hold twice of what it can discharge from the third quarter-hour on; the first has 30
        kW free for it while it backs a virtual asset itself."""
        zone = loaded.zone
        held = dict(zip(map(tuple, zone.reserve_keys.tolist()), zone.reserve_kw.tolist(), strict=True))
        assert held == {
            (0, POS, 5): [10.0, 0.0, 0.0, 0.0],
            (1, POS, 5): [30.0, 0.0, 0.0, 0.0],
            (0, FCR, 6): pytest.approx([0.0, 0.0, 30.0, 0.0]),
            (1, FCR, 6): pytest.approx([0.0, 100.0, 50.0, 50.0]),
            (0, NEG, 0): [0.0, 0.0, 30.0, 30.0],
        }
        assert zone.shortfall_keys.tolist() == [[6, FCR, 12]]
        assert zone.shortfall_kw.tolist() == _rows([[0.0, 0.0, 20.0, 50.0]])

    def test_has_what_reserves_leave_of_power_and_energy(self, loaded: loading.LoadedZone) -> None:
        limits = loaded.zone.limits
        stored_kwh = [[10 / 0.95, 0.0, 7.5 / 0.95, 0.0], [30 / 0.94, 25 / 0.94, 12.5 / 0.85, 12.5 / 0.85]]
        headroom_kwh = [[0.0, 0.0, 22.5 * 0.92, 15 * 0.92], [0.0, 25 * 0.9, 12.5 * 0.8, 12.5 * 0.8]]
        assert limits.charge_kw.tolist() == _rows([[1000, 1000, 940, 970], [800, 700, 350, 350]])
        assert limits.discharge_kw.tolist() == _rows([[1190, 1200, 1170, 1200], [870, 800, 450, 450]])
        assert limits.reserve_stored_kwh.tolist() == _rows(stored_kwh)
        assert limits.reserve_headroom_kwh.tolist() == _rows(headroom_kwh)
        empty_kwh, full_kwh = np.array([[200] * 4, [0, 0, 75, 75]]), np.array([[1800] * 4, [3000, 3000, 1425, 1425]])
        assert limits.low_kwh.tolist() == _rows(np.add(empty_kwh, stored_kwh))
        assert limits.high_kwh.tolist() == _rows(np.subtract(full_kwh, headroom_kwh))
        assert limits.free_charge_kw.tolist() == _rows([[30, 30, 0, 30], [0] * 4])
        assert limits.free_discharge_kw.tolist() == _rows([[200, 200, 170, 200], [60] * 4])

    def test_has_the_parameters_in_force_and_the_cycles_that_promises_need(self, loaded: loading.LoadedZone) -> None:
        """A battery's own limit, or what was promised of it where that is more, or has no limit."""
        limits = loaded.zone.limits
        assert limits.charge_efficiency.tolist() == [[0.92] * 4, [0.9, 0.9, 0.8, 0.8]]
        assert limits.discharge_efficiency.tolist() == [[0.95] * 4, [0.94, 0.94, 0.85, 0.85]]
        assert (limits.own_kw.tolist(), limits.drift_kw.tolist()) == ([[1.0] * 4, [2.0] * 4], [[3.0] * 4, [4.0] * 4])
        assert limits.promised_kwh.tolist() == _rows([[100, 100, 100, 0], [300, 1300, 1300, 1000]])
        assert limits.ramp_kw.tolist() == [[450.0] * 4, [INF] * 4]
        assert limits.daily_export_kwh.tolist() == _rows([[3750] * 4, [INF, INF, 2100, 1650]])
        assert limits.annual_export_kwh.tolist() == _rows([[INF, INF, INF, 750_000], [INF] * 4])
        assert loaded.zone.capacity_kwh.tolist() == [[2500.0] * 4, [3300.0] * 4]
        assert loaded.inputs.limits is limits


class TestTheEnergyOfVirtualAssets:
    async def test_is_never_below_nothing_nor_beyond_what_they_hold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first has charged 500 kWh beyond its schedule, the second given back more than it had."""

        async def read_energy_changes_kwh(db: Any, keys: Any, day: int) -> Any:
            assert (keys, day) == ([5, 6], 20_500)
            return np.array([7.0, -11.0])

        async def read_activated_changes_kwh(db: Any, assets: Any, first: int) -> Any:
            assert first == FIRST
            return np.array([500.0, -400.0])

        monkeypatch.setattr(store, "read_energy_changes_kwh", read_energy_changes_kwh)
        monkeypatch.setattr(store, "read_activated_changes_kwh", read_activated_changes_kwh)
        db: Any = None
        found = await loading._load_energies_kwh(db, [ENDING, BEGINNING], FIRST, np.zeros((2, 2)))
        assert found.tolist() == [[400.0, 400.0, 50.0], [0.0, 1000.0, 200.0]]


class TestPowers:
    @pytest.mark.parametrize("cut_keys", [[], [8], [4, 8]])
    async def test_are_after_the_cuts_of_those_that_will_be_cut(
        self, monkeypatch: pytest.MonkeyPatch, cut_keys: list[int]
    ) -> None:
        async def read_powers_kw(*_: Any) -> Any:
            return np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])

        async def read_assets(db: Any, keys: Any) -> Any:
            return [SimpleNamespace(key=key) for key in keys]

        async def cut(db: Any, assets: Any, power_kw: Any, first: int, end: int) -> None:
            power_kw *= np.array([[10.0 * asset.key] for asset in assets])

        monkeypatch.setattr(store, "read_powers_kw", read_powers_kw)
        monkeypatch.setattr(store, "read_assets", read_assets)
        monkeypatch.setattr(loading, "_apply_expected_cuts", cut)
        db: Any = None
        found = await loading.load_powers_kw(db, [4, 6, 8], cut_keys, FIRST, FIRST + 2)
        first, last = 40.0 if 4 in cut_keys else 1.0, 240.0 if cut_keys else 3.0
        assert found.tolist() == [[first] * 2, [2.0] * 2, [last] * 2]
