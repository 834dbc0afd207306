"""The plan that stands in a zone and the one that takes its place: planned anew only from where something changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from gridloom.delivery.model import NOISE_KW, Floats, Ints, Method, Plan, Spread
from gridloom.delivery.planning.netting import cut_unserved, net
from gridloom.delivery.planning.plan import Standing, patch, plan
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.delivery.planning.zone import Zone

K = TypeVar("K")

PLANNED_CELLS: Final = 2_000
"""Batteries times periods that are always planned as a whole: it takes a few hundredths of a second."""
PATCHED_PERIODS: Final = 16
"""In larger zones, a change of no more than this is laid over the plan that stands, if that fits."""


@dataclass(frozen=True, slots=True, eq=False)
class Replanned:
    """The zone's new plan, and how its changed periods were planned. `touched`: the places outside which virtual
    assets and batteries do what they did before."""

    plan: StandingPlan
    touched: slice
    method: Method
    forced_periods: int
    solver_s: float


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """How the periods from a change on are spread: up to but not `stop` something is another than before."""

    spread: Spread
    stop: int
    method: Method = Method.CLOSED_FORM
    forced_periods: int = 0
    solver_s: float = 0.0

    @classmethod
    def of_plan(cls, made: Plan) -> _Rest:
        return cls(made.spread, len(made.forced), made.method, int(made.forced.sum()), made.solver_s)


def replan(
    zone: Zone, before: StandingPlan | None, energy_kwh: Floats, due_kwh: Floats, *, keeps_batteries: bool
) -> Replanned:
    """Lay a new plan over the old one.

    `energy_kwh` and `due_kwh`: what each battery of the zone holds at the start, and would hold by shares alone.
    `keeps_batteries`: nothing that the batteries can do has changed, so periods before the first change stay as they
    are. Where the rest then leaves something unserved, all of it is planned anew: an earlier period may have to help.
    """
    changed = _changed_periods(zone, before) if before is not None and keeps_batteries else None
    if before is not None and changed is not None and not changed[0]:
        place = int(np.argmax(changed)) if changed.any() else len(changed)
        rest = _plan_rest(zone, before, changed, place)
        if rest is None or not rest.spread.unserved_kw.any():
            return _join_plans(zone, before, place, rest, due_kwh)
    whole = _Rest.of_plan(plan(zone.situation(0, energy_kwh, due_kwh)))
    return _join_plans(zone, None, 0, whole, due_kwh)


def _plan_rest(zone: Zone, before: StandingPlan, changed: npt.NDArray[np.bool_], place: int) -> _Rest | None:
    """What follows the first change; None where nothing does."""
    if place == len(changed):
        return None
    column = zone.first - before.first + place
    rest = zone.situation(place, before.energy_kwh[:, column].copy(), before.due_kwh[:, column].copy())
    is_small = int(changed[place:].sum()) <= PATCHED_PERIODS and before.end == zone.end
    is_alike = np.array_equal(zone.asset_keys, before.asset_keys)
    if is_small and is_alike and rest.batteries.charge_kw.size > PLANNED_CELLS:
        spread = Spread(
            before.virtual_kw[:, column:],
            before.own_kw[:, column:],
            before.energy_kwh[:, column:],
            before.unserved_kw[column:],
        )
        patched = patch(rest, Standing(before.power_kw[:, column:], spread), changed[place:])
        if patched is not None:
            return _Rest(patched, int(np.flatnonzero(changed)[-1]) + 1 - place)
    return _Rest.of_plan(plan(rest))


def _changed_periods(zone: Zone, before: StandingPlan) -> npt.NDArray[np.bool_] | None:
    """Which periods of the zone are not as they were planned, or were not planned; None for other batteries."""
    overlap = min(before.end, zone.end) - zone.first
    if overlap <= 0 or zone.first < before.first or not np.array_equal(zone.battery_keys, before.battery_keys):
        return None
    changed = np.zeros(overlap, dtype=bool)
    offset = zone.first - before.first
    old_kw, new_kw = before.power_kw[:, offset : offset + overlap], zone.power_kw[:, :overlap]
    if np.array_equal(zone.asset_keys, before.asset_keys):
        others = np.flatnonzero((new_kw != old_kw).any(axis=0))
        changed[others] = np.abs(new_kw[:, others] - old_kw[:, others]).max(axis=0, initial=0.0) > NOISE_KW
    else:
        changed |= _find_differences(_by_name(before.asset_keys, old_kw), _by_name(zone.asset_keys, new_kw))
    held = _by_name(before.stand_by_of, before.stand_by_kw[:, offset : offset + overlap])
    holds = _by_name(zone.stand_by_of, zone.stand_by_kw[:, :overlap])
    if held or holds:
        changed |= _find_differences(held, holds)
    # A battery serves no longer where the virtual asset that it backed is no more.
    moved_kw = np.abs(before.virtual_kw[:, offset : offset + overlap])
    changed |= (moved_kw * (1.0 - zone.limits.serves[:, :overlap])).max(axis=0, initial=0.0) > NOISE_KW
    return np.concatenate([changed, np.ones(zone.end - zone.first - overlap, dtype=bool)])


def _by_name(names: Ints, rows: Floats) -> dict[object, Floats]:
    return {
        tuple(name) if isinstance(name, list) else name: row for name, row in zip(names.tolist(), rows, strict=True)
    }


def _find_differences(before: Mapping[K, Floats], after: Mapping[K, Floats]) -> npt.NDArray[np.bool_]:
    """Where any of the series is another than before; what only one side has counts as zeros on the other."""
    changed = np.zeros(len(next(iter((*before.values(), *after.values())))), dtype=bool)
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        changed |= np.abs((0.0 if new is None else new) - (0.0 if old is None else old)) > NOISE_KW
    return changed


def _join_plans(zone: Zone, before: StandingPlan | None, place: int, rest: _Rest | None, due_kwh: Floats) -> Replanned:
    """What is kept of the old plan, then what was made, as one plan; what follows `stop` was made of what stood."""
    stop = place if rest is None else place + rest.stop
    offset = 0 if before is None else zone.first - before.first

    def join(old: str, new: str) -> Floats:
        pieces = [] if before is None else [getattr(before, old)[..., offset : offset + place]]
        pieces += [] if rest is None else [getattr(rest.spread, new)]
        return np.concatenate(pieces, axis=-1)

    if rest is None:
        assert before is not None
        energy_kwh = before.energy_kwh[:, offset : offset + place + 1]
    else:
        energy_kwh = join("energy_kwh", "energy_kwh")
    unserved_kw = join("unserved_kw", "unserved_kw")
    quarters_kw, netted_part = np.empty((4, len(unserved_kw))), np.empty((2, len(unserved_kw)))
    if before is not None:
        quarters_kw[:, :place], netted_part[:, :place] = (
            before.quarters_kw[:, offset : offset + place],
            before.netted_part[:, offset : offset + place],
        )
        quarters_kw[:, stop:], netted_part[:, stop:] = (
            before.quarters_kw[:, offset + stop : offset + len(unserved_kw)],
            before.netted_part[:, offset + stop : offset + len(unserved_kw)],
        )
    _net_periods(zone.power_kw, unserved_kw, slice(place, stop), quarters_kw, netted_part)
    standing = StandingPlan(
        zone.first,
        zone.asset_keys,
        zone.power_kw,
        zone.battery_keys,
        join("virtual_kw", "virtual_kw"),
        join("own_kw", "own_kw"),
        energy_kwh,
        due_kwh,
        zone.due_changes_kwh,
        zone.share_of,
        zone.shares,
        zone.stand_by_of,
        zone.stand_by_kw,
        netted_part,
        quarters_kw,
        np.zeros(len(zone.battery_keys), dtype=np.int64),
    )
    if rest is None:
        return Replanned(standing, slice(place, stop), Method.CLOSED_FORM, 0, 0.0)
    return Replanned(standing, slice(place, stop), rest.method, rest.forced_periods, rest.solver_s)


def _net_periods(
    power_kw: Floats, unserved_kw: Floats, columns: slice, quarters_kw: Floats, netted_part: Floats
) -> None:
    """Write what is netted in some periods, before and after what nobody can serve is taken away."""
    if columns.start >= columns.stop:
        return
    netting = net(power_kw[:, columns])
    delivered_kw = cut_unserved(power_kw[:, columns], netting, unserved_kw[columns])
    after = net(delivered_kw) if unserved_kw[columns].any() else netting
    quarters_kw[:, columns] = netting.exports_kw, netting.imports_kw, after.matched_kw, unserved_kw[columns]
    netted_part[0, columns] = _find_part(after.matched_kw, after.exports_kw)
    netted_part[1, columns] = _find_part(after.matched_kw, after.imports_kw)


def _find_part(matched_kw: Floats, side_kw: Floats) -> Floats:
    part = np.zeros_like(matched_kw)
    np.divide(matched_kw, side_kw, out=part, where=side_kw > 0)
    return part
