"""What the platform has been told and has answered, as the oracle remembers it. Plain Python; nothing of the service.

Powers are kW and energies kWh as exact fractions, moments aware, quarter-hours numbers (`market.quarter_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from tests.simulation.calls import Person

ZONES = ("TenneT", "Amprion")


@dataclass(slots=True)
class Member:
    """Who has accepted an invitation, with what signing in needs."""

    id: str
    username: str
    password: str
    role: str
    person: Person | None = None
    refresh_token: str | None = None
    spent_token: str | None = None
    gone: Person | None = None
    """As which they were signed in before they signed out."""


@dataclass(slots=True)
class Organisation:
    name: str
    id: str
    kind: str
    cast: dict[str, Person]
    webhooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, Person] = field(default_factory=dict)
    invitations: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Tokens and roles of those that wait, by id."""
    members: list[Member] = field(default_factory=list)
    portfolios: dict[str, list[str]] = field(default_factory=dict)
    fleets: dict[str, list[str]] = field(default_factory=dict)

    @property
    def admin(self) -> Person:
        return self.cast["ADMIN"]

    @property
    def trader(self) -> Person:
        return self.cast["TRADER"]

    @property
    def engineer(self) -> Person:
        return self.cast["ENGINEER"]

    @property
    def viewer(self) -> Person:
        return self.cast["VIEWER"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """A version of a battery's parameters; `since` is None for the first one, which holds from the beginning."""

    since: datetime | None
    charge: Fraction
    discharge: Fraction
    energy: Fraction
    charge_efficiency: Fraction
    discharge_efficiency: Fraction
    lowest: Fraction
    highest: Fraction
    fcr_ratio: Fraction
    daily_cycles: Fraction | None

    @property
    def usable(self) -> Fraction:
        return self.highest - self.lowest


@dataclass(slots=True)
class Outage:
    id: str
    start: datetime
    end: datetime
    charge: Fraction
    discharge: Fraction
    energy: Fraction


@dataclass(slots=True)
class BalancingBid:
    id: str
    day: date
    product: str
    capacity: Fraction
    capacity_price: Fraction
    energy_price: Fraction | None
    status: str = "OFFERED"
    accepted: Fraction = Fraction(0)
    settlement_price: Fraction | None = None


@dataclass(slots=True)
class Battery:
    name: str
    id: str
    owner: Organisation
    zone: str
    status: str
    versions: list[Parameters]
    outages: dict[str, Outage] = field(default_factory=dict)
    own: dict[int, Fraction] = field(default_factory=dict)
    """The owner's schedule by quarter-hour."""
    bids: dict[str, BalancingBid] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    notifications: dict[str, str] = field(default_factory=dict)
    """Their status by id."""
    grants: dict[str, list[str]] = field(default_factory=dict)
    """Permissions by organisation's name."""
    samples: dict[str, dict[datetime, float]] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"/physical-assets/{self.id}"


@dataclass(slots=True)
class Block:
    id: str
    first: int
    end: int
    market: str
    charge: Fraction
    discharge: Fraction


@dataclass(slots=True)
class VirtualAsset:
    name: str
    id: str
    holder: Organisation
    zone: str
    first: int
    end: int
    charge: Fraction
    discharge: Fraction
    energy: Fraction
    charge_efficiency: Fraction
    discharge_efficiency: Fraction
    gate_s: int
    initial: Fraction
    """As a ratio of the energy."""
    target: Fraction
    tolerance: Fraction
    backing: list[tuple[str, Fraction]]
    auction: str | None = None
    blocks: dict[str, Block] = field(default_factory=dict)
    schedule: dict[int, Fraction] = field(default_factory=dict)
    """What stands by quarter-hour, all blocks together; what is not there is 0."""
    is_disturbed: bool = False
    """Whether anything may have cut it: then its store is compared with its adjustments counted."""
    has_cycle_limit: bool = False
    has_one_block: bool = True
    """Whether it was never divided, so that cuts of its block are cuts of the whole."""

    @property
    def path(self) -> str:
        return f"/organisations/{self.holder.id}/virtual-assets/{self.id}"

    @property
    def mean_power_mw(self) -> Fraction:
        return (self.charge + self.discharge) / 2000


@dataclass(slots=True)
class AuctionBid:
    id: str
    bidder: str
    price: Fraction
    order: int
    is_withdrawn: bool = False


@dataclass(slots=True)
class Auction:
    id: str
    start: datetime
    end: datetime
    item: dict[str, Any]
    first: int
    last: int
    backing: list[tuple[str, Fraction]]
    participants: list[str]
    hurdle: Fraction | None
    least: Fraction
    bids: list[AuctionBid] = field(default_factory=list)
    is_cancelled: bool = False
    is_cleared: bool = False
    winner: str | None = None
    price: Fraction = Fraction(0)
    virtual: str | None = None


@dataclass(slots=True)
class Facts:
    """Settled rows by their natural keys, the operator's before a trader's."""

    trades: dict[tuple[str, str, int, str], dict[str, Any]] = field(default_factory=dict)
    fcr: dict[tuple[str, date, str], dict[str, Any]] = field(default_factory=dict)
    afrr_capacity: dict[tuple[str, date, str], dict[str, Any]] = field(default_factory=dict)
    afrr_energy: dict[tuple[str, int, str], dict[str, Any]] = field(default_factory=dict)
    net_off: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    tolls: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    now: datetime
    operator: Organisation
    owners: list[Organisation]
    traders: list[Organisation]
    batteries: dict[str, Battery] = field(default_factory=dict)
    virtuals: dict[str, VirtualAsset] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    auctions: dict[str, Auction] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    prices: dict[tuple[str, int], Fraction] = field(default_factory=dict)
    """Reference prices by series and quarter-hour."""
    doubtful: list[str] = field(default_factory=list)
    """Auctions of which the platform must say whether they could be delivered."""
    count: int = 0

    @property
    def organisations(self) -> list[Organisation]:
        return [self.operator, *self.owners, *self.traders]

    def find_organisation(self, name: str) -> Organisation:
        return next(one for one in self.organisations if one.name == name)

    def number(self) -> int:
        """For names and keys that must differ."""
        self.count += 1
        return self.count
