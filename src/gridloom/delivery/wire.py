"""Dispatch and runs as they stand on the wire, and series of quarter-hours as tables."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from msgspec import UNSET, Meta, UnsetType

from gridloom.delivery.model import DistributionMethod, PartKind
from gridloom.edge import ARROW, CSV, JSON, PARQUET, Instant, Paging, ResponseBody, Stream
from gridloom.market_calendar import PERIOD_S, Floats
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.settlements.as_of import AsOf
from gridloom.tables import TIME, stream_table

TABLES: Final = (JSON, CSV, ARROW, PARQUET)

Power = Annotated[float, Meta(description="kW; positive is export")]


class DispatchPart(ResponseBody):
    """What a part of the power is for. FCR and aFRR parts are reserved power: magnitudes, no part of `power`."""

    kind: PartKind
    power: Power
    virtual_asset_id: (
        Annotated[UUID, Meta(description="A virtual asset that the battery backs; left out for others of its zone")]
        | UnsetType
    ) = UNSET


class DispatchPoint(ResponseBody):
    """What the battery must do in one quarter-hour."""

    time: datetime
    power: Annotated[float, Meta(description="kW, the sum of the VIRTUAL, OWN and DRIFT parts; positive is export")]
    parts: Annotated[list[DispatchPart], Meta(description="What the power is for, and what is reserved")]
    state_of_charge_percentage: Annotated[
        float, Meta(description="At the start of the quarter-hour if all is done as planned")
    ]


class Dispatch(ResponseBody):
    physical_asset_id: UUID
    version: Annotated[int, Meta(description="Counts each change; 0 where nothing was ever dispatched")]
    dispatch: Annotated[list[DispatchPoint], Meta(description="The quarter-hours of the window that are planned")]


class DispatchQuery(WindowQuery):
    as_of: Annotated[Instant | None, Meta(description="As it was planned at this moment")] = None


class DeliveryRun(ResponseBody):
    """One run: what was scheduled from `start` to `end`, and what became of it. Energies in MWh at the grid."""

    id: UUID
    time: Annotated[datetime, Meta(description="When it ran")]
    zones: Annotated[list[str], Meta(description="The delivery zone that was planned")]
    start: datetime
    end: datetime
    final_until: Annotated[datetime, Meta(description="Quarter-hours before this moment are final; later ones a plan")]
    virtual_assets: Annotated[int, Meta(description="How many live in the window")]
    batteries: Annotated[int, Meta(description="How many back one of them")]
    scheduled_export: Annotated[float, Meta(description="MWh")]
    scheduled_import: Annotated[float, Meta(description="MWh")]
    netted: Annotated[float, Meta(description="MWh of exports that met as much of imports")]
    spread: Annotated[float, Meta(description="MWh moved by batteries for virtual assets, both ways")]
    unserved: Annotated[float, Meta(description="MWh that no battery could serve")]
    reserve_shortfall: Annotated[float, Meta(description="MW of FCR and aFRR that no battery holds, times hours")]
    forced_periods: Annotated[
        int, Meta(description="Quarter-hours in which a limit had one battery charge beside another that discharges")
    ]
    changed_dispatches: Annotated[int, Meta(description="Batteries whose dispatch got a new version")]
    method: Annotated[DistributionMethod, Meta(description="How the net was spread over the batteries")]
    solver_seconds: Annotated[float, Meta(description="What computing the plan took")]


class ZoneQuarter(ResponseBody):
    """What a zone's virtual assets were to do in one quarter-hour, and what became of it."""

    time: datetime
    scheduled_export: Annotated[float, Meta(description="kW of those that were to export")]
    scheduled_import: Annotated[float, Meta(description="kW of those that were to import")]
    netted: Annotated[float, Meta(description="kW of exports that met as much of imports")]
    dispatched: Annotated[float, Meta(description="kW that the batteries do for them; positive is export")]
    unserved: Annotated[float, Meta(description="kW that no battery could serve; positive was to be exported")]


class DeliveryZone(ResponseBody):
    """`scheduledExport` − `scheduledImport` = `dispatched` + `unserved` in every quarter-hour."""

    delivery_zone: str
    final_until: Annotated[datetime, Meta(description="Quarter-hours before this moment are final; later ones a plan")]
    quarters: Annotated[list[ZoneQuarter], Meta(description="The quarter-hours of the window that were planned")]


class RunsQuery(Paging):
    delivery_zone: Annotated[str | None, Meta(description="Only this zone's")] = None
    start: Annotated[Instant | None, Meta(description="Only those that ran at this moment or later")] = None
    end: Annotated[Instant | None, Meta(description="Only those that ran before")] = None


class AsOfWindowQuery(WindowQuery, kw_only=True):
    as_of: AsOf = None


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
