"""The plan that stands in a zone and the one that takes its place: planned anew only from where something changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from gridloom.delivery.loading import Zone
from gridloom.delivery.model import NOISE_KW, Floats, Method, PartKind, Plan, Spread
from gridloom.delivery.netting import cut_unserved, net
from gridloom.delivery.parts import named_parts_kw
from gridloom.delivery.plan_codec import StandingPlan
from gridloom.delivery.planning import patch, plan, residual_kw

K = TypeVar("K")

PLANNED_CELLS: Final = 2_000
"""Batteries times periods that are always planned as a whole: it takes a few hundredths of a second."""
PATCHED_PERIODS: Final = 16
"""In larger zones, a change of no more than this is laid over the plan that stands, if that fits."""
_CODE = {kind: code for code, kind in enumerate(PartKind)}
KIND_OF_CODE = dict(enumerate(PartKind))


@dataclass(frozen=True, slots=True, eq=False)
class Replanned:
    """The zone's new plan, how its changed periods were planned, and what came out for virtual assets."""

    plan: StandingPlan
    delivered_kw: Floats
    netted_kw: Floats
    method: Method
    forced_periods: int
    solver_s: float


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
        kept = slice(zone.first - before.first, zone.first - before.first + place)
        made = _plan_rest(zone, before, changed, place)
        if made is None or not made.spread.unserved_kw.any():
            return _join_plans(zone, before, kept, made, due_kwh)
    made = plan(zone.situation(0, energy_kwh, due_kwh))
    return _join_plans(zone, None, slice(0, 0), made, due_kwh)


def _plan_rest(zone: Zone, before: StandingPlan, changed: npt.NDArray[np.bool_], place: int) -> Plan | None:
    """What follows the first change; None where nothing does."""
    if place == len(changed):
        return None
    column = zone.first - before.first + place
    rest = zone.situation(place, before.energy_kwh[:, column].copy(), before.due_kwh[:, column].copy())
    few = int(changed[place:].sum()) <= PATCHED_PERIODS and before.end >= zone.end
    if few and rest.batteries.charge_kw.size > PLANNED_CELLS:
        standing = Spread(
            before.virtual_kw[:, column : column + len(changed) - place],
            before.own_kw[:, column : column + len(changed) - place],
            before.energy_kwh[:, column : column + len(changed) - place + 1],
            before.unserved_kw[column : column + len(changed) - place],
        )
        patched = patch(rest, standing, changed[place:])
        if patched is not None:
            return patched
    return plan(rest)


def _changed_periods(zone: Zone, before: StandingPlan) -> npt.NDArray[np.bool_] | None:
    """Which periods of the zone are not as they were planned, or were not planned; None for other batteries."""
    overlap = min(before.end, zone.end) - zone.first
    if overlap <= 0 or zone.first < before.first or [b.key for b in zone.batteries] != before.battery_keys.tolist():
        return None
    changed = np.zeros(overlap, dtype=bool)
    offset = zone.first - before.first
    keys = [asset.key for asset in zone.assets]
    old_kw, new_kw = before.power_kw[:, offset : offset + overlap], zone.power_kw[:, :overlap]
    if keys == before.asset_keys.tolist():
        changed |= np.abs(new_kw - old_kw).max(axis=0, initial=0.0) > NOISE_KW
    else:
        changed |= _find_differences(
            dict(zip(before.asset_keys.tolist(), old_kw, strict=True)), dict(zip(keys, new_kw, strict=True))
        )
    held: dict[tuple[int, ...], Floats] = {
        tuple(name): before.part_kw[row, offset : offset + overlap]
        for row, name in enumerate(before.part_of.tolist())
        if name[1] >= _CODE[PartKind.FCR]
    }
    holds: dict[tuple[int, ...], Floats] = {}
    for one in zone.stand_bys:
        name = (one.battery, _CODE[one.kind], one.asset_key)
        holds[name] = holds.get(name, np.zeros(overlap)) + one.power_kw[:overlap]
    if held or holds:
        changed |= _find_differences(held, holds)
    return np.concatenate([changed, np.ones(zone.end - zone.first - overlap, dtype=bool)])


def _find_differences(before: Mapping[K, Floats], after: Mapping[K, Floats]) -> npt.NDArray[np.bool_]:
    """Where any of the series is another than before; what only one side has counts as zeros on the other."""
    changed = np.zeros(len(next(iter((*before.values(), *after.values())))), dtype=bool)
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        changed |= np.abs((0.0 if new is None else new) - (0.0 if old is None else old)) > NOISE_KW
    return changed


