"""Dependency of asset health on monitoring: the last measured values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from gridloom.kernel.dependency import Dependency
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class LatestTelemetry:
    """The newest point of any signal, and the newest state of charge, in per cent, where there is one."""

    time: datetime
    state_of_charge_percentage: float | None


LATEST_TELEMETRY: Dependency[Callable[[Database, int], Awaitable[LatestTelemetry | None]]] = Dependency(
    "the latest telemetry"
)
"""From an asset's key; None means that nothing was ever measured."""
