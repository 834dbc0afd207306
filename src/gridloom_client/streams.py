"""Messages of streams: events, and points of telemetry as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from gridloom_client.answers import SeriesPoint
from gridloom_client.errors import ResponseError
from gridloom_client.events import EVENTS
from gridloom_client.frames import Tabular, table_of
from gridloom_client.response_types import Event, ResponseStruct
from gridloom_client.sse import ServerSentEvent

if TYPE_CHECKING:
    import pyarrow

FollowedKind: TypeAlias = Literal["latest", "datapoints", "gap"]


def read_event(body: bytes | str | Mapping[str, Any], *, place: str = "") -> Event:
    """An event, such as the body of a webhook's call, as a value of its type's class in `gridloom_client.events`."""
    try:
        known = msgspec.json.decode(body) if isinstance(body, bytes | str) else dict(body)
        event = msgspec.convert(known, EVENTS.get(known.get("type", ""), Event))
    except (msgspec.DecodeError, AttributeError) as fault:
        raise ResponseError(f"This is no event that this client can read: {fault}.") from None
    return msgspec.structs.replace(event, place=place) if place else event


def read_sent_event(sent: ServerSentEvent) -> Event:
    """An event of a stream, with its place there."""
    return read_event(sent.data, place=sent.id)


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
