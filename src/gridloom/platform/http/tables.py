"""Large tables in the format that was asked for, batch by batch: CSV, XLSX, Arrow, Parquet, or JSON points."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, product
from typing import Any, Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from gridloom.platform.http.long_bodies.decoder_process import compute_apart
from gridloom.platform.http.responses import ARROW, CSV, EXCEL_CSV, PARQUET, XLSX, Stream, plain_type
from gridloom.platform.http.spreadsheets import BYTE_ORDER_MARK, check_cells, write_workbook

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
    ending = {CSV: "csv", XLSX: "xlsx", ARROW: "arrows", PARQUET: "parquet"}[plain_type(media_type)]
    headers = {"Content-Disposition": f'attachment; filename="{file_name}.{ending}"'}
    encoded = _encode_workbook(schema, batches) if media_type == XLSX else _encode_batches(media_type, schema, batches)
    return Stream(encoded, media_type, headers)


async def _encode_workbook(schema: pa.Schema, batches: AsyncIterator[pa.RecordBatch]) -> AsyncIterator[bytes]:
    """A workbook is written as a whole, so it is small."""
    cells, kept = len(schema), []
    async for batch in batches:
        cells += batch.num_rows * batch.num_columns
        check_cells(cells)
        kept.append(batch)
    yield await render_workbook(schema, kept, "Gridloom")


async def render_workbook(schema: pa.Schema, batches: Sequence[pa.RecordBatch], title: str) -> bytes:
    """In a process of its own: in a thread, seconds of Python would keep the interpreter from requests."""
    return await compute_apart(_write_batches, schema.names, batches, title)


def _write_batches(names: Sequence[str], batches: Sequence[pa.RecordBatch], title: str) -> bytes:
    return write_workbook(chain([names], *map(_list_rows, batches)), title)


def _list_rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """A few at a time, since Python's values take many times what they take in Arrow."""
    for start in range(0, batch.num_rows, _WORKBOOK_STEP):
        yield from zip(*batch.slice(start, _WORKBOOK_STEP).to_pydict().values(), strict=True)


_WORKBOOK_STEP = 500


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
    if media_type == EXCEL_CSV:
        return _ExcelCSVWriter(schema, sink)
    if media_type == ARROW:
        return pa.ipc.new_stream(sink, schema)  # type: ignore[no-any-return]
    return _ParquetWriter(schema, sink)


def _write_batch(writer: _Writer, sink: _Sink, batch: pa.RecordBatch) -> bytes:
    writer.write_batch(batch)
    return sink.taken()


