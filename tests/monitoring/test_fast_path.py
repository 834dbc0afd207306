"""The fast path reads what the usual path would, and no other request waits for it."""

from __future__ import annotations

import io
import json
import random
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.assets import register_asset

from gridloom.kernel.problem import BadRequest, Problem
from gridloom.monitoring.ingest import json_columns, parsing, tables
from gridloom.monitoring.ingest.parsing import parse
from gridloom.monitoring.model import Received
from gridloom.platform.http.responses import ARROW, CSV, JSON, NDJSON

LATEST_US = 2_000_000_000_000_000
ROWS, SIGNALS = 500, 20
NAMES = [f"signal_{number}" for number in range(SIGNALS)]


def parse_fast(body: bytes, media_type: str, *, many: bool = False) -> Received | None:
    return parsing.parse_fast(body, media_type, many=many, latest_us=LATEST_US)


def told(read: Any, body: bytes, media_type: str, *, many: bool = False) -> Any:
    """All that can be seen of what was read, or how it was refused."""
    try:
        received = read(body, media_type, many=many, latest_us=LATEST_US)
    except Problem as problem:
        return type(problem), problem.detail, problem.errors
    if received is None:
        return None
    points = {
        asset: sorted(zip(np.array(found.names)[found.codes], found.times.tolist(), found.values.tolist(), strict=True))
        for asset, found in received.points.items()
    }
    return points, received.count, received.refusals, list(received.assets)


def stream_of(table: pa.Table, *, rows_a_batch: int | None = None, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows_a_batch)
    return sink.getvalue()


def moments(rows: int) -> pa.Array:
    return pa.array(np.arange(rows) * 60_000 + 1_750_000_000_000, pa.timestamp("ms", tz="UTC"))


def wide(rows: int = ROWS, signals: int = SIGNALS) -> pa.Table:
    values = np.arange(rows) / 10
    return pa.table({"time": moments(rows), **{f"signal_{number}": values + number for number in range(signals)}})


def long(rows: int = ROWS, names: list[str] | None = None) -> pa.Table:
    names = names or NAMES
    codes = pa.array(np.arange(rows, dtype=np.int32) % len(names))
    return pa.table(
        {
            "signal": pa.DictionaryArray.from_arrays(codes, pa.array(names)),
            "time": moments(rows),
            "value": np.arange(rows) / 10,
        }
    )


def times(rows: int, first: int = 0) -> list[str]:
    return [f"{text}Z" for text in np.datetime_as_string(np.arange(first, first + rows).astype("datetime64[m]"), "s")]


def columns(rows: int = ROWS, signals: int = SIGNALS) -> dict[str, Any]:
    at = [text.replace("1970", "2026") for text in times(rows)]
    return {f"signal_{number}": {"time": at, "value": [row / 10 for row in range(rows)]} for number in range(signals)}


