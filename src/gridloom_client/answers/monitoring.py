"""Answers about time series of physical assets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from uuid import UUID

import msgspec

from gridloom_client.answers.answered import Answered
from gridloom_client.answers.reporting import SeriesPoint
from gridloom_client.errors import AnswerError
from gridloom_client.frames import Tabular, Zone, in_zone, table_of
from gridloom_client.sse import ServerSentEvent

if TYPE_CHECKING:
    import pyarrow

FollowedKind: TypeAlias = Literal["latest", "datapoints", "gap"]


class Signal(Answered):
    """`kind` is GAUGE, COUNTER or STATE."""

    name: str
    unit: str
    kind: str
    description: str
    first: datetime
    last: datetime


class Refusal(Answered):
    """Points that were not taken, by reason, with pointers to some of them."""

    reason: str
    detail: str
    count: int
    pointers: tuple[str, ...]


class Written(Answered):
    """How many points are now on disk, and which are not."""

    received: int
    written: int
    overwritten: int
    refused: int
    refusals: tuple[Refusal, ...]


class AssetWritten(Answered):
    physical_asset_id: UUID
    written: int
    overwritten: int


class AllWritten(Answered):
    """The same for many assets at once."""

    received: int
    written: int
    overwritten: int
    refused: int
    refusals: tuple[Refusal, ...]
    assets: tuple[AssetWritten, ...]


class Latest(Answered):
    """The newest point of each signal."""

    data: dict[str, SeriesPoint]


class SignalSum(Answered):
    """Energy in kWh, for signals of power."""

    unit: str
    count: int
    sum: float | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    energy_charged: float | None = None
    energy_discharged: float | None = None
    energy_net: float | None = None
    cycles: float | None = None


class DetailedSum(Answered):
    start: datetime
    end: datetime
    data: dict[str, SignalSum]


class _Columns(Answered):
    time: tuple[datetime, ...]
    value: tuple[float | None, ...]


class FollowedPoints(Answered, Tabular):
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
            raise AnswerError(f"The stream sent points that this client cannot read: {fault}.") from None
        return cls(cast("FollowedKind", kind), series, event.id)

    def points(self) -> Iterator[tuple[str, datetime, float | None]]:
        """Signal, time and value of each point."""
        for name, points in self.data.items():
            for point in points:
                yield name, point.time, point.value

    def to_arrow(self, zone: Zone = "UTC") -> pyarrow.Table:
        rows = [{"signal": name, "time": time, "value": value} for name, time, value in self.points()]
        return in_zone(table_of(rows), zone)
