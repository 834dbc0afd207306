"""The simulator's state from one quarter-hour to the next. The platform keeps it with each step that is done."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import msgspec
import numpy as np

from gridloom.sandbox.simulator.batteries.physics import State


class SimulatedHolding(msgspec.Struct):
    """A virtual battery that a trader schedules."""

    id: str
    holder: str
    zone: str
    start: datetime
    end: datetime
    energy_kwh: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None

    @property
    def is_tolled(self) -> bool:
        """By a contract of a fortnight; what is auctioned lives for a day."""
        return self.end - self.start > timedelta(days=2)


class OpenAuction(msgspec.Struct):
    id: str
    zone: str
    delivery_day: date
    end: datetime
    power_mw: float = 0.0
    """Zero where an earlier release opened it: then nothing is bid for it any more."""


class Award(msgspec.Struct):
    """Balancing power that a battery sold for a block; the price in EUR/MW per hour."""

    battery: str
    product: str
    capacity_mw: int
    price_eur_mw_h: float


class AwaitedBid(msgspec.Struct):
    """A balancing bid that has no result yet."""

    battery: str
    product: str
    bid_id: str
    offered_kw: float
    price: float
    """As it was bid: FCR for the whole block, aFRR per hour."""


class SimulatedOutage(msgspec.Struct):
    battery: str
    start: datetime
    end: datetime
    missing: float
    """Share of the power that is lost"""
    planned: bool
    announced: bool = False


class SimulatorState(msgspec.Struct):
    world: int
    seeds: dict[str, int]
    """From which market day on which seed holds"""
    organisations: dict[str, str] = {}
    batteries: dict[str, str] = {}
    portfolios: dict[str, str] = {}
    energy_kwh: list[float] = []
    temperature_c: list[float] = []
    cycles: list[float] = []
    health_percent: list[float] = []
    owed_kwh: list[float] = []
    """Energy that rest and balancing took out of each store and upkeep has still to bring back"""
    metered_until: datetime | None = None
    last_step: datetime | None = None
    holdings: list[SimulatedHolding] = []
    auctions: list[OpenAuction] = []
    waiting: list[AwaitedBid] = []
    awards: dict[str, list[Award]] = {}
    """By delivery day"""
    outages: list[SimulatedOutage] = []
    plans: dict[str, dict[str, list[float]]] = {}
    """By delivery day and virtual battery: the power that is still to be traded, in kW"""
    awaited_day: str | None = None
    """Delivery day whose prices a feed is about to have"""
    unsold: dict[str, dict[str, list[float]]] = {}
    """By delivery day and virtual battery: what is left for the day itself, in MWh"""

    # --- batteries ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return State(
            np.array(self.energy_kwh),
            np.array(self.temperature_c),
            np.array(self.cycles),
            np.array(self.health_percent),
        )

    def store_state(self, state: State, owed_kwh: Any) -> None:
        self.energy_kwh = [round(float(x), 6) for x in state.energy_kwh]
        self.temperature_c = [round(float(x), 4) for x in state.temperature_c]
        self.cycles = [round(float(x), 8) for x in state.cycles]
        self.health_percent = [round(float(x), 8) for x in state.health_percent]
        self.owed_kwh = [round(float(x), 6) for x in owed_kwh]

    # --- chance ------------------------------------------------------------------------------------------------------

    def seed_of(self, day: date) -> int:
        """The seed that holds for a market day."""
        return self.seeds[max(since for since in self.seeds if since <= day.isoformat())]

    def take_seed(self, seed: int, from_day: date) -> None:
        """A new seed holds from a day on whose prices are not published yet."""
        if self.seeds[max(self.seeds)] != seed:
            self.seeds[from_day.isoformat()] = seed

    # --- forgetting --------------------------------------------------------------------------------------------------

    def forget_before(self, day: date, now: datetime) -> None:
        old = day.isoformat()
        self.awards = {of: awards for of, awards in self.awards.items() if of >= old}
        self.plans = {of: plans for of, plans in self.plans.items() if of >= old}
        self.unsold = {of: stored for of, stored in self.unsold.items() if of > old}
        self.holdings = [one for one in self.holdings if one.end > now]
        self.auctions = [one for one in self.auctions if one.delivery_day >= day]
        self.outages = [one for one in self.outages if one.end > (self.metered_until or now)]
        current = max((since for since in self.seeds if since <= old), default=min(self.seeds))
        # Prices of past weeks make the forecasts of the next days: their seed stays as long as there is but one more.
        self.seeds = dict(sorted(self.seeds.items())[-4:]) | {current: self.seeds[current]}
