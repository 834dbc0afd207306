"""Reports as the tests ask for them, and when a figure agrees with the reference."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from uuid import UUID

import numpy as np
from tests.revenue.world import World

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.window import Window
from gridloom.revenue.model import Contribution, Subject
from gridloom.revenue.reporting import Report, all_categories, report_parts

CENT = 0.005
BUCKETED = ("15-minute", "hourly", "daily")
DAYS = (date(2026, 3, 28), date(2025, 10, 25), date(2024, 2, 28), date(2025, 12, 30))
"""First days of windows of three: over the clock changes, a leap day and a new year."""


async def report(
    world: World,
    subject: Subject,
    start: datetime,
    end: datetime,
    resolution: str,
    *,
    as_of: datetime | None = None,
    names: Sequence[str] = (),
) -> dict[str, dict[datetime, float | None]]:
    asked = Report(subject, Window(start, end), Resolution(resolution), all_categories(names), as_of)
    found: dict[str, dict[datetime, float | None]] = {category.name: {} for category in asked.categories}
    async for part in report_parts(world.pool, asked):
        times = [datetime.fromtimestamp(int(second), tz=UTC) for second in part.buckets.labels_s]
        for category in asked.categories:
            values = part.values(category)
            shown = part.is_shown(category)
            for n, time in enumerate(times):
                if shown is None or shown[n]:
                    assert time not in found[category.name], f"{time} is shown twice"
                    found[category.name][time] = None if np.isnan(values[n]) else float(values[n])
    return found


async def of_assets(world: World, ids: Sequence[UUID]) -> Subject:
    keys = tuple([await world.key_of(id) for id in ids])
    return Subject("assets", tuple(Contribution(key) for key in keys), keys)


def agree(found: float | None, expected: Fraction | None) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    exact = float(expected)
    return abs(found - exact) <= max(1e-9 * abs(exact), 1e-7)


# --- facts ---------------------------------------------------------------------------------------------------------
