"""Bodies made to cost more than they are worth: refused at a bounded price, and never a failure of ours."""

import asyncio
import io
import json
import os
import random
import signal
import tracemalloc
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests.assets import register_asset
from tests.decoder_processes import forking, measured_growth

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.monitoring.ingest.columns import MAX_NAMES
from gridloom.monitoring.ingest.parsing import parse
from gridloom.monitoring.ingest.tables import MAX_DICTIONARIES, is_bounded
from gridloom.monitoring.model import MAX_POINTS
from gridloom.platform.http import BULK
from gridloom.platform.http.long_bodies.decoder_process import run_in_subprocess
from gridloom.platform.http.responses import ARROW, CSV, JSON, NDJSON

LATEST_US = 2_000_000_000_000_000
MAX_GROWTH_BYTES = 96 << 20
"""Of the service's process, while it refuses a body: the body itself and its copies on the way."""


async def send(owner, asset, body, media_type=ARROW):
    url, headers = f"/monitoring/{asset.id}/datapoints", {"Content-Type": media_type}
    return await owner.engineer.post(url, content=body, headers=headers)


def read(body, media_type=ARROW):
    return parse(body, media_type, many=False, latest_us=LATEST_US)


def stream_of(table, rows_a_batch=None, **options):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows_a_batch)
    return sink.getvalue()


def dictionary(texts, rows):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array(texts))


def moments(rows):
    return pa.array(np.arange(rows) * 1_000_000 + 1_750_000_000_000_000, pa.timestamp("us", tz="UTC"))


def points(rows, **columns):
    given = {"signal": dictionary(["active_power"], rows), "time": moments(rows), "value": pa.array(np.ones(rows))}
    return pa.table(given | columns)


def repeat_view(text, rows):
    """One text, seen by every row."""
    views = np.zeros((rows, 4), dtype=np.int32)
    views[:, 0], views[:, 1] = len(text), int.from_bytes(text[:4], "little")
    buffers = [None, pa.py_buffer(views.tobytes()), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string_view(), rows, buffers, 0)


def one_long_text(size_bytes):
    """Of zeros, which take no memory until they are written to."""
    offsets = pa.py_buffer(np.array([0, size_bytes]))
    buffers = [None, offsets, pa.py_buffer(np.zeros(size_bytes, np.uint8))]
    return pa.Array.from_buffers(pa.large_string(), 1, buffers)


HOSTILE = {
    "a long text in the dictionary of times": lambda: points(10**6, time=dictionary(["x" * 3000], 10**6)),
    "a long text in the dictionary of values": lambda: points(10**6, value=dictionary(["x" * 3000], 10**6)),
    "a view of one long text": lambda: points(10**5, time=repeat_view(b"y" * 60_000, 10**5)),
    "a view of one long text, in few rows": lambda: points(2000, time=repeat_view(b"y" * 600_000, 2000)),
    "a gigabyte of zeros": lambda: points(1, signal=one_long_text(1 << 30)),
    "more rows than points": lambda: points(10**6 + 1),
    "more columns than signals": lambda: pa.Table.from_arrays(
        [pa.array([1.0])] * 20_000, [f"a{n}" for n in range(20_000)]
    ),
}


@pytest.fixture(scope="module", autouse=True)
def fork_server():
    with forking() as pid:
        yield pid


class TestAHostileStream:
    @pytest.mark.parametrize(
        ("name", "compression"),
        [(name, compression) for name in HOSTILE for compression in ("zstd", "lz4" if "gigabyte" in name else None)],
    )
    async def test_is_refused_and_others_are_served(self, new_organisation, name, compression):
        body = stream_of(HOSTILE[name](), compression=compression)
        assert len(body) < BULK.limit_bytes, "nor is it refused by its length"
        (attacker, hostile), (other, sound) = [
            (owner := await new_organisation(), await register_asset(owner)) for _ in range(2)
        ]
        with measured_growth() as growth:
            refused, served = await asyncio.gather(
                send(attacker, hostile, body), send(other, sound, stream_of(points(100), compression="zstd"))
            )
        assert refused.status_code in (400, 413), refused.text
        assert refused.json()["detail"]
        assert served.status_code == 200, served.text
        assert growth.peak_bytes < MAX_GROWTH_BYTES
        stored = await attacker.viewer.get(f"/monitoring/{hostile.id}/signals")
        assert stored.json() == []


