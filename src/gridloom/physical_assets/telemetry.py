"""Where the health of an asset learns what was last measured: whoever keeps telemetry registers how to ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class LatestTelemetry:
    """The newest point of any signal, and the newest state of charge, in per cent, where there is one."""

    time: datetime
    state_of_charge_percentage: float | None


Latest = Callable[[Database, int], Awaitable[LatestTelemetry | None]]


async def _nothing_measured(db: Database, asset_key: int) -> LatestTelemetry | None:
    return None


_latest: Latest = _nothing_measured


def register_latest(latest: Latest) -> None:
    """`latest(db, asset_key)` is asked from now on; None means that nothing was ever measured."""
    global _latest
    _latest = latest


async def latest_telemetry(db: Database, asset_key: int) -> LatestTelemetry | None:
    return await _latest(db, asset_key)
