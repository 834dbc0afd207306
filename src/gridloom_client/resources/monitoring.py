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
    def signals(self, physical_asset_id: ID, *, page_size: int | None = None) -> Signal:
        """List the signals of an asset.

        By name, each with its unit, its kind, and the times of its first and last point.

        Args:
            physical_asset_id: The physical asset
            page_size: How many items are fetched at a time
        """

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
        """Store points of one asset.

        Up to 1,000,000 points: columns `{signal: {time[], value[]}}`, rows `[{signal, time, value, quality?}]`, the
        same rows one a line as NDJSON, or a table as CSV or an Arrow stream, long (`signal`, `time`, `value`) or wide
        (`time` and one column a signal). Points may be late and in any order; the same signal and time again
        overwrites. A point that cannot be stored is refused with its reason, and the rest is stored; where every point
        is refused, that is a problem. What is counted as written or overwritten is durable. With `time-unit` numbers
        are taken as times, counted from 1970 in UTC.

        Args:
            physical_asset_id: The physical asset
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            time_unit: Unit of times that are numbers, counted from 1970 in UTC; left out, times are RFC 3339 timestamps
            partial: Whether points may be refused; where they may not, PointsRefusedError is raised
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            All that is accepted is durable when this returns. Where points are refused it raises `PointsRefusedError`,
            unless `partial` says that the counts will do.

        Example:
            client.monitoring.write(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                {'active_power': {'time': ['2026-03-29T00:00:00Z'], 'value': [4950]}},
            )
        """

    @operation("POST", "/monitoring/datapoints", query=("time_unit",), frames=ARROW)
    def write_many(
        self,
        body: Points,
        *,
        time_unit: TimeUnit | None = None,
        partial: bool = False,
        content_type: str | None = None,
    ) -> AllWritten:
        """Store points of many assets.

        As for one asset, with the asset beside each point: columns `{physicalAssetID: {signal: {time[], value[]}}}`, or
        a field or column `physicalAssetID`. An asset that is unknown or out of the caller's reach refuses the whole
        request.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            time_unit: Unit of times that are numbers, counted from 1970 in UTC; left out, times are RFC 3339 timestamps
            partial: Whether points may be refused; where they may not, PointsRefusedError is raised
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Example:
            client.monitoring.write_many(
                {'01890a5d-ac96-774b-bcce-b302099a8057': {'active_power': {'time': ['2026-03-29T00:00:00Z'],
                                                                           'value': [4950]}}},
            )
        """

    @operation("POST", "/monitoring/write", query=("precision",))
    def write_lines(
        self, body: bytes, *, precision: TimeUnit | None = None, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        """Store points in InfluxDB's line protocol.

        As Telegraf and many loggers send it, with gzip if they like. The tag `asset` of a line is a battery's id, or
        its name where that is unique among the batteries that the caller may write. Each number is a point of the
        signal that its field names; the field `value` is of the signal in the tag `signal` or, without one, in the
        measurement. A line without a time is now. Texts are skipped. Good lines are stored even where others are
        refused, but an asset out of the caller's reach refuses the whole request.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            precision: Unit of the lines' times
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            InfluxDB's line protocol. A `BadRequestError` names the lines that were refused; the others are stored.

        Example:
            client.monitoring.write_lines("text")
        """

    @operation("GET", "/monitoring/{physicalAssetID}/datapoints")
    def read(
        self,
        physical_asset_id: ID,
        *,
        datapoints: Sequence[str] | None = None,
        resolution: SeriesResolution | None = None,
        aggregation: Aggregation | None = None,
        **window: Unpack[Window],
    ) -> DataPoints:
        """Read series.

        The points of [start, end) as they are, or in buckets named by their start: minutes, quarter-hours, hours,
        market days. A bucket without points is left out. `time-weighted-avg` lets each value count for as long as it
        held, for 15 minutes at most. Tables have the columns `signal`, `time`, `value`. Signals come in the order asked
        for (else by name), each in the order of time.

        Args:
            physical_asset_id: The physical asset
            datapoints: Names of signals, separated by commas; all when left out
            resolution: Length of a bucket; raw points when left out
            aggregation: Aggregate of the points of a bucket; avg when left out
            start: Start of the window, inclusive; 24 hours before `end` when left out
            end: End of the window, exclusive; now when left out
        """

    @operation("GET", "/monitoring/{physicalAssetID}/datapoints/latest")
    def latest(self, physical_asset_id: ID, *, datapoints: Sequence[str] | None = None) -> Latest:
        """Read the latest point of each signal.

        The point with the latest time of each signal; a signal that never had one is left out.

        Args:
            physical_asset_id: The physical asset
            datapoints: Names of signals, separated by commas; all when left out
        """

    @operation("GET", "/monitoring/{physicalAssetID}/datapoints/sum/detailed")
    def sums(
        self, physical_asset_id: ID, *, datapoints: Sequence[str] | None = None, **window: Unpack[Window]
    ) -> DetailedSum:
        """Sum signals over a span.

        Count, sum, extremes and mean of each signal. For powers also the energy charged, discharged and net in kWh,
        each sample holding until the next, for 15 minutes at most, and the full cycles: energy discharged divided by
        the energy capacity in force at the start.

        Args:
            physical_asset_id: The physical asset
            datapoints: Names of signals, separated by commas; all when left out
            start: Start of the window, inclusive; 24 hours before `end` when left out
            end: End of the window, exclusive; now when left out
        """

    @stream("/monitoring/{physicalAssetID}/stream", read=FollowedPoints.read_event)
    def follow(
        self, physical_asset_id: ID, *, datapoints: Sequence[str] | None = None, last_event_id: str | None = None
    ) -> FollowedPoints:
        """Follow new points, as server-sent events.

        First an event `latest` with the last point of each signal, then an event `datapoints` with the columns of
        whatever is stored. A client that comes back with `Last-Event-ID` gets what was stored since. After some minutes
        away part of that may have been compacted; an event `gap` then says to read that span again. A comment every 15
        seconds shows that the connection lives.

        Args:
            physical_asset_id: The physical asset
            datapoints: Names of signals, separated by commas; all when left out
            last_event_id: Where to go on: the `place` of the last event that was received

        Note:
            Points as they are stored, until you stop; first the newest of each signal, or what came after
            `last_event_id`. A lost connection is resumed without losing or repeating any.
        """
