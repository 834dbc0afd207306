"""Own schedules go as far as the owner's energy: what virtual assets store, and their room, are theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.delivery.test_replanning import loaded_zone
from tests.delivery.zones import even_limits

from gridloom.delivery.inputs.loading import asset_changes_kwh, share_energy_changes_kwh
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import StoredInputs, ZoneInput
from gridloom.delivery.planning.start import carry_share_energy, limit_own_schedules, look_ahead
from gridloom.market_calendar import Floats

pytestmark = pytest.mark.pure

PERIODS = 8
STORED_KWH, CAPACITY_KWH, TARGET_KWH = 100.0, 400.0, 200.0


def zone_with(own_kw: list[float], lifetime: tuple[int, int] = (0, PERIODS)) -> tuple[ZoneInput, StoredInputs]:
    """A battery of 2,000 kWh without losses, and a virtual asset of 400 kWh on it with 100 in store."""
    limits = even_limits([4000], [2000], PERIODS, [1.0])
    is_alive = (np.arange(PERIODS) >= lifetime[0]) & (np.arange(PERIODS) < lifetime[1])
    limits = replace(limits, own_kw=np.array([own_kw]), promised_kwh=np.where(is_alive, CAPACITY_KWH, 0.0)[None])
    inputs = StoredInputs(
        0,
        np.array([lifetime]),
        np.ones((1, 2)),
        np.array([[STORED_KWH, CAPACITY_KWH, TARGET_KWH]]),
        np.zeros((0, 4), dtype=np.int64),
        np.zeros((0, 2)),
        np.zeros(1, dtype=np.int64),
        limits,
        limits.high_kwh,
    )
    zone, _ = loaded_zone(1, 1, 1, PERIODS)
    changes_kwh = energy_changes_kwh(limits.own_kw, limits.charge_efficiency, limits.discharge_efficiency)
    zone = replace(zone, limits=limits, share_energy_changes_kwh=changes_kwh)
    return replace(zone, share_of=np.array([[0, 0]]), shares=np.ones(1)), inputs


def own_kwh(zone: ZoneInput) -> Floats:
    return np.asarray(zone.limits.own_kw[0] / 4)


class TestAnOwnSchedule:
    def test_that_fits_stays_as_it_is(self) -> None:
        zone, inputs = zone_with([400.0] * 4 + [-400.0] * 4)
        assert limit_own_schedules(zone, inputs, np.array([600.0])) is zone

    def test_takes_nothing_of_what_a_virtual_asset_has_in_store(self) -> None:
        zone, inputs = zone_with([800.0] * PERIODS)
        limited = limit_own_schedules(zone, inputs, np.array([600.0]))
        assert own_kwh(limited).tolist() == [200, 200, 100, 0, 0, 0, 0, 0]
        assert limited.share_energy_changes_kwh[0].tolist() == [-200, -200, -100, 0, 0, 0, 0, 0]

    def test_leaves_the_room_that_a_virtual_asset_has_to_charge(self) -> None:
        zone, inputs = zone_with([-4000.0] * 2 + [0.0] * 6)
        limited = limit_own_schedules(zone, inputs, np.array([600.0]))
        # 2,000 kWh less 400 of the asset; the owner has 500.
        assert own_kwh(limited).tolist() == [-1000, -100, 0, 0, 0, 0, 0, 0]

    def test_goes_on_once_there_is_energy_again(self) -> None:
        zone, inputs = zone_with([400.0, 400.0, -400.0, 400.0, 400.0, 0.0, 0.0, 0.0])
        limited = limit_own_schedules(zone, inputs, np.array([150.0]))
        assert own_kwh(limited).tolist() == [50, 0, -100, 100, 0, 0, 0, 0]

    def test_may_use_all_until_a_virtual_asset_begins_and_after_it_has_ended(self) -> None:
        zone, inputs = zone_with([2400.0, 0.0, 0.0, -400.0] + [0.0] * 4, (4, PERIODS))
        assert own_kwh(limit_own_schedules(zone, inputs, np.array([600.0]))).tolist() == [600, 0, 0, -100, 0, 0, 0, 0]
        zone, inputs = zone_with([0.0] * 4 + [1200.0, 800.0] + [0.0] * 2, (0, 4))
        # The asset leaves its target of 200 kWh to the owner's 100, and at once.
        assert own_kwh(limit_own_schedules(zone, inputs, np.array([200.0]))).tolist() == [0, 0, 0, 0, 300, 0, 0, 0]

    def test_charges_no_more_beside_what_a_virtual_asset_has_left(self) -> None:
        zone, inputs = zone_with([0.0] * 4 + [-4000.0] * 4, (0, 4))
        # 2,000 kWh less the 200 that the asset was to end with; the owner has 500.
        limited = limit_own_schedules(zone, inputs, np.array([600.0]))
        assert own_kwh(limited).tolist() == [0, 0, 0, 0, -1000, -300, 0, 0]

    def test_leaves_a_virtual_asset_that_begins_later_what_it_begins_with(self) -> None:
        zone, inputs = zone_with([2400.0] + [0.0] * 7, (4, PERIODS))
        assert own_kwh(limit_own_schedules(zone, inputs, np.array([600.0]))).tolist() == [500, 0, 0, 0, 0, 0, 0, 0]
        zone, inputs = zone_with([0.0] * 4 + [2400.0] + [0.0] * 3, (4, PERIODS))
        assert own_kwh(limit_own_schedules(zone, inputs, np.array([600.0]))).tolist() == [0, 0, 0, 0, 500, 0, 0, 0]

    def test_charges_nothing_that_a_known_outage_leaves_no_room_for(self) -> None:
        zone, inputs = zone_with([-1600.0] * 3 + [0.0] * 2 + [400.0] + [0.0] * 2)
        limits = zone.limits
        high_kwh = np.where(np.arange(PERIODS) >= 6, 1500.0, limits.high_kwh)
        zone = replace(zone, limits=replace(limits, high_kwh=high_kwh))
        # 1,500 kWh less 400 of the asset; the owner has 500 and gives 100 back just before.
        assert own_kwh(limit_own_schedules(zone, inputs, np.array([600.0]))).tolist() == [
            -400,
            -300,
            0,
            0,
            0,
            100,
            0,
            0,
        ]

    def test_of_one_battery_of_two_counts_its_losses_and_its_share_of_virtual_energy(self) -> None:
        """Half of the asset is on the second battery, which gives 80 % of what is drawn; its owner has 200 kWh."""
        zone, inputs = zone_with([0.0] * PERIODS)
        limits = even_limits([4000] * 2, [2000] * 2, PERIODS, [0.8] * 2)
        own_kw = np.array([[0.0] * PERIODS, [400.0] * 4 + [-100.0] + [0.0] * 3])
        changes_kwh = np.array([[3.0] * PERIODS, [7.0 - 125.0] * 4 + [7.0 + 20.0] + [7.0] * 3])
        zone = replace(
            zone,
            battery_keys=np.array([10, 11]),
            share_of=np.array([[0, 0], [0, 1]]),
            shares=np.array([0.5, 0.5]),
            limits=replace(limits, own_kw=own_kw, promised_kwh=np.full((2, PERIODS), CAPACITY_KWH / 2)),
            share_energy_changes_kwh=changes_kwh,
        )
        limited = limit_own_schedules(zone, inputs, np.array([900.0, 250.0]))
        assert limited.limits.own_kw.tolist() == [[0.0] * PERIODS, [400.0, 240.0, 0.0, 0.0, -100.0, 0.0, 0.0, 0.0]]
        assert limited.share_energy_changes_kwh.tolist() == [
            [3.0] * PERIODS,
            pytest.approx([-118.0, -68.0, 7.0, 7.0, 27.0, 7.0, 7.0, 7.0]),
        ]

    def test_moves_nothing_by_itself_of_an_owner_who_has_too_little(self) -> None:
        """50 kWh less than nothing is the owner's: 10 are charged as scheduled, and none are taken out."""
        zone, inputs = zone_with([0.0, -40.0, 80.0] + [0.0] * 5)
        limited = limit_own_schedules(zone, inputs, np.array([50.0]))
        assert own_kwh(limited).tolist() == [0, -10, 0, 0, 0, 0, 0, 0]
        assert limited.share_energy_changes_kwh[0].tolist() == [0, 10, 0, 0, 0, 0, 0, 0]

    def test_keeps_what_a_later_reserve_needs(self) -> None:
        zone, inputs = zone_with([800.0] * 3 + [0.0] * 2 + [-400.0] + [0.0] * 2)
        limits = zone.limits
        low_kwh = np.where(np.arange(PERIODS) >= 6, 300.0, limits.low_kwh)
        zone = replace(zone, limits=replace(limits, low_kwh=low_kwh))
        # Of the owner's 500 kWh, 300 must be there by then, of which 100 come back just before.
        assert own_kwh(limit_own_schedules(zone, inputs, np.array([600.0]))).tolist() == [200, 100, 0, 0, 0, -100, 0, 0]


