"""Time series of physical assets."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, Unpack

from gridloom_client.answers import AllWritten, DataPoints, DetailedSum, Latest, Signal, Written
from gridloom_client.frames import Frame
from gridloom_client.literals import Aggregation, SeriesResolution, TimeUnit
from gridloom_client.operations import M, Resource, collection, operation, stream
from gridloom_client.resources.queries import Window
from gridloom_client.streams import FollowedPoints
from gridloom_client.wire import ARROW, ID

Points: TypeAlias = Mapping[str, Any] | Iterable[Mapping[str, Any]] | Frame | bytes
"""Columns `{signal: {time: […], value: […]}}`, rows `{signal, time, value}`, a frame (long, or `time` and a column a
signal), or CSV, NDJSON or Arrow as bytes with their `content_type`."""


class Monitoring(Resource[M]):
    """The same signal and time again overwrites; late and unordered points are welcome."""

    @collection("/monitoring/{physicalAssetID}/signals")
    def signals(self, physical_asset_id: ID, *, page_size: int | None = None) -> Signal: ...

    @operation("POST", "/monitoring/{physicalAssetID}/datapoints", query=("time_unit",), frames=ARROW)
    def write(
        self,
        physical_asset_id: ID,
        body: Points,
        *,
        time_unit: TimeUnit | None = None,
        partial: bool = False,
        content_type: str | None = None,
    ) -> Written:
        """All that is accepted is durable when this returns. Where points are refused it raises `PointsRefusedError`,
        unless `partial` says that the counts will do."""

    @operation("POST", "/monitoring/datapoints", query=("time_unit",), frames=ARROW)
    def write_many(
        self,
        body: Points,
        *,
        time_unit: TimeUnit | None = None,
        partial: bool = False,
        content_type: str | None = None,
    ) -> AllWritten:
        """Points of many assets at once, for gateways; as `write` otherwise."""

    @operation("POST", "/monitoring/write", query=("precision",))
    def write_lines(
        self, body: bytes, *, precision: TimeUnit | None = None, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        """InfluxDB's line protocol. A `BadRequestError` names the lines that were refused; the others are stored."""

    @operation("GET", "/monitoring/{physicalAssetID}/datapoints")
    def read(
        self,
        physical_asset_id: ID,
        *,
        datapoints: Sequence[str] | None = None,
        resolution: SeriesResolution | None = None,
        aggregation: Aggregation | None = None,
        **window: Unpack[Window],
    ) -> DataPoints: ...

    @operation("GET", "/monitoring/{physicalAssetID}/datapoints/latest")
    def latest(self, physical_asset_id: ID, *, datapoints: Sequence[str] | None = None) -> Latest: ...

    @operation("GET", "/monitoring/{physicalAssetID}/datapoints/sum/detailed")
    def sums(
        self, physical_asset_id: ID, *, datapoints: Sequence[str] | None = None, **window: Unpack[Window]
    ) -> DetailedSum:
        """Per signal sum, extremes, mean and count; for power also the energy in kWh."""

    @stream("/monitoring/{physicalAssetID}/stream", read=FollowedPoints.read_event)
    def follow(
        self, physical_asset_id: ID, *, datapoints: Sequence[str] | None = None, last_event_id: str | None = None
    ) -> FollowedPoints:
        """Points as they are stored, until you stop; first the newest of each signal, or what came after
        `last_event_id`. A lost connection is resumed without losing or repeating any."""
