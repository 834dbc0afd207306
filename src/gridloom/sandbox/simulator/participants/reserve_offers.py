"""The reserves that traders offer of the virtual batteries they hold for a fortnight: what is accepted of them, what
they earn, and what they leave to the schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

import numpy as np

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import period_count
from gridloom.sandbox.simulator.market.balancing import afrr_capacity_prices, blocks_of, fcr_prices_eur_mw, read_product
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.planning import Store
from gridloom.sandbox.simulator.participants.strategies import Strategy
from gridloom.sandbox.simulator.scenario import STORAGE_HOURS, VIRTUAL_EFFICIENCY
from gridloom.sandbox.simulator.state import HeldReserve

Floats = np.ndarray

FCR_BID_SHARE: Final = 0.6
"""Of the day before: an accepted bid is paid the clearing price."""
AFRR_BID_SHARE: Final = 0.7
"""Of the marginal price of the day before: an accepted bid is paid its own price."""
RESERVED_HOURS: Final = {Stage.FCR: 0.25, Stage.AFRR: 1.0}
"""For which a reserve holds energy, or room for it"""
LOT_MW: Final = 1
SPARE_SHARE: Final = 0.05
"""Of the store, which no reserve counts on"""
BLOCKS_AT_ONCE: Final = 2
"""Where one ends and the next begins, the store has to hold the energy of both"""


@dataclass(frozen=True, slots=True)
class ReserveOffer:
    product: str
    capacity_mw: int
    price_eur_mw: float
    """FCR for the block, aFRR per hour"""


def stage_of(direction: Direction) -> Stage:
    return Stage.FCR if direction is Direction.NEGPOS else Stage.AFRR


def reserve_prices(market_data: MarketData, day: date, direction: Direction) -> Floats:
    """Clearing prices of the six blocks of a day: FCR for the block, aFRR per hour."""
    seed = market_data.seed_of(day)
    return (
        fcr_prices_eur_mw(seed, day) if direction is Direction.NEGPOS else afrr_capacity_prices(seed, day, direction)[1]
    )


def choose_all_offers(market_data: MarketData, strategy: Strategy, day: date, power_mw: float) -> list[ReserveOffer]:
    return [one for stage in RESERVED_HOURS for one in choose_offers(market_data, strategy, day, power_mw, stage)]


def choose_offers(
    market_data: MarketData, strategy: Strategy, day: date, power_mw: float, stage: Stage, stored: float = 0.5
) -> list[ReserveOffer]:
    """By the prices of the day before, the latest that are known at the gates, and no more than what is stored then (a
    ratio) can serve."""
    found = []
    for one in strategy.reserves:
        share = min(one.share, _servable_share(one.direction, stored))
        capacity_mw = max(int(share * power_mw), 0) // LOT_MW * LOT_MW
        if stage_of(one.direction) is not stage or not capacity_mw:
            continue
        block = next(block for block in blocks_of(day) if block.start_hour == one.start_hour)
        known = float(reserve_prices(market_data, day - timedelta(days=1), one.direction)[block.number])
        bid_share = FCR_BID_SHARE if stage is Stage.FCR else AFRR_BID_SHARE
        found.append(ReserveOffer(block.product(one.direction), capacity_mw, round(bid_share * known, 2)))
    return found


def _servable_share(direction: Direction, stored: float) -> float:
    """Of its power, what a battery has the energy for, or the room."""
    scarcer = min(stored if direction.exports else 1.0, 1.0 - stored if direction.imports else 1.0)
    return (scarcer - SPARE_SHARE) * STORAGE_HOURS / (BLOCKS_AT_ONCE * RESERVED_HOURS[stage_of(direction)])


def list_accepted(market_data: MarketData, day: date, offers: Iterable[ReserveOffer]) -> list[HeldReserve]:
    """Those at the price of their block or below."""
    found = []
    for one in offers:
        direction, block = read_product(day, one.product)
        cleared = float(reserve_prices(market_data, day, direction)[block.number])
        if one.price_eur_mw <= cleared:
            per_hour = round(cleared / block.length_h, 6) if direction is Direction.NEGPOS else one.price_eur_mw
            found.append(HeldReserve(one.product, one.capacity_mw, per_hour))
    return found


def hold_reserves(store: Store, day: date, held: Iterable[HeldReserve]) -> Store:
    """A battery with what reserves leave of its power, and what they need in store or as room; a block begins with
    both."""
    charge_kw, discharge_kw = store.charge_kw.copy(), store.discharge_kw.copy()
    for one in held:
        direction, block = read_product(day, one.product)
        charge_kw[block.periods] -= 1000 * one.capacity_mw * direction.imports
        discharge_kw[block.periods] -= 1000 * one.capacity_mw * direction.exports
    return hold_energy(replace(store, charge_kw=charge_kw, discharge_kw=discharge_kw), day, held)


def hold_energy(store: Store, day: date, held: Iterable[HeldReserve]) -> Store:
    """The same where the power is known already."""
    stored_kwh, free_kwh = np.zeros(period_count(day)), np.zeros(period_count(day))
    for one in held:
        direction, block = read_product(day, one.product)
        span = slice(max(0, block.periods.start - 1), block.periods.stop)
        kwh = 1000 * one.capacity_mw * RESERVED_HOURS[stage_of(direction)]
        stored_kwh[span] += kwh * direction.exports
        free_kwh[span] += kwh * direction.imports
    return replace(store, stored_kwh=stored_kwh, free_kwh=free_kwh)


def earn_reserves(market_data: MarketData, day: date, held: Iterable[HeldReserve]) -> float:
    """EUR: capacity, and aFRR energy that is called, less what it costs to have it in store again."""
    earned = 0.0
    for one in held:
        direction, block = read_product(day, one.product)
        earned += one.capacity_mw * one.price_eur_mw_h * block.length_h
        if direction is not Direction.NEGPOS:
            called, paid = market_data.activation(day, direction), market_data.activation_prices(day, direction)
            paid = paid + restoring_eur_mwh(market_data, day, direction)
            earned += one.capacity_mw * float(called[block.periods] @ paid[block.periods]) / 4
    return earned


def restoring_eur_mwh(market_data: MarketData, day: date, direction: Direction) -> float:
    """The value of a called MWh once the store is as it was, at the day's mean price: it is bought back, with what is
    lost both ways, or sold with that loss."""
    mean_eur_mwh, both_ways = float(market_data.day_ahead(day).mean()), VIRTUAL_EFFICIENCY**2
    return both_ways * mean_eur_mwh if direction is Direction.NEG else -mean_eur_mwh / both_ways
