"""What a portfolio is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gridloom.kernel.ids import OrganisationID, PortfolioID, VirtualAssetID


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Virtual assets that an organisation looks at together; an asset is in one at most."""

    id: PortfolioID
    organisation_id: OrganisationID
    name: str
    version: int
    created_at: datetime
    virtual_asset_ids: tuple[VirtualAssetID, ...]
