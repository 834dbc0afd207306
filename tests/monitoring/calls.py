"""Points written and read over HTTP, in a line each."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
DAY = ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")
"""The market day of 23 hours."""


def stream_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def minutes(count: int, start: str = DAY[0]) -> pa.Array:
    first = np.datetime64(start.removesuffix("Z"), "ms")
    return pa.array(first + np.arange(count) * np.timedelta64(60_000, "ms")).cast(pa.timestamp("ms", "UTC"))


async def write(owner: Any, asset: str, points: Any, status: int = 200) -> Any:
    answer = await owner.engineer.post(f"/monitoring/{asset}/datapoints", json=points)
    assert answer.status_code == status, answer.text
    return answer.json()


async def read(owner: Any, asset: str, **query: Any) -> Any:
    answer = await owner.viewer.get(f"/monitoring/{asset}/datapoints", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()
