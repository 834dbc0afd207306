"""Large tables in the format that was asked for."""

import io
import math
from collections.abc import AsyncIterator

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridloom.platform.http import tables
from gridloom.platform.http.responses import ARROW, CSV, PARQUET
from gridloom.platform.http.tables import TIME, PointWriter, points_json, stream_table, time_texts

SCHEMA = pa.schema([("time", TIME), ("power", pa.float64())])
TIMES = np.datetime64("2026-03-29T00:00:00", "ms") + np.arange(6) * np.timedelta64(15, "m")


async def two_batches() -> AsyncIterator[pa.RecordBatch]:
    for part in (slice(0, 4), slice(4, 6)):
        powers = np.array([1.5, -2.0, 0.0, 3.25, 1e-9, 7.0])[part]
        yield pa.record_batch([pa.array(TIMES[part], TIME), pa.array(powers)], schema=SCHEMA)


async def streamed(media_type: str) -> bytes:
    stream = stream_table(media_type, SCHEMA, two_batches())
    return b"".join([chunk async for chunk in stream.chunks])


class TestATable:
    @pytest.mark.parametrize("media_type", [ARROW, PARQUET])
    async def test_reads_back_as_it_was(self, media_type: str):
        body = io.BytesIO(await streamed(media_type))
        table = pa.ipc.open_stream(body).read_all() if media_type == ARROW else pyarrow.parquet.read_table(body)
        assert table.schema == SCHEMA
        assert table["power"].to_pylist() == [1.5, -2.0, 0.0, 3.25, 1e-9, 7.0]

    async def test_as_csv_says_times_in_utc(self):
        lines = (await streamed(CSV)).decode().splitlines()
        assert lines[0] == '"time","power"'
        assert lines[1] == '"2026-03-29T00:00:00Z",1.5'
        assert len(lines) == 7

    @pytest.mark.parametrize("media_type", [CSV, ARROW, PARQUET])
    async def test_may_lack_an_instant(self, media_type: str):
        async def batches() -> AsyncIterator[pa.RecordBatch]:
            yield pa.record_batch([pa.array([None, TIMES[0].item()], TIME), pa.array([None, 2.0])], schema=SCHEMA)
            yield pa.record_batch([pa.array([None], TIME), pa.array([3.0])], schema=SCHEMA)
            yield pa.record_batch([pa.array([], TIME), pa.array([], pa.float64())], schema=SCHEMA)

        body = b"".join([chunk async for chunk in stream_table(media_type, SCHEMA, batches()).chunks])
        if media_type == CSV:
            assert body.decode().splitlines() == ['"time","power"', ",", '"2026-03-29T00:00:00Z",2', ",3"]

    async def test_as_parquet_has_row_groups_of_a_decent_size_and_loses_no_row(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(tables._ParquetWriter, "ROWS", 5)

        async def batches() -> AsyncIterator[pa.RecordBatch]:
            for number in range(7):
                yield pa.record_batch([pa.array(TIMES[:2], TIME), pa.array([number, number + 0.5])], schema=SCHEMA)

        stream = stream_table(PARQUET, SCHEMA, batches())
        file = pyarrow.parquet.ParquetFile(io.BytesIO(b"".join([chunk async for chunk in stream.chunks])))
        assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [6, 6, 2]
        assert file.read()["power"].to_pylist() == [each for number in range(7) for each in (number, number + 0.5)]

    @pytest.mark.parametrize(("media_type", "ending"), [(CSV, "csv"), (ARROW, "arrows"), (PARQUET, "parquet")])
    async def test_is_a_file_with_a_name(self, media_type: str, ending: str):
        stream = stream_table(media_type, SCHEMA, two_batches(), file_name="prices")
        assert (stream.media_type, stream.headers) == (
            media_type,
            {"Content-Disposition": f'attachment; filename="prices.{ending}"'},
        )
        assert 'filename="gridloom.' in stream_table(media_type, SCHEMA, two_batches()).headers["Content-Disposition"]

    async def test_is_sent_while_it_is_written(self):
        """A batch is on its way before the next one is read."""
        read: list[int] = []

        async def batches() -> AsyncIterator[pa.RecordBatch]:
            async for batch in two_batches():
                read.append(batch.num_rows)
                yield batch

        chunks = stream_table(CSV, SCHEMA, batches()).chunks
        assert (await anext(chunks)).count(b"\n") == 5
        assert read == [4]
        assert b"".join([chunk async for chunk in chunks]).count(b"\n") == 2


class TestPointsAsJSON:
    def test_leave_gaps_as_null(self):
        body = points_json(TIMES[:2], np.array([1.25, np.nan]))
        assert orjson.loads(body) == [
            {"time": "2026-03-29T00:00:00Z", "value": 1.25},
            {"time": "2026-03-29T00:15:00Z", "value": None},
        ]

    @given(st.lists(st.floats(), min_size=1, max_size=80), st.sampled_from([900_000, 86_400_000, 1]))
    @example([-2.2250738585072014e-308] * 40, 900_000)
    def test_give_back_every_number_with_its_time(self, numbers: list[float], step_ms: int):
        times = TIMES[0] + step_ms * np.arange(len(numbers))
        read = orjson.loads(points_json(times, np.array(numbers)))
        assert [point["time"] for point in read] == time_texts(times).tolist()
        finite = [number if math.isfinite(number) else None for number in numbers]
        assert [repr(point["value"]) for point in read] == [repr(number) for number in finite]

    def test_of_series_that_follow_each_other_have_their_own_times(self):
        writer = PointWriter()
        for first in (0, 900_000_000, 900_000_000, 0):
            times_us = first + 60_000_000 * np.arange(100)
            texts = [
                point["time"] for point in orjson.loads(b"".join((b"[", writer.write(times_us, np.ones(100)), b"]")))
            ]
            assert texts == time_texts(times_us.view("datetime64[us]")).tolist()

    def test_may_be_named_otherwise(self):
        for count in (2, 40):
            times = TIMES[0] + 60_000 * np.arange(count)
            read = orjson.loads(points_json(times, np.arange(count) + 0.5, name="power"))
            assert [point["power"] for point in read] == [number + 0.5 for number in range(count)]
            assert set(read[0]) == {"time", "power"}

    def test_of_nothing_is_an_empty_list(self):
        assert points_json(TIMES[:0], np.array([])) == b"[]"

    def test_show_milliseconds_only_where_there_are_some(self):
        assert time_texts(np.array(["2026-01-01T00:00:00.5"], "datetime64[ms]")).tolist() == [
            "2026-01-01T00:00:00.500Z"
        ]


MANY_CLOSE_WITH_FRACTIONS = [-86_400_123 + 9_000_457 * number for number in range(40)]
MANY_FAR_APART = [86_400_000_000 * number + 999 * (number % 2) for number in range(25)]
MANY_WHOLE = [-86_400_000 + 9_001_000 * number for number in range(25)]


class TestTimes:
    @given(st.lists(st.integers(-2_000_000_000_000, 7_000_000_000_000), min_size=1, max_size=50))
    @example(MANY_CLOSE_WITH_FRACTIONS)
    @example(MANY_FAR_APART)
    @example(MANY_WHOLE)
    def test_are_written_as_numpy_writes_them(self, milliseconds: list[int]):
        times = np.array(milliseconds, dtype="datetime64[ms]")
        texts = time_texts(times)
        is_whole = not any(number % 1000 for number in milliseconds)
        expected = np.datetime_as_string(times, unit="s") if is_whole else np.datetime_as_string(times, unit="ms")
        assert texts.tolist() == [f"{text}Z" for text in expected.tolist()]
        assert [point["time"] for point in orjson.loads(points_json(times, np.zeros(len(times))))] == texts.tolist()