class _CSVWriter:
    """Times as RFC 3339 in UTC, as everywhere else; texts guarded."""

    def __init__(self, schema: pa.Schema, sink: _Sink) -> None:
        written = pa.schema(
            [pa.field(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema]
        )
        self._schema = written
        self._writer = pyarrow.csv.CSVWriter(sink, written)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = [_show_column(column) for column in batch.columns]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _show_column(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return _instants_as_texts(column)
    if not pa.types.is_string(column.type):
        return column
    starts = pc.match_substring_regex(column, r"^[=+\-@\t\r]")
    return pc.if_else(starts, pc.binary_join_element_wise("'", column, ""), column)


def _instants_as_texts(column: pa.Array) -> pa.Array:
    """An instant that is missing stays missing."""
    instants = column.cast(pa.timestamp("ms"), safe=False).to_numpy(zero_copy_only=False)
    missing = np.isnat(instants)
    texts = time_texts(np.where(missing, np.datetime64(0, "ms"), instants))
    return pa.array(texts, pa.string(), mask=missing)


class _ExcelCSVWriter:
    """Line by line, with semicolons between cells and commas in numbers; times and texts as in any other CSV."""

    def __init__(self, schema: pa.Schema, sink: _Sink) -> None:
        self._sink = sink
        sink.write(BYTE_ORDER_MARK + ";".join(schema.names).encode() + b"\r\n")

    def write_batch(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            cells = [_show_excel_column(column) for column in batch.columns]
            lines = pc.binary_join_element_wise(*cells, ";", null_handling="replace", null_replacement="")
            self._sink.write("".join(f"{line}\r\n" for line in lines.to_pylist()).encode())

    def close(self) -> None:
        """Each line has its end."""


def _show_excel_column(column: pa.Array) -> pa.Array:
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return pc.replace_substring(column.cast(pa.string()), ".", ",")
    texts = _show_column(column).cast(pa.string())
    if not pa.types.is_string(column.type):
        return texts
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(texts, '[;"\r\n]'), quoted, texts)


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


def _write_times(times: NDArray[np.datetime64], before: bytes = b"", after: bytes = b"") -> NDArray[np.void]:
    """An item for each time: its characters between those before and after it. Days and times of day come from tables,
    which is far quicker than to write each time by itself."""
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
    template = before + (b"0000-00-00T00:00:00.000Z" if has_fractions else b"0000-00-00T00:00:00Z") + after
    start, width = len(before), len(template)
    layout: Any = {"names": ["date", "clock"], "formats": ["V10", "u8"], "offsets": [start, start + 11]}
    rows = np.frombuffer(bytearray(template * len(times)), np.dtype(layout | {"itemsize": width}))
    rows["date"] = dates.view("V10")[indices]
    rows["clock"] = _list_clock_texts()[seconds - _DAY_S * days]
    if has_fractions:
        characters = rows.view(np.uint8).reshape(len(times), width)
        for column, digit in ((20, fractions // 100), (21, fractions // 10 % 10), (22, fractions % 10)):
            characters[:, start + column] = digit + 48
    return rows.view(f"V{width}")


def _list_few_times(times: NDArray[np.datetime64]) -> list[str]:
    """The same for a few of them, each by itself: columns pay only for many."""
    milliseconds = times.astype("datetime64[ms]").tolist()
    precision = "milliseconds" if any(time.microsecond for time in milliseconds) else "seconds"
    return [f"{time.isoformat(timespec=precision)}Z" for time in milliseconds]


def time_texts(times: NDArray[np.datetime64]) -> NDArray[np.str_]:
    """RFC 3339 in UTC: whole seconds where all are whole, else milliseconds."""
    if len(times) <= _FEW_TIMES:
        return np.array(_list_few_times(times), dtype=np.str_)
    texts = _write_times(times)
    return texts.view(f"S{texts.itemsize}").astype(f"U{texts.itemsize}")


def points_json(times: NDArray[np.datetime64], values: NDArray[Any], *, name: str = "value") -> bytes:
    """`[{"time": …, "value": …}, …]`; what is not a number is null."""
    times_us = times.astype("datetime64[us]", copy=False).view(np.int64)
    return b"".join((b"[", PointWriter(name).write(times_us, values), b"]"))


class PointWriter:
    """Writes the points of one series after another; those with the same times share the text of these."""

    def __init__(self, name: str = "value") -> None:
        self._before, self._after = b'},{"time":"', f'","{name}":'.encode()
        self._times_us: NDArray[np.int64] = np.empty(0, np.int64)
        self._openings: NDArray[np.void] = np.empty(0, "V1")
        self._few_openings: list[bytes] = []

    def write(self, times_us: NDArray[np.int64], values: NDArray[Any]) -> bytes | memoryview:
        """As `points_json`, without the brackets."""
        if len(times_us) == 0:
            return b""
        numbers = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
        if times_us is not self._times_us and not np.array_equal(times_us, self._times_us):
            self._times_us = times_us
            self._write_openings()
        if len(times_us) > _FEW_TIMES:
            return self._interleave_numbers(numbers)
        pairs = zip(self._few_openings, numbers[1:-1].split(b","), strict=True)
        return b"".join([opening + number for opening, number in pairs])[2:] + b"}"

    def _write_openings(self) -> None:
        """The text before each number, with the present times."""
        times = self._times_us.view("datetime64[us]")
        if len(times) <= _FEW_TIMES:
            self._few_openings = [self._before + text.encode() + self._after for text in _list_few_times(times)]
        elif len(times) <= _MAX_CACHED_TIMES:
            self._openings = _write_cached_times(self._times_us.tobytes(), self._before, self._after)
        else:
            self._openings = _write_times(times, self._before, self._after)

    def _interleave_numbers(self, numbers: bytes) -> memoryview:
        """An opening before each number of an array in JSON, without an object for each. Numbers are copied as items
        of one width: what is copied from behind a shorter one is overwritten by the next opening."""
        characters = np.frombuffer(b",%b}%b" % (numbers[1:-1], bytes(_NUMBER.itemsize)), np.uint8)
        commas = (characters == ord(",")).nonzero()[0]
        added = self._openings.itemsize - 1
        starts = commas + np.arange(0, len(commas) * added, added)
        points = np.empty(len(characters) + len(commas) * added, np.uint8)
        _view_items(points, _NUMBER)[starts + self._openings.itemsize] = _view_items(characters, _NUMBER)[commas + 1]
        _view_items(points, self._openings.dtype)[starts] = self._openings
        return points.data[2 : -_NUMBER.itemsize]


_NUMBER = np.dtype(f"V{len('-2.2250738585072014e-308}')}")
"""The longest number and the brace behind it."""
_MAX_CACHED_TIMES = 4096


@lru_cache(maxsize=16)
def _write_cached_times(times_us: bytes, before: bytes, after: bytes) -> NDArray[np.void]:
    """Many series have the same times, and so have requests for the same span."""
    return _write_times(np.frombuffer(times_us, "datetime64[us]"), before, after)


def _view_items(characters: NDArray[np.uint8], item: np.dtype[np.void]) -> NDArray[np.void]:
    """An item from every character on."""
    return np.ndarray((len(characters) - item.itemsize + 1,), item, characters, strides=(1,))
