"""Dispatch and runs as they stand on the wire, and series of quarter-hours as tables."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from gridloom.delivery.acknowledgements.model import LatestAcknowledgement
from gridloom.delivery.model import DistributionMethod, PartKind
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import PERIOD_S, Floats
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.platform.http import ARROW, CSV, JSON, PARQUET, Instant, Paging, ResponseBody, Stream
from gridloom.platform.http.tables import TIME, stream_table
from gridloom.settlements.as_of import AsOf

P = TypeVar("P", bound=ResponseBody)
TABLES: Final = (JSON, CSV, ARROW, PARQUET)


class DispatchPart(ResponseBody):
    """The purpose of a part of the power. FCR and aFRR parts are reserved power: magnitudes, no part of `power`."""

    kind: PartKind
    power: float
    virtual_asset_id: UUID | UnsetType = UNSET


class DispatchPoint(ResponseBody):
    """A battery's dispatch in one quarter-hour."""

    time: datetime
    power: float
    parts: list[DispatchPart]
    state_of_charge_percentage: float
    acknowledgement: LatestAcknowledgement | UnsetType = UNSET


class Dispatch(ResponseBody):
    physical_asset_id: UUID
    version: int
    dispatch: list[DispatchPoint]


class DispatchQuery(WindowQuery):
    as_of: Instant | None = None


class DeliveryRun(ResponseBody):
    """One run: what was scheduled from `start` to `end`, and what became of it. Energies in MWh at the grid."""

    id: UUID
    time: datetime
    zones: list[str]
    start: datetime
    end: datetime
    final_until: datetime
    virtual_assets: int
    batteries: int
    scheduled_export: float
    scheduled_import: float
    netted: float
    spread: float
    unserved: float
    reserve_shortfall: float
    forced_periods: int
    changed_dispatches: int
    method: DistributionMethod
    solver_seconds: float


class ZoneQuarter(ResponseBody):
    """The schedules of a zone's virtual assets in one quarter-hour, netted and unserved power."""

    time: datetime
    scheduled_export: float
    scheduled_import: float
    netted: float
    dispatched: float
    unserved: float


class DeliveryZone(ResponseBody):
    """`scheduledExport` − `scheduledImport` = `dispatched` + `unserved` in every quarter-hour."""

    delivery_zone: str
    final_until: datetime
    quarters: list[ZoneQuarter]


class RunsQuery(Paging):
    delivery_zone: str | None = None
    start: Instant | None = None
    end: Instant | None = None


class AsOfWindowQuery(WindowQuery, kw_only=True):
    as_of: AsOf = None


def list_points(kind: type[P], first: int, columns: Mapping[str, Floats], indices: Iterable[int]) -> list[P]:
    """A point for each of these quarter-hours from `first` on, with the columns' names on the wire; NaN is left out."""
    points = []
    for index in indices:
        values = {name: float(column[index]) + 0.0 for name, column in columns.items()}
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        points.append(msgspec.convert({"time": period_start(first + index), **known}, kind))
    return points


def stream_periods(
    media_type: str, first: int, columns: Mapping[str, Floats], file_name: str, periods: np.ndarray | None = None
) -> Stream:
    """Quarter-hours in rows; NaN is null."""
    schema = pa.schema([pa.field("time", TIME, nullable=False), *(pa.field(name, pa.float64()) for name in columns)])
    count = len(next(iter(columns.values())))
    numbers = np.arange(first, first + count) if periods is None else periods

    async def batches() -> AsyncIterator[pa.RecordBatch]:
        times = pa.array(numbers.astype(np.int64) * (PERIOD_S * 1000), pa.int64()).cast(TIME)
        values = [pa.array(column + 0.0, from_pandas=True) for column in columns.values()]
        yield pa.record_batch([times, *values], schema=schema)

    return stream_table(media_type, schema, batches(), file_name=file_name)
