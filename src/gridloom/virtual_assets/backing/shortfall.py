"""The missing fraction of a virtual asset at the gates of its periods, and the share of each battery in it.

Per period, `missing = 1 − min(mean of charge and discharge, energy)` of available ÷ rated. Nothing that happens after a
period's gate changes it: before a battery's ratings, unavailabilities or other firm holdings change, the closed
periods of the virtual assets that it backs are sealed. Closed periods that are not sealed are as they were at their
gates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.capacity.store import load_firm_capacity
from gridloom.market_calendar import Floats
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing import store
from gridloom.virtual_assets.backing.availability import mean_power_fraction, remaining_fraction
from gridloom.virtual_assets.backing.store import ShortfallInterval
from gridloom.virtual_assets.model import Promise, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period

NOISE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Shortfalls:
    """In each period from `first` on: the missing fraction, and by battery its share × its own shortfall."""

    first: int
    missing: Floats
    by_battery: Mapping[int, Floats]


def sum_shortfalls(
    promises: Sequence[Promise],
    remaining_of: Mapping[int, Floats | None],
    first: int,
    end: int,
    rated_kw: tuple[float, float],
) -> Shortfalls:
    """`remaining_of` has the remaining fraction of each battery as `remaining_fraction` returns it."""
    fractions = np.zeros((3, end - first))
    by_battery: dict[int, Floats] = {}
    total = sum(promise.share for promise in promises)
    for promise in promises:
        share = promise.share / total
        remaining = remaining_of[promise.physical_asset_key]
        fractions += share if remaining is None else share * remaining
        if remaining is not None:
            short = share * (1.0 - np.minimum(mean_power_fraction(remaining[0], remaining[1], rated_kw), remaining[2]))
            by_battery[promise.physical_asset_key] = np.where(short > NOISE, short, 0.0)
    missing = 1.0 - np.minimum(mean_power_fraction(fractions[0], fractions[1], rated_kw), fractions[2])
    return Shortfalls(first, np.where(missing > NOISE, np.minimum(missing, 1.0), 0.0), by_battery)


def shortfall_intervals(shortfalls: Shortfalls) -> list[ShortfallInterval]:
    """Consecutive periods with the same shortfall, joined."""
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
            found.append(ShortfallInterval(shortfalls.first + low, shortfalls.first + high, missing, short))
    return found


async def seal_closed_periods(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> None:
    """Call it under the lock of a battery that backs these assets, before its availability changes."""
    for asset in sorted(assets, key=lambda asset: asset.key):
        closed = min(first_open_period(now, asset.terms.gate_closure_s), asset.end)
        if closed <= asset.first:
            continue  # no gate has closed
        sealed = await store.lock_seal(db, asset.key, asset.first)
        if sealed < closed:
            await store.add_shortfalls(
                db, asset.key, shortfall_intervals(await _compute_shortfalls(db, asset, sealed, closed))
            )
            await store.move_seal(db, asset.key, closed)


async def load_shortfalls_of_each(
    db: Database, assets: Sequence[VirtualAsset], first: int, end: int, now: datetime
) -> dict[int, Shortfalls]:
    """The same for several assets by key, each in the part of its life that lies in these periods; read together."""
    seals = await store.read_seals(db, [asset.key for asset in assets])
    intervals = await store.read_shortfalls(db, [asset.key for asset in assets], first, end)
    unsealed = {}
    for asset in assets:
        low, high = asset.clip(first, end)
        closed = min(first_open_period(now, asset.terms.gate_closure_s), high)
        sealed = min(seals.get(asset.key) or asset.first, closed)
        unsealed[asset.key] = sealed, max(sealed, low), closed
    open_assets = [asset for asset in assets if unsealed[asset.key][1] < unsealed[asset.key][2]]
    batteries = sorted({promise.physical_asset_key for asset in open_assets for promise in asset.promises})
    base = min((unsealed[asset.key][1] for asset in open_assets), default=first)
    capacities = await load_firm_capacity(db, batteries, base, end) if batteries else {}
    remaining = {key: remaining_fraction(one, base, end) for key, one in capacities.items()}
    found = {}
    for asset in assets:
        low, high = asset.clip(first, end)
        sealed, start, closed = unsealed[asset.key]
        rest = None
        if start < closed:
            here = slice(start - base, closed - base)
            rest = sum_shortfalls(
                asset.promises,
                {key: None if part is None else part[:, here] for key, part in remaining.items()},
                start,
                closed,
                (asset.terms.charge_kw, asset.terms.discharge_kw),
            )
        found[asset.key] = join_shortfalls(intervals.get(asset.key, ()), rest, low, high, sealed)
    return found


def join_shortfalls(
    intervals: Sequence[ShortfallInterval], rest: Shortfalls | None, first: int, end: int, sealed: int
) -> Shortfalls:
    """The sealed intervals before `sealed`, and the rest of the periods whose gates have closed."""
    missing = np.zeros(end - first)
    by_battery: dict[int, Floats] = {}
    for interval in intervals:
        if interval.first >= min(sealed, end) or interval.end <= first:
            continue
        here = slice(max(interval.first, first) - first, min(interval.end, sealed, end) - first)
        missing[here] = interval.missing_share
        for key, share in interval.by_battery.items():
            by_battery.setdefault(key, np.zeros(end - first))[here] = share
    if rest is not None:
        here = slice(rest.first - first, rest.first + len(rest.missing) - first)
        missing[here] = rest.missing
        for key, shares in rest.by_battery.items():
            by_battery.setdefault(key, np.zeros(end - first))[here] = shares
    return Shortfalls(first, missing, by_battery)


async def _compute_shortfalls(db: Database, asset: VirtualAsset, first: int, end: int) -> Shortfalls:
    """By the firm capacity of the batteries."""
    keys = [promise.physical_asset_key for promise in asset.promises]
    capacities = await load_firm_capacity(db, keys, first, end)
    remaining = {key: remaining_fraction(one, first, end) for key, one in capacities.items()}
    return sum_shortfalls(asset.promises, remaining, first, end, (asset.terms.charge_kw, asset.terms.discharge_kw))
