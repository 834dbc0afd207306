"""Capacity to offer at the tenders of a day: FCR beside the wholesale market, then aFRR beside the FCR that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.balancing import BLOCK_START_HOURS, ReserveProduct, block_product
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import BLOCK_HOURS, block_window, period_number
from gridloom.kernel.window import Window
from gridloom.markets.orders.feasibility import read_reserve_limit_kw
from gridloom.markets.plans.prices import AFRR_SERIES, StagePrices
from gridloom.markets.position import MarketState
from gridloom.optimiser.forecasts.bands import PriceBand
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, Floats
from gridloom.optimiser.solving.reserves import ReserveSlot
from gridloom.optimiser.trading.reserve_bids import bid_price, make_slots, offer_capacity
from gridloom.optimiser.trading.worth import NOTHING, Worth, value_capacity
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.model import Block, VirtualAsset


@dataclass(frozen=True, slots=True)
class OfferedReserve:
    """kW; EUR/MW of the whole block for FCR, EUR/MW per hour for aFRR; EUR/MWh."""

    product: str
    capacity_kw: float
    capacity_price: float
    energy_price: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ProductTask:
    """A product in each whole block of the day that is open: its periods, most power and prices."""

    product: ReserveProduct
    hours_from: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    most_kw: Floats
    band: PriceBand
    reserve_h: float


@dataclass(frozen=True, slots=True, eq=False)
class ReserveTask:
    """The products of a tender, and the day-ahead prices by which energy is priced."""

    stage: Stage
    products: tuple[ProductTask, ...]
    day_ahead: PriceBand


_OF_STAGE = {
    Stage.FCR: ((ReserveProduct.FCR, "FCR_DE"),),
    Stage.AFRR: tuple(zip((ReserveProduct.AFRR_POS, ReserveProduct.AFRR_NEG), AFRR_SERIES, strict=True)),
}


async def load_reserves(
    db: Database,
    state: MarketState,
    stage: Stage,
    first_open: int,
    prices: StagePrices,
    minutes: ReserveMinutes,
    replaced: Sequence[Block],
) -> ReserveTask:
    """`first_open` is the first period planned; `replaced` are reserves of an order that another would replace."""
    asset, tasks = state.asset, []
    for product, series in _OF_STAGE[stage]:
        chosen = [
            (place, hour, span, window)
            for place, hour in enumerate(BLOCK_START_HOURS)
            for window in [block_window(state.day, hour, hour + BLOCK_HOURS)]
            for span in [(period_number(window.start), period_number(window.end))]
            if max(state.first, first_open) <= span[0] and span[1] <= state.end
        ]
        places = [place for place, *_ in chosen]
        most_kw = [await _read_left_kw(db, asset, state, product, window, replaced) for *_, window in chosen]
        band = prices.capacity[series]
        tasks.append(
            ProductTask(
                product,
                tuple(hour for _, hour, *_ in chosen),
                tuple((span[0] - first_open, span[1] - first_open) for *_, span, _ in chosen),
                np.array(most_kw),
                PriceBand(band.p10[places], band.p50[places], band.p90[places]),
                (minutes.fcr if product is ReserveProduct.FCR else minutes.afrr) / 60,
            )
        )
    return ReserveTask(stage, tuple(tasks), prices.band)


async def _read_left_kw(
    db: Database,
    asset: VirtualAsset,
    state: MarketState,
    product: ReserveProduct,
    window: Window,
    replaced: Sequence[Block],
) -> float:
    limit_kw = await read_reserve_limit_kw(db, asset, product, window)
    first, end = period_number(window.start), period_number(window.end)
    held = [
        block
        for block in (*state.blocks, *asset.holds)
        if block.market.value == product.value and block.overlaps(first, end) and block not in replaced
    ]
    return max(0.0, limit_kw - sum(max(block.charge_kw, block.discharge_kw) for block in held))


def plan_reserves(
    task: ReserveTask, programme: BatteryProgramme, deadline: Deadline
) -> tuple[list[OfferedReserve], Worth]:
    """The offers, and what they are expected to be paid."""
    slots: list[ReserveSlot] = []
    for one in task.products:
        # An aFRR bid may be refused, so it counts by less than it asks for.
        counted = one.band.p50 if task.stage is Stage.FCR else bid_price(bid_price(one.band.p50))
        direction = one.product.direction
        made = make_slots(
            programme,
            one.spans,
            np.maximum(counted, 0.0),
            up=direction.exports,
            down=direction.imports,
            reserve_h=one.reserve_h,
            most_kw=np.inf,
        )
        slots += [
            replace(slot, most_kw=min(slot.most_kw, most))
            for slot, most in zip(made, one.most_kw.tolist(), strict=True)
        ]
    power_kw = offer_capacity(programme, slots, deadline)
    offered, worth, place = [], NOTHING, 0
    for one in task.products:
        own_kw = power_kw[place : place + len(one.spans)]
        place += len(one.spans)
        hours = np.array([(end - first) / 4 for first, end in one.spans])
        offered += _list_offers(task, one, own_kw, programme)
        if len(own_kw):
            worth += value_capacity(_paid_band(task, one), own_kw, hours)
    return offered, worth


def _paid_band(task: ReserveTask, one: ProductTask) -> PriceBand:
    """FCR is paid the marginal price; aFRR its bid, where that is accepted."""
    if task.stage is Stage.FCR:
        return one.band
    bid = bid_price(one.band.p50)
    return PriceBand(np.where(one.band.p10 >= bid, bid, 0.0), bid, bid)


def _list_offers(
    task: ReserveTask, one: ProductTask, power_kw: Floats, programme: BatteryProgramme
) -> list[OfferedReserve]:
    """FCR is offered at nothing, for it is paid the marginal price; aFRR energy at prices that never lose against the
    expected day-ahead prices of the day."""
    offers = []
    bids = bid_price(one.band.p50).tolist()
    for hour, capacity_kw, bid in zip(one.hours_from, power_kw.tolist(), bids, strict=True):
        if capacity_kw <= 0:
            continue
        is_fcr = one.product is ReserveProduct.FCR
        offers.append(
            OfferedReserve(
                block_product(one.product.direction, hour),
                capacity_kw,
                0.0 if is_fcr else bid,
                None if is_fcr else _price_energy(task, one.product, programme),
            )
        )
    return offers


def _price_energy(task: ReserveTask, product: ReserveProduct, programme: BatteryProgramme) -> float:
    """Upward what is drawn could be sold at the day's best hour at most; downward the store could be filled at its
    cheapest one."""
    if product is ReserveProduct.AFRR_POS:
        return round(float(task.day_ahead.p50.max()) + programme.wear_eur_mwh, 2)
    return round(-float(task.day_ahead.p50.min()), 2)
