"""Long series sent in slices, encoded off the event loop, so that memory use is constant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from gridloom.market_calendar import Floats, period_start_ms
from gridloom.platform.http import JSON, Stream
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.tables import TIME, points_json, stream_table, time_texts

STREAMED_FROM_PERIODS: Final = 3000
"""About a month; longer series are sent in slices."""
SLICE: Final = 8192


def table(media_type: str, first: int, columns: Mapping[str, Floats], file_name: str) -> Stream:
    """Quarter-hour series side by side as CSV, Arrow or Parquet."""
    count = len(next(iter(columns.values())))
    schema = pa.schema([("time", TIME), *((name, pa.float64()) for name in columns)])

    async def batches() -> AsyncIterator[pa.RecordBatch]:
        for low in range(0, count, SLICE):
            high = min(count, low + SLICE)
            times = pa.array(period_times(first + low, first + high), TIME)
            values = (pa.array(values[low:high]) for values in columns.values())
            yield pa.record_batch([times, *values], schema=schema)

    return stream_table(media_type, schema, batches(), file_name=file_name)


def streamed_points(first: int, values: Floats, name: str) -> Stream:
    """One series as `[{"time": …, <name>: …}, …]`."""
    return Stream(list_json(first, {name: values}), JSON)


def streamed_data(meta_data: object, first: int, series: Mapping[str, Floats]) -> Stream:
    """`{"metaData": …, "data": {<category>: [points], …}}`."""

    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"metaData":' + to_json(meta_data) + b',"data":{'
        for index, (name, values) in enumerate(series.items()):
            yield (b"," if index else b"") + to_json(name) + b":"
            async for chunk in list_json(first, {"value": values}):
                yield chunk
        yield b"}}"

    return Stream(chunks(), JSON)


async def list_json(first: int, columns: Mapping[str, Floats]) -> AsyncIterator[bytes]:
    count = len(next(iter(columns.values())))
    yield b"["
    for low in range(0, count, SLICE):
        high = min(count, low + SLICE)
        cut = {name: values[low:high] for name, values in columns.items()}
        encoded = await asyncio.to_thread(_slice_json, first + low, first + high, cut)
        yield (b"," if low else b"") + encoded[1:-1]
    yield b"]"


def _slice_json(first: int, end: int, columns: Mapping[str, Floats]) -> bytes:
    times = period_times(first, end)
    if len(columns) == 1:
        ((name, values),) = columns.items()
        return points_json(times, values, name=name)
    return rows_json(times, columns)


def period_times(first: int, end: int) -> NDArray[np.datetime64]:
    return period_start_ms(first, max(first, end)).view("datetime64[ms]")


def rows_json(times: NDArray[np.datetime64], columns: Mapping[str, Floats]) -> bytes:
    """`[{"time": …, <column>: …}, …]`, column by column."""
    if len(times) == 0:
        return b"[]"
    texts = [
        orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY).decode()[1:-1].split(",")
        for values in columns.values()
    ]
    shape = '{{"time":"{}",' + ",".join(f'"{name}":{{}}' for name in columns) + "}}"
    rows = map(shape.format, time_texts(times).tolist(), *texts)
    return f"[{','.join(rows)}]".encode()
