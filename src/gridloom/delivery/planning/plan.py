"""From a zone's situation to its plan: netting, spreading, what cannot be served, netting again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gridloom.delivery.model import NOISE_KW, Batteries, Floats, Method, Plan, Situation, Spread, sum_rows
from gridloom.delivery.planning.netting import Netting, cut_unserved, net
from gridloom.delivery.planning.programme import SolverGaveUp, solve
from gridloom.delivery.planning.returning import returned_kw
from gridloom.delivery.planning.spreading import changes_kwh, cost_of, opposite_periods, outside_kwh, settle
from gridloom.delivery.planning.zone import cut_limits

SOLVER_LIMIT_S: Final = 20.0
"""A run has minutes until its gate; a zone that takes longer than this gets shares instead."""
_SAME: Final = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    spread: Spread
    method: Method
    is_forced: bool
    solver_s: float


def plan(situation: Situation, *, limit_s: float = SOLVER_LIMIT_S) -> Plan:
    """The same situation gives the same plan. Cuts of the schedules themselves have happened before."""
    netting = net(situation.power_kw)
    chosen = _spread_net(situation, netting, limit_s)
    spread = _with_returns(chosen.spread, situation, netting.net_kw)
    delivered_kw = cut_unserved(situation.power_kw, netting, spread.unserved_kw)
    forced = opposite_periods(spread.virtual_kw) if chosen.is_forced else np.zeros(len(netting.net_kw), dtype=bool)
    return Plan(
        situation.power_kw,
        delivered_kw,
        net(delivered_kw).netted_kw,
        spread,
        chosen.method,
        forced,
        chosen.solver_s,
    )


def patch(situation: Situation, standing: Standing, changed: npt.NDArray[np.bool_]) -> Spread | None:
    """A few changed periods laid over what stands: there the batteries behind a changed schedule follow it, as far as
    they can, and those with room do the rest. All other periods stay.

    None if that leaves something unserved, or more energy out of bounds, or one battery charging beside another.

    For zones so large that planning all that follows anew would take longer than a change is worth.
    """
    stop = int(np.flatnonzero(changed)[-1]) + 1
    head = cut_limits(situation.batteries, 0, situation.batteries.energy_kwh, stop)
    net_kw = net(situation.power_kw[:, :stop]).net_kw
    target_kw = _follow_changes(situation, standing, net_kw, changed[:stop])
    laid = settle(net_kw, target_kw, head, standing.spread.own_kw[:, :stop])
    opposed = opposite_periods(laid.virtual_kw) & ~opposite_periods(standing.spread.virtual_kw[:, :stop])
    if laid.unserved_kw.any() or opposed.any():
        return None
    spread = _go_on(standing.spread, laid, situation.batteries)
    before_kwh, after_kwh = (outside_kwh(one.energy_kwh, situation.batteries) for one in (standing.spread, spread))
    return None if (after_kwh > before_kwh + NOISE_KW).any() else spread


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What was scheduled and how it was spread, over the same periods as a situation of the same assets."""

    power_kw: Floats
    spread: Spread


def _follow_changes(situation: Situation, standing: Standing, net_kw: Floats, changed: npt.NDArray[np.bool_]) -> Floats:
    """What stands and, in the changed periods, what falls to each battery of the changes; never the other way than the
    net, unless it was so before."""
    stop = len(net_kw)
    before_kw = standing.spread.virtual_kw[:, :stop]
    by_kw = situation.power_kw[:, :stop] - standing.power_kw[:, :stop]
    moved = np.abs(by_kw).max(axis=1) > NOISE_KW
    pairs = moved[situation.share_of[:, 0]]
    places, shares = situation.share_of[pairs], situation.shares[pairs]
    wanted_kw = before_kw + sum_rows(shares[:, None] * by_kw[places[:, 0]], places[:, 1], len(before_kw))
    sign = np.where(net_kw >= 0, 1.0, -1.0)
    turned = np.sign(before_kw.sum(axis=0)) != np.sign(net_kw)
    least_kw = np.where(turned, 0.0, np.minimum(sign * before_kw, 0.0))
    return np.where(changed, sign * np.maximum(sign * wanted_kw, least_kw), before_kw)


