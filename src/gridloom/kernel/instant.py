"""How an instant is written, in answers and in sentences alike."""

from __future__ import annotations

from datetime import UTC, datetime


def format_instant(instant: datetime) -> str:
    """RFC 3339 in UTC with `Z`: whole seconds, or milliseconds where there are any."""
    utc = instant.astimezone(UTC)
    precision = "milliseconds" if utc.microsecond >= 1000 else "seconds"
    return utc.isoformat(timespec=precision).replace("+00:00", "Z")
