"""The six kinds of settled facts: their rows on the wire and how each is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.balancing import ActivatedDirection
from gridloom.settlements.measures import FactSource

MAX_VOLUME_MWH: Final = 1_000_000.0
MAX_CAPACITY_MW: Final = 100_000.0
MAX_PRICE_EUR: Final = 1_000_000.0
MAX_ANNUAL_PRICE_EUR_MW: Final = 100_000_000.0

Instant = Annotated[datetime, Meta(tz=True)]
PeriodStart = Annotated[datetime, Meta(tz=True)]
Identifier = Annotated[str, Meta(min_length=1, max_length=200)]
AssetID = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Volume = Annotated[float, Meta(ge=0, le=MAX_VOLUME_MWH)]
Price = Annotated[float, Meta(ge=-MAX_PRICE_EUR, le=MAX_PRICE_EUR)]
CapacityPrice = Annotated[float, Meta(ge=-MAX_PRICE_EUR, le=MAX_PRICE_EUR)]
Capacity = Annotated[float, Meta(ge=0, le=MAX_CAPACITY_MW)]
DeliveryHours = Annotated[float, Meta(ge=0, le=5)]


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join("ID" if word == "id" else word.capitalize() for word in rest)


class Row(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename=_wire_name, gc=False):
    """One settled fact on the wire. What a field's type cannot say is checked over whole columns (see `rules`)."""

    asset_id: AssetID


class WholesaleTrade(Row, frozen=True):
    """A trade's part in one delivery period; key: asset, trade, period and side."""

    trade_id: Identifier
    time: PeriodStart
    side: Literal["BUY", "SELL"]
    volume: Volume
    price: Price
    market: Literal["DAY_AHEAD", "INTRADAY_AUCTION", "INTRADAY_CONTINUOUS", "OTC"]
    executed_at: Instant | UnsetType | None = UNSET
    stage: Literal["IDA1", "IDA2", "IDA3"] | UnsetType | None = UNSET


class FCRAward(Row, frozen=True):
    """Accepted FCR capacity in a block; key: asset, day and product."""

    delivery_day: date
    product: Annotated[str, Meta(max_length=32)]
    capacity: Capacity
    settlement_price: CapacityPrice
    delivery_hours: DeliveryHours | UnsetType | None = UNSET


class AFRRCapacityAward(Row, frozen=True):
    """Accepted aFRR capacity in a block and direction; key: asset, day and product."""

    delivery_day: date
    product: Annotated[str, Meta(max_length=32)]
    capacity: Capacity
    price: CapacityPrice
    delivery_hours: DeliveryHours | UnsetType | None = UNSET


class AFRRActivation(Row, frozen=True):
    """Activated aFRR energy of one period and direction; key: asset, time and direction."""

    time: PeriodStart
    direction: ActivatedDirection
    volume: Volume
    price: Annotated[float, Meta(ge=-MAX_PRICE_EUR, le=MAX_PRICE_EUR)]


class NetOff(Row, frozen=True):
    """Energy netted within the portfolio in one period; key: asset and time."""

    time: PeriodStart
    volume: Annotated[float, Meta(ge=-MAX_VOLUME_MWH, le=MAX_VOLUME_MWH)]


class TollingContract(Row, frozen=True):
    """A toll on the asset's rated power; key: asset and contract."""

    contract_id: Identifier
    start: Instant
    end: Instant
    annual_price: Annotated[float, Meta(ge=0, le=MAX_ANNUAL_PRICE_EUR_MW)]


class Origin(StrEnum):
    """Source of a fact. A fact of the operator's is replaced by the operator only."""

    OPERATOR = "OPERATOR"
    TRADER = "TRADER"
    """The holder's own record of its trades."""
    PROVISIONAL = "PROVISIONAL"
    """Follows from a market's result until it is settled."""
    COMPUTED = "COMPUTED"
    """Follows from schedules."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a fact's table and the array that carries it to PostgreSQL.

    form: `int`, `text` (empty is null where it may be), `day` (a date), `instant` (seconds since 1970; NaN is null) or
    `decimal` (hundred-millionths).
    """

    name: str
    form: Literal["int", "text", "day", "instant", "decimal"]
    field: str
    is_nullable: bool = False