def _go_on(standing: Spread, laid: Spread, batteries: Batteries) -> Spread:
    """What was laid, then what stands: a battery that holds something else by then goes on from there."""
    stop = laid.virtual_kw.shape[1]
    virtual_kw = np.concatenate([laid.virtual_kw, standing.virtual_kw[:, stop:]], axis=1)
    own_kw = np.concatenate([laid.own_kw, standing.own_kw[:, stop:]], axis=1)
    energy_kwh = np.concatenate([laid.energy_kwh, standing.energy_kwh[:, stop + 1 :]], axis=1)
    off = np.flatnonzero(energy_kwh[:, stop] != standing.energy_kwh[:, stop])
    steps_kwh = changes_kwh(
        virtual_kw[off, stop:] + own_kw[off, stop:],
        batteries.charge_efficiency[off, stop:],
        batteries.discharge_efficiency[off, stop:],
    )
    energy_kwh[off, stop:] = np.cumsum(np.concatenate([energy_kwh[off, stop : stop + 1], steps_kwh], axis=1), axis=1)
    return Spread(virtual_kw, own_kw, energy_kwh, np.concatenate([laid.unserved_kw, standing.unserved_kw[stop:]]))


def _with_returns(spread: Spread, situation: Situation, net_kw: Floats) -> Spread:
    """The spread with drift on its way back, unless that would take from virtual assets or from a bound."""
    returns_kw = returned_kw(spread, situation, net_kw)
    if not returns_kw.any():
        return spread
    own_kw = situation.batteries.own_kw + returns_kw
    found = settle(net_kw, spread.virtual_kw, situation.batteries, own_kw)
    before = cost_of(spread, situation.batteries, situation.due_kwh)
    after = cost_of(found, situation.batteries, situation.due_kwh)
    if after.unserved_kwh > before.unserved_kwh or after.outside_kwh > before.outside_kwh + NOISE_KW:
        return spread
    return found


def residual_kw(delivered_kw: Floats, netted_kw: Floats) -> Floats:
    """What is left of virtual assets' powers for the batteries."""
    return np.asarray(delivered_kw - netted_kw)


def _spread_net(situation: Situation, netting: Netting, limit_s: float) -> _Chosen:
    """By shares where nothing better exists; else by the programme, if it is better and in time."""
    batteries, net_kw = situation.batteries, netting.net_kw
    shares_kw = situation.by_share(residual_kw(situation.power_kw, netting.netted_kw))
    best = settle(net_kw, shares_kw, batteries)
    cost = cost_of(best, batteries, situation.due_kwh)
    misses = cost.unserved_kwh > 0 or cost.outside_kwh > NOISE_KW
    if len(batteries.energy_kwh) <= 1 or (not misses and (_are_alike(batteries) or not net_kw.any())):
        return _Chosen(best, Method.CLOSED_FORM, False, 0.0)
    method, is_forced, solver_s = Method.CLOSED_FORM, False, 0.0
    try:
        for both_directions in (False, True):
            target_kw, took_s = solve(
                net_kw, batteries, situation.due_kwh, both_directions=both_directions, limit_s=limit_s
            )
            solver_s += took_s
            found = settle(net_kw, target_kw, batteries)
            found_cost = cost_of(found, batteries, situation.due_kwh)
            if found_cost.is_below(cost):
                best, cost, method, is_forced = found, found_cost, Method.LINEAR_PROGRAMME, both_directions
            # Against the net only where going with it leaves power unserved or energy out of bounds.
            if cost.unserved_kwh == 0 and cost.outside_kwh <= NOISE_KW:
                break
    except SolverGaveUp:
        return _Chosen(best, Method.PROPORTIONAL if method is Method.CLOSED_FORM else method, is_forced, solver_s)
    return _Chosen(best, method, is_forced, solver_s)


def _are_alike(batteries: Batteries) -> bool:
    """Whether all lose alike: then it is the same wear whoever serves, and shares are as good as anything."""
    return all(
        float(np.ptp(efficiency, axis=0).max(initial=0.0)) <= _SAME
        for efficiency in (batteries.charge_efficiency, batteries.discharge_efficiency)
    )
