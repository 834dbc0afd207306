"""The simulator's state from one quarter-hour to the next. The platform keeps it with each step that is done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from gridloom.kernel.window import Window
from gridloom.sandbox.simulator.batteries.physics import State
from gridloom.sandbox.simulator.scenario import STORAGE_HOURS
from gridloom_client.answers import OrderedFailure


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
    def power_mw(self) -> float:
        return self.energy_kwh / (1000 * STORAGE_HOURS)

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


class HeldReserve(msgspec.Struct):
    """Balancing power that a virtual battery sold for a block; the price in EUR/MW per hour."""

    product: str
    capacity_mw: float
    price_eur_mw_h: float


class AwaitedBid(msgspec.Struct):
    """A balancing bid that has no result yet."""

    battery: str
    product: str
    bid_id: str
    offered_kw: float
    price: float
    """As it was bid: FCR for the whole block, aFRR per hour."""


class FailureKind(StrEnum):
    TRIP = "TRIP"
    DERATING = "DERATING"
    MAINTENANCE = "MAINTENANCE"
    LONG = "LONG"
    """For a week"""
    ORDERED = "ORDERED"
    """On purpose, by the operator"""


class SimulatedOutage(msgspec.Struct):
    battery: str
    start: datetime
    end: datetime
    missing: float
    """Share of the power that is lost"""
    planned: bool
    announced: bool = False
    kind: FailureKind = FailureKind.TRIP
    said_after_min: int = 0
    """From its start until its owner says so"""
    is_unsaid: bool = False
    """Its owner never says so."""

    def is_due(self, now: datetime) -> bool:
        """Whether its owner says so now."""
        is_seen = (
            self.planned
            or self.kind is FailureKind.ORDERED
            or self.start + timedelta(minutes=self.said_after_min) <= now < self.end
        )
        return is_seen and not self.announced and not self.is_unsaid


class SimulatorState(msgspec.Struct):
    world: int
    seeds: dict[str, int]
    """From which market day on which seed holds"""
    begun: date | None = None
    """Its first market day"""
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
    reserves: dict[str, dict[str, list[HeldReserve]]] = {}
    """By delivery day and virtual battery: what orders at FCR and aFRR have sold"""
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

    def available_share(self, battery: str, window: Window) -> float:
        """Of a battery's power, throughout a window, as far as its owner has said."""
        missing = (
            one.missing
            for one in self.outages
            if one.battery == battery and one.announced and one.start < window.end and window.start < one.end
        )
        return max(0.0, 1.0 - sum(missing))

    def take_failures(self, ordered: Sequence[OrderedFailure]) -> None:
        """Failures that the operator has ordered, in place of those before; those announced stay so."""
        slugs = {id: slug for slug, id in self.batteries.items()}
        before = {(one.battery, one.start): one for one in self.outages if one.kind is FailureKind.ORDERED}
        self.outages = [one for one in self.outages if one.kind is not FailureKind.ORDERED]
        for one in ordered:
            slug = slugs[str(one.physical_asset_id)]
            known = before.get((slug, one.start))
            self.outages.append(
                SimulatedOutage(
                    slug,
                    one.start,
                    one.end,
                    one.share,
                    planned=False,
                    announced=known is not None and known.announced,
                    kind=FailureKind.ORDERED,
                    is_unsaid=not one.announced,
                )
            )

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
        self.reserves = {of: held for of, held in self.reserves.items() if of >= old}
        self.plans = {of: plans for of, plans in self.plans.items() if of >= old}
        self.unsold = {of: stored for of, stored in self.unsold.items() if of > old}
        self.holdings = [one for one in self.holdings if one.end > now]
        self.auctions = [one for one in self.auctions if one.delivery_day >= day]
        self.outages = [one for one in self.outages if one.end > (self.metered_until or now)]
        current = max((since for since in self.seeds if since <= old), default=min(self.seeds))
        # Prices of past weeks make the forecasts of the next days: their seed stays as long as there is but one more.
        self.seeds = dict(sorted(self.seeds.items())[-4:]) | {current: self.seeds[current]}
