"""What of a virtual asset is available, from what is left of the physical assets behind it.

A promise is firm: as long as a physical asset has as much left as it has promised, all its promises hold in full, so
what nobody was promised is lost first. Below that, they all shrink alike, to `available ÷ promised`. A virtual asset
has the sum of its promises, `rated · Σ share · min(1, available ÷ promised)`, for charging, discharging and energy.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability.series import CHARGE, DISCHARGE, ENERGY, availability
from gridloom.physical_assets.availability.store import Circumstances, load_circumstances, whole_periods
from gridloom.virtual_assets.backing.ledger import TOLERANCE, Step
from gridloom.virtual_assets.backing.store import read_steps
from gridloom.virtual_assets.grid import Floats, period_number, period_number_from, period_start
from gridloom.virtual_assets.model import Promise, VirtualAsset


@dataclass(frozen=True, slots=True, eq=False)
class Availability:
    """The available parts of what is rated, 0 to 1, in each period from `first` on."""

    first: int
    charge: Floats
    discharge: Floats
    energy: Floats

    def between(self, first: int, end: int) -> Availability:
        cut = slice(first - self.first, end - self.first)
        return Availability(first, self.charge[cut], self.discharge[cut], self.energy[cut])

    @property
    def end(self) -> int:
        return self.first + len(self.charge)


async def load_available(db: Database, asset: VirtualAsset, first: int, end: int) -> Availability:
    """What is available of the asset in the periods `first` up to but not `end`."""
    if first >= end:
        return Availability(first, np.ones(0), np.ones(0), np.ones(0))
    window = Window(period_start(first), period_start(end))
    keys = [promise.physical_asset_key for promise in asset.promises]
    circumstances = await load_circumstances(db, keys, window)
    steps = await read_steps(db, keys, window)
    return available_of(asset.promises, circumstances, steps, first, end)


async def load_available_of_each(
    db: Database, assets: Sequence[VirtualAsset], window: Window
) -> list[tuple[VirtualAsset, Availability]]:
    """What is available of several assets, each in the part of its life that lies in the window; read all at once."""
    hull = whole_periods(window)
    keys = {promise.physical_asset_key for asset in assets for promise in asset.promises}
    circumstances = await load_circumstances(db, keys, hull)
    steps = await read_steps(db, keys, hull)
    starts = {key: [step.start for step in own] for key, own in steps.items()}
    found = []
    for asset in assets:
        first, end = asset.clip(period_number(hull.start), period_number_from(hull.end))
        if first >= end:
            continue
        start, stop = period_start(first), period_start(end)
        own_steps = {}
        own_circumstances = {}
        for key in (promise.physical_asset_key for promise in asset.promises):
            # Steps follow each other without overlapping: the one that has begun before may reach into the window.
            low, high = bisect_right(starts[key], start), bisect_left(starts[key], stop)
            own_steps[key] = steps[key][max(0, low - 1) : high]
            outages = [each for each in circumstances[key].outages if each.start < stop and each.end > start]
            own_circumstances[key] = Circumstances(circumstances[key].ratings, outages)
        found.append((asset, available_of(asset.promises, own_circumstances, own_steps, first, end)))
    return found


def available_of(
    promises: Sequence[Promise],
    circumstances: Mapping[int, Circumstances],
    steps: Mapping[int, Sequence[Step]],
    first: int,
    end: int,
) -> Availability:
    parts = np.zeros((3, end - first))
    for promise in promises:
        key = promise.physical_asset_key
        parts += promise.share * _kept(circumstances[key], steps[key], first, end)
    # Shares sum to 1 up to rounding; what is not lost is there in full.
    parts /= math.fsum(promise.share for promise in promises)
    parts[parts > 1 - 1e-12] = 1.0
    return Availability(first, parts[0], parts[1], parts[2])


def _kept(circumstances: Circumstances, steps: Sequence[Step], first: int, end: int) -> Floats:
    """Which part of its promises one physical asset keeps: rows for charging, discharging and energy."""
    if _keeps_all(circumstances, steps, first):
        return np.ones((3, 1))
    series = availability(
        circumstances.ratings, circumstances.outages, Window(period_start(first), period_start(end))
    ).available
    promised = np.zeros((3, end - first))
    for step in steps:
        # New parameters may come into force within a period, which keeps what its worst moment keeps.
        span = slice(max(0, period_number(step.start) - first), max(0, period_number_from(step.end) - first))
        asked = [[step.promised.charge_kw], [step.promised.discharge_kw], [step.promised.energy_kwh]]
        promised[:, span] = np.maximum(promised[:, span], asked)
    there = series[:, [CHARGE, DISCHARGE, ENERGY]].T
    kept = np.ones_like(promised)
    np.divide(there, promised, out=kept, where=promised > there + TOLERANCE)
    return kept


def _keeps_all(circumstances: Circumstances, steps: Sequence[Step], first: int) -> bool:
    """Whether nothing is missing and no rating is below what is promised, at a glance."""
    if circumstances.outages or not circumstances.ratings or not steps:
        return not steps
    start = period_start(first)
    ratings = sorted(circumstances.ratings, key=lambda rating: rating.valid_from)
    if ratings[0].valid_from > start:
        return False
    in_force = [r for r, n in zip(ratings, [*ratings[1:], None], strict=True) if n is None or n.valid_from > start]
    return all(
        step.promised.charge_kw <= rating.charge_power_kw
        and step.promised.discharge_kw <= rating.discharge_power_kw
        and step.promised.energy_kwh <= rating.energy_kwh
        for step in steps
        for rating in in_force
    )
