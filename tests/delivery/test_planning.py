"""The dispatch of a zone obeys physics and its own promises, whatever the zone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.zones import even_limits, input_of, made_zone, zones

from gridloom.delivery.model import BatteryDispatch, BatteryLimits, DispatchInput, StartState, ZoneDispatch
from gridloom.delivery.planning.dispatch_zone import CurrentDispatch, compute_dispatch, overlay_change
from gridloom.delivery.planning.distribution import fill_water, find_opposed
from gridloom.delivery.planning.levelling import ChargingInView, find_gaps_kwh, tilt
from gridloom.delivery.planning.netting import net, net_off_units, subtract_unserved
from gridloom.delivery.planning.parts import parts_by_virtual_asset_kw
from gridloom.market_calendar import Floats

pytestmark = pytest.mark.pure

ONE_WATT_HOUR_KWH = 0.001
TOLERANCE_KW = 1e-5


def stored_losses_kwh(limits: BatteryLimits, power_kw: np.ndarray) -> float:
    """What is lost in charging and discharging, from the definition of efficiency."""
    charge_kwh, discharge_kwh = np.maximum(-power_kw, 0) / 4, np.maximum(power_kw, 0) / 4
    return float(
        (charge_kwh * (1 - limits.charge_efficiency)).sum()
        + (discharge_kwh * (1 / limits.discharge_efficiency - 1)).sum()
    )


class TestAnyZone:
    """Each zone is dispatched once, and held to all that must be true of it."""

    @given(zones())
    @settings(max_examples=25)
    def test_takes_in_what_it_gives_out_plus_losses_exceeds_no_limit_and_nets_to_zero(
        self, zone: DispatchInput
    ) -> None:
        made = compute_dispatch(zone)
        _check_balance(zone, made)
        _check_limits(zone.limits, made)
        _check_netting(made)

    @given(zones(most_virtual=30, most_batteries=12))
    @settings(max_examples=25)
    def test_moves_no_battery_against_another_cuts_pro_rata_and_is_the_same_byte_for_byte(
        self, zone: DispatchInput
    ) -> None:
        made, again = compute_dispatch(zone), compute_dispatch(zone)
        assert made.batteries.power_kw.tobytes() == again.batteries.power_kw.tobytes()
        assert made.netted_kw.tobytes() == again.netted_kw.tobytes()
        assert not find_opposed(made.batteries.virtual_kw).any()
        _check_cuts(made)


def _check_balance(zone: DispatchInput, made: ZoneDispatch) -> None:
    exported_kwh = made.batteries.power_kw.sum() / 4
    drained_kwh = zone.limits.energy_kwh.sum() - made.batteries.energy_kwh[:, -1].sum()
    lost_kwh = stored_losses_kwh(zone.limits, made.batteries.power_kw)
    assert drained_kwh - lost_kwh == pytest.approx(exported_kwh, abs=ONE_WATT_HOUR_KWH)
    served_kw = made.batteries.virtual_kw.sum(axis=0)
    assert np.abs(served_kw - made.delivered_kw.sum(axis=0)).max() / 4 < ONE_WATT_HOUR_KWH


def _check_limits(limits: BatteryLimits, made: ZoneDispatch) -> None:
    power_kw, energy_kwh = made.batteries.power_kw, made.batteries.energy_kwh
    assert (power_kw <= limits.discharge_kw + TOLERANCE_KW).all()
    assert (power_kw >= -limits.charge_kw - TOLERANCE_KW).all()
    assert not made.batteries.virtual_kw[limits.promised_kwh == 0].any()
    before, after = energy_kwh[:, :-1], energy_kwh[:, 1:]
    # A bound may move past the energy, when capacity is lost or a reserve begins; no power moves it further out.
    assert (after >= np.minimum(limits.low_kwh, before) - ONE_WATT_HOUR_KWH).all()
    assert (after <= np.maximum(limits.high_kwh, before) + ONE_WATT_HOUR_KWH).all()


def _check_netting(made: ZoneDispatch) -> None:
    assert (net_off_units(made.netted_kw).sum(axis=0) == 0).all()
    assert np.abs(made.netted_kw.sum(axis=0)).max() < TOLERANCE_KW
    assert (np.abs(made.netted_kw) <= np.abs(made.delivered_kw) + TOLERANCE_KW).all()
    assert (made.netted_kw * made.delivered_kw >= 0).all()


def _check_cuts(made: ZoneDispatch) -> None:
    """What cannot be served is cut pro rata of its side."""
    unserved_kw = made.batteries.unserved_kw
    cut_kw = made.scheduled_kw - made.delivered_kw
    assert np.abs(cut_kw.sum(axis=0) - unserved_kw).max() < TOLERANCE_KW
    for index in np.flatnonzero(unserved_kw):
        concerned = np.sign(made.scheduled_kw[:, index]) == np.sign(unserved_kw[index])
        parts = cut_kw[concerned, index] / made.scheduled_kw[concerned, index]
        assert np.ptp(parts) < 1e-9
        assert (cut_kw[~concerned, index] == 0).all()


def zone_of(power_kw: list[list[float]], limits: BatteryLimits, shares: list[list[float]]) -> DispatchInput:
    """Virtual assets in rows; `shares` has a row for each of them and a column for each battery."""
    pairs = [(asset, battery) for asset, row in enumerate(shares) for battery, share in enumerate(row) if share]
    flat = [share for row in shares for share in row if share]
    return input_of(np.array(power_kw), limits, np.array(pairs), np.array(flat))


ONE_EACH = [[1.0, 0.0], [0.0, 1.0]]


class TestFairParts:
    def test_have_each_battery_do_its_shares(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 4, [0.94, 0.94])  # as much as the virtual assets lose
        made = compute_dispatch(zone_of([[400.0, 0, -200, 0], [100.0, 0, -100, 0]], limits, ONE_EACH))
        assert made.batteries.virtual_kw.tolist() == [[400, 0, -200, 0], [100, 0, -100, 0]]

    def test_move_no_battery_for_what_is_netted(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 1)
        made = compute_dispatch(zone_of([[600.0], [-400.0]], limits, ONE_EACH))
        assert made.netted_kw[:, 0].tolist() == [400.0, -400.0]
        assert made.batteries.virtual_kw[:, 0].tolist() == [200.0, 0.0]

    def test_take_no_account_of_which_battery_loses_less(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 1, [0.85, 0.97])
        made = compute_dispatch(zone_of([[500.0]], limits, [[0.5, 0.5]]))
        assert made.batteries.virtual_kw[:, 0].tolist() == pytest.approx([250.0, 250.0])


class TestTheExampleOfTheGuide:
    def test_is_computed_as_docs_delivery_says(self) -> None:
        limits = even_limits([1000, 1000, 500], [2000, 2000, 1000], 1, [0.9] * 3)
        drift_kwh = np.array([40.0, 0.0, -40.0])
        limits = replace(
            limits, charge_kw=np.array([[1000.0], [300.0], [500.0]]), energy_kwh=limits.energy_kwh + drift_kwh
        )
        zone = zone_of([[-900.0], [100.0]], limits, [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
        zone = replace(zone, share_energy_kwh=zone.share_energy_kwh - drift_kwh[:, None])
        page = Path("docs/delivery.md").read_text()
        [row] = [line for line in page.splitlines() if line.startswith("| dispatched |")]
        told = [float(cell.replace("−", "-")) for cell in row.split("|")[2:-1]]
        made = compute_dispatch(zone).batteries.virtual_kw[:, 0]
        assert [*made.tolist(), float(made.sum())] == pytest.approx(told, abs=0.006)


class TestPartsOfABattery:
    """The first battery backs one asset alone and a half of another, the second the other half; 100 and 200 kW."""

    @pytest.mark.parametrize(
        ("power_kw", "named_kw", "others_kw"),
        [
            pytest.param([200.0, 100.0], [100.0, 100.0, 100.0], [0.0, 0.0], id="that do their shares"),
            pytest.param([250.0, 50.0], [100.0, 100.0, 50.0], [50.0, 0.0], id="of which one does more for others"),
            pytest.param([300.0, 0.0], [100.0, 100.0, 0.0], [100.0, 0.0], id="of which one does it all"),
            pytest.param([100.0, -20.0], [50.0, 50.0, 0.0], [0.0, -20.0], id="of which one goes the other way"),
        ],
    )
    def test_are_at_most_its_shares_and_what_it_does_for_others(
        self, power_kw: list[float], named_kw: list[float], others_kw: list[float]
    ) -> None:
        share_of, shares = np.array([(0, 0), (1, 0), (1, 1)]), np.array([1.0, 0.5, 0.5])
        residual_kw, virtual_kw = np.array([[100.0], [200.0]]), np.array([[kw] for kw in power_kw])
        for sign in (1.0, -1.0):
            named, others = parts_by_virtual_asset_kw(sign * virtual_kw, share_of, shares, sign * residual_kw)
            assert (sign * named[:, 0]).tolist() == pytest.approx(named_kw)
            assert (sign * others[:, 0]).tolist() == pytest.approx(others_kw)


class TestNettedVolumes:
    def test_are_whole_units_that_sum_to_zero_in_each_period(self) -> None:
        """A kW over a quarter-hour is 25,000 units; what rounding leaves goes to the largest."""
        netted_kw = np.array([[4.0, 0.00003, 0.0], [-3.0, 0.00003, 0.0], [-1.0, -0.00006, 0.0]])
        assert net_off_units(netted_kw).tolist() == [[100_000, 1, 0], [-75_000, 1, 0], [-25_000, -2, 0]]
        thirds_kw = np.array([[1 / 3 / 25_000 * 4], [1 / 3 / 25_000 * 4], [-2 / 3 / 25_000 * 4]])
        assert net_off_units(thirds_kw)[:, 0].tolist() == [1, 1, -2]
        assert net_off_units(np.zeros((0, 3))).shape == (0, 3)

    def test_are_by_the_part_of_each_side_and_the_same_whichever_periods_are_netted_together(self) -> None:
        netting = net(np.array([[300.0, 300.0], [100.0, 0.0], [-150.0, -500.0], [-50.0, 0.0]]))
        assert netting.netted_kw[:, 0].tolist() == pytest.approx([150.0, 50.0, -150.0, -50.0])
        assert netting.netted_kw[:, 1].tolist() == pytest.approx([300.0, 0.0, -300.0, 0.0])
        assert (netting.net_kw.tolist(), netting.matched_kw.tolist()) == ([200.0, -200.0], [200.0, 300.0])
        many_kw = np.random.default_rng(1).normal(0, 100, (300, 5))
        whole, alone = net(many_kw), net(many_kw[:, 3:4])
        assert whole.exports_kw[3:4].tobytes() == alone.exports_kw.tobytes()
        assert whole.imports_kw[3:4].tobytes() == alone.imports_kw.tobytes()

    def test_of_what_is_unserved_are_taken_from_its_side(self) -> None:
        power_kw = np.array([[300.0, 300.0, 3.0], [100.0, 0.0, 1.0], [-150.0, -500.0, -9.0], [0.0, -100.0, 0.0]])
        served_kw = subtract_unserved(power_kw, net(power_kw), np.array([100.0, -150.0, 0.0]))
        assert served_kw.tolist() == [
            pytest.approx(row)
            for row in ([225.0, 300.0, 3.0], [75.0, 0.0, 1.0], [-150.0, -375.0, -9.0], [0.0, -75.0, 0.0])
        ]


EITHER_WAY = pytest.mark.parametrize("sign", [1.0, -1.0], ids=["discharging", "charging"])


class TestLimits:
    @EITHER_WAY
    def test_send_what_one_battery_cannot_take_to_the_others_by_headroom(self, sign: float) -> None:
        limits = even_limits([1000, 1000, 500], [2000, 2000, 2000], 1)
        left_kw = limits.discharge_kw.copy()
        left_kw[0, 0] = 100.0
        tripped = replace(limits, **{"discharge_kw" if sign > 0 else "charge_kw": left_kw})
        made = compute_dispatch(zone_of([[sign * 400.0], [0.0], [0.0]], tripped, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
        assert (sign * made.batteries.virtual_kw[:, 0]).tolist() == pytest.approx([100.0, 200.0, 100.0])
        assert not made.batteries.unserved_kw.any()

    @EITHER_WAY
    def test_leave_unserved_what_no_battery_can_take(self, sign: float) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 4)
        roomy = {"charge_kw": limits.charge_kw * 3} if sign > 0 else {"discharge_kw": limits.discharge_kw * 3}
        limits = replace(limits, **roomy)  # the other way they could do more
        made = compute_dispatch(zone_of([[sign * 1500.0, 0, 0, 0], [sign * 1500.0, 0, 0, 0]], limits, ONE_EACH))
        assert made.batteries.unserved_kw.tolist() == [sign * 1000.0, 0, 0, 0]
        assert (sign * made.delivered_kw[:, 0]).tolist() == pytest.approx([1000.0, 1000.0])
        assert not made.batteries.is_cycle_bound.any()

    def test_hold_the_cycles_of_the_day_and_begin_anew_with_the_next(self) -> None:
        """150 kWh a day, of which 30 were exported before."""
        limits = even_limits([1000], [2000], 4)
        limited = replace(limits, daily_export_kwh=np.full((1, 4), 150.0))
        zone = zone_of([[400.0, 400.0, 400.0, 400.0]], limited, [[1.0]])
        start = StartState(np.array([30.0]), np.array([70.0]), np.array([0.0]), np.zeros(1), np.ones(1))
        made = compute_dispatch(replace(zone, days=np.array([0, 0, 0, 1]), start=start))
        assert made.batteries.virtual_kw[0].tolist() == pytest.approx([400.0, 80.0, 0.0, 400.0])
        assert made.batteries.is_cycle_bound.tolist() == [False, True, True, False]
        assert made.batteries.unserved_kw.tolist() == pytest.approx([0.0, 320.0, 400.0, 0.0])

    def test_count_what_was_exported_earlier_in_the_year(self) -> None:
        limits = even_limits([1000], [2000], 4)
        limited = replace(limits, annual_export_kwh=np.full((1, 4), 5000.0))
        start = StartState(np.array([60.0]), np.array([4850.0]), np.array([0.0]), np.zeros(1), np.ones(1))
        zone = zone_of([[400.0, 400.0, 400.0, 400.0]], limited, [[1.0]])
        made = compute_dispatch(replace(zone, years=np.array([0, 0, 0, 1]), start=start))
        assert made.batteries.virtual_kw[0].tolist() == pytest.approx([400.0, 200.0, 0.0, 400.0])

    def test_count_own_exports_as_cycles_and_are_told_apart_from_other_reasons(self) -> None:
        """100 of 150 kWh are the owner's in the first quarter-hour; the other battery is no part of any promise. Cycles
        are the reason where they are that of more than half of what is unserved."""
        limits = even_limits([1000, 1000], [4000, 4000], 3)
        own_kw, promised_kwh = np.zeros((2, 3)), limits.promised_kwh.copy()
        own_kw[0, 0], promised_kwh[1] = 400.0, 0.0
        daily_kwh = np.array([[150.0] * 3, [0.0] * 3])
        limited = replace(limits, own_kw=own_kw, promised_kwh=promised_kwh, daily_export_kwh=daily_kwh)
        made = compute_dispatch(zone_of([[0.0, 400.0, -40.0]], limited, [[1.0, 0.0]])).batteries
        assert made.own_kw.tolist() == [[400.0, 0.0, 0.0], [0.0] * 3]
        assert made.virtual_kw[0].tolist() == pytest.approx([0.0, 200.0, -40.0])
        assert made.is_cycle_bound.tolist() == [False, True, False]
        for daily_kwh_left, is_bound in ((199.0, True), (201.0, False)):
            one = replace(even_limits([1000], [4000], 1), daily_export_kwh=np.full((1, 1), daily_kwh_left))
            found = compute_dispatch(zone_of([[1200.0]], one, [[1.0]])).batteries
            assert found.is_cycle_bound.tolist() == [is_bound], daily_kwh_left
        strong = replace(limited, own_kw=np.zeros((2, 3)), daily_export_kwh=np.array([[np.inf] * 3, [0.0] * 3]))
        beyond = compute_dispatch(zone_of([[1200.0, 0.0, 0.0]], strong, [[1.0, 0.0]])).batteries
        assert beyond.unserved_kw.tolist() == [200.0, 0.0, 0.0]
        assert not beyond.is_cycle_bound.any(), "the cycles are those of a battery that serves nothing"

    def test_let_a_battery_give_what_it_stores_less_its_losses_and_take_what_it_has_room_for(self) -> None:
        """100 kWh in store are 80 kWh at the grid; room for 100 kWh takes 125 kWh from it."""
        limits = replace(even_limits([1000], [2000], 1, [0.8]), low_kwh=np.array([[300.0]]))
        for stored_kwh, sign, served_kw in ((400.0, 1.0, 320.0), (1900.0, -1.0, 500.0)):
            made = compute_dispatch(
                zone_of([[sign * 700.0]], replace(limits, energy_kwh=np.array([stored_kwh])), [[1.0]])
            ).batteries
            assert made.virtual_kw[0, 0] == pytest.approx(sign * served_kw)
            assert made.unserved_kw[0] == pytest.approx(sign * (700.0 - served_kw))

    @EITHER_WAY
    def test_let_a_battery_ramp_from_where_it_is(self, sign: float) -> None:
        limits = replace(even_limits([1000, 1000], [4000, 4000], 2), ramp_kw=np.full((2, 2), 300.0))
        start = replace(StartState.of_rest(2), power_kw=sign * np.array([200.0, -500.0]))
        power_kw = [[sign * 700.0, sign * 1400.0]]
        made = compute_dispatch(replace(zone_of(power_kw, limits, [[1.0, 0.0]]), start=start))
        assert (sign * made.batteries.virtual_kw[:, 0]).tolist() == pytest.approx([500.0, 0.0])
        assert made.batteries.unserved_kw[0] == pytest.approx(sign * 200.0)

    def test_let_a_battery_ramp_from_rest_after_a_quarter_hour_without_any_schedule(self) -> None:
        limits = even_limits([1000, 1000], [4000, 4000], 3)
        ramp_kw, promised_kwh = np.array([[300.0] * 3, [np.inf] * 3]), limits.promised_kwh.copy()
        promised_kwh[1] = 0.0  # it serves nothing, and knows no ramp
        limits = replace(limits, ramp_kw=ramp_kw, promised_kwh=promised_kwh)
        start = replace(StartState.of_rest(2), power_kw=np.array([200.0, 0.0]))
        made = compute_dispatch(replace(zone_of([[500.0, 0.0, 700.0]], limits, [[1.0, 0.0]]), start=start))
        assert made.batteries.virtual_kw[0].tolist() == pytest.approx([500.0, 0.0, 300.0])
        assert made.batteries.unserved_kw.tolist() == pytest.approx([0.0, 0.0, 400.0])

    def test_move_no_battery_while_no_virtual_asset_is_alive_that_it_backs(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 4)
        promised_kwh = limits.promised_kwh.copy()
        promised_kwh[1, 2:] = 0.0
        zone = zone_of(
            [[400.0, -400.0, 400.0, 1200.0], [0.0] * 4], replace(limits, promised_kwh=promised_kwh), ONE_EACH
        )
        made = compute_dispatch(zone)
        assert not made.batteries.virtual_kw[1, 2:].any()
        assert made.batteries.unserved_kw.tolist() == pytest.approx([0.0, 0.0, 0.0, 200.0])


class TestDerating:
    def test_pumps_nothing_from_one_battery_into_another(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 8)
        high_kwh = limits.high_kwh.copy()
        high_kwh[0, 2:] = 500.0  # half of what is stored is above the lowered capacity
        made = compute_dispatch(zone_of([[0.0] * 8, [0.0] * 8], replace(limits, high_kwh=high_kwh), ONE_EACH))
        assert not made.batteries.power_kw.any()
        assert made.batteries.energy_kwh[0].tolist() == [1000.0] * 9

    def test_uses_energy_above_a_lowered_capacity_first(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 2)
        high_kwh = limits.high_kwh.copy()
        high_kwh[0] = 940.0
        made = compute_dispatch(zone_of([[100.0] * 2, [100.0] * 2], replace(limits, high_kwh=high_kwh), ONE_EACH))
        assert made.batteries.virtual_kw[:, 0].tolist() == pytest.approx([200.0, 0.0])
        assert not find_opposed(made.batteries.virtual_kw).any()

    def test_uses_no_more_than_the_energy_above_it_first(self) -> None:
        """50 kWh in store are 46 kWh at the grid."""
        limits = even_limits([1000, 1000], [2000, 2000], 1)
        high_kwh = np.array([[950.0], [2000.0]])
        made = compute_dispatch(zone_of([[100.0], [100.0]], replace(limits, high_kwh=high_kwh), ONE_EACH))
        assert made.batteries.virtual_kw[:, 0].tolist() == pytest.approx([184.0, 16.0])
        weak = replace(limits, high_kwh=high_kwh, discharge_kw=np.array([[150.0], [1000.0]]))
        made = compute_dispatch(zone_of([[100.0], [100.0]], weak, ONE_EACH))
        assert made.batteries.virtual_kw[:, 0].tolist() == pytest.approx([150.0, 50.0]), "and no more than its power"

    def test_charges_others_meanwhile(self) -> None:
        limits = even_limits([1000, 1000], [2000, 2000], 1)
        high_kwh = np.array([[500.0], [2000.0]])
        made = compute_dispatch(zone_of([[-100.0], [-100.0]], replace(limits, high_kwh=high_kwh), ONE_EACH))
        assert made.batteries.virtual_kw[:, 0].tolist() == pytest.approx([0.0, -200.0])


def level(net_kw: Floats, drift_kwh: list[float], seed: int = 1) -> tuple[DispatchInput, ZoneDispatch]:
    """One virtual asset on three batteries that begin with some drift."""
    limits = even_limits([4000, 3000, 2000], [16000, 12000, 8000], len(net_kw), [0.94] * 3)
    shifted = replace(limits, energy_kwh=limits.energy_kwh + np.array(drift_kwh))
    zone = zone_of([net_kw.tolist()], shifted, [[0.45, 0.33, 0.22]])
    zone = replace(zone, share_energy_kwh=zone.share_energy_kwh - np.array(drift_kwh)[:, None])
    return zone, compute_dispatch(zone)


def gaps_kwh(zone: DispatchInput, made: ZoneDispatch, column: int) -> Floats:
    drift_kwh = made.batteries.energy_kwh[:, column] - zone.share_energy_kwh[:, column]
    weights = zone.limits.promised_kwh[:, 0] / zone.limits.promised_kwh[:, 0].sum()
    return np.asarray(drift_kwh - drift_kwh.sum() * weights)


class TestLevelling:
    @given(
        st.integers(0, 2**32 - 1),
        st.sampled_from(["charging", "discharging", "mixed", "late charging", "day and night"]),
        st.floats(-0.04, 0.04),
    )
    @settings(max_examples=60)
    def test_leaves_less_than_a_tenth_of_a_difference_after_96_active_periods(
        self, seed: int, pattern: str, difference: float
    ) -> None:
        draw = np.random.default_rng(seed)
        sign = {
            "charging": -np.ones(96),
            "discharging": np.ones(96),
            "mixed": draw.choice([-1.0, 1.0], 96),
            "late charging": np.where(np.arange(96) < 80, 1.0, -1.0),
            "day and night": np.where(np.arange(96) // 16 % 2, 1.0, -1.0),
        }[pattern]
        net_kw = sign * draw.uniform(150, 220, 96)
        moved = difference * 8000
        zone, made = level(net_kw, [moved, -moved, 0.0])
        before, after = gaps_kwh(zone, made, 0), gaps_kwh(zone, made, 96)
        assert np.abs(after).max() <= 0.1 * np.abs(before).max() + ONE_WATT_HOUR_KWH
        assert not made.is_opposed.any()

    @pytest.mark.parametrize(
        ("net_kw", "limit_kw", "expected_kw"),
        [
            pytest.param(-200.0, [1000, 1000], [-100 + 40 / 0.94, -100 - 40 / 0.94], id="a quarter when charging"),
            pytest.param(-200.0, [1000, 110], [-90.0, -110.0], id="or what the other can take"),
            pytest.param(200.0, [1000, 1000], [118.4, 81.6], id="an eighth when discharging"),
            pytest.param(200.0, [105, 1000], [105.0, 95.0], id="or what the one can give"),
        ],
    )
    def test_closes_a_part_of_each_gap_in_a_period_within_power(
        self, net_kw: float, limit_kw: list[float], expected_kw: list[float]
    ) -> None:
        """Two batteries, one with 40 kWh too much and one with as much too little; 6 % are lost in charging, 8 % in
        discharging."""
        limits, drift_kwh = even_limits([1000, 1000], [2000, 2000], 1), np.array([40.0, -40.0])
        power_kw = np.array([[float(one)] for one in limit_kw])
        shifted = replace(limits, charge_kw=power_kw, discharge_kw=power_kw, energy_kwh=limits.energy_kwh + drift_kwh)
        zone = zone_of([[net_kw]], shifted, [[0.5, 0.5]])
        made = compute_dispatch(replace(zone, share_energy_kwh=zone.share_energy_kwh - drift_kwh[:, None])).batteries
        assert made.virtual_kw[:, 0].tolist() == pytest.approx(expected_kw)
        rates = np.where(made.virtual_kw < 0, 0.94, 1 / 0.92)
        assert made.energy_kwh[:, 1] == pytest.approx(made.energy_kwh[:, 0] - (made.virtual_kw * rates)[:, 0] / 4)

    def test_leaves_discharging_to_fair_parts_where_charging_in_view_suffices(self) -> None:
        net_kw = np.array([800.0] * 10 + [-800.0] * 60)
        zone, made = level(net_kw, [300.0, -300.0, 0.0])
        assert made.batteries.virtual_kw[:, :10] == pytest.approx(zone.by_share(zone.power_kw)[:, :10], abs=1e-6)
        assert np.abs(gaps_kwh(zone, made, 70)).max() < 30.0

    def test_tilts_discharging_where_no_charging_is_in_view(self) -> None:
        zone, made = level(np.full(96, 200.0), [300.0, -300.0, 0.0])
        fair_kw = zone.by_share(zone.power_kw)
        assert made.batteries.virtual_kw[0, 0] > fair_kw[0, 0]
        assert made.batteries.virtual_kw[1, 0] < fair_kw[1, 0]
        assert np.abs(gaps_kwh(zone, made, 96)).max() < 30.0

    def test_tilts_discharging_where_the_charging_in_view_is_none_that_could_go_to_another_battery(self) -> None:
        """The battery with too little charges all there is to charge: only discharging can level."""
        net_kw = np.array(([-300.0] * 12 + [270.0] * 12) * 4)
        limits = even_limits([6000, 6000], [24000, 12000], len(net_kw), [0.94] * 2)
        drift_kwh = np.array([-120.0, 120.0])
        shifted = replace(limits, energy_kwh=limits.energy_kwh + drift_kwh)
        zone = zone_of([net_kw.tolist(), [0.0] * len(net_kw)], shifted, [[1.0, 0.0], [0.0, 1.0]])
        zone = replace(zone, share_energy_kwh=zone.share_energy_kwh - drift_kwh[:, None])
        made = compute_dispatch(zone)
        assert np.abs(gaps_kwh(zone, made, 96)).max() <= 0.1 * np.abs(gaps_kwh(zone, made, 0)).max()
        assert not made.is_opposed.any()

    def test_leaves_the_drift_of_the_whole_zone_to_the_market(self) -> None:
        zone, made = level(np.array([-400.0, 400.0] * 48), [800.0, 0.0, 0.0])
        drift_kwh = made.batteries.energy_kwh[:, -1] - zone.share_energy_kwh[:, -1]
        assert drift_kwh.sum() == pytest.approx(800.0, rel=0.01)
        assert drift_kwh == pytest.approx(drift_kwh.sum() * np.array([16, 12, 8]) / 36, abs=5.0)
        assert not made.batteries.drift_kw.any()

    @given(st.floats(100, 2000), st.floats(-0.03, 0.03))
    @settings(max_examples=30)
    def test_moves_no_set_point_by_leaps_while_the_net_is_steady(self, net: float, difference: float) -> None:
        moved = difference * 8000
        _, made = level(np.full(24, -net), [moved, -moved, 0.0])
        steps_kw = np.abs(np.diff(made.batteries.virtual_kw, axis=1))
        # Each period tilts by a quarter less than the one before.
        tilted_kw = abs(moved) / 4 * 4 / 0.94
        assert steps_kw.max() <= tilted_kw / 2 + 1e-6


class TestDrift:
    def test_is_moved_before_a_promise_that_it_would_break(self) -> None:
        """Full by drift, with free power earlier: the charging that was promised is served."""
        limits = even_limits([1000], [2000], 8)
        free_kw = np.full((1, 8), 200.0)
        full = replace(limits, energy_kwh=np.array([1900.0]), free_discharge_kw=free_kw, free_charge_kw=free_kw)
        zone = zone_of([[0.0] * 6 + [-400.0] * 2], full, [[1.0]])
        zone = replace(zone, share_energy_kwh=zone.share_energy_kwh - 900.0)
        made = compute_dispatch(zone)
        assert not made.batteries.unserved_kw.any()
        # 188 kWh are to be stored and 100 fit: the rest is discharged before, at 92 %, evenly while nothing is charged.
        assert made.batteries.drift_kw[0].tolist() == pytest.approx([88 * 0.92 * 4 / 6] * 6 + [0.0] * 2, abs=1e-4)

    def test_is_charged_before_a_promise_that_lacks_it(self) -> None:
        """Emptied by drift: 213 kWh are to be drawn and 100 are there; the rest is charged before, at 94 %."""
        limits, free_kw = even_limits([1000], [2000], 8), np.full((1, 8), 200.0)
        empty = replace(limits, energy_kwh=np.array([100.0]), free_discharge_kw=free_kw, free_charge_kw=free_kw)
        zone = zone_of([[0.0] * 6 + [400.0] * 2], empty, [[1.0]])
        made = compute_dispatch(replace(zone, share_energy_kwh=zone.share_energy_kwh + 900.0)).batteries
        assert not made.unserved_kw.any()
        # What lacks at the grid, 200 kWh less the 92 that are there, is charged with what is lost both ways.
        assert made.drift_kw[0].tolist() == pytest.approx([-108 / 0.92 / 0.94 * 4 / 6] * 6 + [0.0] * 2, abs=1e-4)

    @pytest.mark.parametrize(("asked_kw", "stored_kwh", "drift_kwh"), [(-400.0, 2000.0, 1000.0), (400.0, 0.0, -1000.0)])
    def test_is_moved_in_the_same_period_where_there_is_no_time_before(
        self, asked_kw: float, stored_kwh: float, drift_kwh: float
    ) -> None:
        """A battery that drift has filled, or emptied, stays so: what it takes for the asset it sells of drift."""
        limits, free_kw = even_limits([1000], [2000], 2), np.full((1, 2), 500.0)
        bound = replace(limits, energy_kwh=np.array([stored_kwh]), free_discharge_kw=free_kw, free_charge_kw=free_kw)
        zone = zone_of([[asked_kw, 0.0]], bound, [[1.0]])
        made = compute_dispatch(replace(zone, share_energy_kwh=zone.share_energy_kwh - drift_kwh)).batteries
        assert not made.unserved_kw.any()
        assert (made.virtual_kw[0, 0], made.drift_kw[0, 0]) == pytest.approx((asked_kw, -asked_kw), abs=1e-4)
        assert made.energy_kwh[0].tolist() == pytest.approx([stored_kwh] * 3, abs=1e-4)

    @pytest.mark.parametrize(("placed_kw", "asked_kw", "stored_kwh"), [(700.0, 400.0, 300.0), (-700.0, -400.0, 1700.0)])
    def test_that_was_placed_takes_nothing_of_a_promise(
        self, placed_kw: float, asked_kw: float, stored_kwh: float
    ) -> None:
        """More was sold, or bought, than the battery has, or has room for: the promise is served all the same."""
        free_kw, drift_kw = np.full((1, 12), 700.0), np.zeros((1, 12))
        drift_kw[0, 4:10] = placed_kw
        limits = replace(even_limits([1000], [2000], 12), free_discharge_kw=free_kw, free_charge_kw=free_kw)
        placed = replace(limits, energy_kwh=np.array([stored_kwh]), drift_kw=drift_kw)
        zone = zone_of([[0.0] * 10 + [asked_kw] * 2], placed, [[1.0]])
        made = compute_dispatch(replace(zone, share_energy_kwh=zone.share_energy_kwh + (1000.0 - stored_kwh))).batteries
        assert not made.unserved_kw.any()
        moved_kw = made.drift_kw[0, 4:10] * np.sign(placed_kw)
        assert 0 < moved_kw.sum() < 6 * 700

    def test_is_moved_no_further_than_power_is_free(self) -> None:
        limits, free_kw = even_limits([1000], [2000], 1), np.full((1, 1), 150.0)
        full = replace(limits, energy_kwh=np.array([2000.0]), free_discharge_kw=free_kw, free_charge_kw=free_kw)
        zone = zone_of([[-400.0]], full, [[1.0]])
        made = compute_dispatch(replace(zone, share_energy_kwh=zone.share_energy_kwh - 1000.0)).batteries
        assert (made.unserved_kw[0], made.drift_kw[0, 0]) == pytest.approx((-250.0, 150.0))

    def _move(
        self,
        power_kw: list[list[float]],
        energy_kwh: list[float],
        drift_kwh: list[float],
        free_kw: list[float],
        **other_limits: Floats,
    ) -> list[list[float]]:
        """DRIFT power of batteries of 1,000 kW and 2,000 kWh that lose nothing, by what is free of their power."""
        count, periods = len(energy_kwh), len(power_kw[0])
        limits = even_limits([1000.0] * count, [2000.0] * count, periods, [1.0] * count)
        free = np.repeat(np.array(free_kw)[:, None], periods, axis=1)
        limits = replace(limits, energy_kwh=np.array(energy_kwh), free_discharge_kw=free, free_charge_kw=free)
        limits = replace(limits, **other_limits)
        zone = zone_of(power_kw, limits, np.eye(count).tolist())
        share_energy_kwh = np.repeat((limits.energy_kwh - np.array(drift_kwh))[:, None], periods + 1, axis=1)
        made = compute_dispatch(replace(zone, share_energy_kwh=share_energy_kwh)).batteries
        return [[round(kw, 3) + 0.0 for kw in row] for row in made.drift_kw.tolist()]

    @EITHER_WAY
    def test_is_moved_while_the_net_goes_the_other_way_only_where_the_other_hours_do_not_suffice(
        self, sign: float
    ) -> None:
        """99 kWh are in the way, as in a battery with room for one that is to charge 400 kW, and has charged and given
        back that one before."""
        full_kwh, drift_kwh = 1000.0 + sign * 999.0, sign * 999.0
        asked_kw = [0.0, sign * -4.0, sign * 4.0, 0.0, sign * -400.0]
        for free_kw, moved_kw in ((133.0, [132.0, 0.0, 132.0, 132.0, 0.0]), (131.0, [99.0] * 4 + [0.0])):
            [found] = self._move([asked_kw], [full_kwh], [drift_kwh], [free_kw])
            assert [sign * kw for kw in found] == pytest.approx(moved_kw, abs=0.01), free_kw

    def test_is_moved_by_those_that_are_full_pro_rata_of_their_drift(self) -> None:
        """Two are full, by 300 and by 100 kWh of drift; 400 kW are to be charged, of which the third can take 200."""
        found = self._move(
            [[0.0, 0.0, -400.0], [0.0] * 3, [0.0] * 3], [2000.0, 2000.0, 1950.0], [300.0, 100.0, 0.0], [400.0] * 3
        )
        assert found == [
            pytest.approx([75.0, 75.0, 0.0], abs=0.01),
            pytest.approx([25.0, 25.0, 0.0], abs=0.01),
            [0.0] * 3,
        ]

    def test_is_moved_of_those_alone_that_serve_promises(self) -> None:
        found = self._move(
            *([[0.0, 0.0, -400.0], [0.0] * 3], [2000.0, 2000.0], [300.0, 900.0], [400.0] * 2),
            promised_kwh=np.array([[2000.0] * 3, [0.0] * 3]),
        )
        assert found == [pytest.approx([200.0, 200.0, 0.0], abs=0.01), [0.0] * 3]

    def test_is_moved_at_once_for_all_periods_until_power_is_unserved_the_other_way(self) -> None:
        """A full battery is to charge 100 kW twice, with a pause between; 50 kWh are moved before the first."""
        [found] = self._move([[0.0, 0.0, -100.0, 0.0, -100.0]], [2000.0], [1000.0], [400.0])
        assert found == pytest.approx([100.0, 100.0, 0.0, 0.0, 0.0], abs=0.01)

    def test_is_moved_beside_what_its_owner_does_with_its_power(self) -> None:
        """Who gives 980 kW of 1,000, and takes them back. 80 of 100 kWh can be moved by then."""
        [found] = self._move(
            *([[0.0, 0.0, -400.0]], [2000.0], [1000.0], [300.0]), own_kw=np.array([[980.0, -980.0, 0.0]])
        )
        assert found == pytest.approx([20.0, 300.0, 80.0], abs=0.01)

    @EITHER_WAY
    def test_is_moved_in_the_unserved_period_itself_as_far_as_the_hours_before_do_not_suffice(
        self, sign: float
    ) -> None:
        """100 kWh are in the way; 80 kW are free, or 60 kWh in three quarter-hours. The rest, 160 kW, is moved against
        what the battery takes for the asset, as far as it is free."""
        [found] = self._move([[0.0] * 3 + [sign * -400.0]], [1000.0 + sign * 1000.0], [sign * 1000.0], [80.0])
        assert [sign * kw for kw in found] == pytest.approx([80.0] * 4, abs=0.01)

    def test_is_left_alone_where_no_promise_breaks(self) -> None:
        limits = replace(even_limits([1000], [2000], 4), free_discharge_kw=np.full((1, 4), 200.0))
        zone = zone_of([[-100.0] * 4], limits, [[1.0]])
        made = compute_dispatch(replace(zone, share_energy_kwh=zone.share_energy_kwh - 300.0))
        assert not made.batteries.drift_kw.any()

    def test_is_no_reason_to_move_where_an_outage_leaves_power_unserved(self) -> None:
        limits = even_limits([1000], [2000], 2)
        out = replace(limits, charge_kw=np.zeros((1, 2)), free_discharge_kw=np.full((1, 2), 200.0))
        made = compute_dispatch(zone_of([[0.0, -400.0]], out, [[1.0]]))
        assert made.batteries.unserved_kw.tolist() == [0.0, -400.0]
        assert not made.batteries.drift_kw.any()


class TestOpposedBatteries:
    def test_are_those_of_which_one_charges_while_another_discharges(self) -> None:
        power_kw = np.array([[5.0, 5.0, 0.0, -5.0, 5.0], [-5.0, 5.0, 0.0, -5.0, 0.0]])
        assert find_opposed(power_kw).tolist() == [True, False, False, False, False]
        assert find_opposed(np.zeros((0, 2))).tolist() == [False, False], "of none"


class TestAChangeThatIsLaidOverAPlan:
    def test_leaves_what_the_owner_and_the_drift_were_found_to_do(self) -> None:
        """Both wanted more, and were given what was left beside the virtual asset; the second asset sells 30 kW."""
        limits = even_limits([1000, 1000], [4000, 4000], 3, [1.0, 1.0])
        given = zone_of([[900.0] * 3, [0.0, 30.0, 0.0]], limits, ONE_EACH)
        before = zone_of([[900.0] * 3, [0.0] * 3], limits, ONE_EACH)
        virtual_kw, own_kw, drift_kw = np.zeros((3, 2, 3))
        virtual_kw[0], own_kw[0], drift_kw[0] = 900.0, 60.0, 40.0
        energy_kwh = np.array([[2000.0, 1750.0, 1500.0, 1250.0], [2000.0] * 4])
        none = np.zeros(3)
        found = BatteryDispatch(virtual_kw, own_kw, drift_kw, energy_kwh, np.zeros((2, 4)), none, none.astype(bool))
        wanted = replace(limits, own_kw=own_kw * 2, drift_kw=drift_kw * 3, discharge_kw=limits.discharge_kw * 2)
        laid = overlay_change(
            replace(given, limits=wanted),
            CurrentDispatch(before.power_kw, before.share_energy_kwh, found),
            np.array([False, True, False]),
        )
        assert laid is not None
        assert laid.virtual_kw.tolist() == [[900.0] * 3, [0.0, 30.0, 0.0]]
        assert (laid.own_kw.tolist(), laid.drift_kw.tolist()) == (own_kw.tolist(), drift_kw.tolist())
        assert laid.energy_kwh.tolist() == [energy_kwh[0].tolist(), [2000.0, 2000.0, 1992.5, 1992.5]]


class TestWaterFilling:
    def test_shrinks_parts_alike_that_sum_to_more_than_is_asked(self) -> None:
        filled_kw, left_kw = fill_water(300.0, np.array([400.0, 100.0, 500.0]), np.array([400.0, 100.0, 100.0]))
        assert filled_kw.tolist() == pytest.approx([200.0, 50.0, 50.0])
        assert left_kw == 0

    def test_leaves_nothing_over_where_only_a_rounding_more_is_asked(self) -> None:
        limit_kw = np.array([300.0, 100.0])
        for more_kw, left_kw in ((1e-8, 0.0), (1e-3, pytest.approx(1e-3))):
            filled_kw, found_kw = fill_water(400.0 + more_kw, np.array([350.0, 50.0]), limit_kw)
            assert (filled_kw.tolist(), found_kw) == ([300.0, 100.0], left_kw)

    @given(
        st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 1000)), min_size=1, max_size=8),
    )
    def test_sums_to_what_is_asked_or_to_all_there_is(self, rows: list[tuple[float, float]]) -> None:
        part_kw, limit_kw = (np.array(column) for column in zip(*rows, strict=True))
        filled_kw, left_kw = fill_water(float(part_kw.sum()), part_kw, limit_kw)
        assert (filled_kw <= limit_kw + 1e-9).all()
        assert (filled_kw >= np.minimum(part_kw, limit_kw) - 1e-9).all()
        assert filled_kw.sum() + left_kw == pytest.approx(part_kw.sum(), abs=1e-5)

    @given(
        st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(-100, 100)), min_size=1, max_size=8),
    )
    def test_a_tilt_keeps_the_sum_and_turns_no_part_around(self, rows: list[tuple[float, float, float]]) -> None:
        part_kw, headroom_kw, wanted_kw = (np.array(column) for column in zip(*rows, strict=True))
        tilted_kw = tilt(part_kw, headroom_kw, wanted_kw)
        assert tilted_kw.sum() == pytest.approx(part_kw.sum(), abs=1e-6)
        assert (tilted_kw >= -1e-9).all()
        assert (tilted_kw <= part_kw + headroom_kw + 1e-9).all()

    def test_gaps_of_a_zone_sum_to_zero_within_bounds(self) -> None:
        gaps = find_gaps_kwh(
            np.array([600.0, 500.0, 50.0]),
            np.array([500.0, 500.0, 50.0]),
            np.array([1000.0, 1000.0, 0.0]),
            np.zeros(3),
            np.full(3, 2000.0),
        )
        assert gaps.tolist() == pytest.approx([50.0, -50.0, 0.0])


def test_a_zone_without_stress_is_served_by_shares() -> None:
    zone = made_zone(11, 8, 4, 96, alike=True, stress=0.1)
    made = compute_dispatch(zone)
    assert not made.batteries.unserved_kw.any()


class TestChargingInView:
    """Two batteries: the first has 100 kWh too much, and the second too little."""

    @pytest.mark.parametrize(
        ("periods", "fair_kw", "uncovered"),
        [
            pytest.param(0, (-4000.0, 0.0), 1.0, id="none"),
            pytest.param(1, (-4000.0, 0.0), 0.9, id="one period closes a quarter of the gap, however much it charges"),
            pytest.param(1, (-40.0, 0.0), 0.96, id="or as much as the battery would charge"),
            pytest.param(10, (-4000.0, 0.0), 0.0, id="ten close it"),
            pytest.param(10, (0.0, -4000.0), 1.0, id="what the other charges levels nothing"),
            pytest.param(10, (4000.0, 0.0), 1.0, id="nor does discharging"),
        ],
    )
    def test_covers_a_quarter_of_the_gap_in_each_of_its_periods(
        self, periods: int, fair_kw: tuple[float, float], uncovered: float
    ) -> None:
        fair = np.array([[0.0, *[fair_kw[row]] * periods] for row in range(2)])
        view = ChargingInView(fair.sum(axis=0), fair)
        assert view.uncovered_fraction(0, np.array([100.0, -100.0]), 100.0) == pytest.approx(uncovered)