class TestALongText:
    def test_in_a_dictionary_is_fine_as_long_as_it_is_proportionate(self):
        table = points(1000, time=dictionary(["2026-01-05T10:00:00Z"], 1000), value=dictionary(["1.5"], 1000))
        assert read(stream_of(table)).refusals.total == 0


class TestAView:
    def test_of_texts_is_read_like_texts(self):
        table = pa.table(
            {
                "signal": pa.array(["active_power", None], pa.string_view()),
                "time": pa.array(["2026-01-05T10:00:00Z", "2026-01-05T10:00:01.000000+00:00"], pa.string_view()),
                "value": pa.array(["1.5", "2"], pa.string_view()),
            }
        )
        received = read(stream_of(table))
        assert (received.count, received.refusals.total) == (2, 1)


class TestABodyOfNothing:
    def test_of_more_rows_than_points_is_not_read(self):
        for media_type in (NDJSON, JSON):
            body = b"{}\n" * 2_000_000 if media_type == NDJSON else b"[" + b"{}," * 2_000_000 + b"{}]"
            with pytest.raises(PayloadTooLarge):
                read(body, media_type)

    def test_is_refused_for_its_cells_where_they_are_four_times_as_many_as_points(self):
        rows, nothing = MAX_POINTS // 10, pa.nulls(MAX_POINTS // 10)
        table = pa.table({"time": moments(rows)} | {f"s{number}": nothing for number in range(40)})
        assert read(stream_of(table)).count == 0
        with pytest.raises(PayloadTooLarge):
            read(stream_of(table.append_column("s40", nothing)))

    def test_naming_a_million_signals_is_refused_before_they_are_named(self):
        lines = "".join(f"s{number},2026-01-05T10:00:00Z,1\n" for number in range(100_000))
        tracemalloc.start()
        with pytest.raises(PayloadTooLarge):
            read(f"signal,time,value\n{lines}".encode(), CSV)
        tracemalloc.stop()

    def test_naming_many_signals_column_by_column_is_refused_like_any_other(self):
        columns = {f"s{number}": {"time": ["2026-01-05T10:00:00Z"], "value": [1]} for number in range(MAX_NAMES + 1)}
        with pytest.raises(PayloadTooLarge, match="names more than"):
            read(json.dumps(columns).encode(), JSON)

    @pytest.mark.parametrize("number", [b"1." + b"0" * 9_000_000, b"-" + b"9" * 50, b"1e" + b"0" * 40])
    def test_but_one_long_number_is_refused(self, number):
        body = b'[{"signal": "a", "time": "2026-01-05T10:00:00Z", "value": ' + number + b"}]"
        with pytest.raises(BadRequest, match="40 characters"):
            read(body, JSON)


