"""What the platform has been told and has answered, as the oracle remembers it. Plain Python; nothing of the service.

Powers are kW and energies kWh as exact fractions, moments aware, quarter-hours numbers (`market.quarter_of`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from tests.simulation.calls import Person
from tests.simulation.identity_provider import IdentityProvider

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
    deliveries: dict[str, str] = field(default_factory=dict)
    """Webhooks by the id of a delivery."""
    keys: dict[str, Person] = field(default_factory=dict)
    far_keys: dict[str, Person] = field(default_factory=dict)
    """API keys for networks that no life calls from."""
    invitations: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Tokens and roles of those that wait, by id."""
    accepted: list[str] = field(default_factory=list)
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


@dataclass(slots=True)
class Guest:
    """An organisation beside the cast, and its one ADMIN."""

    name: str
    id: str
    username: str
    password: str
    invitation: str | None = None
    user: str | None = None
    person: Person | None = None
    secret: str | None = None
    """Of a second factor that was begun; it counts once there are recovery codes."""
    recovery_codes: list[str] = field(default_factory=list)
    challenge: str | None = None
    is_second_factor_required: bool = False
    sessions: list[str] = field(default_factory=list)
    cookie: str | None = None
    has_provider: bool = False
    sign_on: dict[str, str] | None = None
    """A sign-on under way: what the provider was asked, and the browser's cookie."""
    code: str | None = None
    used_up: set[str] = field(default_factory=set)
    """Shares of which nothing is left, by the problem that says so."""
    colleague: str | None = None
    """Its second member, who is no ADMIN: the token of an invitation, then a name to sign in with."""
    is_colleague_in: bool = False
    is_sign_on_required: bool = False
    is_provider_gone: bool = False
    has_no_quota: bool = False
    battery: str | None = None
    """The id of a battery without any quota of telemetry."""


@dataclass(slots=True)
class StatementRun:
    id: str
    month: str
    status: str = "RUNNING"


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
    recorded_at: datetime | None = None
    """When it was reported, or last changed."""


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
    decided_at: datetime | None = None
    """When its last result was recorded."""


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
    """The owner's schedule by quarter-hour; changed by replacing it."""
    bids: dict[str, BalancingBid] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    notifications: dict[str, str] = field(default_factory=dict)
    """Their status by id."""
    results: int = 0
    """How often a result was recorded that said something new."""
    messages: list[str] = field(default_factory=list)
    """Ids of their messages."""
    grants: dict[str, list[str]] = field(default_factory=dict)
    """Permissions by organisation's name."""
    samples: dict[str, dict[datetime, float]] = field(default_factory=dict)
    dispatch_version: int | None = None
    """That was read last."""
    past: list[tuple[datetime, dict[str, Outage]]] = field(default_factory=list)
    """Its outages as they stood until some moments, the earliest first."""
    is_rewritten: bool = False
    """Whether an announced outage of it was moved or cancelled: what it cut before stays cut."""
    changed_at: datetime | None = None
    """When its firm book, or what is available of it, was last changed."""

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


@dataclass(frozen=True, slots=True)
class Told:
    """What an event of changed availability must say of a virtual asset: by quarter-hour what it has left, charging and
    discharging in kW and energy in kWh."""

    virtual: str
    left: dict[int, tuple[Fraction, Fraction, Fraction]]


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
    traded_prices: dict[int, Fraction] = field(default_factory=dict)
    """Day-ahead prices by quarter-hour as they were when time passed last: what depended on them has happened."""
    drift_trades: list[dict[str, Any]] | None = field(default_factory=list)
    """Trades by which drift goes to market, as they were read since time passed or prices were published; else None."""
    prices_until: date | None = None
    """The market day before which there are weeks of day-ahead prices."""
    doubtful: list[str] = field(default_factory=list)
    """Auctions of which the platform must say whether they could be delivered."""
    provider: IdentityProvider = field(default_factory=IdentityProvider)
    due_events: set[tuple[str, str]] = field(default_factory=set)
    """Organisations and types of events of which one at least must have come."""
    told: list[Told] = field(default_factory=list)
    """What holders of virtual assets must have been told of, in this order."""
    touched: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Batteries whose book has changed in this step, and the quarter-hours in which it has."""
    guests: list[Guest] = field(default_factory=list)
    runs: list[StatementRun] = field(default_factory=list)
    """Months that were issued, or were to be."""
    statements: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Statements by id, with the name of their organisation, as they were read last."""
    delivery_runs: list[str] = field(default_factory=list)
    backtests: dict[str, str] = field(default_factory=dict)
    """Who asked for them, by id."""
    optimisations: dict[str, str] = field(default_factory=dict)
    """Paths of long optimisations, with the name of their virtual asset."""
    compared: Counter[str] = field(default_factory=Counter)
    """How often each invariant had something to compare."""
    count: int = 0

    @property
    def issued_months(self) -> list[str]:
        return [run.month for run in self.runs if run.status == "DONE"]

    @property
    def organisations(self) -> list[Organisation]:
        return [self.operator, *self.owners, *self.traders]

    def find_organisation(self, name: str) -> Organisation:
        return next(one for one in self.organisations if one.name == name)

    def note_change(self, backing: Iterable[tuple[str, Fraction]], moment: datetime | None = None) -> None:
        """The book of batteries changes now, or changed at an earlier moment."""
        for name, _ in backing:
            battery, at = self.batteries[name], moment or self.now
            battery.changed_at = at if battery.changed_at is None else max(at, battery.changed_at)

    def note_outages(self, battery: Battery) -> None:
        """Call it before they change."""
        battery.past.append((self.now, dict(battery.outages)))

    def touch(self, backing: Iterable[tuple[str, Fraction]], first: int, end: int) -> None:
        """The book of batteries changes in these quarter-hours; it is read when the step is over."""
        for name, _ in backing:
            before = self.touched.get(name, (first, end))
            self.touched[name] = min(first, before[0]), max(end, before[1])

    def number(self) -> int:
        """For names and keys that must differ."""
        self.count += 1
        return self.count
