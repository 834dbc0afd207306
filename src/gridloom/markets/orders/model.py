"""Orders, what they ask for, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

import numpy as np
from msgspec import Struct

from gridloom.kernel.balancing import PRODUCT_OF_BLOCK, Direction, ReserveProduct
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import BLOCK_HOURS, PERIOD, block_window, period_number
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.model import Author

MAX_ORDERS: Final = 50
MAX_RESULTS: Final = 100


class OrderStatus(StrEnum):
    """STANDING waits for its result; OVERDUE still does, and delivery has begun."""

    STANDING = "STANDING"
    EXECUTED = "EXECUTED"
    PARTLY_EXECUTED = "PARTLY_EXECUTED"
    NOT_EXECUTED = "NOT_EXECUTED"
    OVERDUE = "OVERDUE"
    CANCELLED = "CANCELLED"


class ReserveBid(Struct, frozen=True):
    """Capacity offered in one block of the day; prices as the tenders have them: FCR EUR/MW for the block, aFRR EUR/MW
    per hour."""

    product: str
    capacity_kw: float
    capacity_price_eur_mw: Decimal
    energy_price_eur_mwh: Decimal | None = None

    @property
    def reserve(self) -> ReserveProduct:
        return PRODUCT_OF_BLOCK[self.product]

    def periods(self, day: date) -> tuple[int, int]:
        hour = int(self.product.split("_")[1])
        window = block_window(day, hour, hour + BLOCK_HOURS)
        return period_number(window.start), period_number(window.end)

    def power_kw(self) -> tuple[float, float]:
        """Of charging and of discharging."""
        direction: Direction = self.reserve.direction
        return self.capacity_kw if direction.imports else 0.0, self.capacity_kw if direction.exports else 0.0


Side = Literal["BUY", "SELL"]


class OrderVolume(Struct, frozen=True):
    """The energy that an order trades in one quarter-hour."""

    time: datetime
    side: Side
    volume_mwh: Decimal


class OrderTrade(Struct, frozen=True):
    """The same with its price."""

    time: datetime
    side: Side
    volume_mwh: Decimal
    price_eur_mwh: Decimal


class ReserveAward(Struct, frozen=True):
    """The accepted part of a reserve; the price in the unit of its bid. `block_id` is the block carved out for it."""

    product: str
    capacity_kw: float
    price_eur_mw: Decimal
    block_id: UUID | None = None


class OrderResult(Struct, frozen=True):
    """The result of an order."""

    executed: bool
    trades: tuple[OrderTrade, ...] = ()
    reserves: tuple[ReserveAward, ...] = ()

    def says_the_same_as(self, other: OrderResult) -> bool:
        return self._facts() == other._facts()

    def _facts(self) -> tuple[object, ...]:
        awards = [(one.product, one.capacity_kw, one.price_eur_mw) for one in self.reserves if one.capacity_kw]
        return (
            self.executed,
            sorted((one.time, one.side, one.volume_mwh, one.price_eur_mwh) for one in self.trades),
            awards,
        )


class OrderProblem(Struct, frozen=True):
    """Why an executed order could not be carried out on the asset as well."""

    type: str
    title: str
    detail: str


_STEP: Final = Decimal("0.00000001")


def volume_mwh(power_kw: float) -> Decimal:
    """The energy of a quarter-hour, to what facts are kept to."""
    return Decimal(repr(float(power_kw) * QUARTER_HOUR_H / KW_PER_MW)).quantize(_STEP)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """An order as it is stored. Powers are those of the periods from `first_period` on: the position when it was
    placed, the one it asks for, and what was scheduled then."""

    id: UUID
    asset_key: int
    virtual_asset_id: UUID
    organisation_id: UUID
    delivery_zone: str
    stage: Stage
    delivery_day: date
    gate_at: datetime
    delivery_at: datetime
    status: OrderStatus
    placed_at: datetime
    author: Author
    first_period: int
    before_kw: Floats
    position_kw: Floats
    scheduled_kw: Floats
    reserves: tuple[ReserveBid, ...]
    minimum_surplus_eur: Decimal
    at_any_price: bool
    fee_eur_mwh: Decimal
    applies: bool
    result: OrderResult | None = None
    applied: bool | None = None
    problem: OrderProblem | None = None
    version: int = 1

    @property
    def is_waiting(self) -> bool:
        return self.status in (OrderStatus.STANDING, OrderStatus.OVERDUE)

    @property
    def etag(self) -> str:
        return entity_tag(self.version, self.id)

    def time_of(self, index: int) -> datetime:
        return datetime.fromtimestamp(0, self.placed_at.tzinfo) + (self.first_period + index) * PERIOD

    def volumes(self) -> list[OrderVolume]:
        """The change of the position in each quarter-hour that it changes."""
        change_kw = np.round(self.position_kw - self.before_kw, 6)
        return [
            OrderVolume(
                self.time_of(index), "SELL" if change_kw[index] > 0 else "BUY", volume_mwh(abs(change_kw[index]))
            )
            for index in np.flatnonzero(change_kw).tolist()
        ]


def block_hours(product: str, day: date) -> int:
    hour = int(product.split("_")[1])
    return block_window(day, hour, hour + BLOCK_HOURS).duration // timedelta(hours=1)
