"""Messages of streams: events, and points of telemetry as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from uuid import UUID

import msgspec

from gridloom_client.answers import SeriesPoint
from gridloom_client.errors import ResponseError
from gridloom_client.frames import Tabular, table_of
from gridloom_client.response_types import Record, ResponseStruct
from gridloom_client.sse import ServerSentEvent

if TYPE_CHECKING:
    import pyarrow

FollowedKind: TypeAlias = Literal["latest", "datapoints", "gap"]


class Event(ResponseStruct):
    """`place` is where it stands in the stream: follow on after it with `last_event_id`."""

    id: str
    type: str
    time: datetime
    organisation_id: UUID | None = None
    subject: str | None = None
    data: Record = {}
    place: str = ""


class _Columns(ResponseStruct):
    time: tuple[datetime, ...]
    value: tuple[float | None, ...]


class FollowedPoints(ResponseStruct, Tabular):
    """Points as they were stored; as a table, a row per signal and time.

    `kind` is `latest` (the newest point of each signal, first of all), `datapoints` (what was just stored), or `gap`:
    after a long absence some points between are no longer told, read that span. `place` is where to go on after.
    """

    kind: FollowedKind
    data: dict[str, tuple[SeriesPoint, ...]]
    place: str

    @classmethod
    def read_event(cls, event: ServerSentEvent) -> FollowedPoints | None:
        """None for a kind that a newer service may send."""
        kind, data = event.event, event.data.encode()
        if kind not in ("latest", "datapoints", "gap"):
            return None
        series: dict[str, tuple[SeriesPoint, ...]] = {}
        try:
            if kind == "latest":
                newest = msgspec.json.decode(data, type=dict[str, SeriesPoint])
                series = {name: (point,) for name, point in newest.items()}
            elif kind == "datapoints":
                columns = msgspec.json.decode(data, type=dict[str, _Columns])
                series = {
                    name: tuple(SeriesPoint(*pair) for pair in zip(column.time, column.value, strict=True))
                    for name, column in columns.items()
                }
        except (msgspec.DecodeError, ValueError) as fault:
            raise ResponseError(f"The stream sent points that this client cannot read: {fault}.") from None
        return cls(cast("FollowedKind", kind), series, event.id)

    def points(self) -> Iterator[tuple[str, datetime, float | None]]:
        """Signal, time and value of each point."""
        for name, points in self.data.items():
            for point in points:
                yield name, point.time, point.value

    def _make_table(self) -> pyarrow.Table:
        return table_of([{"signal": name, "time": time, "value": value} for name, time, value in self.points()])

    def _repr_html_(self) -> str:
        return self._table_html()
