"""Answers about figures over time: MW, MWh, EUR and EUR/MWh."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from gridloom_client.answers.answered import Answered, Listed
from gridloom_client.frames import HTML_ROWS, Tabular, Zone, in_zone, table_html, table_of

if TYPE_CHECKING:
    import pyarrow


class SeriesPoint(Answered):
    time: datetime
    value: float | None


class SeriesDescription(Answered):
    data_point_name: str
    unit: str | None = None
    resolution: str | None = None
    description: str | None = None


class DataPoints(Answered, Tabular):
    """Named series with a description of each; as a table, a row per time and a column per series."""

    meta_data: tuple[SeriesDescription, ...]
    data: dict[str, tuple[SeriesPoint, ...]]

    def to_arrow(self, zone: Zone = "UTC") -> pyarrow.Table:
        rows: dict[datetime, dict[str, object]] = {}
        for name, points in self.data.items():
            for point in points:
                rows.setdefault(point.time, {"time": point.time})[name] = point.value
        return in_zone(table_of([rows[time] for time in sorted(rows)]), zone)

    def _repr_html_(self) -> str:
        table = self.to_arrow()
        return table_html(table.column_names, table.slice(0, HTML_ROWS).to_pylist(), table.num_rows)


class RevenueSeriesDescription(SeriesDescription):
    """`provisional` is true where awards count that are not settled yet."""

    provisional: bool | None = None


class RevenueDataPoints(DataPoints):
    """Named series of figures with a description of each."""

    meta_data: tuple[RevenueSeriesDescription, ...]


class RevenueBucket(Answered):
    start: datetime
    end: datetime
    revenue: float
    figures: dict[str, float | None]


class RevenueBuckets(Answered, Listed):
    listed_in: ClassVar = "buckets"

    virtual_asset_id: UUID
    start: datetime
    end: datetime
    resolution: str
    revenue: float
    buckets: tuple[RevenueBucket, ...]


class StatementLine(Answered):
    """EUR; positive comes in. `counterparty` is an organisation's id, or MARKET, GRID_OPERATOR or OUTSIDE."""

    time: datetime
    line: str
    amount: Decimal
    counterparty: str
    assumed_energy: float | None = None


class Statement(Answered, Listed):
    listed_in: ClassVar = "lines"

    start: datetime
    end: datetime
    lines: tuple[StatementLine, ...]
    total: Decimal
    assumed_energy: float = 0.0
    """MWh that count as dispatched, since nothing was measured of them."""


class BulkOutcome(Answered):
    received: int
    inserted: int
    replaced: int
    unchanged: int


class Recorded(Answered):
    """A fact, who brought it in, and who replaced it."""

    asset_id: UUID
    recorded_at: datetime
    recorded_by: UUID
    origin: str
    """Who stands behind it: `OPERATOR`, `TRADER`, `PROVISIONAL` or `COMPUTED`."""


class WholesaleTrade(Recorded):
    trade_id: str
    time: datetime
    side: str
    volume: float
    price: Decimal
    market: str
    executed_at: datetime | None = None
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None


class FcrAward(Recorded):
    delivery_day: date
    product: str
    capacity: float
    settlement_price: Decimal
    delivery_hours: float
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None


class AfrrCapacityAward(Recorded):
    delivery_day: date
    product: str
    capacity: float
    price: Decimal
    delivery_hours: float
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None


class AfrrActivation(Recorded):
    time: datetime
    direction: str
    volume: float
    price: Decimal
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None


class NetOff(Recorded):
    time: datetime
    volume: float
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None


class TollingContract(Recorded):
    contract_id: str
    start: datetime
    end: datetime
    annual_price: Decimal
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None


class ReferencePrice(Answered):
    series: str
    start: datetime
    end: datetime
    price: Decimal


class PriceDeviation(Answered):
    """A settled price that is not the published one."""

    asset_id: UUID
    time: datetime
    reference: str
    series: str
    settled_price: Decimal
    published_price: Decimal
    difference: Decimal
