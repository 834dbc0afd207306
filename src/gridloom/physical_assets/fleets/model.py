"""Fleets as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.platform.http import Name, Paging, RequestBody, ResponseBody

AssetIDs = Annotated[list[UUID], Meta(max_length=10_000)]


class NewFleet(RequestBody):
    name: Name
    organisation_id: UUID
    physical_asset_ids: AssetIDs


class FleetChange(RequestBody):
    """An omitted field stays; a list of assets replaces the one before."""

    name: Name | UnsetType = UNSET
    physical_asset_ids: AssetIDs | UnsetType = UNSET


class Fleet(ResponseBody):
    id: UUID
    name: str
    organisation_id: UUID
    physical_asset_ids: list[UUID]
    created_at: datetime


class FleetsQuery(Paging):
    """In the order in which they were made."""

    organisation_id: UUID | None = None
