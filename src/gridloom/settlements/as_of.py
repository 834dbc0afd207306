"""Asking as of an earlier instant: which instants can be asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import Unprocessable
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Instant
from gridloom.platform.http.fields import parameter_error
from gridloom.settlements.store import read_version_start

AsOf = Instant | None

PRICES: Final = "reference_price"
MEASURED: Final = "measured_day"


class AsOfTooEarly(Unprocessable, title="The instant lies before versions were kept"):
    """Versions of the facts asked for were not retained yet at that instant: an earlier release overwrote them.

    `since` is the first instant that can be asked for.
    """


async def check_as_of(db: Database, as_of: datetime | None, *whats: str) -> None:
    """An instant before now at which versions of these kinds of facts were kept."""
    if as_of is None:
        return
    now, since = await read_version_start(db, whats)
    if as_of >= now:
        raise parameter_error("query", "as-of", "is not before now")
    if since is not None and as_of < since:
        raise AsOfTooEarly(
            f"Versions are kept since {format_instant(since)}; as-of is before that.", since=format_instant(since)
        )
