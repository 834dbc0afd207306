"""Bodies of points, JSON in columns or rows, NDJSON, CSV or Arrow, as columns; no step per point on the usual path.

What makes a body unreadable refuses the request (400). What makes a single point unusable refuses that point.
"""

from __future__ import annotations

from typing import Final

from gridloom.monitoring import json_columns, json_rows, tables
from gridloom.monitoring.columns import check_count, settle
from gridloom.monitoring.model import Received

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
MEDIA_TYPES: Final = (JSON, NDJSON, CSV, ARROW)


def parse(body: bytes, media_type: str, *, many: bool, latest_us: int) -> Received:
    """`many` bodies name the asset of each point; no point may lie after `latest_us`."""
    if media_type == CSV:
        columns = tables.from_csv(body, many=many)
    elif media_type == ARROW:
        columns = tables.from_arrow(body, many=many)
    elif media_type == NDJSON:
        columns = json_rows.from_rows(body, many=many, lines=True)
    elif body.lstrip()[:1] == b"[":
        columns = json_rows.from_rows(body, many=many, lines=False)
    else:
        columns = json_columns.from_columns(body, many=many)
    check_count(len(columns))
    return settle(columns, latest_us)
