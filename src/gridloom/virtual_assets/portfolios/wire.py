"""Portfolios as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import Name, Paging, RequestBody, ResponseBody


class NewPortfolio(RequestBody):
    name: Name
    virtual_asset_ids: Annotated[list[UUID], Meta(max_length=10_000)] | UnsetType = UNSET


class PortfolioChange(RequestBody):
    """What is left out stays; a list of assets replaces the one before."""

    name: Name | UnsetType = UNSET
    virtual_asset_ids: Annotated[list[UUID], Meta(max_length=10_000)] | UnsetType = UNSET


class PortfolioView(ResponseBody):
    id: UUID
    organisation_id: UUID
    name: str
    virtual_asset_ids: list[UUID]
    created_at: datetime


class PortfoliosQuery(Paging):
    """In the order in which they were made."""
