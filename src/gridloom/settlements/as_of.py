"""Asking as of an earlier moment: which moments can be asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from gridloom.database.pool import Database
from gridloom.edge import Instant
from gridloom.edge.wire import parameter_refused
from gridloom.kernel.instant import written
from gridloom.kernel.problem import Problem

AsOf = Annotated[Instant | None, Meta(description="As it was known at this moment, on the platform's clock")]

PRICES: Final = "reference_price"
MEASURED: Final = "measured_quarter_hours"


class AsOfTooEarly(Problem):
    """Versions of the facts asked for were not kept yet at that moment: an earlier release overwrote them.

    `since` is the first moment that can be asked for.
    """

    status = 422
    title = "The moment lies before versions were kept"


async def check_as_of(db: Database, as_of: datetime | None, *whats: str) -> None:
    """A moment before now at which versions of these kinds of facts were kept."""
    if as_of is None:
        return
    row = await db.fetchrow(
        "select platform_now() as now, (select max(since) from version_start where what = any($1::text[])) as since",
        list(whats),
    )
    assert row is not None
    if as_of >= row["now"]:
        raise parameter_refused("query", "as-of", "is not before now")
    if row["since"] is not None and as_of < row["since"]:
        since = written(row["since"])
        raise AsOfTooEarly(f"Versions are kept since {since}; as-of is before that.", since=since)
