"""Virtual assets, their blocks, promises, versions and adjustments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import force_setattr

from gridloom.kernel.balancing import ReserveProduct
from gridloom.kernel.ids import AuctionID, BlockID, OrganisationID, PhysicalAssetID, PortfolioID, VirtualAssetID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import utc_day_of, utc_days_of, window_periods

DEFAULT_GATE_CLOSURE_S: Final = 480
MAX_GATE_CLOSURE_S: Final = 7 * 86_400
DEFAULT_FINAL_SOC_TOLERANCE: Final = 0.01


class Market(StrEnum):
    """Where a block's power is sold. Only wholesale blocks follow a schedule; the others are reserves."""

    WHOLESALE = "WHOLESALE"
    FCR = ReserveProduct.FCR.value
    AFRR_POS = ReserveProduct.AFRR_POS.value
    AFRR_NEG = ReserveProduct.AFRR_NEG.value


class AdjustmentReason(StrEnum):
    """Why a period's accepted schedule was cut when its gate closed."""

    STATE_OF_ENERGY_BOUNDARIES = "STATE_OF_ENERGY_BOUNDARIES"
    AVAILABILITY = "AVAILABILITY"
    CYCLE_LIMIT = "CYCLE_LIMIT"


class VersionKind(StrEnum):
    """The kind of change that made a version of a virtual asset's schedule."""

    ALLOCATION = "ALLOCATION"
    SCHEDULE = "SCHEDULE"
    CARVING = "CARVING"
    GIVING_BACK = "GIVING_BACK"
    ADJUSTMENT = "ADJUSTMENT"


@dataclass(frozen=True, slots=True)
class Block:
    """A slice of power over the periods [first, end).

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
    """Minutes of full power that its reserve needs in stored energy or headroom; of balancing capacity only."""

    @property
    def window(self) -> Window:
        return Window(period_start(self.first), period_start(self.end))

    def overlaps(self, first: int, end: int) -> bool:
        return self.first < end and first < self.end


@dataclass(frozen=True, slots=True)
class BackingShare:
    """The share of a virtual asset that one physical asset backs; all shares sum to 1."""

    physical_asset_id: PhysicalAssetID
    share: float


@dataclass(frozen=True, slots=True)
class Promise:
    """The capacity that one physical asset owes to one virtual asset, with the losses of a less efficient battery."""

    physical_asset_key: int
    physical_asset_id: PhysicalAssetID
    share: float
    charge_kw: float
    discharge_kw: float
    energy_kwh: float


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Stored ÷ imported energy, and exported ÷ drawn energy."""

    charge: float
    discharge: float


@dataclass(frozen=True, slots=True)
class AssetTerms:
    """The terms of a virtual asset; only the name and the portfolio ever change."""

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

    @property
    def has_cycle_limit(self) -> bool:
        return self.daily_cycle_limit is not None or self.annual_cycle_limit is not None


class VirtualAsset(Struct, frozen=True):
    """An allocated virtual asset as in its row: its terms, and the state of its schedules."""

    key: int
    id: VirtualAssetID
    organisation_id: OrganisationID
    created_at: datetime
    terms: AssetTerms
    promises: tuple[Promise, ...]
    version: int
    end_kwh: float
    first_misfit: int | None = None
    judged_until: int | None = None
    first_activated: int | None = None
    """The first period with a settled activation; None if there is none."""
    revision: int = 0
    """Raised by every change of the row, its blocks and its schedules, and by every revalidation."""
    holds: tuple[Block, ...] = ()
    """The reserves that waiting orders hold back until their results, as the blocks that would hold them; `id` is the
    order's."""
    periods: tuple[int, int] = (0, 0)
    """Its life, computed from its terms by default."""

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
    """A virtual asset whose row this transaction has locked: no other one changes its blocks and schedules.

    Only stores make one, by locking or inserting the row. It is as it was then, without the changes of the transaction.
    """


@dataclass(frozen=True, slots=True)
class LockedAssetKey:
    """The key of a virtual asset whose row this transaction has locked."""

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
    scheduled_kw: float
    """The power that the store follows."""
    announced_kw: float
    """The power that announced unavailabilities alone would leave; the rest of the cut is the owners'."""