def read_damaged(sound, times):
    """How often the stream was read and how often refused, with a few of its bytes changed each time."""
    chance, found = random.Random(7), Counter[str]()
    for _ in range(times):
        mutated = bytearray(sound)
        for _ in range(chance.randint(1, 6)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        if chance.random() < 0.1:
            del mutated[chance.randrange(len(mutated)) :]
        try:
            is_here = is_bounded(bytes(mutated), 10**6)
            read(bytes(mutated))
            found["here" if is_here else "in a process"] += 1
        except (BadRequest, PayloadTooLarge, MemoryError):
            found["refused"] += 1
    return found


class TestAMutatedStream:
    @pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
    @pytest.mark.parametrize("quality", [pa.string(), pa.string_view()])
    async def test_is_read_or_refused_and_never_a_failure(self, compression, quality):
        """Ten thousand of them are tried by the bench of attacks."""
        names = dictionary(["active_power", "state_of_charge"], 64)
        sound = stream_of(points(64, signal=names, quality=pa.array(["GOOD"] * 64, quality)), compression=compression)
        found = await run_in_subprocess(None, read_damaged, sound, times=200)
        assert found["refused"]
        assert found["here" if compression is None and pa.types.is_string(quality) else "in a process"]
        assert found.total() == 200

    def test_whose_names_are_no_texts_is_refused(self):
        body = stream_of(pa.table({"time": moments(4), "active": np.ones(4)})).replace(b"active", b"\xff\xa8tive")
        for refuse in (read, lambda body: is_bounded(body, 10**6)):
            with pytest.raises(BadRequest):
                refuse(body)


class TestAStreamThatIsReadInTheService:
    def test_has_few_messages(self):
        batches = stream_of(points(10_000)), stream_of(points(10_000), rows_a_batch=2)
        assert [is_bounded(body, 10**6) for body in batches] == [True, False]

    @pytest.mark.parametrize(("count", "is_here"), [(MAX_DICTIONARIES, True), (MAX_DICTIONARIES + 1, False)])
    def test_has_few_dictionaries(self, count, is_here):
        names, sink = [f"s{number}" for number in range(count)], io.BytesIO()
        growing = [points(1, signal=dictionary(names[: number + 1], 1)) for number in range(count)]
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        with pa.ipc.new_stream(sink, growing[0].schema, options=options) as writer:
            for table in growing:
                writer.write_table(table)
        assert is_bounded(sink.getvalue(), 10**6) is is_here
        assert read(sink.getvalue()).count == count

    def test_is_a_stream(self):
        with pytest.raises(BadRequest):
            is_bounded(b"no stream at all", 10**6)


class TestABodyThatCostsMoreThanItsSize:
    async def test_is_read_in_another_process(self, owner, fork_server):
        """Or its reading would hold the interpreter from other requests."""
        asset = await register_asset(owner)
        lines, columns = ("/monitoring/write", "text/plain"), (f"/monitoring/{asset.id}/datapoints", JSON)
        moments = [f"20{number:02}-01-01T00:00:00Z" for number in range(99)]
        costly = [
            (*lines, "\n".join(f'm\\ m,asset={asset.id} a="x y",b={number}' for number in range(1000))),
            (*lines, "\n".join(f"m,asset={asset.id},n={number} b=1" for number in range(1000))),
            (*columns, json.dumps({f"s{n}": {"time": [at], "value": [1]} for n, at in enumerate(moments)})),
            (*columns, json.dumps({f"s{number}": {"time": [], "value": []} for number in range(2000)})),
        ]
        light = [
            (*lines, "\n".join(f"m,asset={asset.id} b={number}" for number in range(1000))),
            (*columns, json.dumps({f"s{n}": {"time": moments[:1], "value": [1]} for n in range(99)})),
        ]

        def begin(path, media_type, body):
            headers = {"Content-Type": media_type}
            return asyncio.create_task(owner.engineer.post(path, content=body.encode(), headers=headers))

        os.kill(fork_server, signal.SIGSTOP)
        try:
            waiting = [begin(*one) for one in costly]
            assert {(await begin(*one)).status_code for one in light} <= {200, 204}
            done, _ = await asyncio.wait(waiting, timeout=0.5)
        finally:
            os.kill(fork_server, signal.SIGCONT)
        assert not done
        assert all(answer.status_code < 500 for answer in await asyncio.gather(*waiting))

    async def test_is_refused_for_a_line_that_does_not_end(self, owner):
        answer = await owner.engineer.post(
            "/monitoring/write", content=b"m,asset=" + b"x" * (1 << 20), headers={"Content-Type": "text/plain"}
        )
        assert (answer.status_code, answer.json()["detail"]) == (400, "A line is longer than 1,048,576 bytes.")
