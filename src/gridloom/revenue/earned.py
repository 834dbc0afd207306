"""Revenue of a battery per MW of rated power, for its performance."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.revenue import store
from gridloom.revenue.categories import CATEGORIES
from gridloom.revenue.model import Subject
from gridloom.revenue.reporting import Report, all_categories, bucket_parts

_TOTAL = "revenue_total_revenue"


async def read_earned_per_mw(db: Database, asset_key: int, window: Window, as_of: datetime | None) -> float | None:
    """EUR over the window ÷ the mean rated MW in it; None where nothing was rated."""
    subject = Subject("", await store.read_backed(db, [asset_key]), (asset_key,))
    categories = all_categories((_TOTAL, "revenue_normalised_total"))
    report = Report(subject, window, Resolution.DAY, categories, as_of)
    earned_eur = rated_mw_s = total_s = 0.0
    async for part in bucket_parts(db, report):
        seconds = part.buckets.ends_s - part.buckets.starts_s
        earned_eur += float(np.nansum(part.values(CATEGORIES[_TOTAL])))
        rated_mw_s += float((part.sums["rated_power_mw"] * seconds).sum())
        total_s += float(seconds.sum())
    return earned_eur * total_s / rated_mw_s if rated_mw_s > 0 else None
