"""Bulk bodies into published prices, every faulty row named."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from msgspec import Meta

from gridloom.kernel.problem import FieldError
from gridloom.platform.http import Instant, RequestBody
from gridloom.reference_prices.model import SERIES, PublishedPrice
from gridloom.settlements.decoding import MAX_ERRORS, InvalidRows, read_rows_of, reject_rows

SeriesName = Annotated[str, Meta(extra_json_schema={"enum": list(SERIES)})]
Price = Annotated[float, Meta(ge=-1_000_000, le=1_000_000)]


class NewReferencePrice(RequestBody):
    """A published price; key: series and start."""

    series: SeriesName
    start: Instant
    end: Instant
    price: Price


def read_prices(body: bytes, media_type: str) -> list[PublishedPrice]:
    """A bulk body as prices; one refusal names its faulty rows."""
    try:
        rows = read_rows_of(NewReferencePrice, body, media_type)
    except InvalidRows as faulty:
        found = [error for position, row in faulty.sound.items() for error in _validate_row(position, row)]
        errors = [*faulty.errors, *found]
        errors.sort(key=lambda error: int(error.pointer.split("/")[1]))
        raise reject_rows(errors[:MAX_ERRORS], faulty.total + len(found)) from None
    errors = [error for position, row in enumerate(rows) for error in _validate_row(position, row)]
    if errors:
        raise reject_rows(errors[:MAX_ERRORS], len(errors))
    return [
        PublishedPrice(row.series, row.start, row.end, Decimal(str(row.price)).quantize(Decimal("0.000001")))
        for row in rows
    ]


def _validate_row(position: int, row: NewReferencePrice) -> list[FieldError]:
    found = []
    if row.series not in SERIES:
        found.append(FieldError(f"/{position}/series", f"is not one of {', '.join(SERIES)}"))
    if row.start >= row.end:
        found.append(FieldError(f"/{position}/end", "is not after the start"))
    return found
