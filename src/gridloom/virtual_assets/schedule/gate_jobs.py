"""Asking for a look at what closes: the jobs that cut schedules when their gates close, by name and due time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import numpy as np

from gridloom.database.pool import Database
from gridloom.jobs import enqueue
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.model import LockedAsset, LockedAssetKey

CLOSE_GATE: Final = "virtual-assets.close-gate"
"""Job, keyed by a virtual asset's key: cut what does not fit and whose gate has closed."""


async def enqueue_revalidation(db: Database, asset: LockedAsset | LockedAssetKey, due: datetime) -> None:
    """Look at all gates that close from `due` on; a look that waits for earlier ones does not lose them.

    The row is held because a look under way could otherwise put off one that it knows nothing of.
    """
    await enqueue(db, CLOSE_GATE, key=str(asset.key), due=due, clock="platform", keep_earlier_due=True)


async def reschedule_revalidation(db: Database, asset: LockedAsset, period: int) -> None:
    """For the look itself: all before this period is settled, so the next look is when its gate closes."""
    due = period_start(period) - timedelta(seconds=asset.terms.gate_closure_s)
    await enqueue(db, CLOSE_GATE, key=str(asset.key), due=due, clock="platform")


def may_exceed_cycles(exported_by_day_kwh: Floats, daily_limit_kwh: float | None, limit_kwh: float | None) -> bool:
    """Whether days of UTC cannot rule out that a market day or a year exports too much; cheap, and never wrongly no."""
    if daily_limit_kwh is not None:
        # A market day lies within two days of UTC.
        pairs_kwh = exported_by_day_kwh + np.append(exported_by_day_kwh[1:], 0.0)
        if pairs_kwh.max(initial=0.0) > daily_limit_kwh:
            return True
    return limit_kwh is not None and float(exported_by_day_kwh.sum()) > limit_kwh