def packed(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


class TestAUsualBody:
    def test_is_refused_for_what_the_fast_path_finds(self) -> None:
        body = packed({"a": {"time": ["2026-01-05T10:00:00Z", "2026-01-05T10:01:00Z"], "value": [1.0]}})
        assert told(parsing.parse_fast, body, JSON)[0] is BadRequest
        assert told(parsing.parse_fast, body, JSON) == told(parse, body, JSON)


def with_changed(change: Any) -> bytes:
    document = columns(rows=20)
    change(document)
    return packed(document)


class TestAnythingElse:
    @pytest.mark.parametrize(
        ("body", "media_type"),
        [
            (packed(columns(rows=600)), JSON),
            (packed({"a": {"time": times(1), "value": [1] * (parsing.MAX_FAST_PATH_COMMAS + 2)}}), JSON),
            (packed(columns(rows=2, signals=parsing.MAX_FAST_PATH_BRACES)), JSON),
            (
                packed(
                    {
                        f"s{place}": {"time": times(9, place), "value": [1] * 9}
                        for place in range(json_columns.MAX_FAST_PATH_TIMES + 1)
                    }
                ),
                JSON,
            ),
            (with_changed(lambda document: document["signal_3"].update(time=["2026-02-30T00:00:00Z"] * 20)), JSON),
            (with_changed(lambda document: document["signal_3"].update(time=["2026-01-05T00:00:00"] * 20)), JSON),
            (with_changed(lambda document: document["signal_3"]["value"].append("1")), JSON),
            (with_changed(lambda document: document.update({"1" * 41: {"time": [], "value": []}})), JSON),
            (packed([{"signal": "a", "time": "2026-01-05T10:00:00Z", "value": 1}]), JSON),
            (packed(columns())[:-1], JSON),
            (b"signal,time,value\n", CSV),
            (b"{}", NDJSON),
            (stream_of(wide(), compression="zstd"), ARROW),
            (stream_of(wide(), rows_a_batch=100), ARROW),
            (stream_of(wide(rows=5, signals=tables.MAX_FAST_PATH_COLUMNS)), ARROW),
            (stream_of(wide(rows=tables.MAX_FAST_PATH_CELLS // (SIGNALS + 1) + 1)), ARROW),
            (stream_of(long(300, [f"s{n}" for n in range(tables.MAX_FAST_PATH_ENTRIES + 1)])), ARROW),
            (stream_of(long().set_column(0, "signal", pa.array(["a"] * ROWS))), ARROW),
            (stream_of(long().append_column("quality", pa.array(["GOOD"] * ROWS).dictionary_encode())), ARROW),
            (stream_of(wide(4).set_column(0, "time", pa.array(times(4)))), ARROW),
            (stream_of(wide(4).append_column("nothing", pa.nulls(4))), ARROW),
            (stream_of(wide(4).replace_schema_metadata({"note": "x" * 20_000})), ARROW),
            (stream_of(wide())[:-4000], ARROW),
            (b"\xff\xff\xff\xff\x10\x00\x00\x00" * 1000, ARROW),
            (b"no stream", ARROW),
        ],
    )
    def test_takes_a_closer_look(self, body: bytes, media_type: str) -> None:
        assert parse_fast(body, media_type) is None

    @given(st.data())
    def test_is_read_the_same_wherever_the_fast_path_reads_it(self, data: st.DataObject) -> None:
        """JSON with a few strange things in it, and Arrow with some bytes changed."""
        time = st.sampled_from(["2026-01-05T10:00:00Z", "2026-01-05T10:00:00.5+01:00", "2026-13-05T10:00:00Z", 'a"b'])
        value = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.none(), st.just("1"))
        column = st.fixed_dictionaries({"time": st.lists(time, max_size=3), "value": st.lists(value, max_size=3)})
        body = packed(data.draw(st.dictionaries(st.sampled_from(["a", "b", "A", ""]), column)))
        assert told(parsing.parse_fast, body, JSON) in (None, told(parse, body, JSON))

    def test_is_never_a_failure_however_a_stream_is_damaged(self) -> None:
        chance = random.Random(11)
        for sound in (stream_of(long(64)), stream_of(wide(16, 3))):
            for _ in range(400):
                mutated = bytearray(sound)
                for _ in range(chance.randint(1, 6)):
                    mutated[chance.randrange(len(mutated))] = chance.randrange(256)
                body = bytes(mutated)
                assert repr(told(parsing.parse_fast, body, ARROW)) in ("None", repr(told(parse, body, ARROW)))


class TestTheEventLoop:
    @pytest.mark.parametrize(("is_usual", "is_on_loop"), [(True, True), (False, False)])
    async def test_parses_what_the_fast_path_reads(
        self, new_organisation: Any, monkeypatch: pytest.MonkeyPatch, is_usual: bool, is_on_loop: bool
    ) -> None:
        owner = await new_organisation()
        asset = await register_asset(owner)
        settled_on_loop: list[bool] = []

        def watch(settle: Any) -> Any:
            def settle_watched(*arguments: Any) -> Any:
                settled_on_loop.append(threading.current_thread() is threading.main_thread())
                return settle(*arguments)

            return settle_watched

        original: Any = parsing.__dict__["drop_invalid"]
        monkeypatch.setattr(parsing, "drop_invalid", watch(original))
        document = columns()
        if not is_usual:
            document["signal_7"]["time"] = ["yesterday", *document["signal_7"]["time"][1:]]
        answer = await owner.admin.post(
            f"/monitoring/{asset.id}/datapoints", content=packed(document), headers={"Content-Type": JSON}
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["refused"] == (0 if is_usual else 1)
        assert settled_on_loop == [is_on_loop]
