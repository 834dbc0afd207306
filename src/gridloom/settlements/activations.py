"""The aFRR energy of an asset as it is settled, for whoever counts its cycles."""

from __future__ import annotations

import numpy as np

from gridloom.database.pool import Database
from gridloom.kernel.units import KW_PER_MW
from gridloom.settlements import store
from gridloom.settlements.market_days import PERIOD_S, day_edges_s, day_numbers_at, day_of_number, period_counts
from gridloom.settlements.measures import POSITION, Source, positions_of
from gridloom.settlements.sheets import decode_sheets
from gridloom.virtual_assets.energy.activations import Activated

_UPWARD = POSITION["afrr_pos_volume_mwh"] - positions_of(Source.AFRR_ENERGY).start


async def read_activated(db: Database, asset_key: int, first: int, end: int) -> Activated:
    """Upward activations, which the asset exports, from the sums and sheets that settlements keep."""
    period_kwh = np.zeros(max(0, end - first))
    calendar_first, calendar_end = (int(edge) // PERIOD_S for edge in day_edges_s()[[0, -1]])
    low, high = max(first, calendar_first), min(end, calendar_end)  # nothing can be settled outside
    if low >= high:
        return Activated(0.0, period_kwh)
    first_day, last_day = day_numbers_at(np.array([low * PERIOD_S, (high - 1) * PERIOD_S]))
    numbers = np.arange(first_day, last_day + 1)
    days = [day_of_number(number) for number in numbers]
    before_mwh = await store.read_activated_before(db, asset_key, days[0])
    bodies = await store.read_activation_sheets(db, asset_key, days[0], days[-1])
    if bodies:
        sheet = decode_sheets(Source.AFRR_ENERGY, [bodies.get(day) for day in days], period_counts(numbers).tolist())
        upward_mwh = sheet[_UPWARD]
        start = int(day_edges_s()[first_day]) // PERIOD_S
        before_mwh += float(upward_mwh[: low - start].sum())
        period_kwh[low - first : high - first] = KW_PER_MW * upward_mwh[low - start : high - start]
    return Activated(KW_PER_MW * before_mwh, period_kwh)
