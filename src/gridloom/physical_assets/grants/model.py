"""Grants as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.edge import RequestBody, ResponseBody
from gridloom.kernel.permission import Permission


class NewGrant(RequestBody):
    """Everything the organisation may do with the asset from now on."""

    permissions: Annotated[list[Permission], Meta(min_length=1, max_length=100)]


class Grant(ResponseBody):
    physical_asset_id: UUID
    organisation_id: UUID
    organisation_name: str
    permissions: list[Permission]
    created_at: datetime
    updated_at: datetime
