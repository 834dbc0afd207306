"""Answers about time series of physical assets."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from gridloom_client.answers.answered import Answered
from gridloom_client.answers.reporting import SeriesPoint


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
