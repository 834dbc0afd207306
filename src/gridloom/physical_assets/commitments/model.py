"""The book of a physical asset as it crosses the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.capacity.model import HoldingKind
from gridloom.edge import ResponseBody


class AncillaryHeld(ResponseBody):
    """Offered and accepted balancing capacity; of aFRR energy what exceeds the accepted capacity of its block."""

    fcr: Annotated[float, Meta(description="FCR, offered or accepted")]
    afrr_capacity: Annotated[float, Meta(description="aFRR capacity, offered or accepted")]
    afrr_energy: Annotated[float, Meta(description="aFRR energy beyond the accepted capacity of its block")]


class CommittedAmount(ResponseBody):
    """Of one direction (kW) or of the energy (kWh), all as magnitudes."""

    rated: Annotated[float, Meta(description="What the asset is rated for")]
    available: Annotated[float, Meta(description="Rated, less everything unavailable")]
    promised: Annotated[float, Meta(description="To virtual assets")]
    offered: Annotated[float, Meta(description="In auctions that are not over")]
    ancillary: Annotated[AncillaryHeld, Meta(description="Balancing capacity by kind of product")]
    own_schedule: Annotated[float, Meta(description="The owner's own use; as energy the swing within the market day")]
    free: Annotated[float, Meta(description="What nobody holds")]
    missing: Annotated[float, Meta(description="What was taken and is not there any more after a loss")]


class Holder(ResponseBody):
    """Who holds power of the asset; of one who holds both directions there are two entries."""

    kind: HoldingKind
    power: Annotated[float, Meta(description="kW; positive is export (discharging), negative is import")]
    virtual_asset_id: UUID | UnsetType = UNSET
    organisation_id: Annotated[UUID, Meta(description="Who holds the virtual asset")] | UnsetType = UNSET
    organisation_name: Annotated[str, Meta(description="What that organisation is called")] | UnsetType = UNSET
    auction_id: UUID | UnsetType = UNSET
    product: Annotated[str, Meta(examples=["NEGPOS_00_04"])] | UnsetType = UNSET


class Commitment(ResponseBody):
    """One delivery period."""

    time: datetime
    charge: CommittedAmount
    discharge: CommittedAmount
    energy: CommittedAmount
    holders: Annotated[list[Holder], Meta(description="For the asset's owner and the operator only")] | UnsetType = (
        UNSET
    )


class Commitments(ResponseBody):
    physical_asset_id: UUID
    start: datetime
    end: datetime
    commitments: Annotated[list[Commitment], Meta(description="Every delivery period, in order")]
    units_power: str = "kW"
    units_energy: str = "kWh"
