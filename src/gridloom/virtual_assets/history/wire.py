"""Adjustments and versions as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.edge import Instant, Paging, ResponseBody
from gridloom.virtual_assets.blocks.wire import ScheduledPower
from gridloom.virtual_assets.model import (
    AdjustmentReason,
    VersionKind,
)


class AdjustmentsQuery(Paging):
    """Left out: the whole life."""

    start: Instant | None = None
    end: Instant | None = None


class AdjustmentView(ResponseBody):
    """A quarter-hour whose accepted power (kW, all blocks together) was cut when its gate closed."""

    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: AdjustmentReason


class HistoryQuery(Paging):
    """By when a version was accepted; `version` asks for one alone, with all its periods."""

    start: Instant | None = None
    end: Instant | None = None
    version: Annotated[int, Meta(ge=1, le=2_147_483_647)] | None = None


class BlockChange(ResponseBody):
    """The periods a version set on a block. Of a version with very many periods, only their number is listed."""

    block_id: UUID
    periods: int
    start: datetime
    end: datetime
    schedule: list[ScheduledPower] | None


class VersionView(ResponseBody):
    """Who made a version, when, and what it changed. Its author is named to its organisation and the operator."""

    version: int
    kind: VersionKind
    accepted_at: datetime
    author_kind: str
    author_id: UUID | None
    author_name: str | None
    block_id: UUID | None
    changes: list[BlockChange]
