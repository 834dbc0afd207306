"""Thirty days of the simulated market without the platform: who holds what, what it pays, and what it earns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.operator import HURDLE_SHARE
from gridloom.sandbox.simulator.participants.planning import Store
from gridloom.sandbox.simulator.participants.reserve_offers import (
    choose_all_offers,
    earn_reserves,
    hold_reserves,
    list_accepted,
)
from gridloom.sandbox.simulator.participants.strategies import STRATEGIES, USUAL, customers_periods, customers_prices
from gridloom.sandbox.simulator.participants.traders import plan_holding
from gridloom.sandbox.simulator.participants.valuing import annual_toll, decide_offer, foreseen_value
from gridloom.sandbox.simulator.scenario import (
    AUCTIONED_SHARE,
    DAILY_CYCLES,
    STORAGE_HOURS,
    TOLL_DAYS,
    TOLLED_SHARE,
    VIRTUAL_EFFICIENCY,
    ZONES,
    batteries_in,
)

DAYS = 30
FIRST_AUCTIONED_DAY = 2


@dataclass
class Month:
    paid_eur: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    earned_eur: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    winners: list[str] = field(default_factory=list)
    prices_eur_mw: list[float] = field(default_factory=list)
    values_eur_mw: list[float] = field(default_factory=list)
    """Of each auctioned lot: what was paid for a megawatt, and what the winner then earned with it"""
    leads: list[float] = field(default_factory=list)
    """By how much of its offer the winner was above the second"""
    bidders: list[int] = field(default_factory=list)
    customers_eur: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """What each trader's customers paid beyond the day-ahead price"""
    reserves_eur: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    tolls_eur_mw_a: list[int] = field(default_factory=list)
    exported_mwh: float = 0.0
    netted_mwh: float = 0.0
    traded_mwh: float = 0.0
    open_mwh: float = 0.0

    @property
    def netted_share(self) -> float:
        return self.netted_mwh / self.exported_mwh

    @property
    def open_share(self) -> float:
        return self.open_mwh / self.traded_mwh


def live_month(seed: int, first: date, days: int = DAYS) -> Month:
    market_data, month = MarketData(lambda _: seed), Month()
    for n in range(days):
        day = first + timedelta(days=n)
        for zone in ZONES:
            power_mw = sum(battery.power_kw for battery in batteries_in(zone)) / 1000
            held = [(ZONES[zone].toll_holder, TOLLED_SHARE * power_mw)]
            toll = annual_toll(market_data, zone, first + timedelta(days=n // TOLL_DAYS * TOLL_DAYS))
            month.tolls_eur_mw_a.append(toll)
            month.paid_eur[ZONES[zone].toll_holder] += toll * held[0][1] / 365
            if n >= FIRST_AUCTIONED_DAY:
                held += _clear_auction(market_data, month, zone, day, AUCTIONED_SHARE * power_mw)
            _deliver_day(market_data, month, zone, day, held)
    return month


def _clear_auction(
    market_data: MarketData, month: Month, zone: str, day: date, power_mw: float
) -> Iterator[tuple[str, float]]:
    known_until, bids = day - timedelta(days=2), dict[str, float]()
    hurdle = HURDLE_SHARE * power_mw * foreseen_value(market_data, USUAL, day, known_until)
    for slug, strategy in STRATEGIES.items():
        worth = power_mw * foreseen_value(market_data, strategy, day, known_until)
        for is_last in (False, True):
            offer = decide_offer(market_data, slug, zone, day, worth, is_last=is_last)
            if offer is not None and offer >= hurdle:
                bids[slug] = offer
    if bids:
        winner = max(bids, key=lambda slug: bids[slug])
        month.paid_eur[winner] += bids[winner]
        month.winners.append(winner)
        month.prices_eur_mw.append(bids[winner] / power_mw)
        ordered = sorted(bids.values())
        month.bidders.append(len(bids))
        if len(bids) > 1:
            month.leads.append(ordered[-1] / ordered[-2] - 1)
        yield winner, power_mw


def _deliver_day(market_data: MarketData, month: Month, zone: str, day: date, held: list[tuple[str, float]]) -> None:
    powers = []
    for number, (holder, power_mw) in enumerate(held):
        flat = np.full(len(market_data.day_ahead(day)), 1000 * power_mw)
        is_tolled = number == 0
        offers = choose_all_offers(market_data, STRATEGIES[holder], day, power_mw) if is_tolled else []
        reserves = list_accepted(market_data, day, offers)
        store = Store(flat, flat, STORAGE_HOURS * 1000 * power_mw, VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY)
        store = hold_reserves(store, day, reserves)
        power_kw = plan_holding(market_data, holder, zone, day, store, 0.5, DAILY_CYCLES, serves_customers=is_tolled)
        powers.append(np.array(power_kw))
        of_reserves = earn_reserves(market_data, day, reserves)
        month.reserves_eur[holder] += of_reserves
        earned = of_reserves + _sell_plan(
            market_data, month, holder, day, powers[-1] / 4000, serves_customers=is_tolled
        )
        month.earned_eur[holder] += earned
        if number:
            month.values_eur_mw.append(earned / power_mw)
    exports, imports = (np.maximum(sign * np.array(powers), 0).sum(axis=0) for sign in (1, -1))
    month.exported_mwh += exports.sum() / 4000
    month.netted_mwh += np.minimum(exports, imports).sum() / 4000


def _sell_plan(
    market_data: MarketData, month: Month, holder: str, day: date, planned_mwh: np.ndarray, *, serves_customers: bool
) -> float:
    """EUR: customers, the day-ahead auction, an intraday auction, continuous trading, and what is left at its price."""
    strategy = STRATEGIES[holder]
    supplied = customers_periods(strategy, day) & serves_customers
    earned = float(planned_mwh[supplied] @ customers_prices(market_data.day_ahead(day))[supplied])
    month.customers_eur[holder] += float(
        planned_mwh[supplied] @ (customers_prices(market_data.day_ahead(day)) - market_data.day_ahead(day))[supplied]
    )
    left, lot = np.where(supplied, 0.0, planned_mwh), strategy.lot_mw / 4
    sales = [(strategy.day_ahead_share, market_data.day_ahead(day)), (1.0, market_data.intraday(day))]
    if strategy.intraday_auction is not None:
        sales.insert(1, (0.5, market_data.auction(day, strategy.intraday_auction)))
    for share, prices in sales:
        sold = np.round(share * left / lot) * lot
        earned, left = earned + float(sold @ prices), left - sold
    month.traded_mwh += np.abs(planned_mwh).sum()
    month.open_mwh += np.abs(left).sum()
    return earned + float(left @ market_data.imbalance(day))
