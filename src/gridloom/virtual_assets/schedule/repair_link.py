"""The way out of a refused schedule: where a repaired one is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.rules import EnergyOutOfBounds, PowerBeyondAvailable


@contextmanager
def linking_repair(asset: VirtualAsset) -> Iterator[None]:
    """Add `repair` to a refusal that another schedule would not meet."""
    try:
        yield
    except (EnergyOutOfBounds, PowerBeyondAvailable) as refusal:
        refusal.members["repair"] = f"/organisations/{asset.organisation_id}/virtual-assets/{asset.id}/repairs"
        raise
