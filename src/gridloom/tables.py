"""Large tables in the format that was asked for, batch by batch: CSV, Arrow, Parquet, or JSON points."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from functools import cache
from itertools import product
from typing import Any, Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from gridloom.edge.responses import ARROW, CSV, PARQUET, Stream

TIME = pa.timestamp("ms", tz="UTC")
"""The type of instants in a table."""


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
            _instants_as_texts(column) if pa.types.is_timestamp(column.type) else column for column in batch.columns
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _instants_as_texts(column: pa.Array) -> pa.Array:
    """An instant that is missing stays missing."""
    instants = column.cast(pa.timestamp("ms"), safe=False).to_numpy(zero_copy_only=False)
    missing = np.isnat(instants)
    texts = time_texts(np.where(missing, np.datetime64(0, "ms"), instants))
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
            self._write_waiting()

    def _write_waiting(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self._rows = [], 0

    def close(self) -> None:
        self._write_waiting()
        self._writer.close()


_FEW_TIMES = 24
_DAY_S = 86_400


@cache
def _list_clock_texts() -> NDArray[np.uint64]:
    """`00:00:00` to `23:59:59`, eight characters as one number each."""
    texts = "".join(f"{hour:02d}:{minute:02d}:{second:02d}" for hour, minute, second in product(*_CLOCK))
    return np.frombuffer(texts.encode(), np.uint64)


_CLOCK = (range(24), range(60), range(60))


def _time_bytes(times: NDArray[np.datetime64]) -> NDArray[np.uint8]:
    """One row of characters a time; days and times of day come from tables, which is far quicker than to write each
    time by itself."""
    milliseconds = times.astype("datetime64[ms]", copy=False).view(np.int64)
    seconds = milliseconds // 1000
    fractions = milliseconds - 1000 * seconds
    days = seconds // _DAY_S
    has_fractions = bool(fractions.any())
    first, last = int(days.min()), int(days.max())
    if last - first < 2 * len(times):
        listed, indices = np.arange(first, last + 1), days - first
    else:
        listed, indices = np.unique(days, return_inverse=True)
    dates = np.datetime_as_string(listed.view("datetime64[D]")).astype("S10")
    template = b"0000-00-00T00:00:00.000Z" if has_fractions else b"0000-00-00T00:00:00Z"
    layout: Any = {"names": ["date", "clock"], "formats": ["V10", "u8"], "offsets": [0, 11], "itemsize": len(template)}
    rows = np.frombuffer(bytearray(template * len(times)), np.dtype(layout))
    rows["date"] = dates.view("V10")[indices]
    rows["clock"] = _list_clock_texts()[seconds - _DAY_S * days]
    characters = rows.view(np.uint8).reshape(len(times), len(template))
    if has_fractions:
        for column, digit in ((20, fractions // 100), (21, fractions // 10 % 10), (22, fractions % 10)):
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
    return b"".join((b"[", PointWriter(name).write(times, values), b"]"))


class PointWriter:
    """Writes the points of one series after another; those with the same times share the text of these."""

    def __init__(self, name: str = "value") -> None:
        self._opening, self._middle = b'},{"time":"', f'","{name}":'.encode()
        self._times: NDArray[np.datetime64] | None = None
        self._texts: NDArray[np.void] = np.empty(0, "V1")

    def write(self, times: NDArray[np.datetime64], values: NDArray[Any]) -> bytes | memoryview:
        """As `points_json`, without the brackets."""
        if len(times) == 0:
            return b""
        numbers = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
        if len(times) <= _FEW_TIMES:
            pairs = zip(_list_few_times(times), numbers[1:-1].split(b","), strict=True)
            points = [self._opening + text.encode() + self._middle + number for text, number in pairs]
            return b"".join(points)[2:] + b"}"
        if times is not self._times and (self._times is None or not np.array_equal(times, self._times)):
            texts = _time_bytes(times)
            self._times, self._texts = times, texts.view(f"V{texts.shape[1]}").reshape(len(texts))
        return self._insert_times(bytearray(numbers))

    def _insert_times(self, numbers: bytearray) -> memoryview:
        """Points from an array of numbers in JSON, without an object for each: what precedes a number takes the
        place of its comma, and times are written into it afterwards."""
        numbers[0] = ord(",")
        commas = np.flatnonzero(np.frombuffer(numbers, np.uint8) == ord(","))
        inserted = self._opening + b" " * self._texts.itemsize + self._middle
        points = numbers.replace(b",", inserted)
        points[-1] = ord("}")
        indices = commas + (len(inserted) - 1) * np.arange(len(commas)) + len(self._opening)
        _view_items(np.frombuffer(points, np.uint8), self._texts.itemsize)[indices] = self._texts
        return memoryview(points)[2:]


def _view_items(characters: NDArray[np.uint8], width: int) -> NDArray[np.void]:
    """An item of so many characters from every character on."""
    return np.ndarray((len(characters) - width + 1,), f"V{width}", characters, strides=(1,))
