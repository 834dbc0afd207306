"""Collections by the page: an opaque cursor holds the last item's position in the order."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from msgspec import Meta

from gridloom.platform.http.fields import Instant, QueryParameters, accept_day, accept_instant, parameter_error
from gridloom.platform.http.responses import Page

T = TypeVar("T")
K = TypeVar("K")

Limit = Annotated[int, Meta(ge=1, le=1000)]
MAX_CURSOR_INTEGER = 2**63 - 1
Cursor = Annotated[str, Meta(min_length=1, max_length=2000)]


class Paging(QueryParameters):
    limit: Limit = 100
    cursor: Cursor | None = None

    def after(self, kind: type[K]) -> K | None:
        """The position in the order after which this page starts, such as a `UUID`; None for the first page."""
        return None if self.cursor is None else decode_cursor(self.cursor, kind)

    def page(self, rows: Sequence[T], cursor_of: Callable[[T], Any]) -> Page[T]:
        """Cut rows, read with a limit of one more than was asked for, into a page with its cursor."""
        if len(rows) <= self.limit:
            return Page(rows)
        kept = rows[: self.limit]
        return Page(kept, encode_cursor(cursor_of(kept[-1])))


class PagedWindow(Paging):
    """A page of what lies in a window that may be open at either end."""

    start: Instant | None = None
    end: Instant | None = None


def encode_cursor(position: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def decode_cursor(cursor: str, kind: type[K]) -> K:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True)
        if b"\\u0000" in raw:
            raise ValueError
        decoded = msgspec.json.decode(raw, type=kind)
        _reject_out_of_bounds(decoded)
    except (binascii.Error, UnicodeError, RecursionError, ValueError, msgspec.MsgspecError):
        raise parameter_error("query", "cursor", "is not one that this service gave out") from None
    return decoded


def _reject_out_of_bounds(position: Any) -> None:
    """Clients can forge a cursor: a value that no column can hold is rejected here, not by the database."""
    if isinstance(position, msgspec.Struct):
        position = msgspec.structs.astuple(position)
    if isinstance(position, tuple | list):
        for part in position:
            _reject_out_of_bounds(part)
    elif isinstance(position, datetime):
        if position.tzinfo is None:
            raise ValueError
        accept_instant(position)
    elif isinstance(position, date):
        accept_day(position)
    elif isinstance(position, int | Decimal) and not _is_storable(position):
        raise ValueError


def _is_storable(number: int | Decimal) -> bool:
    return Decimal(number).is_finite() and -MAX_CURSOR_INTEGER <= number <= MAX_CURSOR_INTEGER


def next_link(target: str, cursor: str) -> str:
    """The Link header to the page that starts at this cursor."""
    parts = urlsplit(target)
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "cursor"]
    return f'<{parts.path}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'
