"""A report on its way out: JSON by category, or a table with a column a category."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from gridloom.platform.http import ResponseBody
from gridloom.platform.http.tables import TIME, PointWriter
from gridloom.revenue.aggregation import BoolArray
from gridloom.revenue.categories import CATEGORIES, Category
from gridloom.revenue.formulas import FloatArray, MemoizedSums
from gridloom.revenue.reporting import Part, Report


class DataPointMetaData(ResponseBody):
    """Metadata of a category in a response."""

    data_point_name: str
    unit: str
    resolution: str
    aggregation: str
    description: str
    provisional: bool | UnsetType = UNSET


def meta_data_of(category: Category, resolution: str, *, is_provisional: bool = False) -> DataPointMetaData:
    return DataPointMetaData(
        data_point_name=category.name,
        unit=category.unit,
        resolution=resolution,
        aggregation=category.kind.aggregation,
        description=category.description,
        provisional=True if is_provisional else UNSET,
    )


_TIME_FIELD: Final = pa.field("time", TIME, nullable=False)
_FIELDS: Final = {
    category.name: pa.field(category.name, pa.float64(), metadata={"unit": category.unit})
    for category in CATEGORIES.values()
}


def schema_of(categories: Sequence[Category]) -> pa.Schema:
    """`time`, then the categories, each with its unit; a value that does not exist is null."""
    return pa.schema([_TIME_FIELD, *(_FIELDS[category.name] for category in categories)])


async def record_batches(report: Report, parts: AsyncIterator[Part]) -> AsyncIterator[pa.RecordBatch]:
    schema = schema_of(report.categories)
    async for part in parts:
        yield await asyncio.to_thread(_record_batch, schema, report.categories, part)


def _record_batch(schema: pa.Schema, categories: Sequence[Category], part: Part) -> pa.RecordBatch:
    columns = [pa.array(part.buckets.labels_s * 1000, type=pa.int64()).cast(TIME)]
    remembering = replace(part, sums=MemoizedSums(part.sums))
    columns += [
        _make_column(category, remembering.values(category), part.is_shown(category)) for category in categories
    ]
    return pa.record_batch(columns, schema=schema)


def _make_column(category: Category, values: FloatArray, shown: BoolArray | None) -> pa.Array:
    if category.formula.is_total and shown is None:
        return pa.array(values, type=pa.float64())
    there = ~np.isnan(values)
    if shown is not None:
        there &= shown
    if there.all():
        return pa.array(values, type=pa.float64())
    # The values stay where they are; only the bits that say which of them count are made.
    bits = pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.float64(), len(values), [bits, pa.py_buffer(np.ascontiguousarray(values))])


_MAX_CHUNK_POINTS: Final = 10_000
"""Categories are rendered together up to so many points: a few hundred kilobytes, and one hand-over to a thread."""


async def json_chunks(report: Report, parts: AsyncIterator[Part]) -> AsyncIterator[bytes]:
    """`{"metaData": […], "data": {"<category>": [{"time", "value"}, …]}}`, some categories at a time.

    What is held meanwhile are the sums, a few numbers a bucket; points are made as they are sent.
    """
    found = [part async for part in parts]
    meta_data = [
        meta_data_of(
            category,
            report.resolution.value,
            is_provisional=not report.provisional_sources.isdisjoint(category.sources),
        )
        for category in report.categories
    ]
    before = b'{"metaData":' + msgspec.json.encode(meta_data) + b',"data":{'
    for categories in _divide_categories(report.categories, found):
        yield before + await asyncio.to_thread(_render_categories, categories, found)
        before = b","
    yield b"}}"


def _divide_categories(categories: Sequence[Category], parts: Sequence[Part]) -> Sequence[Sequence[Category]]:
    points = sum(len(part.buckets.labels_s) for part in parts)
    count = max(1, _MAX_CHUNK_POINTS // max(1, points))
    return [categories[first : first + count] for first in range(0, len(categories), count)]


def _render_categories(categories: Sequence[Category], parts: Sequence[Part]) -> bytes:
    remembering = [replace(part, sums=MemoizedSums(part.sums)) for part in parts]
    writer = PointWriter()
    return b",".join(
        b"".join((b'"', one.name.encode(), b'":[', _render_points(one, remembering, writer), b"]"))
        for one in categories
    )


def _render_points(category: Category, parts: Sequence[Part], writer: PointWriter) -> bytes | memoryview:
    times_s: list[NDArray[np.int64]] = []
    values: list[FloatArray] = []
    for part in parts:
        shown = part.is_shown(category)
        kept = slice(None) if shown is None else np.flatnonzero(shown)
        times_s.append(part.buckets.labels_s[kept].astype(np.int64))
        values.append(part.values(category)[kept])
    if not times_s:
        return b""
    return writer.write(np.concatenate(times_s) * 1_000_000, np.concatenate(values))
