"""Events for tests: each carries a number by which it is known again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.pool import Database, Pool
from gridloom.platform.events.outbox import record_event

ROOT = Path(__file__).parents[3]
_START, _END = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC)


def data_with(type: str, number: int) -> dict[str, Any]:
    numbered = UUID(int=number)
    return {
        "auction.opened": {"auctionID": numbered, "start": _START, "end": _END},
        "auction.cleared": {"auctionID": numbered, "status": "LOST"},
        "bid.placed": {"auctionID": numbered, "bidID": numbered, "price": 0.01},
        "schedule.updated": {"start": _START, "end": _END, "periods": 96, "blockID": numbered},
    }[type]


def cloud_event_of_the_page() -> dict[str, Any]:
    """What docs/events.md shows as a CloudEvent."""
    section = (ROOT / "docs" / "events.md").read_text().partition("## CloudEvents\n")[2]
    block: dict[str, Any] = json.loads(section.partition("```json\n")[2].partition("```")[0])
    return block


def assert_cloud_event(event: Mapping[str, Any], ours: UUID) -> None:
    """The attributes of the page, with the values that the specification asks for."""
    page = cloud_event_of_the_page()
    assert list(event) == list(page)
    assert {name: event[name] for name in ("specversion", "datacontenttype")} == {
        name: page[name] for name in ("specversion", "datacontenttype")
    }
    assert event["source"] == f"/organisations/{ours}"
    assert datetime.fromisoformat(event["time"]).tzinfo is not None
    assert UUID(event["id"])


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
