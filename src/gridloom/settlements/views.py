"""Settled facts as lists show them: the row, and who recorded it when, and who replaced it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar
from uuid import UUID

from msgspec import Meta

from gridloom.edge import ResponseBody
from gridloom.settlements.model import (
    AFRR_ACTIVATIONS,
    AFRR_CAPACITY_AWARDS,
    FCR_AWARDS,
    NET_OFFS,
    TOLLING_CONTRACTS,
    WHOLESALE_TRADES,
    FactKind,
    Origin,
)

V = TypeVar("V", bound="RecordedFact")


class RecordedFact(ResponseBody):
    """Part of every recorded fact; `supersededAt` and `supersededBy` are there once a correction has replaced it."""

    asset_id: UUID
    recorded_at: datetime
    recorded_by: UUID
    origin: Annotated[
        Origin, Meta(description="Who stands behind it; what the operator settled gives way to the operator alone")
    ]
    superseded_at: datetime | None
    superseded_by: UUID | None


class RecordedWholesaleTrade(RecordedFact):
    trade_id: str
    time: datetime
    side: str
    volume: Decimal
    price: Decimal
    market: str
    executed_at: datetime | None


class RecordedFCRAward(RecordedFact):
    delivery_day: date
    product: str
    capacity: Decimal
    settlement_price: Decimal
    delivery_hours: Decimal


class RecordedAFRRCapacityAward(RecordedFact):
    delivery_day: date
    product: str
    capacity: Decimal
    price: Decimal
    delivery_hours: Decimal


class RecordedAFRRActivation(RecordedFact):
    time: datetime
    direction: str
    volume: Decimal
    price: Decimal


class RecordedNetOff(RecordedFact):
    time: datetime
    volume: Decimal


class RecordedTollingContract(RecordedFact):
    contract_id: str
    start: datetime
    end: datetime
    annual_price: Decimal


@dataclass(frozen=True, slots=True)
class Listing(Generic[V]):
    """How a kind of fact is listed; place: the type of the cursor."""

    kind: FactKind
    view: type[V]
    place: Any

    def show(self, row: Any) -> V:
        fields = {column.field: _make_plain(row[column.name]) for column in self.kind.columns[1:]}
        return self.view(
            **fields,
            asset_id=row["asset_id"],
            recorded_at=row["recorded_at"],
            recorded_by=row["recorded_by"],
            origin=Origin(row["origin"]),
            superseded_at=row["superseded_at"],
            superseded_by=row["superseded_by"],
        )

    @property
    def cursor_of(self) -> Callable[[Any], list[Any]]:
        names = ("asset_key", *self.kind.order, "recorded_at")
        return lambda row: [row[name] for name in names]


def _make_plain(cell: Any) -> Any:
    """Decimals without the zeros that only say how finely they are kept."""
    if not isinstance(cell, Decimal):
        return cell
    return cell.quantize(Decimal(1)) if cell == cell.to_integral() else cell.normalize()


AssetKey: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""As in a cursor, which a client can forge."""

WHOLESALE_LISTING: Final = Listing(
    WHOLESALE_TRADES, RecordedWholesaleTrade, tuple[AssetKey, datetime, str, str, datetime]
)
FCR_LISTING: Final = Listing(FCR_AWARDS, RecordedFCRAward, tuple[AssetKey, date, str, datetime])
AFRR_CAPACITY_LISTING: Final = Listing(
    AFRR_CAPACITY_AWARDS, RecordedAFRRCapacityAward, tuple[AssetKey, date, str, datetime]
)
AFRR_ENERGY_LISTING: Final = Listing(AFRR_ACTIVATIONS, RecordedAFRRActivation, tuple[AssetKey, datetime, str, datetime])
NET_OFF_LISTING: Final = Listing(NET_OFFS, RecordedNetOff, tuple[AssetKey, datetime, datetime])
TOLLING_LISTING: Final = Listing(TOLLING_CONTRACTS, RecordedTollingContract, tuple[AssetKey, str, datetime])
