"""From when on versions of facts are kept, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gridloom.database.pool import Database


async def read_version_start(db: Database, whats: Sequence[str]) -> tuple[datetime, datetime | None]:
    """The platform's clock, and from when on all of these are kept; None for ever."""
    row = await db.fetchrow(
        "select platform_now() as now, (select max(since) from version_start where what = any($1::text[])) as since",
        list(whats),
    )
    assert row is not None
    return row["now"], row["since"]
