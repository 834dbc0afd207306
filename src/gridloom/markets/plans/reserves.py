"""Capacity to offer at the tenders of a day: FCR beside the wholesale market, then aFRR beside the FCR that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.balancing import BLOCK_START_HOURS, ReserveProduct, block_product
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import BLOCK_HOURS, block_window, period_number
from gridloom.kernel.window import Window
from gridloom.market_calendar import utc_days_of
from gridloom.markets.orders.feasibility import read_reserve_limit_kw
from gridloom.markets.plans.prices import AFRR_SERIES, StagePrices
from gridloom.markets.position import MarketState
from gridloom.optimiser.forecasts.bands import PriceBand
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, Floats
from gridloom.optimiser.solving.reserves import ReserveSlot, leave_room
from gridloom.optimiser.trading.day_ahead import cut_periods
from gridloom.optimiser.trading.positions import can_run
from gridloom.optimiser.trading.reserve_bids import bid_price, make_slots, offer_capacity
from gridloom.optimiser.trading.worth import NOTHING, Worth, value_capacity
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.store import lane_power_kw, read_day_range


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
) -> ReserveTask:
    """`first_open` is the first period planned."""
    asset, tasks = state.asset, []
    scheduled = await _read_scheduled(db, state)
    for product, series in _OF_STAGE[stage]:
        chosen = [
            (place, hour, span, window)
            for place, hour in enumerate(BLOCK_START_HOURS)
            for window in [block_window(state.day, hour, hour + BLOCK_HOURS)]
            for span in [(period_number(window.start), period_number(window.end))]
            if max(state.first, first_open) <= span[0] and span[1] <= state.end
        ]
        places = [place for place, *_ in chosen]
        most_kw = [
            min(await _read_left_kw(db, asset, state, product, window), scheduled.leave_kw(product, span))
            for *_, span, window in chosen
        ]
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
) -> float:
    limit_kw = await read_reserve_limit_kw(db, asset, product, window)
    first, end = period_number(window.start), period_number(window.end)
    held = [
        block
        for block in (*state.blocks, *asset.holds)
        if block.market.value == product.value and block.overlaps(first, end)
    ]
    return max(0.0, limit_kw - sum(max(block.charge_kw, block.discharge_kw) for block in held))


@dataclass(frozen=True, slots=True, eq=False)
class _ScheduledPower:
    """The schedules of the wholesale blocks of a day, lowest lane first, which is the order in which they are carved.

    A block that keeps less power after carving must still be able to run its schedule.
    """

    first: int
    hosts: Sequence[Block]
    lanes_kw: Sequence[Floats]
    available: AvailableFraction

    def leave_kw(self, product: ReserveProduct, span: tuple[int, int]) -> float:
        """The most of a product that could be carved out of all the periods of a span."""
        exports, imports = product.direction.exports, product.direction.imports
        left_kw = [
            self._leave_kw(span, is_export) for is_export, is_asked in ((True, exports), (False, imports)) if is_asked
        ]
        return min(left_kw)

    def _leave_kw(self, span: tuple[int, int], is_export: bool) -> float:
        periods = np.arange(*span)
        left_kw, is_idle = np.zeros(len(periods)), np.ones(len(periods), dtype=bool)
        fraction = (self.available.discharge if is_export else self.available.charge)[periods - self.first]
        for host, lane_kw in zip(self.hosts, self.lanes_kw, strict=True):
            own_kw = host.discharge_kw if is_export else host.charge_kw
            used_kw = np.maximum((lane_kw if is_export else -lane_kw)[periods - self.first], 0.0)
            needed_kw = np.where(used_kw > 0, used_kw / np.maximum(fraction, _LEAST_FRACTION), 0.0)
            is_taken = is_idle & (host.first <= periods) & (periods < host.end)
            left_kw += np.where(is_taken, np.maximum(own_kw - needed_kw, 0.0), 0.0)
            is_idle &= ~(is_taken & (needed_kw > 0))
        return float(left_kw.min(initial=np.inf))


_LEAST_FRACTION: Final = 1e-9


async def _read_scheduled(db: Database, state: MarketState) -> _ScheduledPower:
    hosts = sorted(
        (block for block in state.blocks if block.market is Market.WHOLESALE), key=lambda one: (one.lane, one.first)
    )
    powers = await read_day_range(db, state.asset.key, utc_days_of(state.first, state.end))
    lanes_kw = [lane_power_kw(powers, host.lane, state.first, state.end) for host in hosts]
    available = await load_available(db, state.asset, state.first, state.end)
    return _ScheduledPower(state.first, hosts, lanes_kw, available)


def plan_reserves(
    task: ReserveTask,
    programme: BatteryProgramme,
    scheduled_kw: Floats,
    position_kw: Floats,
    deadline: Deadline,
) -> tuple[list[OfferedReserve], Worth]:
    """The offers, and what they are expected to be paid.

    What is scheduled, and the position of the day as far as the battery can run it, stay possible beside them.
    """
    room = leave_room(programme, scheduled_kw)
    if not can_run(cut_periods(programme, slice(0, len(position_kw)), programme.initial_kwh), position_kw):
        position_kw = np.zeros(len(position_kw))
    if position_kw.any():
        room = room.with_position(programme, position_kw)
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
            replace(slot, most_kw=max(0.0, min(slot.most_kw, most, _leave_position(slot, programme, position_kw))))
            for slot, most in zip(made, one.most_kw.tolist(), strict=True)
        ]
    power_kw = offer_capacity(programme, slots, deadline, room)
    offered, worth, place = [], NOTHING, 0
    for one in task.products:
        own_kw = power_kw[place : place + len(one.spans)]
        place += len(one.spans)
        hours = np.array([(end - first) / 4 for first, end in one.spans])
        offered += _list_offers(task, one, own_kw, programme)
        if len(own_kw):
            worth += value_capacity(_paid_band(task, one), own_kw, hours)
    return offered, worth


def _leave_position(slot: ReserveSlot, programme: BatteryProgramme, position_kw: Floats) -> float:
    """The power that a position leaves in the periods of a slot."""
    span, left_kw = slice(slot.first, slot.end), np.inf
    if slot.is_upward:
        left_kw = min(left_kw, float((programme.max_kw[span] - np.maximum(position_kw[span], 0.0)).min()))
    if slot.is_downward:
        left_kw = min(left_kw, float((np.minimum(position_kw[span], 0.0) - programme.min_kw[span]).min()))
    return left_kw


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
