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

from gridloom.edge.answers import ARROW, CSV, PARQUET, Stream

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
    return Stream(_encoded(media_type, schema, batches), media_type, headers)


async def _encoded(media_type: str, schema: pa.Schema, batches: AsyncIterator[pa.RecordBatch]) -> AsyncIterator[bytes]:
    sink = _Sink()
    writer = _writer(media_type, schema, sink)
    async for batch in batches:
        encoded = await asyncio.to_thread(_write, writer, sink, batch)
        if encoded:
            yield encoded
    await asyncio.to_thread(writer.close)
    yield sink.taken()


def _writer(media_type: str, schema: pa.Schema, sink: _Sink) -> _Writer:
    if media_type == CSV:
        return _CSVWriter(schema, sink)
    if media_type == ARROW:
        return pa.ipc.new_stream(sink, schema)  # type: ignore[no-any-return]
    return _ParquetWriter(schema, sink)


def _write(writer: _Writer, sink: _Sink, batch: pa.RecordBatch) -> bytes:
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
            pa.array(time_texts(column.cast(pa.timestamp("ms")).to_numpy(zero_copy_only=False)))
            if pa.types.is_timestamp(column.type)
            else column
            for column in batch.columns
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


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


def time_texts(times: NDArray[np.datetime64]) -> NDArray[np.str_]:
    """RFC 3339 in UTC: whole seconds where all are whole, else milliseconds."""
    milliseconds = times.astype("datetime64[ms]")
    is_whole = not (milliseconds.astype("int64") % 1000).any()
    texts = np.datetime_as_string(milliseconds, unit="s" if is_whole else "ms")
    return np.strings.add(texts, "Z")


def points_json(times: NDArray[np.datetime64], values: NDArray[Any], *, name: str = "value") -> bytes:
    """`[{"time": …, "value": …}, …]`; what is not a number is null."""
    if len(times) == 0:
        return b"[]"
    numbers = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY).decode()[1:-1].split(",")
    head, middle = '{"time":"', f'","{name}":'
    rows = [f"{head}{time}{middle}{number}}}" for time, number in zip(time_texts(times).tolist(), numbers, strict=True)]
    return f"[{','.join(rows)}]".encode()
