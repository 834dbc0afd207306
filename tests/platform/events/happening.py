"""Events for tests: each carries a number by which it is known again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.platform.database.commit.after_commit import transaction
from gridloom.platform.database.pool import Database, Pool
from gridloom.platform.events.outbox import record_event

_START, _END = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC)


def data_with(type: str, number: int) -> dict[str, Any]:
    numbered = UUID(int=number)
    return {
        "auction.opened": {"auctionID": numbered, "start": _START, "end": _END},
        "auction.cleared": {"auctionID": numbered, "status": "LOST"},
        "bid.placed": {"auctionID": numbered, "bidID": numbered, "price": 0.01},
        "schedule.updated": {"start": _START, "end": _END, "periods": 96, "blockID": numbered},
    }[type]


def number_in(event: Mapping[str, Any]) -> int:
    """Of an event as a reader sees it, or of its data alone."""
    data = event.get("data", event)
    return UUID(data.get("auctionID") or data["blockID"]).int


async def record(
    db: Database,
    organisation_id: UUID,
    number: int = 0,
    *,
    type: str = "auction.opened",
    permission: Permission = Permission.READ_AUCTIONS,
    subject: str = "auctions/1",
    asset_key: int | None = None,
) -> UUID:
    return await record_event(
        db,
        type=type,
        organisation_id=organisation_id,
        subject=subject,
        permission=permission,
        asset_key=asset_key,
        data=data_with(type, number),
    )


async def happen(pool: Pool, organisation_id: UUID, number: int = 0, **fields: Any) -> None:
    async with transaction(pool) as db:
        await record(db, organisation_id, number, **fields)
