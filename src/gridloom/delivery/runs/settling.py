"""Making closed periods final: netted parts become facts, and what nobody could serve becomes adjustments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.dispatch.store import read_asset_ids
from gridloom.delivery.model import NOISE_KW, Floats, Ints
from gridloom.delivery.planning.netting import cut_unserved, net, net_off_parts
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.kernel.market_time import period_start
from gridloom.settlements.model import NET_OFFS, NetOff, Origin
from gridloom.settlements.recording import Recorder, record_settlements
from gridloom.virtual_assets.gate_closure.revalidation import cut_unserved_periods

PLATFORM_ID: Final = UUID(int=0)
"""Who records what the platform itself has computed."""
_PARTS_PER_MWH: Final = 100_000_000


async def settle_periods(db: Database, plan: StandingPlan, first: int, end: int) -> bool:
    """The periods `first` up to but not `end`, whose gates have closed; whether any schedule was cut."""
    first, end = max(first, plan.first), min(end, plan.end)
    if first >= end:
        return False
    low, high = first - plan.first, end - plan.first
    power_kw, unserved_kw = plan.power_kw[:, low:high], plan.unserved_kw[low:high]
    netting = net(power_kw)
    delivered_kw = cut_unserved(power_kw, netting, unserved_kw)
    if unserved_kw.any():
        await _cut_schedules(db, plan.asset_keys.tolist(), power_kw, delivered_kw, first)
    parts = net_off_parts(net(delivered_kw).netted_kw)
    if parts.any():
        await _record_net_offs(db, plan.asset_keys.tolist(), parts, first)
    return bool(unserved_kw.any())


def first_settling(plan: StandingPlan, first: int) -> int | None:
    """The first period from there on that leaves anything behind when it becomes final."""
    low = max(0, first - plan.first)
    exported_kw, imported_kw, _, unserved_kw = plan.quarters_kw[:, low:]
    leaves = ((exported_kw > 0) & (imported_kw > 0)) | (unserved_kw != 0)
    places = np.flatnonzero(leaves)
    return plan.first + low + int(places[0]) if len(places) else None


async def _cut_schedules(db: Database, keys: Sequence[int], power_kw: Floats, delivered_kw: Floats, first: int) -> None:
    for row, key in enumerate(keys):
        places = np.flatnonzero(np.abs(power_kw[row] - delivered_kw[row]) > NOISE_KW)
        if len(places):
            await cut_unserved_periods(db, key, places + first, delivered_kw[row, places])


async def _record_net_offs(db: Database, keys: Sequence[int], parts: Ints, first: int) -> None:
    """Only what is not zero; a posted row prevails."""
    ids = await read_asset_ids(db, keys)
    rows = [
        NetOff(
            asset_id=str(ids[keys[row]]),
            time=period_start(first + place),
            volume=int(parts[row, place]) / _PARTS_PER_MWH,
        )
        for row, place in np.argwhere(parts).tolist()
        if keys[row] in ids
    ]
    if not rows:
        return
    await record_settlements(db, NET_OFFS, rows, Recorder(by=PLATFORM_ID, origin=Origin.COMPUTED))
