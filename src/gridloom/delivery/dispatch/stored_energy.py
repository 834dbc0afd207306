"""The energy that a battery will store: as planned and, where nothing is planned yet, its shares of what virtual assets
will."""

from __future__ import annotations

import numpy as np

from gridloom.delivery.dispatch.reading import load_dispatch
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.store import read_assets_backed_by
from gridloom.virtual_assets.schedule.projection_loading import load_projection


async def read_stored_kwh(db: Database, asset_key: int, first: int, end: int) -> Floats | None:
    """At the start of each of the periods [first, end); None where nothing is known of any. In between, and before and
    after, it rests."""
    dispatch = await load_dispatch(db, asset_key, first, end)
    stored_kwh, is_known = dispatch.energy_kwh.copy(), dispatch.is_planned.copy()
    if not is_known.all():
        fair_kwh, is_alive = await _sum_virtual_kwh(db, asset_key, first, end)
        stored_kwh[~is_known] = fair_kwh[~is_known]
        is_known |= is_alive
    if not is_known.any():
        return None
    known = np.flatnonzero(is_known)
    latest = np.searchsorted(known, np.arange(end - first), side="right") - 1
    return np.asarray(stored_kwh[known[np.maximum(latest, 0)]])


async def _sum_virtual_kwh(db: Database, asset_key: int, first: int, end: int) -> tuple[Floats, np.ndarray]:
    """Σ share × the energy in virtual stores, and in which periods any of them lives."""
    now = await platform_now(db)
    fair_kwh, is_alive = np.zeros(end - first), np.zeros(end - first, dtype=bool)
    for asset in await read_assets_backed_by(db, asset_key, Window(period_start(first), period_start(end))):
        low, high = asset.clip(first, end)
        share = sum(promise.share for promise in asset.promises if promise.physical_asset_key == asset_key)
        projected = await load_projection(db, asset, now, low, high)
        fair_kwh[low - first : high - first] += share * projected.trajectory.energy_kwh[:-1]
        is_alive[low - first : high - first] = True
    return fair_kwh, is_alive
