"""Balancing products that can still be sold beside a schedule, and what they are expected to pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np

from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.products import ProductKey, product_key
from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.balancing import BLOCK_START_HOURS, ReserveProduct, block_product
from gridloom.kernel.market_time import (
    BLOCK_HOURS,
    MARKET_ZONE,
    block_window,
    format_instant,
    market_days_in,
    period_number,
    period_start,
)
from gridloom.kernel.window import Window
from gridloom.optimiser.prices import PricesMissing
from gridloom.optimiser.schedules.scope import OptimisationScope
from gridloom.optimiser.schedules.wire import NewCapacityPrice, ProposedBlock
from gridloom.optimiser.solving.programme import Floats
from gridloom.optimiser.solving.reserves import ReserveSlot
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_price_arrays
from gridloom.virtual_assets.model import Market

DAYS_LOOKED_BACK: Final = 7
SERIES_OF: Final[Mapping[Market, str]] = {
    Market.FCR: "FCR_DE",
    Market.AFRR_POS: "AFRR_CAPACITY_POS_DE_MARGINAL",
    Market.AFRR_NEG: "AFRR_CAPACITY_NEG_DE_MARGINAL",
}


@dataclass(frozen=True, slots=True)
class ReserveProducts:
    """The markets that are asked for and, once loaded, their slots in the window."""

    markets: tuple[Market, ...]
    gates: TenderGates
    now: datetime
    minutes: ReserveMinutes
    slots: tuple[ReserveSlot, ...] = ()
    offers: tuple[tuple[Market, Window], ...] = ()

    def proposed(self, power_kw: Floats) -> list[ProposedBlock]:
        """Blocks for the slots that got some power."""
        shown = []
        for slot, (market, window), reserved_kw in zip(self.slots, self.offers, power_kw.tolist(), strict=True):
            if reserved_kw > 0:
                shown.append(
                    ProposedBlock(
                        market=market,
                        start=window.start,
                        end=window.end,
                        rated_charge_power=reserved_kw if slot.is_downward else 0.0,
                        rated_discharge_power=reserved_kw if slot.is_upward else 0.0,
                        value=reserved_kw * slot.earns_eur_kw,
                    )
                )
        return shown

    def open_offers(self, first: int, end: int) -> list[tuple[Market, Window]]:
        """The whole four-hour blocks in the periods [first, end) whose tender is open."""
        window = Window(period_start(first), period_start(end))
        return [
            (market, block)
            for day in market_days_in(window)
            for hour in BLOCK_START_HOURS
            for block in [block_window(day, hour, hour + BLOCK_HOURS)]
            if block.start >= window.start and block.end <= window.end
            for market in self.markets
            if self.now < self.gates.closure(_find_product(market, day, hour))
        ]


def _find_product(market: Market, day: date, hour: int) -> ProductKey:
    return product_key(day, block_product(ReserveProduct(market).direction, hour))


async def load_slots(
    db: Database, products: ReserveProducts, task: OptimisationScope, sent: Sequence[NewCapacityPrice] | None
) -> ReserveProducts:
    """The slots with their prices: those sent along, published ones, or the mean of that block in the last days."""
    offers = products.open_offers(task.first, task.end)
    given = {(Market(price.market), price.start): price.price for price in sent or ()}
    published = {} if sent is not None else await _load_published(db, products.markets, task)
    slots = []
    for market, block in offers:
        price = given.get((market, block.start)) if sent is not None else expect_price(published[market], block)
        if price is None:
            raise PricesMissing(
                f"{SERIES_OF[market]} has no price for the block from {format_instant(block.start)}, "
                f"none for such a block of the {DAYS_LOOKED_BACK} days before.",
                firstMissingPeriod=format_instant(block.start),
            )
        slots.append(_make_slot(products.minutes, task, market, block, price))
    return replace(products, slots=tuple(slots), offers=tuple(offers))


async def _load_published(
    db: Database, markets: Sequence[Market], task: OptimisationScope
) -> dict[Market, dict[datetime, float]]:
    """By market, prices by the start of their block."""
    start = period_start(task.first) - timedelta(days=DAYS_LOOKED_BACK + 40)
    found = {}
    for market in markets:
        starts, _, prices = await read_price_arrays(db, SERIES_OF[market], start, period_start(task.end))
        found[market] = {
            datetime.fromtimestamp(second, tz=start.tzinfo): price for second, price in zip(starts, prices, strict=True)
        }
    return found


def expect_price(published: Mapping[datetime, float], block: Window) -> float | None:
    """Published, else the mean of the last blocks that began at the same hour on the wall clock."""
    if block.start in published:
        return published[block.start]
    known = sorted((instant for instant in published if instant < block.start), reverse=True)
    hour = block.start.astimezone(MARKET_ZONE).hour
    alike = [instant for instant in known if instant.astimezone(MARKET_ZONE).hour == hour][:DAYS_LOOKED_BACK]
    return float(np.mean([published[instant] for instant in alike])) if alike else None


def _make_slot(
    minutes: ReserveMinutes, task: OptimisationScope, market: Market, block: Window, price_eur_mw_h: float
) -> ReserveSlot:
    first, end = period_number(block.start) - task.first, period_number(block.end) - task.first
    charge_kw = float(np.maximum(-task.programme.min_kw[first:end], 0.0).min())
    discharge_kw = float(np.maximum(task.programme.max_kw[first:end], 0.0).min())
    hours = block.duration / timedelta(hours=1)
    hold_h = (minutes.fcr if market is Market.FCR else minutes.afrr) / 60
    is_up, is_down = market is not Market.AFRR_NEG, market is not Market.AFRR_POS
    most_kw = min(discharge_kw if is_up else np.inf, charge_kw if is_down else np.inf)
    return ReserveSlot(
        first,
        end,
        price_eur_mw_h * hours / 1000,
        is_up,
        is_down,
        hold_h,
        float(most_kw),
    )
