"""The stages of a delivery day as a trader sees them, those that take orders among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from gridloom.kernel.market_stages import Stage
from gridloom.market_calendar import Floats


class MarketName(StrEnum):
    """Every market of a day in the order of its gates; OTHER is what has no stage."""

    FCR = "FCR"
    AFRR = "AFRR"
    DAY_AHEAD = "DAY_AHEAD"
    IDA1 = "IDA1"
    IDA2 = "IDA2"
    IDA3 = "IDA3"
    CONTINUOUS = "CONTINUOUS"
    AFRR_ENERGY = "AFRR_ENERGY"
    OTHER = "OTHER"

    @property
    def stage(self) -> Stage | None:
        return Stage(self.value) if self.value in Stage.__members__ else None


class StageStatus(StrEnum):
    PAST = "PAST"
    NEXT = "NEXT"
    LATER = "LATER"


MARKETS: Final = tuple(MarketName)


@dataclass(frozen=True, slots=True)
class StageOrder:
    """The order of an asset at a stage."""

    virtual_asset_id: UUID
    order_id: UUID
    status: str
    problem: str | None


@dataclass(slots=True, eq=False)
class MarketStage:
    """The state of one market of a day, of one asset or of several together.

    `position_kw` is the position after it; volumes in MWh; `reserved_kw` by product.
    """

    market: MarketName
    gate: datetime | None
    status: StageStatus
    position_kw: Floats
    bought_mwh: float = 0.0
    sold_mwh: float = 0.0
    earned_eur: float = 0.0
    reserved_kw: dict[str, float] = field(default_factory=dict)
    orders: list[StageOrder] = field(default_factory=list)

    def add(self, other: MarketStage) -> None:
        """The same of another asset as well; positions are of the same periods."""
        self.position_kw = self.position_kw + other.position_kw
        self.bought_mwh += other.bought_mwh
        self.sold_mwh += other.sold_mwh
        self.earned_eur += other.earned_eur
        for product, capacity_kw in other.reserved_kw.items():
            self.reserved_kw[product] = self.reserved_kw.get(product, 0.0) + capacity_kw
        self.orders += other.orders
