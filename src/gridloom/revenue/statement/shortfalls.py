"""RESERVE_SHORTFALL: what a holder gives back for balancing reserve that no battery held, and owners to the holder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from gridloom.delivery.inputs.store import Reserve, read_block_reserves
from gridloom.delivery.runs.store import UnheldReserve
from gridloom.kernel.balancing import ReserveProduct, block_product
from gridloom.kernel.market_time import MARKET_ZONE, block_window, market_day_of, period_start
from gridloom.kernel.units import KW_PER_MW, POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.platform.database.pool import Database
from gridloom.revenue.statement.store import AwardPrice, read_awards


@dataclass(frozen=True, slots=True, eq=False)
class ShortfallAmounts:
    """EUR in each period: what the holder gives back, and what of it each battery's owner owes the holder."""

    given_back_eur: Floats
    by_battery_eur: dict[int, Floats]


async def load_shortfall_amounts(
    db: Database, asset_key: int, shortfalls: Sequence[UnheldReserve], first: int, end: int, as_of: datetime | None
) -> ShortfallAmounts | None:
    """MW not held × hours × the award's price; None where all was held.

    A block whose award was settled after its end with as much less counts nothing more.
    """
    if not shortfalls:
        return None
    first_day, last_day = (market_day_of(period_start(shortfalls[index].period)) for index in (0, -1))
    found = await read_awards(db, asset_key, first_day, last_day, as_of)
    awards = {(one.delivery_day, one.product): one for one in found}
    blocks = await read_block_reserves(db, [asset_key], first, end)
    given_back_eur = np.zeros(end - first)
    by_battery_eur: dict[int, Floats] = {}
    for one in shortfalls:
        award = awards.get(find_product(one))
        if award is None or _is_settled_short(award, one, shortfalls, blocks):
            continue
        amount_eur = one.power_kw / KW_PER_MW * QUARTER_HOUR_H * award.price_eur_mw_h
        given_back_eur[one.period - first] += amount_eur
        if not one.is_announced:
            owed_eur = by_battery_eur.setdefault(one.physical_asset_key, np.zeros(end - first))
            owed_eur[one.period - first] += amount_eur
    return ShortfallAmounts(given_back_eur, by_battery_eur)


def find_product(shortfall: UnheldReserve) -> tuple[date, str]:
    """The delivery day and the product whose block a shortfall falls into."""
    local = period_start(shortfall.period).astimezone(MARKET_ZONE)
    first_hour = local.hour // 4 * 4
    return local.date(), block_product(ReserveProduct(shortfall.market).direction, first_hour)


def _is_settled_short(
    award: AwardPrice, shortfall: UnheldReserve, shortfalls: Sequence[UnheldReserve], blocks: Sequence[Reserve]
) -> bool:
    """Whether a settlement recorded after the block has left out what was not held."""
    first_hour = int(award.product.split("_")[-2])
    if award.recorded_at < block_window(award.delivery_day, first_hour, first_hour + 4).end:
        return False
    held_kw = sum(
        one.power_kw for one in blocks if one.market == shortfall.market and one.first <= shortfall.period < one.end
    )
    missing_kw = sum(
        one.power_kw for one in shortfalls if (one.market, one.period) == (shortfall.market, shortfall.period)
    )
    return award.capacity_mw * KW_PER_MW <= held_kw - missing_kw + POWER_TOLERANCE_KW
