"""Series as the answer that was asked for, made while it is sent, so that memory stays flat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from gridloom.kernel.market_time import Resolution
from gridloom.monitoring.model import DAY_US, EMPTY, MAX_CARRY_FORWARD_US, SignalSeries, days_between, signal_type
from gridloom.monitoring.offload import HEAVY_POINTS, HEAVY_SIGNALS, hold_for_each, off_loop
from gridloom.monitoring.query.aggregation import Aggregation, Downsampling
from gridloom.monitoring.query.series import in_batches, read_each, read_in_steps
from gridloom.monitoring.query.summaries import aggregate_days, read_spans
from gridloom.monitoring.store.bodies import points_between
from gridloom.monitoring.views import DataPointMeta
from gridloom.platform.database.pool import Database
from gridloom.platform.http import CSV, JSON, Content, Stream, plain_type, to_json
from gridloom.platform.http.tables import TIME, PointWriter, stream_table

T = TypeVar("T")

_SIGNAL = pa.dictionary(pa.int16(), pa.string())
_SERIES_DAY_BATCH_SIZE = 32
"""So many days of signals are read in one go without a look at how dense they are."""
_MAX_WHOLE_BYTES = 4 * 1024 * 1024
"""Of JSON: an answer up to this is sent whole, which takes a tenth less processor time than in chunks."""
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Selection:
    """The signals of an asset to read; one without an id has no points."""

    asset_key: int
    signals: Mapping[str, int | None]
    start_us: int
    end_us: int
    resolution: Resolution
    aggregation: Aggregation
    semaphore: asyncio.Semaphore

    @property
    def before_us(self) -> int:
        """How long before the start points are needed, since they hold on."""
        is_weighted = self.aggregation is Aggregation.TIME_WEIGHTED_AVG and self.resolution is not Resolution.RAW
        return MAX_CARRY_FORWARD_US if is_weighted else 0

    def downsample(self, start_us: int, end_us: int) -> Downsampling:
        return Downsampling(self.resolution, self.aggregation, start_us, end_us)


async def answer(db: Database, selection: Selection, media_type: str, file_name: str) -> Content | Stream:
    """Short answers whole, long ones as a stream of which the first piece is there already: what fails at once is
    answered as the problem it is."""
    if media_type == JSON:
        chunks = _stream_json(pieces(db, selection), selection)
        first, second = await anext(chunks), await anext(chunks, None)
        return Content(first, JSON) if second is None else Stream(_put_first((first, second), chunks), JSON)
    rest = pieces(db, selection)
    begun = [piece] if (piece := await anext(rest, None)) is not None else []
    names = pa.array(list(selection.signals), pa.string())
    signal = pa.string() if plain_type(media_type) == CSV else _SIGNAL
    schema = pa.schema([("signal", signal), ("time", TIME), ("value", pa.float64())])

    async def batches() -> AsyncIterator[pa.RecordBatch]:
        codes_of = {name: code for code, name in enumerate(selection.signals)}
        async for name, series in _put_first(begun, rest):
            if len(series):
                codes = pa.DictionaryArray.from_arrays(pa.array(np.full(len(series), codes_of[name], np.int16)), names)
                times = pa.array(series.times // 1000).view(TIME)
                yield pa.record_batch([codes.cast(signal), times, pa.array(series.values)], schema=schema)

    return stream_table(media_type, schema, batches(), file_name=file_name)


async def _put_first(first: Iterable[T], rest: AsyncIterator[T]) -> AsyncIterator[T]:
    for item in first:
        yield item
    async for item in rest:
        yield item


async def pieces(db: Database, selection: Selection) -> AsyncIterator[tuple[str, SignalSeries]]:
    """Signal after signal, each in the order of time; a signal may come in several pieces, and comes at least once."""
    names = iter(selection.signals.items())
    name, current = "", None
    async for signal_id, series in _known_pieces(db, selection):
        while current != signal_id:
            name, current = next(names)
            if current is None:
                yield name, EMPTY
        yield name, series
    for name, _ in names:
        yield name, EMPTY


async def _known_pieces(db: Database, selection: Selection) -> AsyncIterator[tuple[int, SignalSeries]]:
    """The same for signals that have an id."""
    asset_key, start_us, end_us = selection.asset_key, selection.start_us, selection.end_us
    semaphore = selection.semaphore
    wanted_ids = [signal_id for signal_id in selection.signals.values() if signal_id is not None]
    if not wanted_ids:
        return
    if selection.resolution is Resolution.DAY and selection.aggregation is not Aggregation.TIME_WEIGHTED_AVG:
        spans = read_spans(db, asset_key, wanted_ids, start_us, end_us)
        async for signal_id, span, first_us, stop_us in hold_for_each(semaphore, spans):
            yield signal_id, aggregate_days(span, selection.aggregation, first_us, stop_us)
        return
    groups, compacted = [wanted_ids], dict[int, int]()
    is_long = len(wanted_ids) * (end_us - start_us) > _SERIES_DAY_BATCH_SIZE * DAY_US
    if is_long:
        days = days_between(start_us, end_us)
        in_segments, compacted = await points_between(db, asset_key, wanted_ids, *days)
        groups = in_batches(wanted_ids, in_segments, compacted)
    early_us = start_us - selection.before_us
    whole = selection.downsample(start_us, end_us)
    for group in groups:
        if is_long and len(group) == 1:
            points = compacted.get(group[0])
            steps = read_in_steps(
                db, asset_key, group[0], start_us, end_us, before_us=selection.before_us, points=points
            )
            async for first_us, stop_us, series in hold_for_each(semaphore, steps):
                part = selection.downsample(first_us, stop_us)
                yield group[0], await off_loop(len(series) > HEAVY_POINTS, part.apply, series)
            continue
        steps_of_group = read_each(db, asset_key, group, early_us, end_us, whole)
        async for signal_id, series in hold_for_each(semaphore, steps_of_group):
            yield signal_id, series
            if len(group) > 1:
                await asyncio.sleep(0)  # thousands of small steps, and others in between


async def _stream_json(found: AsyncIterator[tuple[str, SignalSeries]], selection: Selection) -> AsyncIterator[bytes]:
    meta = await off_loop(len(selection.signals) > HEAVY_SIGNALS, _write_meta, selection)
    waiting: list[bytes | memoryview] = [b'{"metaData":' + meta + b',"data":{']
    waiting_bytes, max_bytes = 0, _MAX_WHOLE_BYTES
    opened, separator = None, b""
    writer = PointWriter()
    async for name, series in found:
        if name != opened:
            waiting.append((b"" if opened is None else b"],") + to_json(name) + b":[")
            opened, separator = name, b""
        if len(series):
            text = await off_loop(len(series) > HEAVY_POINTS // 10, writer.write, series.times, series.values)
            waiting += (separator, text)
            waiting_bytes, separator = waiting_bytes + len(text), b","
        if waiting_bytes > max_bytes:
            yield b"".join(waiting)
            waiting, waiting_bytes, max_bytes = [], 0, _CHUNK_BYTES
    waiting.append(b"}}" if opened is None else b"]}}")
    yield b"".join(waiting)


def _write_meta(selection: Selection) -> bytes:
    is_raw = selection.resolution is Resolution.RAW
    meta = [
        DataPointMeta(
            data_point_name=name,
            unit="" if selection.aggregation is Aggregation.COUNT and not is_raw else signal_type(name).unit,
            resolution=selection.resolution,
            aggregation=None if is_raw else selection.aggregation,
            description=signal_type(name).description,
        )
        for name in selection.signals
    ]
    return to_json(meta)
