"""Rows of `series, start, end, price` as people keep them: CSV or XLSX, with instants or local times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from gridloom_client.published.prices import MICRO, PublishedFileError, PublishedPrice
from gridloom_client.published.tables import NamedFile, Row, read_rows

_FORMS = ("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y-%m-%d %H:%M")


def read_price_rows(
    path: NamedFile, *, series: str | None = None, zone: str | None = None, step: timedelta | None = None
) -> Iterator[PublishedPrice]:
    """`series` stands for rows without one, `zone` for times without an offset, `step` for rows without an end.

    A local time that stands there twice is the hour that the clock shows twice, in its order.
    """
    local = None if zone is None else ZoneInfo(zone)
    seen = set[tuple[str, datetime]]()
    for row in read_rows(path, "start"):
        name = row.text("series") or series
        if not name:
            raise PublishedFileError(f"{row.place}: there is no series; name one with --series.")
        if row.is_missing("price"):
            continue
        start = _read_time(row, "start", local, seen, name)
        if "end" in row and not row.is_missing("end"):
            end = _read_time(row, "end", local, set(), name)
            if end <= start:  # the local end of the hour that comes twice
                end += timedelta(hours=1)
        elif step is not None:
            end = start + step
        else:
            raise PublishedFileError(f"{row.place}: there is no end; say with --minutes how long a price holds.")
        yield PublishedPrice(name, start, end, row.number("price").quantize(MICRO))


def _read_time(row: Row, name: str, local: ZoneInfo | None, seen: set[tuple[str, datetime]], series: str) -> datetime:
    time = row.time(name, _FORMS)
    if time.tzinfo is not None:
        return time.astimezone(UTC)
    if local is None:
        raise PublishedFileError(f"{row.place}: {name} has no offset from UTC; say with --zone where it holds.")
    is_second = (series, time) in seen
    seen.add((series, time))
    return time.replace(tzinfo=local, fold=int(is_second)).astimezone(UTC)
