"""Large tables in the format that was asked for, batch by batch: CSV, Arrow, Parquet, or JSON points."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any, Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from gridloom.edge.responses import ARROW, CSV, PARQUET, Stream

TIME = pa.timestamp("ms", tz="UTC")
"""How moments stand in a table."""

TABLE_FORMATS = (CSV, ARROW, PARQUET)


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class _Sink(io.RawIOBase):
    """Collects what a writer has made since it was last asked."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def stream_table(
    media_type: str, schema: pa.Schema, batches: AsyncIterator[pa.RecordBatch], *, file_name: str = "gridloom"
) -> Stream:
    """A table as a file that is written while it is read; one batch is in memory at a time."""
    ending = {CSV: "csv", ARROW: "arrows", PARQUET: "parquet"}[media_type]
    headers = {"Content-Disposition": f'attachment; filename="{file_name}.{ending}"'}
    return Stream(_encode_batches(media_type, schema, batches), media_type, headers)


async def _encode_batches(
    media_type: str, schema: pa.Schema, batches: AsyncIterator[pa.RecordBatch]
) -> AsyncIterator[bytes]:
    sink = _Sink()
    writer = _open_writer(media_type, schema, sink)
    async for batch in batches:
        encoded = await asyncio.to_thread(_write_batch, writer, sink, batch)
        if encoded:
            yield encoded
    await asyncio.to_thread(writer.close)
    yield sink.taken()


def _open_writer(media_type: str, schema: pa.Schema, sink: _Sink) -> _Writer:
    if media_type == CSV:
        return _CSVWriter(schema, sink)
    if media_type == ARROW:
        return pa.ipc.new_stream(sink, schema)  # type: ignore[no-any-return]
    return _ParquetWriter(schema, sink)


def _write_batch(writer: _Writer, sink: _Sink, batch: pa.RecordBatch) -> bytes:
    writer.write_batch(batch)
    return sink.taken()


class _CSVWriter:
    """Times as RFC 3339 in UTC, as everywhere else."""

    def __init__(self, schema: pa.Schema, sink: _Sink) -> None:
        written = pa.schema(
            [pa.field(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema]
        )
        self._schema = written
        self._writer = pyarrow.csv.CSVWriter(sink, written)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = [
            _moments_as_texts(column) if pa.types.is_timestamp(column.type) else column for column in batch.columns
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _moments_as_texts(column: pa.Array) -> pa.Array:
    """A moment that is missing stays missing."""
    moments = column.cast(pa.timestamp("ms"), safe=False).to_numpy(zero_copy_only=False)
    missing = np.isnat(moments)
    texts = time_texts(np.where(missing, np.datetime64(0, "ms"), moments))
    return pa.array(texts, pa.string(), mask=missing)


class _ParquetWriter:
    """Row groups of a decent size whatever the batches are."""

    ROWS = 262_144

    def __init__(self, schema: pa.Schema, sink: _Sink) -> None:
        self._schema = schema
        self._writer = pyarrow.parquet.ParquetWriter(sink, schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= self.ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


# Pairs of digits as one number each, and where they stand in a time: so a column is written at once.
_PAIRS = np.frombuffer("".join(f"{number:02d}" for number in range(100)).encode(), np.uint16)
_FEW_TIMES = 24
_PLACES = (0, 2, 5, 8, 11, 14, 17)
_SECONDS = b"0000-00-00T00:00:00Z"
_MILLISECONDS = b"0000-00-00T00:00:00.000Z"


def _time_bytes(times: NDArray[np.datetime64]) -> NDArray[np.uint8]:
    """One row of characters a time; digits come from tables, which is far quicker than to write each time by itself."""
    milliseconds = times.astype("datetime64[ms]")
    days = milliseconds.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    month = months.astype(np.int64)
    day = (days - months).astype(np.int64) + 1
    second, fraction = np.divmod((milliseconds - days).astype(np.int64), 1000)
    template = _MILLISECONDS if fraction.any() else _SECONDS
    layout: Any = {
        "names": [f"pair{place}" for place in _PLACES],
        "formats": ["u2"] * len(_PLACES),
        "offsets": list(_PLACES),
        "itemsize": len(template),
    }
    rows = np.frombuffer(bytearray(template * len(times)), np.dtype(layout))
    year = 1970 + month // 12
    pairs = (year // 100, year % 100, month % 12 + 1, day, second // 3600, second // 60 % 60, second % 60)
    for place, pair in zip(_PLACES, pairs, strict=True):
        rows[f"pair{place}"] = _PAIRS[pair]
    characters = rows.view(np.uint8).reshape(len(times), len(template))
    if template is _MILLISECONDS:
        for column, digit in ((20, fraction // 100), (21, fraction // 10 % 10), (22, fraction % 10)):
            characters[:, column] = digit + 48
    return characters


def _list_few_times(times: NDArray[np.datetime64]) -> list[str]:
    """The same for a few of them, each by itself: columns pay only for many."""
    milliseconds = times.astype("datetime64[ms]").tolist()
    precision = "milliseconds" if any(time.microsecond for time in milliseconds) else "seconds"
    return [f"{time.isoformat(timespec=precision)}Z" for time in milliseconds]


def time_texts(times: NDArray[np.datetime64]) -> NDArray[np.str_]:
    """RFC 3339 in UTC: whole seconds where all are whole, else milliseconds."""
    if len(times) <= _FEW_TIMES:
        return np.array(_list_few_times(times), dtype=np.str_)
    rows = _time_bytes(times)
    return rows.view(f"S{rows.shape[1]}").reshape(len(rows)).astype(f"U{rows.shape[1]}")


def points_json(times: NDArray[np.datetime64], values: NDArray[Any], *, name: str = "value") -> bytes:
    """`[{"time": …, "value": …}, …]`; what is not a number is null."""
    if len(times) == 0:
        return b"[]"
    numbers = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    if len(times) <= _FEW_TIMES:
        points = zip(_list_few_times(times), numbers, strict=True)
        return b"[%b]" % b",".join(b'{"time":"%b","%b":%b}' % (t.encode(), name.encode(), n) for t, n in points)
    texts = _time_bytes(times)
    head, middle = (np.frombuffer(part.encode(), np.uint8) for part in ('},{"time":"', f'","{name}":'))
    width = len(head) + texts.shape[1] + len(middle)
    rows = np.empty((len(texts), width), np.uint8)
    rows[:, : len(head)] = head
    rows[:, len(head) : len(head) + texts.shape[1]] = texts
    rows[:, len(head) + texts.shape[1] :] = middle
    parts: list[bytes] = [b""] * (2 * len(rows))
    parts[0::2] = rows.view(f"S{width}").reshape(len(rows)).tolist()
    parts[1::2] = numbers
    return b"[" + b"".join(parts)[2:] + b"}]"