class TestTheShareEnergyOfABatteryThatIsNew:
    @pytest.mark.parametrize(("stored_kwh", "share_kwh"), [(50.0, 100.0), (800.0, 800.0), (1900.0, 1700.0)])
    def test_is_what_it_stores_within_what_its_promises_need(self, stored_kwh: float, share_kwh: float) -> None:
        """100 kWh are promised and 300 kWh of room, of 2,000 kWh; what is beyond that is drift."""
        zone, inputs = zone_with([0.0] * PERIODS)
        new, stored = np.ones(1, dtype=bool), np.array([stored_kwh])
        assert carry_share_energy(zone, inputs, None, None, stored, new).tolist() == pytest.approx([share_kwh])

    @pytest.mark.parametrize(("stored_kwh", "share_kwh"), [(50.0, 140.0), (800.0, 800.0), (1900.0, 1700.0)])
    def test_is_measured_by_the_bounds_of_the_period_in_which_they_are_widest(
        self, stored_kwh: float, share_kwh: float
    ) -> None:
        zone, inputs = zone_with([0.0] * PERIODS)
        is_wide = np.arange(PERIODS)[None] == 3
        low_kwh, high_kwh = np.where(is_wide, 40.0, 900.0), np.where(is_wide, 2000.0, 1800.0)
        zone = replace(zone, limits=replace(zone.limits, low_kwh=low_kwh, high_kwh=high_kwh))
        new, stored = np.ones(1, dtype=bool), np.array([stored_kwh])
        assert carry_share_energy(zone, inputs, None, None, stored, new).tolist() == pytest.approx([share_kwh])

    def test_is_in_the_middle_where_there_is_not_the_room_for_all_that_is_promised(self) -> None:
        """Of 300 kWh, 100 are to be in store beside room for 300."""
        zone, inputs = zone_with([0.0] * PERIODS)
        zone = replace(zone, limits=replace(zone.limits, high_kwh=np.full((1, PERIODS), 300.0)))
        for stored_kwh in (0.0, 300.0):
            found = carry_share_energy(zone, inputs, None, None, np.array([stored_kwh]), np.ones(1, dtype=bool))
            assert found.tolist() == pytest.approx([50.0])


