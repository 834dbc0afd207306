"""What of a virtual asset was not there at the gates of its periods, and which of its batteries fell short.

Per period, `missing = 1 − min(mean of charge and discharge, energy)` of available ÷ rated. Nothing that happens after a
period's gate changes it: before a battery's ratings or unavailabilities change, the closed periods of the virtual
assets that it backs are sealed as they are. Periods that were not sealed are as they were at their gates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_firm_capacity
from gridloom.database.pool import Database
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.backing import store
from gridloom.virtual_assets.backing.availability import find_kept, power_part
from gridloom.virtual_assets.backing.store import ShortfallStretch
from gridloom.virtual_assets.model import Promise, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period

NOISE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Shortfalls:
    """In each period from `first` on: the missing part of the asset, and by battery its share × its own shortfall."""

    first: int
    missing: Floats
    by_battery: Mapping[int, Floats]


def shortfalls_of(
    promises: Sequence[Promise],
    standing: Mapping[int, BatteryCapacity],
    first: int,
    end: int,
    rated_kw: tuple[float, float],
) -> Shortfalls:
    """By the firm lines of the batteries' books."""
    kept = {one.physical_asset_key: find_kept(standing[one.physical_asset_key], first, end) for one in promises}
    return _sum_shortfalls(promises, kept, first, end, rated_kw)


def _sum_shortfalls(
    promises: Sequence[Promise],
    kept_of: Mapping[int, Floats | None],
    first: int,
    end: int,
    rated_kw: tuple[float, float],
) -> Shortfalls:
    """kept_of: by battery, which part of charging, discharging and energy it keeps in each period; None for all."""
    parts = np.zeros((3, end - first))
    by_battery: dict[int, Floats] = {}
    total = sum(promise.share for promise in promises)
    for promise in promises:
        share = promise.share / total
        kept = kept_of[promise.physical_asset_key]
        parts += share if kept is None else share * kept
        if kept is not None:
            short = share * (1.0 - np.minimum(power_part(kept[0], kept[1], rated_kw), kept[2]))
            by_battery[promise.physical_asset_key] = np.where(short > NOISE, short, 0.0)
    missing = 1.0 - np.minimum(power_part(parts[0], parts[1], rated_kw), parts[2])
    return Shortfalls(first, np.where(missing > NOISE, np.minimum(missing, 1.0), 0.0), by_battery)


def find_stretches(shortfalls: Shortfalls) -> list[ShortfallStretch]:
    """Periods that follow each other in which the same is missing, together."""
    keys = sorted(shortfalls.by_battery)
    columns = np.array([shortfalls.missing, *(shortfalls.by_battery[key] for key in keys)])
    if not columns.any():
        return []
    starts = np.concatenate(([0], np.flatnonzero((columns[:, 1:] != columns[:, :-1]).any(axis=0)) + 1))
    ends = np.append(starts[1:], columns.shape[1])
    found = []
    for low, high in zip(starts.tolist(), ends.tolist(), strict=True):
        missing, *shares = columns[:, low].tolist()
        if missing > 0:
            short = {key: share for key, share in zip(keys, shares, strict=True) if share > 0}
            found.append(ShortfallStretch(shortfalls.first + low, shortfalls.first + high, missing, short))
    return found


async def seal_closed_periods(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> None:
    """To be called under the lock of a battery behind these assets, before its availability changes."""
    for asset in sorted(assets, key=lambda asset: asset.key):
        closed = min(first_open_period(now, asset.terms.gate_closure_s), asset.end)
        if closed <= asset.first:
            continue  # no gate has closed
        sealed = await store.lock_seal(db, asset.key, asset.first)
        if sealed < closed:
            await store.add_stretches(db, asset.key, find_stretches(await _load_standing(db, asset, sealed, closed)))
            await store.move_seal(db, asset.key, closed)


async def load_shortfalls(db: Database, asset: VirtualAsset, first: int, end: int, now: datetime) -> Shortfalls:
    """Of the periods `first` up to but not `end` whose gates have closed by `now`; others count as whole."""
    closed = min(first_open_period(now, asset.terms.gate_closure_s), end)
    sealed = min((await store.read_seals(db, [asset.key])).get(asset.key) or asset.first, closed)
    stretches = (await store.read_stretches(db, [asset.key], first, min(sealed, end))).get(asset.key, ())
    low = max(sealed, first)
    rest = await _load_standing(db, asset, low, closed) if low < closed else None
    return _join_shortfalls(stretches, rest, first, end, sealed)


async def load_shortfalls_of_each(
    db: Database, assets: Sequence[VirtualAsset], first: int, end: int, now: datetime
) -> dict[int, Shortfalls]:
    """By key: the same of each asset, in the part of its life that lies in these periods; read together."""
    seals = await store.read_seals(db, [asset.key for asset in assets])
    stretches = await store.read_stretches(db, [asset.key for asset in assets], first, end)
    batteries = sorted({promise.physical_asset_key for asset in assets for promise in asset.promises})
    standing = await load_firm_capacity(db, batteries, first, end) if batteries else {}
    kept = {key: find_kept(one, first, end) for key, one in standing.items()}
    found = {}
    for asset in assets:
        low, high = asset.clip(first, end)
        closed = min(first_open_period(now, asset.terms.gate_closure_s), high)
        sealed = min(seals.get(asset.key) or asset.first, closed)
        start = max(sealed, low)
        rest = None
        if start < closed:
            here = slice(start - first, closed - first)
            rest = _sum_shortfalls(
                asset.promises,
                {key: None if part is None else part[:, here] for key, part in kept.items()},
                start,
                closed,
                (asset.terms.charge_kw, asset.terms.discharge_kw),
            )
        found[asset.key] = _join_shortfalls(stretches.get(asset.key, ()), rest, low, high, sealed)
    return found


def _join_shortfalls(
    stretches: Sequence[ShortfallStretch], rest: Shortfalls | None, first: int, end: int, sealed: int
) -> Shortfalls:
    """What is sealed, before `sealed`, and the rest of the periods whose gates have closed."""
    missing = np.zeros(end - first)
    by_battery: dict[int, Floats] = {}
    for stretch in stretches:
        if stretch.first >= min(sealed, end) or stretch.end <= first:
            continue
        here = slice(max(stretch.first, first) - first, min(stretch.end, sealed, end) - first)
        missing[here] = stretch.missing_share
        for key, share in stretch.by_battery.items():
            by_battery.setdefault(key, np.zeros(end - first))[here] = share
    if rest is not None:
        here = slice(rest.first - first, rest.first + len(rest.missing) - first)
        missing[here] = rest.missing
        for key, shares in rest.by_battery.items():
            by_battery.setdefault(key, np.zeros(end - first))[here] = shares
    return Shortfalls(first, missing, by_battery)


async def _load_standing(db: Database, asset: VirtualAsset, first: int, end: int) -> Shortfalls:
    keys = [promise.physical_asset_key for promise in asset.promises]
    standing = await load_firm_capacity(db, keys, first, end)
    return shortfalls_of(asset.promises, standing, first, end, (asset.terms.charge_kw, asset.terms.discharge_kw))
