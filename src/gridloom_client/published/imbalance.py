"""The imbalance price of the German grid operators (reBAP), as they publish it quarter-hour by quarter-hour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Final

from gridloom_client.published.prices import MICRO, PublishedFileError, PublishedPrice
from gridloom_client.published.tables import NamedFile, Row, read_rows

SERIES: Final = "REBAP_DE"
_SHORT, _LONG = "reBAP unterdeckt", "reBAP ueberdeckt"
_OFFSETS_H: Final = {"UTC": 0, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2}
_QUARTER_HOUR: Final = timedelta(minutes=15)
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(:00)?")


def read_rebap(path: NamedFile) -> Iterator[PublishedPrice]:
    """Rows of `Datum;Zeitzone;von;bis;…;reBAP unterdeckt;reBAP ueberdeckt`; those without a price yet are left out.

    Each row says its zone, so the hour that the clock goes back is told apart. Short and long pay the same price.
    """
    for row in read_rows(path, _SHORT):
        if row.is_missing(_SHORT):
            continue
        price = row.number(_SHORT)
        if not row.is_missing(_LONG) and row.number(_LONG) != price:
            raise PublishedFileError(f"{row.place}: {_SHORT} and {_LONG} differ, and there is one price for both.")
        yield _read_price(row, SERIES, price)


def read_id_aep(path: NamedFile) -> Iterator[PublishedPrice]:
    """The index of intraday trading that the imbalance price follows, in files of the same form."""
    name: str | None = None
    for row in read_rows(path, "Zeitzone"):
        name = name or next((column for column in row.columns if "aep" in column.lower().replace("-", "")), None)
        if name is None:
            raise PublishedFileError(f"{path.name} has no column of the ID AEP.")
        if not row.is_missing(name):
            yield _read_price(row, "ID_AEP_DE", row.number(name))


def _read_price(row: Row, series: str, price: Decimal) -> PublishedPrice:
    start = _read_instant(row, "von")
    if _read_instant(row, "bis") not in (start + _QUARTER_HOUR, start + _QUARTER_HOUR - timedelta(days=1)):
        raise PublishedFileError(f"{row.place}: {row.text('von')} to {row.text('bis')} is not a quarter-hour.")
    return PublishedPrice(series, start, start + _QUARTER_HOUR, price.quantize(MICRO))


def _read_instant(row: Row, name: str) -> datetime:
    zone = row.text("Zeitzone").upper()
    if zone not in _OFFSETS_H:
        raise PublishedFileError(f"{row.place}: Zeitzone is {zone!r}, not one of {', '.join(_OFFSETS_H)}.")
    clock = _CLOCK.fullmatch(row.text(name))
    if clock is None:
        raise PublishedFileError(f"{row.place}: {name} is {row.text(name)!r}, not a time of day.")
    wall = datetime.combine(row.day("Datum"), time(int(clock[1]), int(clock[2])))
    return wall.replace(tzinfo=timezone(timedelta(hours=_OFFSETS_H[zone]))).astimezone(UTC)
