"""Bodies of points, JSON in columns or rows, NDJSON, CSV or Arrow, as columns; no step per point on the usual path.

What makes a body unreadable refuses the request (400). What makes a single point unusable refuses that point.
"""

from __future__ import annotations

import re
from typing import Final

from gridloom.edge.decode.json_decoder import reject_long_numbers
from gridloom.edge.decode.slices import count_in_slices
from gridloom.monitoring.ingest import json_columns, json_rows, tables
from gridloom.monitoring.ingest.columns import TooManyPoints, check_count, drop_invalid
from gridloom.monitoring.model import MAX_POINTS, Received

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
MEDIA_TYPES: Final = (JSON, NDJSON, CSV, ARROW)

_ARRAY: Final = re.compile(rb"\s*\[")


def parse(body: bytes, media_type: str, *, many: bool, latest_us: int) -> Received:
    """`many` bodies name the asset of each point; no point may lie after `latest_us`."""
    if media_type in (JSON, NDJSON):
        _reject_implausible(body, is_rows=media_type == NDJSON or _ARRAY.match(body) is not None)
        reject_long_numbers(body)
    if media_type == CSV:
        columns = tables.from_csv(body, many=many)
    elif media_type == ARROW:
        columns = tables.from_arrow(body, many=many)
    elif media_type == NDJSON:
        columns = json_rows.from_rows(body, many=many, lines=True)
    elif _ARRAY.match(body):
        columns = json_rows.from_rows(body, many=many, lines=False)
    else:
        columns = json_columns.from_columns(body, many=many)
    check_count(len(columns))
    return drop_invalid(columns, latest_us)


def _reject_implausible(body: bytes, *, is_rows: bool) -> None:
    """Unpacked, `{}` takes thirty times the room that it takes in a body: what holds far more things than the points
    allowed could need is not unpacked at all."""
    # A row opens one brace; what is read a second time to name its faults is not read at all beyond that.
    braces = MAX_POINTS if is_rows else 2 * MAX_POINTS
    for sign, most in ((b"{", braces), (b",", 6 * MAX_POINTS), (b"\n", 8 * MAX_POINTS)):
        if len(body) > most and count_in_slices(body, sign) > most:
            raise TooManyPoints(f"The request holds far more than {MAX_POINTS:,} points.")
