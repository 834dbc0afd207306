"""Request and response bodies of monitoring."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from msgspec import UNSET, UnsetType

from gridloom.kernel.market_time import Resolution
from gridloom.monitoring.model import Reason, SignalKind, TimeUnit
from gridloom.monitoring.query.aggregation import Aggregation
from gridloom.platform.http import ARROW, BULK, CSV, JSON, NDJSON, Instant, QueryParameters, ResponseBody, pattern_meta

SignalName = Annotated[
    str,
    pattern_meta(
        r"^[a-z0-9_.]{1,64}(?!\n)$",
        "a signal's name of small letters, digits, dots and underscores, such as state_of_charge",
    ),
]


class Refusal(ResponseBody):
    """Points refused for one reason; `pointers` lead to the first of them."""

    reason: Reason
    detail: str
    count: int
    pointers: list[str]


class Written(ResponseBody):
    """received = written + overwritten + refused."""

    received: int
    written: int
    overwritten: int
    refused: int
    refusals: list[Refusal]


class AssetWritten(ResponseBody):
    physical_asset_id: UUID
    written: int
    overwritten: int


class AllWritten(Written):
    assets: list[AssetWritten]


class Signal(ResponseBody):
    name: str
    unit: str
    kind: SignalKind
    description: str
    first: datetime
    last: datetime


class SpanQuery(QueryParameters):
    """Left out, `start` is 24 hours before `end`, `end` is now, and `datapoints` are all signals."""

    start: Instant | None = None
    end: Instant | None = None
    datapoints: tuple[SignalName, ...] | None = None


class DataPointsQuery(SpanQuery):
    """Left out, `start` is 24 hours before `end`, `end` is now, and `datapoints` are all signals."""

    resolution: Resolution = Resolution.RAW
    aggregation: Aggregation = Aggregation.AVG


class WriteQuery(QueryParameters):
    """Left out, times are RFC 3339 timestamps; named, they are numbers of this unit."""

    time_unit: TimeUnit | None = None


class LinesQuery(QueryParameters):
    precision: TimeUnit = TimeUnit.NANOSECONDS


class SelectionQuery(QueryParameters):
    datapoints: tuple[SignalName, ...] | None = None


class DataPointMeta(ResponseBody):
    data_point_name: str
    unit: str
    resolution: Resolution
    aggregation: Aggregation | None
    description: str


class Point(ResponseBody):
    time: datetime
    value: float | None


class DataPoints(ResponseBody):
    meta_data: list[DataPointMeta]
    data: dict[str, list[Point]]


class LatestMeta(ResponseBody):
    data_point_name: str
    unit: str
    kind: SignalKind
    description: str


class Latest(ResponseBody):
    meta_data: list[LatestMeta]
    data: dict[str, Point]


class SignalSum(ResponseBody):
    """Energies in kWh and cycles are there only for signals that are a power."""

    unit: str
    count: int
    sum: float | None
    min: float | None
    max: float | None
    mean: float | None
    energy_charged: float | UnsetType = UNSET
    energy_discharged: float | UnsetType = UNSET
    energy_net: float | UnsetType = UNSET
    cycles: float | UnsetType = UNSET


class DetailedSum(ResponseBody):
    start: datetime
    end: datetime
    data: dict[str, SignalSum]


_EXAMPLE_TIME: Final = "2026-03-29T00:00:00Z"
_EXAMPLE_COLUMNS: Final = {"active_power": {"time": [_EXAMPLE_TIME], "value": [4950]}}
_TIME = {"type": "string", "format": "date-time", "example": _EXAMPLE_TIME}
_COLUMN = {
    "type": "object",
    "properties": {
        "time": {"type": "array", "items": _TIME, "description": "Times of the points"},
        "value": {"type": "array", "items": {"type": "number"}, "description": "Values, in the signal's unit"},
    },
    "required": ["time", "value"],
    "additionalProperties": False,
}
_COLUMNS = {
    "type": "object",
    "description": "Columns: times and values by signal",
    "additionalProperties": _COLUMN,
    "examples": [_EXAMPLE_COLUMNS],
}


def _describe_row(**more: Any) -> dict[str, Any]:
    properties = {
        **more,
        "signal": {"type": "string", "description": "Name of the signal"},
        "time": _TIME | {"description": "Time of the point"},
        "value": {"type": "number", "description": "Value, in the signal's unit"},
        "quality": {
            "type": "string",
            "enum": ["GOOD", "UNCERTAIN", "BAD"],
            "description": "GOOD when left out; a BAD point is refused",
        },
    }
    return {
        "type": "object",
        "properties": properties,
        "required": [*more, "signal", "time", "value"],
        "additionalProperties": False,
    }


_MEDIA_TYPES: Final = (JSON, NDJSON, CSV, ARROW)
ONE_ASSET_BODY: Final = replace(
    BULK,
    media_types=_MEDIA_TYPES,
    schema={"anyOf": [_COLUMNS, {"type": "array", "items": _describe_row()}]},
)
MANY_ASSETS_BODY: Final = replace(
    BULK,
    media_types=_MEDIA_TYPES,
    schema={
        "anyOf": [
            {
                "type": "object",
                "description": "Columns by asset",
                "additionalProperties": _COLUMNS,
                "examples": [{"01890a5d-ac96-774b-bcce-b302099a8057": _EXAMPLE_COLUMNS}],
            },
            {"type": "array", "items": _describe_row(physicalAssetID={"type": "string", "format": "uuid"})},
        ]
    },
)
LINES_BODY: Final = replace(
    BULK, media_types=("text/plain", "application/octet-stream", "application/x-www-form-urlencoded"), may_be_gzip=True
)
"""Line protocol comes under whatever type a sender is used to; `curl --data-binary` says it is a form."""
