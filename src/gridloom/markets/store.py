"""Recorded trades and the orders of an asset and day, in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from gridloom.kernel.market_stages import Stage
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row


@dataclass(frozen=True, slots=True)
class RecordedTrade:
    """A trade's part in one quarter-hour."""

    period: datetime
    trade_id: str
    side: str
    volume_mwh: Decimal
    price_eur_mwh: Decimal
    market: str
    stage: str | None

    @property
    def signed_mwh(self) -> Decimal:
        """Sold is positive."""
        return self.volume_mwh if self.side == "SELL" else -self.volume_mwh


async def read_trades(db: Database, asset_key: int, start: datetime, end: datetime) -> list[RecordedTrade]:
    """In a fixed order."""
    rows = await db.fetch(
        """select period, trade_id, side, volume_mwh, price_eur_mwh, market, stage from wholesale_trade
           where asset_key = $1 and period >= $2 and period < $3 order by period, trade_id, side""",
        asset_key,
        start,
        end,
    )
    return [read_row(RecordedTrade, row) for row in rows]


WAITING = ("STANDING", "OVERDUE")


@dataclass(frozen=True, slots=True)
class OrderState:
    """An order of an asset and day as it is now; each change of it has a version."""

    id: UUID
    stage: Stage
    status: str
    version: int
    problem: str | None

    @property
    def is_waiting(self) -> bool:
        """Whether it has no result yet and was not cancelled."""
        return self.status in WAITING


async def read_orders_of_day(db: Database, asset_key: int, day: date) -> list[OrderState]:
    """In the order in which they were placed."""
    rows = await db.fetch(
        """select id, stage, status, version, problem from market_order
           where asset_key = $1 and delivery_day = $2 order by id""",
        asset_key,
        day,
    )
    return [read_row(OrderState, row, stage=Stage(row["stage"])) for row in rows]


async def has_waiting_order(db: Database, asset_key: int) -> bool:
    found: bool = await db.fetchval(
        "select exists (select from market_order where asset_key = $1 and status = any($2::text[]))",
        asset_key,
        list(WAITING),
    )
    return found