@dataclass(frozen=True, slots=True)
class FactKind:
    """One kind of fact: its path, its rows, its table and the natural key by which a row is known again."""

    path: str
    row: type[Row]
    table: str
    source: FactSource
    key: tuple[Column, ...]
    values: tuple[Column, ...]
    day: str
    """The SQL for the market day that a row touches, its columns prefixed by `f.`; null for what touches no day."""
    start: str
    end: str
    """The SQL for the time that a row is about."""
    order: tuple[str, ...]
    """The columns after the asset by which lists are sorted."""

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process it goes by its name: there is one of each."""
        return _find_kind, (self.path,)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.key, *self.values)

    @property
    def list_order(self) -> tuple[str, ...]:
        return ("asset_key", *self.order, "recorded_at")

    @property
    def is_of_a_period(self) -> bool:
        return _PERIOD in self.columns

    @property
    def is_known_by_its_time(self) -> bool:
        """Whether the time that a row is about is part of its key: no correction moves it."""
        return any(column.form in ("instant", "day") for column in self.key)


_ASSET = Column("asset_key", "int", "asset_id")
_PERIOD = Column("period", "instant", "time")
_DAY_OF_PERIOD = "(f.period at time zone 'Europe/Berlin')::date"
_PERIOD_END = "f.period + interval '15 minutes'"
_BLOCK_EDGE = "((f.delivery_day + make_interval(hours => {0}::int)) at time zone 'Europe/Berlin')"
_BLOCK_START = _BLOCK_EDGE.format("substring(f.product from '_([0-9]{2})_')")
_BLOCK_END = _BLOCK_EDGE.format("substring(f.product from '_([0-9]{2})$')")
_BLOCK_KEY = (_ASSET, Column("delivery_day", "day", "delivery_day"), Column("product", "text", "product"))

WHOLESALE_TRADES: Final = FactKind(
    path="wholesale-trades",
    row=WholesaleTrade,
    table="wholesale_trade",
    source=FactSource.WHOLESALE,
    key=(_ASSET, Column("trade_id", "text", "trade_id"), _PERIOD, Column("side", "text", "side")),
    values=(
        Column("volume_mwh", "decimal", "volume"),
        Column("price_eur_mwh", "decimal", "price"),
        Column("market", "text", "market"),
        Column("executed_at", "instant", "executed_at", is_nullable=True),
        Column("stage", "text", "stage", is_nullable=True),
    ),
    day=_DAY_OF_PERIOD,
    start="f.period",
    end=_PERIOD_END,
    order=("period", "trade_id", "side"),
)
FCR_AWARDS: Final = FactKind(
    path="fcr",
    row=FCRAward,
    table="fcr_award",
    source=FactSource.FCR,
    key=_BLOCK_KEY,
    values=(
        Column("capacity_mw", "decimal", "capacity"),
        Column("price_eur_mw_h", "decimal", "settlement_price"),
        Column("delivery_h", "decimal", "delivery_hours"),
    ),
    day="f.delivery_day",
    start=_BLOCK_START,
    end=_BLOCK_END,
    order=("delivery_day", "product"),
)
AFRR_CAPACITY_AWARDS: Final = FactKind(
    path="afrr-capacity",
    row=AFRRCapacityAward,
    table="afrr_capacity_award",
    source=FactSource.AFRR_CAPACITY,
    key=_BLOCK_KEY,
    values=(
        Column("capacity_mw", "decimal", "capacity"),
        Column("price_eur_mw_h", "decimal", "price"),
        Column("delivery_h", "decimal", "delivery_hours"),
    ),
    day="f.delivery_day",
    start=_BLOCK_START,
    end=_BLOCK_END,
    order=("delivery_day", "product"),
)
AFRR_ACTIVATIONS: Final = FactKind(
    path="afrr-energy",
    row=AFRRActivation,
    table="afrr_activation",
    source=FactSource.AFRR_ENERGY,
    key=(_ASSET, _PERIOD, Column("direction", "text", "direction")),
    values=(Column("volume_mwh", "decimal", "volume"), Column("price_eur_mwh", "decimal", "price")),
    day=_DAY_OF_PERIOD,
    start="f.period",
    end=_PERIOD_END,
    order=("period", "direction"),
)
NET_OFFS: Final = FactKind(
    path="net-off",
    row=NetOff,
    table="net_off",
    source=FactSource.NET_OFF,
    key=(_ASSET, _PERIOD),
    values=(Column("volume_mwh", "decimal", "volume"),),
    day=_DAY_OF_PERIOD,
    start="f.period",
    end=_PERIOD_END,
    order=("period",),
)
TOLLING_CONTRACTS: Final = FactKind(
    path="tolling-contracts",
    row=TollingContract,
    table="tolling_contract",
    source=FactSource.TOLLING,
    key=(_ASSET, Column("contract_id", "text", "contract_id")),
    values=(
        Column("start_at", "instant", "start"),
        Column("end_at", "instant", "end"),
        Column("annual_price_eur_mw", "decimal", "annual_price"),
    ),
    day="null::date",
    start="f.start_at",
    end="f.end_at",
    order=("contract_id",),
)

FACT_KINDS: Final = (
    WHOLESALE_TRADES,
    FCR_AWARDS,
    AFRR_CAPACITY_AWARDS,
    AFRR_ACTIVATIONS,
    NET_OFFS,
    TOLLING_CONTRACTS,
)
KIND_OF: Final = {kind.source: kind for kind in FACT_KINDS}


def _find_kind(path: str) -> FactKind:
    return next(kind for kind in FACT_KINDS if kind.path == path)


@dataclass(frozen=True, slots=True)
class FactBatch:
    """Checked rows as columns, one per natural key, ready for PostgreSQL."""

    kind: FactKind
    columns: dict[str, Any]
    """By column name, arrays of equal length: Arrow's of texts, numpy's of all else."""
    received: int
    asset_keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """An asset's market day that a batch has changed; the day is None for what spreads over a contract's time."""

    asset_key: int
    day: date | None
    start: datetime
    end: datetime
    """The time whose figures change: from the first of the facts' periods to the end of the last."""
    written: int
    replaced: int


class Counts(msgspec.Struct, kw_only=True, frozen=True):
    """Counts of a request's rows by outcome."""

    received: int
    inserted: int
    replaced: int
    unchanged: int
