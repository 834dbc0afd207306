"""What a virtual asset, its blocks and what backs it are, inside the service."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import force_setattr

from gridloom.kernel.ids import AuctionID, BlockID, OrganisationID, PhysicalAssetID, PortfolioID, VirtualAssetID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import utc_day_of, utc_days_of, window_periods

DEFAULT_GATE_CLOSURE_S: Final = 480
DEFAULT_FINAL_SOC_TOLERANCE: Final = 0.01


class Market(StrEnum):
    """Where a block's power is sold. Only wholesale blocks follow a schedule; the others stand by."""

    WHOLESALE = "WHOLESALE"
    FCR = "FCR"
    AFRR_POS = "AFRR_POS"
    AFRR_NEG = "AFRR_NEG"


class AdjustmentReason(StrEnum):
    """Why a period's accepted schedule was cut when its gate closed."""

    STATE_OF_ENERGY_BOUNDARIES = "STATE_OF_ENERGY_BOUNDARIES"
    AVAILABILITY = "AVAILABILITY"
    CYCLE_LIMIT = "CYCLE_LIMIT"


class VersionKind(StrEnum):
    """What made a version of a virtual asset's schedule."""

    ALLOCATION = "ALLOCATION"
    SCHEDULE = "SCHEDULE"
    CARVING = "CARVING"
    GIVING_BACK = "GIVING_BACK"
    ADJUSTMENT = "ADJUSTMENT"


@dataclass(frozen=True, slots=True)
class Block:
    """A slice of power over the periods `first` up to but not `end`.

    Blocks of one asset lie on lanes: on a lane they follow each other and never overlap, and each lane has one schedule
    for the whole life. Cutting a block in time therefore moves no schedule.
    """

    id: BlockID
    lane: int
    first: int
    end: int
    market: Market
    charge_kw: float
    discharge_kw: float
    reserve_minutes: float = 0.0
    """For how long at full power it keeps energy in the store, or room for it; of balancing capacity only."""

    @property
    def window(self) -> Window:
        return Window(period_start(self.first), period_start(self.end))

    def overlaps(self, first: int, end: int) -> bool:
        return self.first < end and first < self.end


@dataclass(frozen=True, slots=True)
class BackingShare:
    """The part of a virtual asset that one physical asset stands for; all shares sum to 1."""

    physical_asset_id: PhysicalAssetID
    share: float


@dataclass(frozen=True, slots=True)
class Promise:
    """What one physical asset gives to one virtual asset, losses of a less efficient battery included."""

    physical_asset_key: int
    physical_asset_id: PhysicalAssetID
    share: float
    charge_kw: float
    discharge_kw: float
    energy_kwh: float


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What reaches the store of a kWh taken from the grid, and what reaches the grid of a kWh taken from the store."""

    charge: float
    discharge: float


@dataclass(frozen=True, slots=True)
class AssetTerms:
    """What a virtual asset is born with; it never changes."""

    name: str
    window: Window
    delivery_zone: str
    charge_kw: float
    discharge_kw: float
    energy_capacity_kwh: float
    efficiency: Efficiency
    backing: tuple[BackingShare, ...]
    portfolio_id: PortfolioID | None = None
    eic_code: str | None = None
    daily_cycle_limit: float | None = None
    annual_cycle_limit: float | None = None
    ramp_rate_kw_s: float | None = None
    gate_closure_s: int = DEFAULT_GATE_CLOSURE_S
    initial_soc: float = 0.5
    final_soc_target: float = 0.5
    final_soc_tolerance: float = DEFAULT_FINAL_SOC_TOLERANCE
    auction_id: AuctionID | None = None


class VirtualAsset(Struct, frozen=True):
    """An allocated virtual asset as its row holds it: its terms, and where its schedules stand."""

    key: int
    id: VirtualAssetID
    organisation_id: OrganisationID
    created_at: datetime
    terms: AssetTerms
    version: int
    end_kwh: float
    first_misfit: int | None
    judged_until: int | None
    first_activated: int | None
    """No activation was ever settled for a period before this one; None where there is none at all."""
    revision: int
    """Goes up with every change of the row. Blocks and schedules change along with it only, and whoever judges them
    anew changes it too: while it is the same, so is all that a schedule is judged by of the asset itself."""
    promises: tuple[Promise, ...]
    periods: tuple[int, int] = (0, 0)
    """Its life; found from its terms where it is not said."""

    def __post_init__(self) -> None:
        if self.periods == (0, 0):
            force_setattr(self, "periods", window_periods(self.terms.window))

    @property
    def first(self) -> int:
        return self.periods[0]

    @property
    def end(self) -> int:
        return self.periods[1]

    @property
    def first_day(self) -> int:
        return utc_day_of(self.first)

    @property
    def days(self) -> range:
        return utc_days_of(self.first, self.end)

    @property
    def initial_kwh(self) -> float:
        return self.terms.initial_soc * self.terms.energy_capacity_kwh

    def clip(self, first: int, end: int) -> tuple[int, int]:
        """The part of a range of periods that lies within the asset's life; empty where there is none."""
        first = min(max(first, self.first), self.end)
        return first, max(first, min(end, self.end))


class LockedAsset(VirtualAsset, frozen=True):
    """A virtual asset whose row this transaction holds: nobody else changes its blocks and schedules until it ends.

    Only the store makes one, by locking the row or by inserting it. It is as it stood then: after a change of one's own
    its version and what follows from its schedules are older than the row.
    """


@dataclass(frozen=True, slots=True)
class LockedAssetKey:
    """The key of a virtual asset whose row this transaction holds, where the rest of it is of no interest."""

    key: int


class Author(Struct, frozen=True):
    """Who made a version: a user, an API key, or the platform itself."""

    kind: str
    id: UUID | None


PLATFORM: Final = Author("PLATFORM", None)


@dataclass(frozen=True, slots=True)
class ScheduleVersion:
    """One accepted version: who, when, and what kind of change."""

    version: int
    kind: VersionKind
    accepted_at: datetime
    author: Author
    block_id: BlockID | None


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A period whose accepted power, summed over all blocks, was cut when its gate closed."""

    period: int
    accepted_kw: float
    adjusted_kw: float
    reason: AdjustmentReason
    announced_kw: float | None = None
    """What is left of the accepted power by what was announced in time alone; the rest of the cut is the owners'."""
