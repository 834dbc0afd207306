"""The plan that stands in a zone and the one that takes its place: planned anew only from where something changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.delivery.loading import Zone
from gridloom.delivery.model import NOISE_KW, Floats, Method, PartKind, Plan
from gridloom.delivery.netting import cut_unserved, net
from gridloom.delivery.parts import named_parts_kw
from gridloom.delivery.plan_codec import StandingPlan
from gridloom.delivery.planning import plan, residual_kw

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
    place = _first_change(zone, before) if before is not None and keeps_batteries else 0
    if place:
        assert before is not None
        offset = zone.first - before.first
        kept = slice(offset, offset + place)
        made = (
            plan(
                zone.situation(
                    place, before.energy_kwh[:, offset + place].copy(), before.due_kwh[:, offset + place].copy()
                )
            )
            if place < zone.end - zone.first
            else None
        )
        if made is None or not made.spread.unserved_kw.any():
            return _joined(zone, before, kept, made, due_kwh)
    made = plan(zone.situation(0, energy_kwh, due_kwh))
    return _joined(zone, None, slice(0, 0), made, due_kwh)


def _first_change(zone: Zone, before: StandingPlan) -> int:
    """How many periods from the zone's first on are as they were."""
    overlap = min(before.end, zone.end) - zone.first
    if overlap <= 0 or zone.first < before.first or [b.key for b in zone.batteries] != before.battery_keys.tolist():
        return 0
    changed = np.zeros(overlap, dtype=bool)
    offset = zone.first - before.first
    old_kw: dict[tuple[int, ...], Floats] = {
        (key,): before.power_kw[row, offset : offset + overlap] for row, key in enumerate(before.asset_keys.tolist())
    }
    new_kw: dict[tuple[int, ...], Floats] = {
        (asset.key,): zone.power_kw[place, :overlap] for place, asset in enumerate(zone.assets)
    }
    held: dict[tuple[int, ...], Floats] = {
        tuple(name): before.part_kw[row, offset : offset + overlap]
        for row, name in enumerate(before.part_of.tolist())
        if name[1] >= _CODE[PartKind.FCR]
    }
    holds: dict[tuple[int, ...], Floats] = {}
    for one in zone.stand_bys:
        name = (one.battery, _CODE[one.kind], one.asset_key)
        holds[name] = holds.get(name, np.zeros(overlap)) + one.power_kw[:overlap]
    for olds, news in ((old_kw, new_kw), (held, holds)):
        for key in olds.keys() | news.keys():
            old, new = olds.get(key), news.get(key)
            changed |= np.abs((0.0 if new is None else new) - (0.0 if old is None else old)) > NOISE_KW
    places = np.flatnonzero(changed)
    return int(places[0]) if len(places) else overlap


def _joined(zone: Zone, before: StandingPlan | None, kept: slice, made: Plan | None, due_kwh: Floats) -> Replanned:
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
    names, part_kw = _parts(zone, virtual_kw, own_kw, residual_kw(delivered_kw, after.netted_kw))
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
        np.stack([_part(after.matched_kw, after.exports_kw), _part(after.matched_kw, after.imports_kw)]),
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


def _part(matched_kw: Floats, side_kw: Floats) -> Floats:
    part = np.zeros_like(matched_kw)
    np.divide(matched_kw, side_kw, out=part, where=side_kw > 0)
    return part


def _parts(zone: Zone, virtual_kw: Floats, own_kw: Floats, residual: Floats) -> tuple[np.ndarray, Floats]:
    """All batteries' parts that are not zero, named by battery, kind and virtual asset."""
    names: list[tuple[int, int, int]] = []
    rows: list[Floats] = []

    def add(battery: int, kind: PartKind, asset_key: int, power_kw: Floats) -> None:
        if np.abs(power_kw).max(initial=0.0) > NOISE_KW:
            names.append((battery, _CODE[kind], asset_key))
            rows.append(power_kw)

    for battery in range(len(zone.batteries)):
        behind = np.flatnonzero(zone.share_of[:, 1] == battery)
        assets = zone.share_of[behind, 0]
        named_kw, others_kw = named_parts_kw(virtual_kw[battery], zone.shares[behind], residual[assets])
        for row, asset in enumerate(assets.tolist()):
            add(battery, PartKind.VIRTUAL, zone.assets[asset].key, named_kw[row])
        add(battery, PartKind.VIRTUAL, 0, others_kw)
        add(battery, PartKind.OWN, 0, own_kw[battery])
    held: dict[tuple[int, PartKind, int], Floats] = {}
    for one in zone.stand_bys:
        name = (one.battery, one.kind, one.asset_key)
        held[name] = held.get(name, np.zeros(zone.end - zone.first)) + one.power_kw
    for (battery, kind, asset_key), power_kw in sorted(held.items()):
        add(battery, kind, asset_key, power_kw)
    shape = (len(rows), zone.end - zone.first)
    return np.array(names, dtype=np.int64).reshape(-1, 3), np.array(rows).reshape(shape)


def battery_series(plan: StandingPlan, first: int, end: int) -> list[dict[str, Floats]]:
    """By battery, its energy and its parts over these periods, as series that can be compared and kept."""
    low, high = first - plan.first, end - plan.first
    series: list[dict[str, Floats]] = [
        {"energy": plan.energy_kwh[row, low : high + 1]} for row in range(len(plan.battery_keys))
    ]
    for (battery, kind, asset_key), power_kw in zip(plan.part_of.tolist(), plan.part_kw, strict=True):
        series[battery][f"{KIND_OF_CODE[kind]}:{asset_key}"] = power_kw[low:high]
    return series
