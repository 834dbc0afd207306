"""The delivery plan of a zone obeys physics and its own promises, whatever the zone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.delivery.zones import made_zone, zones

from gridloom.delivery.model import Batteries, Method, Plan, Situation
from gridloom.delivery.planning import plan as planning
from gridloom.delivery.planning.netting import net, net_off_parts
from gridloom.delivery.planning.plan import plan
from gridloom.delivery.planning.programme import SolverGaveUp, solve
from gridloom.delivery.planning.spreading import cost_of, opposite_periods, settle

ONE_WATT_HOUR_KWH = 0.001
TOLERANCE_KW = 1e-5


def stored_losses_kwh(batteries: Batteries, power_kw: np.ndarray) -> float:
    """What is lost in charging and discharging, from the definition of efficiency."""
    charge_kwh, discharge_kwh = np.maximum(-power_kw, 0) / 4, np.maximum(power_kw, 0) / 4
    return float(
        (charge_kwh * (1 - batteries.charge_efficiency)).sum()
        + (discharge_kwh * (1 / batteries.discharge_efficiency - 1)).sum()
    )


class TestAnyZone:
    """Each zone is planned once, and held to all that must be true of it."""

    @given(zones())
    @settings(max_examples=25)
    def test_takes_in_what_it_gives_out_plus_losses_exceeds_no_limit_and_nets_to_zero(self, zone: Situation) -> None:
        made = plan(zone)
        _check_balance(zone, made)
        _check_limits(zone.batteries, made)
        _check_netting(made)

    @given(zones(most_virtual=30, most_batteries=12))
    @settings(max_examples=25)
    def test_is_forced_to_what_it_does_cuts_pro_rata_and_is_planned_the_same_byte_for_byte(
        self, zone: Situation
    ) -> None:
        made, again = plan(zone), plan(zone)
        assert made.spread.power_kw.tobytes() == again.spread.power_kw.tobytes()
        assert made.netted_kw.tobytes() == again.netted_kw.tobytes()
        _check_cuts(made)
        _check_directions(zone, made)


def _check_balance(zone: Situation, made: Plan) -> None:
    exported_kwh = made.spread.power_kw.sum() / 4
    drained_kwh = zone.batteries.energy_kwh.sum() - made.spread.energy_kwh[:, -1].sum()
    lost_kwh = stored_losses_kwh(zone.batteries, made.spread.power_kw)
    assert drained_kwh - lost_kwh == pytest.approx(exported_kwh, abs=ONE_WATT_HOUR_KWH)
    served_kw = made.spread.virtual_kw.sum(axis=0)
    assert np.abs(served_kw - made.delivered_kw.sum(axis=0)).max() / 4 < ONE_WATT_HOUR_KWH


def _check_limits(batteries: Batteries, made: Plan) -> None:
    power_kw, energy_kwh = made.spread.power_kw, made.spread.energy_kwh
    assert (power_kw <= batteries.discharge_kw + TOLERANCE_KW).all()
    assert (power_kw >= -batteries.charge_kw - TOLERANCE_KW).all()
    assert not made.spread.virtual_kw[batteries.serves == 0].any()
    before, after = energy_kwh[:, :-1], energy_kwh[:, 1:]
    # A bound may move past the energy, when capacity is lost or a reserve begins; no power moves it further out.
    assert (after >= np.minimum(batteries.low_kwh, before) - ONE_WATT_HOUR_KWH).all()
    assert (after <= np.maximum(batteries.high_kwh, before) + ONE_WATT_HOUR_KWH).all()


def _check_netting(made: Plan) -> None:
    assert (net_off_parts(made.netted_kw).sum(axis=0) == 0).all()
    assert np.abs(made.netted_kw.sum(axis=0)).max() < TOLERANCE_KW
    assert (np.abs(made.netted_kw) <= np.abs(made.delivered_kw) + TOLERANCE_KW).all()
    assert (made.netted_kw * made.delivered_kw >= 0).all()


def _check_cuts(made: Plan) -> None:
    """What cannot be served is cut pro rata of its side."""
    cut_kw = made.scheduled_kw - made.delivered_kw
    assert np.abs(cut_kw.sum(axis=0) - made.spread.unserved_kw).max() < TOLERANCE_KW
    for place in np.flatnonzero(made.spread.unserved_kw):
        concerned = np.sign(made.scheduled_kw[:, place]) == np.sign(made.spread.unserved_kw[place])
        parts = cut_kw[concerned, place] / made.scheduled_kw[concerned, place]
        assert np.ptp(parts) < 1e-9
        assert (cut_kw[~concerned, place] == 0).all()


def _check_directions(zone: Situation, made: Plan) -> None:
    """None charges beside one that discharges, unless a limit forces it."""
    assert (opposite_periods(made.spread.virtual_kw) == made.forced).all()
    if not made.forced.any():
        return
    # It is forced: going with the net alone, power stays unserved or energy out of bounds.
    netting = net(zone.power_kw)
    one_way_kw, _ = solve(netting.net_kw, zone.batteries, zone.due_kwh, both_directions=False, limit_s=30)
    one_way = cost_of(settle(netting.net_kw, one_way_kw, zone.batteries), zone.batteries, zone.due_kwh)
    both_ways = cost_of(made.spread, zone.batteries, zone.due_kwh)
    assert one_way.unserved_kwh > 0 or one_way.outside_kwh > 0
    assert both_ways.unserved_kwh <= one_way.unserved_kwh + ONE_WATT_HOUR_KWH


def two_batteries(
    efficiency: tuple[float, float] = (0.9, 0.9), power_kw: float = 1000.0, periods: int = 4
) -> Batteries:
    full = np.full((2, periods), power_kw)
    rates = np.repeat(np.array(efficiency)[:, None], periods, axis=1)
    nothing, always = full * 0, np.ones_like(full)
    return Batteries(
        *(full, full, nothing, full * 2, rates, rates, nothing, nothing, nothing, always), np.full(2, power_kw)
    )


def zone_of(power_kw: list[list[float]], batteries: Batteries, due_kwh: list[float]) -> Situation:
    """One virtual asset on each battery."""
    pairs = np.array([(place, place) for place in range(len(power_kw))])
    return Situation(np.array(power_kw), batteries, pairs, np.ones(len(pairs)), np.array(due_kwh))


class TestASmallZone:
    def test_has_each_battery_do_what_its_own_virtual_asset_does(self) -> None:
        made = plan(zone_of([[400.0, 0, -200, 0], [100.0, 0, -100, 0]], two_batteries(), [950.0, 1000.0]))
        assert made.method is Method.CLOSED_FORM
        assert made.spread.virtual_kw.tolist() == [[400, 0, -200, 0], [100, 0, -100, 0]]

    def test_moves_no_battery_for_what_is_netted(self) -> None:
        made = plan(zone_of([[600.0, 0, 0, 0], [-400.0, 0, 0, 0]], two_batteries(), [850.0, 1000.0]))
        assert made.netted_kw[:, 0].tolist() == [400.0, -400.0]
        assert made.spread.virtual_kw[:, 0].tolist() == [200.0, 0.0]

    def test_lets_another_battery_step_in_for_one_that_has_tripped(self) -> None:
        batteries = two_batteries()
        limits_kw = batteries.discharge_kw.copy()
        limits_kw[0, 0] = 100.0
        tripped = replace(batteries, discharge_kw=limits_kw)
        made = plan(zone_of([[400.0, 0, 0, 0], [0.0, 0, 0, 0]], tripped, [1000.0, 1000.0]))
        assert made.spread.virtual_kw[:, 0].tolist() == pytest.approx([100.0, 300.0])
        assert not made.spread.unserved_kw.any()

    @pytest.mark.parametrize("efficiency", [(0.9, 0.9), (0.9, 0.95)])
    def test_moves_no_battery_while_nobody_lives_that_it_backs(self, efficiency: tuple[float, float]) -> None:
        batteries = two_batteries(efficiency)
        serves = batteries.serves.copy()
        serves[1, 2:] = 0.0
        ending = replace(batteries, serves=serves)
        made = plan(zone_of([[400.0, -400.0, 400.0, 1200.0], [0.0] * 4], ending, [800.0, 1000.0]))
        assert not made.spread.virtual_kw[1, 2:].any()
        assert made.spread.virtual_kw[0, 2:].tolist() == [400.0, 1000.0]
        assert made.spread.unserved_kw.tolist() == [0.0, 0.0, 0.0, 200.0]

    def test_cuts_what_no_battery_can_serve(self) -> None:
        made = plan(zone_of([[1500.0, 0, 0, 0], [1500.0, 0, 0, 0]], two_batteries(), [700.0, 700.0]))
        assert made.spread.unserved_kw.tolist() == [1000.0, 0, 0, 0]
        assert made.delivered_kw[:, 0].tolist() == pytest.approx([1000.0, 1000.0])

    def test_prefers_the_battery_that_loses_less_where_the_energy_ends_alike(self) -> None:
        # Out and in again: by shares both move; the programme lets the better one do all of it.
        zone = zone_of(
            [[200.0, -200 / 0.81, 0, 0], [200.0, -200 / 0.9025, 0, 0]], two_batteries((0.9, 0.95)), [1000.0] * 2
        )
        made = plan(zone)
        assert made.method is Method.LINEAR_PROGRAMME
        assert abs(made.spread.virtual_kw[1, 0]) > abs(made.spread.virtual_kw[0, 0])

    def test_falls_back_to_shares_within_limits_when_the_solver_gives_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def give_up(*_: object, **__: object) -> tuple[np.ndarray, float]:
            raise SolverGaveUp("too slow")

        monkeypatch.setattr(planning, "solve", give_up)
        made = plan(made_zone(7, 20, 6, 96))
        assert made.method is Method.PROPORTIONAL
        assert np.abs(made.spread.virtual_kw.sum(axis=0) - made.delivered_kw.sum(axis=0)).max() < TOLERANCE_KW

    def test_charges_a_battery_against_the_net_where_its_reserve_needs_the_energy(self) -> None:
        batteries = two_batteries()
        low_kwh = batteries.low_kwh.copy()
        low_kwh[0, 3] = 1100.0  # an FCR block begins, and 100 kWh are missing
        reserve = replace(batteries, low_kwh=low_kwh)
        made: Plan = plan(zone_of([[0.0] * 4, [100.0] * 4], reserve, [1000.0, 900.0]))
        assert made.forced.any()
        assert made.spread.energy_kwh[0, 4] == pytest.approx(1100.0)
        assert made.spread.virtual_kw.sum(axis=0).tolist() == pytest.approx([100.0] * 4)

    def test_returns_drift_to_the_grid_within_free_power(self) -> None:
        batteries = two_batteries()
        free_kw = np.full((2, 4), 50.0)
        free = replace(batteries, free_charge_kw=free_kw, free_discharge_kw=free_kw)
        made = plan(zone_of([[0.0] * 4, [0.0] * 4], free, [960.0, 1000.0]))
        assert made.spread.own_kw[0].tolist() == pytest.approx([36.0] * 4)  # 40 kWh · 0.9 over an hour
        assert made.spread.energy_kwh[0, -1] == pytest.approx(960.0)
        assert not made.spread.own_kw[1].any()
