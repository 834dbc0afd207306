"""The newest point of each signal, as each asset's head keeps it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from gridloom.monitoring.model import LATEST, instant_of
from gridloom.monitoring.store import heads
from gridloom.monitoring.views import Point
from gridloom.physical_assets.telemetry import LatestTelemetry
from gridloom.platform.database.pool import Database
from gridloom.platform.http import to_json

STATE_OF_CHARGE = "state_of_charge"


def unpack(latest: bytes) -> NDArray[np.void]:
    """Time and value by signal id."""
    return np.frombuffer(latest, LATEST)


def point_of(latest: NDArray[np.void], signal_id: int) -> Point:
    time, value = latest[signal_id].item()
    return Point(time=instant_of(time), value=value)


def latest_points(latest: bytes, names: Mapping[int, str], wanted: Collection[str] | None) -> bytes:
    """`{signal: {time, value}}` of the wanted signals."""
    known = unpack(latest)
    chosen = {
        name: point_of(known, signal_id)
        for signal_id, name in names.items()
        if signal_id < len(known) and (wanted is None or name in wanted)
    }
    return to_json(chosen)


async def latest_of_asset(db: Database, asset_key: int) -> LatestTelemetry | None:
    """The latest telemetry for the health of the asset."""
    head = await heads.find_head(db, asset_key)
    if head is None or not head.latest:
        return None
    known = unpack(head.latest)
    signal_id = (await heads.signal_ids(db, asset_key)).get(STATE_OF_CHARGE)
    has_charge = signal_id is not None and signal_id < len(known)
    return LatestTelemetry(
        time=instant_of(int(known["time"].max())),
        state_of_charge_percentage=float(known["value"][signal_id]) if has_charge else None,
    )
