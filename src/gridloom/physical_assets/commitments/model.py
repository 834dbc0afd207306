"""The book of a physical asset as it crosses the wire."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from gridloom.capacity.model import HoldingKind
from gridloom.platform.http import ResponseBody


class AncillaryHeld(ResponseBody):
    """Offered and accepted balancing capacity; of aFRR energy what exceeds the accepted capacity of its block."""

    fcr: float
    afrr_capacity: float
    afrr_energy: float


class CommittedAmount(ResponseBody):
    """Of one direction (kW) or of the energy (kWh), all as magnitudes."""

    rated: float
    available: float
    promised: float
    offered: float
    ancillary: AncillaryHeld
    own_schedule: float
    free: float
    missing: float


class Holder(ResponseBody):
    """A holder of power of the asset; one that holds both directions has two entries."""

    kind: HoldingKind
    power: float
    virtual_asset_id: UUID | UnsetType = UNSET
    organisation_id: UUID | UnsetType = UNSET
    organisation_name: str | UnsetType = UNSET
    auction_id: UUID | UnsetType = UNSET
    product: str | UnsetType = UNSET


class Commitment(ResponseBody):
    """One delivery period."""

    time: datetime
    charge: CommittedAmount
    discharge: CommittedAmount
    energy: CommittedAmount
    holders: list[Holder] | UnsetType = UNSET


class Commitments(ResponseBody):
    physical_asset_id: UUID
    start: datetime
    end: datetime
    commitments: list[Commitment]
    units_power: str = "kW"
    units_energy: str = "kWh"
