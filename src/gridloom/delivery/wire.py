"""Dispatch and runs as they stand on the wire, and series of quarter-hours as tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
import orjson
import pyarrow as pa
from msgspec import UNSET, UnsetType

from gridloom.delivery.acknowledgements.model import LatestAcknowledgement
from gridloom.delivery.model import DistributionMethod, PartKind
from gridloom.market_calendar import PERIOD_S, Floats, Ints
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.platform.http import ARROW, CSV, JSON, PARQUET, Instant, Paging, ResponseBody, Stream
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.tables import TIME, stream_table, time_texts
from gridloom.settlements.as_of import AsOf

TABLES: Final = (JSON, CSV, ARROW, PARQUET)
SLICE_POINTS: Final = 2_000
"""Some milliseconds of writing, and some hundred kilobytes."""


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


async def stream_points(
    head: ResponseBody | None, first: int, columns: Mapping[str, Floats], indices: Ints
) -> AsyncIterator[bytes]:
    """The same points as JSON, a slice at a time; `head` is the object whose last field, an empty list, they fill."""
    opening, closing = (b"[", b"]") if head is None else (to_json(head)[:-2], b"]}")
    yield opening
    for low in range(0, len(indices), SLICE_POINTS):
        rows = await asyncio.to_thread(_write_points, first, columns, indices[low : low + SLICE_POINTS])
        yield rows if low == 0 else b"," + rows
    yield closing


def _write_points(first: int, columns: Mapping[str, Floats], indices: Ints) -> bytes:
    times = time_texts(((first + indices) * (PERIOD_S * 1000)).astype("datetime64[ms]")).tolist()
    fields = []
    for name, column in columns.items():
        numbers = orjson.dumps(np.ascontiguousarray(column[indices] + 0.0), option=orjson.OPT_SERIALIZE_NUMPY)
        texts = numbers.decode()[1:-1].split(",")
        fields.append(["" if text == "null" else f',"{name}":{text}' for text in texts])
    rows = zip(times, *fields, strict=True)
    return ",".join(f'{{"time":"{time}"{"".join(row)}}}' for time, *row in rows).encode()


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
