"""The availability of an asset over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

import numpy as np
import pyarrow as pa

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY, AvailabilitySeries
from gridloom.capacity.store import load_availability
from gridloom.kernel.permission import Permission
from gridloom.physical_assets.window_query import WindowQuery, requested_window
from gridloom.platform.http import ARROW, CSV, JSON, PARQUET, Content, Request, ResponseBody, Stream, operation
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.tables import TIME, stream_table, time_texts
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Physical assets"

READ = Permission.READ_PHYSICAL_ASSETS

COLUMNS = {
    "ratedChargePower": ("rated", CHARGE),
    "ratedDischargePower": ("rated", DISCHARGE),
    "ratedEnergy": ("rated", ENERGY),
    "availableChargePower": ("available", CHARGE),
    "availableDischargePower": ("available", DISCHARGE),
    "availableEnergy": ("available", ENERGY),
}
SCHEMA = pa.schema(
    [pa.field("time", TIME, nullable=False), *(pa.field(name, pa.float64(), nullable=False) for name in COLUMNS)]
)


class AvailabilityPoint(ResponseBody):
    """One delivery period. Powers in kW as magnitudes, energy in kWh."""

    time: datetime
    rated_charge_power: float
    rated_discharge_power: float
    rated_energy: float
    available_charge_power: float
    available_discharge_power: float
    available_energy: float


class Availability(ResponseBody):
    physical_asset_id: UUID
    start: datetime
    end: datetime
    availability: list[AvailabilityPoint]
    units_power: str = "kW"
    units_energy: str = "kWh"


@operation(
    "GET",
    PHYSICAL_ASSET + "/availability",
    summary="Read what the asset can do",
    access=READ,
    produces=(JSON, CSV, ARROW, PARQUET),
    response_schema=Availability,
)
async def read_availability(request: Request, physical_asset_id: UUID, query: WindowQuery) -> Content | Stream:
    """Rated and available power and energy in every delivery period that the window touches.

    Overlapping unavailabilities add up, capped at the rating. A period can do what its worst instant can do.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    window = await requested_window(request.db, query)
    series = (await load_availability(request.db, [authorized.key], window))[authorized.key]
    if request.accepts != JSON:
        return stream_table(
            request.accepts, SCHEMA, _stream_batches(series), file_name=f"availability-{physical_asset_id}"
        )
    head = Availability(physical_asset_id=physical_asset_id, start=window.start, end=window.end, availability=[])
    points = await asyncio.to_thread(_points_json, series)
    body = to_json(head).replace(b'"availability":[]', b'"availability":' + points, 1)
    return Content(body, JSON)


def _list_times(series: AvailabilitySeries) -> np.ndarray[tuple[int], np.dtype[np.datetime64]]:
    return series.periods_ms.astype("datetime64[ms]")  # type: ignore[no-any-return, unused-ignore]


def _points_json(series: AvailabilitySeries) -> bytes:
    """Written out at once: a year of periods as structs would cost ten times as much."""
    row = ",".join(f'"{name}":%r' for name in COLUMNS)
    template = '{"time":"%s",' + row + "}"
    values = np.column_stack([getattr(series, kind)[:, column] for kind, column in COLUMNS.values()]).tolist()
    rows = [
        template % (time, *numbers)
        for time, numbers in zip(time_texts(_list_times(series)).tolist(), values, strict=True)
    ]
    return f"[{','.join(rows)}]".encode()


async def _stream_batches(series: AvailabilitySeries) -> AsyncIterator[pa.RecordBatch]:
    columns = [pa.array(np.ascontiguousarray(getattr(series, kind)[:, column])) for kind, column in COLUMNS.values()]
    yield pa.record_batch([pa.array(_list_times(series)).cast(TIME), *columns], schema=SCHEMA)