def _join_plans(zone: Zone, before: StandingPlan | None, kept: slice, made: Plan | None, due_kwh: Floats) -> Replanned:
    """What is kept of the old plan, then what was made, as one plan with its parts."""

    def joined(old: str, new: Floats | None) -> Floats:
        pieces = [] if before is None else [getattr(before, old)[..., kept]]
        pieces += [] if new is None else [new]
        return np.concatenate(pieces, axis=-1)

    spread = None if made is None else made.spread
    virtual_kw = joined("virtual_kw", None if spread is None else spread.virtual_kw)
    own_kw = joined("own_kw", None if spread is None else spread.own_kw)
    unserved_kw = joined("unserved_kw", None if spread is None else spread.unserved_kw)
    if spread is None:
        assert before is not None
        energy_kwh = before.energy_kwh[:, kept.start : kept.stop + 1]
    else:
        energy_kwh = joined("energy_kwh", spread.energy_kwh)
    due_path_kwh = np.cumsum(np.concatenate([due_kwh[:, None], zone.due_changes_kwh], axis=1), axis=1)
    netting = net(zone.power_kw)
    delivered_kw = cut_unserved(zone.power_kw, netting, unserved_kw)
    after = net(delivered_kw)
    names, part_kw = _list_parts(zone, virtual_kw, own_kw, residual_kw(delivered_kw, after.netted_kw))
    standing = StandingPlan(
        zone.first,
        np.array([asset.key for asset in zone.assets], dtype=np.int64),
        zone.power_kw,
        np.array([battery.key for battery in zone.batteries], dtype=np.int64),
        virtual_kw,
        own_kw,
        energy_kwh,
        due_path_kwh,
        names,
        part_kw,
        np.stack([_find_part(after.matched_kw, after.exports_kw), _find_part(after.matched_kw, after.imports_kw)]),
        unserved_kw,
    )
    return Replanned(
        standing,
        delivered_kw,
        after.netted_kw,
        Method.CLOSED_FORM if made is None else made.method,
        0 if made is None else int(made.forced.sum()),
        0.0 if made is None else made.solver_s,
    )


def _find_part(matched_kw: Floats, side_kw: Floats) -> Floats:
    part = np.zeros_like(matched_kw)
    np.divide(matched_kw, side_kw, out=part, where=side_kw > 0)
    return part


def _list_parts(zone: Zone, virtual_kw: Floats, own_kw: Floats, residual: Floats) -> tuple[np.ndarray, Floats]:
    """All batteries' parts that are not zero, named by battery, kind and virtual asset."""
    named_kw, others_kw = named_parts_kw(virtual_kw, zone.share_of, zone.shares, residual)
    batteries = np.arange(len(zone.batteries))
    asset_keys = np.array([asset.key for asset in zone.assets], dtype=np.int64)
    held: dict[tuple[int, int, int], Floats] = {}
    for one in zone.stand_bys:
        name = (one.battery, _CODE[one.kind], one.asset_key)
        held[name] = held.get(name, np.zeros(zone.end - zone.first)) + one.power_kw
    names = np.concatenate(
        [
            _name_parts(zone.share_of[:, 1], PartKind.VIRTUAL, asset_keys[zone.share_of[:, 0]]),
            _name_parts(batteries, PartKind.VIRTUAL, np.zeros_like(batteries)),
            _name_parts(batteries, PartKind.OWN, np.zeros_like(batteries)),
            np.array(list(held), dtype=np.int64).reshape(-1, 3),
        ]
    )
    rows_kw = np.concatenate(
        [named_kw, others_kw, own_kw, np.array(list(held.values())).reshape(-1, zone.end - zone.first)]
    )
    counts = np.flatnonzero(np.abs(rows_kw).max(axis=1, initial=0.0) > NOISE_KW)
    counts = counts[np.lexsort(names[counts].T[::-1])]
    return names[counts], rows_kw[counts]


def _name_parts(batteries: np.ndarray, kind: PartKind, asset_keys: np.ndarray) -> np.ndarray:
    return np.stack([batteries, np.full(len(batteries), _CODE[kind]), asset_keys], axis=1).astype(np.int64)


def battery_series(plan: StandingPlan, first: int, end: int) -> list[dict[str, Floats]]:
    """By battery, its energy and its parts over these periods, as series that can be compared and kept."""
    low, high = first - plan.first, end - plan.first
    series: list[dict[str, Floats]] = [
        {"energy": plan.energy_kwh[row, low : high + 1]} for row in range(len(plan.battery_keys))
    ]
    for (battery, kind, asset_key), power_kw in zip(plan.part_of.tolist(), plan.part_kw, strict=True):
        series[battery][f"{KIND_OF_CODE[kind]}:{asset_key}"] = power_kw[low:high]
    return series