class TestTheEnergyOfAVirtualAsset:
    def test_follows_its_schedule_and_becomes_its_target_when_its_life_ends(self) -> None:
        """It begins with 100 kWh, and its schedule leaves 55: what lacks to its target is drift from then on."""
        _, inputs = zone_with([0.0] * PERIODS, (0, 3))
        inputs = replace(inputs, efficiencies=np.array([[0.9, 0.8]]))
        power_kw = np.array([[400.0, -400.0, 32.0] + [0.0] * 5])
        expected_kwh = [-125.0, 90.0, -10.0 + (TARGET_KWH - 55.0), 0.0, 0.0, 0.0, 0.0, 0.0]
        assert asset_changes_kwh(power_kw, inputs)[0].tolist() == pytest.approx(expected_kwh)
        whole = replace(inputs, lifetimes=np.array([[0, PERIODS], [0, PERIODS + 1]]))
        whole = replace(whole, efficiencies=np.ones((2, 2)), energies_kwh=np.repeat(inputs.energies_kwh, 2, axis=0))
        ended, alive = asset_changes_kwh(np.full((2, PERIODS), 4.0), whole).tolist()
        assert ended == [-1.0] * (PERIODS - 1) + [TARGET_KWH - STORED_KWH + PERIODS - 1], "with the last period too"
        assert alive == [-1.0] * PERIODS
        shares = np.array([[0, 0]]), np.array([0.25])
        changes_kwh = share_energy_changes_kwh(power_kw, inputs, *shares)
        assert changes_kwh[0].tolist() == pytest.approx([kwh / 4 for kwh in expected_kwh])


def test_bounds_of_later_periods_are_kept_ahead_but_for_what_is_moved_in_between() -> None:
    wanted_kwh = np.array([[5.0, 30.0, 50.0, -200.0, -70.0]])
    low_kwh, high_kwh = np.array([[0.0, 0.0, 100.0, 0.0, 0.0]]), np.array([[900.0, 900.0, 900.0, 900.0, 150.0]])
    low_kwh, high_kwh = look_ahead(low_kwh, high_kwh, wanted_kwh)
    assert low_kwh.tolist() == [[20.0, 50.0, 100.0, 0.0, 0.0]]
    assert high_kwh.tolist() == [[420.0, 420.0, 420.0, 220.0, 150.0]]


def test_what_a_reserve_needs_counts_before_the_room_that_an_outage_leaves_later() -> None:
    low_kwh, high_kwh = look_ahead(
        np.array([[0.0, 500.0, 0.0]]), np.array([[900.0, 900.0, 100.0]]), np.array([[0.0, 0.0, -50.0]])
    )
    assert (low_kwh.tolist(), high_kwh.tolist()) == ([[500.0, 500.0, 0.0]], [[500.0, 500.0, 100.0]])
