"""Every format of a body gives the same points, and a bad point never takes a good one with it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.monitoring.ingest import parsing
from gridloom.monitoring.ingest.columns import TooManyPoints
from gridloom.monitoring.ingest.parsing import parse
from gridloom.monitoring.model import Reason, Received, microseconds
from gridloom.platform.http.responses import ARROW, CSV, JSON, NDJSON

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.pure

LATEST = microseconds(datetime(2027, 1, 1, tzinfo=UTC))
ASSETS = (UUID("019e4c1e-6f5e-7cc3-98c4-dc0c0c07398f"), UUID("019e4c1e-6f5e-7cc3-98c4-dc0c0c073990"))

Row = tuple[str, str, float]
ROWS: list[Row] = [
    ("active_power", "2026-01-01T00:00:00Z", 1.5),
    ("active_power", "2026-01-01T00:01:00Z", -2.0),
    ("state_of_charge", "2026-01-01T01:00:00+01:00", 50.0),
    ("temperature.rack_1", "2026-01-01T00:00:00.250Z", 21.0),
]


def columns_body(rows: list[Row]) -> bytes:
    columns: dict[str, dict[str, list[object]]] = {}
    for signal, time, value in rows:
        column = columns.setdefault(signal, {"time": [], "value": []})
        column["time"].append(time)
        column["value"].append(value)
    return json.dumps(columns).encode()


def rows_body(rows: list[Row]) -> bytes:
    return json.dumps([{"signal": signal, "time": time, "value": value} for signal, time, value in rows]).encode()


def lines_body(rows: list[Row]) -> bytes:
    lines = (json.dumps({"signal": signal, "time": time, "value": value}) for signal, time, value in rows)
    return "\n".join(lines).encode() + b"\n"


def csv_body(rows: list[Row]) -> bytes:
    return "\r\n".join(["signal,time,value", *(f"{signal},{time},{value!r}" for signal, time, value in rows)]).encode()


def arrow_stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_body(rows: list[Row]) -> bytes:
    signals, times, values = zip(*rows, strict=True)
    return arrow_stream(pa.table({"signal": pa.array(signals).dictionary_encode(), "time": times, "value": values}))


BODIES = {JSON: columns_body, "rows": rows_body, NDJSON: lines_body, CSV: csv_body, ARROW: arrow_body}


def read(body: bytes, media_type: str = JSON, *, many: bool = False) -> Received:
    return parse(body, media_type, many=many, latest_us=LATEST)


def points_of(received: Received, asset: UUID | None = None) -> dict[tuple[str, int], float]:
    points = received.points[asset]
    names = [points.names[code] for code in points.codes]
    return dict(zip(zip(names, points.times.tolist(), strict=True), points.values.tolist(), strict=True))


def expected(rows: list[Row]) -> dict[tuple[str, int], float]:
    return {(signal, microseconds(datetime.fromisoformat(time))): value for signal, time, value in rows}


class TestALongBody:
    """Longer than one slice: read piece by piece, and as if it were not."""

    ROWS = tuple(
        (
            f"signal_{number % 7}",
            f"2026-01-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00Z",
            number / 4,
        )
        for number in range(20_000)
    )

    @pytest.mark.parametrize(("write", "media_type"), [(rows_body, JSON), (lines_body, NDJSON)])
    def test_names_a_bad_point_by_its_place_in_the_whole(self, write, media_type: str) -> None:
        rows = list(self.ROWS)
        rows[15_000] = (rows[15_000][0], rows[15_000][1], None)  # type: ignore[assignment]
        received = read(write(rows), media_type)
        assert received.refusals.pointers == {Reason.INVALID_VALUE: ["/15000/value"]}
        assert len(points_of(received)) == 19_999

    def test_keeps_grades_that_only_some_rows_bring(self) -> None:
        body = [{"signal": signal, "time": time, "value": value} for signal, time, value in self.ROWS]
        body[15_000]["quality"] = "BAD"
        received = read(json.dumps(body).encode())
        assert received.refusals.pointers == {Reason.BAD_QUALITY: ["/15000/quality"]}


class TestABody:
    @pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
    def test_may_be_a_wide_table_in_which_nulls_are_no_points(self, compression: str | None) -> None:
        times = pa.array([0, 60], pa.timestamp("s", "UTC")).cast(pa.timestamp("ms", "Europe/Berlin"))
        table = pa.table({"time": times, "active_power": [1, None], "frequency": pa.array([50.0, 49.9], pa.float32())})
        table = table.set_column(0, "time", pa.array([1_700_000_000, 1_700_000_060], pa.timestamp("s", "UTC")))
        points = points_of(read(arrow_stream(table, compression), ARROW))
        assert points == {
            ("active_power", 1_700_000_000_000_000): 1.0,
            ("frequency", 1_700_000_000_000_000): 50.0,
            ("frequency", 1_700_000_060_000_000): float(np.float32(49.9)),
        }

    def test_may_be_a_wide_csv(self) -> None:
        body = b"time,active_power,soc\n2026-01-01T00:00:00Z,1.5,\n2026-01-01T00:01:00Z,oops,3\n"
        received = read(body, CSV)
        assert received.refusals.pointers == {Reason.INVALID_VALUE: ["/1/active_power"]}
        assert sorted(value for value in points_of(received).values()) == [1.5, 3.0]

    @pytest.mark.parametrize("shape", ["columns", "rows"])
    def test_keeps_its_good_values_beside_one_that_is_none(self, shape: str) -> None:
        times = [f"2026-01-01T00:0{minute}:00Z" for minute in range(4)]
        values = [1.5, 10**39, "oops", -7]
        rows = [{"signal": "x", "time": time, "value": value} for time, value in zip(times, values, strict=True)]
        body = json.dumps(rows if shape == "rows" else {"x": {"time": times, "value": values}})
        received = read(body.encode(), JSON)
        assert list(points_of(received).values()) == [1.5, 1e39, -7.0]
        [(reason, [pointer])] = received.refusals.pointers.items()
        assert (reason, pointer) == (Reason.INVALID_VALUE, "/2/value" if shape == "rows" else "/x/value/2")

    def test_may_lack_a_time_in_a_table(self) -> None:
        times = pa.array([1_700_000_000, None, 1_700_000_060], pa.timestamp("s", "UTC"))
        received = read(arrow_stream(pa.table({"signal": ["x"] * 3, "time": times, "value": [1.0, 2.0, 3.0]})), ARROW)
        assert list(points_of(received).values()) == [1.0, 3.0]
        assert received.refusals.pointers == {Reason.INVALID_TIME: ["/1/time"]}

    def test_is_more_than_the_header_of_a_csv(self) -> None:
        with pytest.raises(BadRequest, match="cannot be read"):
            read(b"time,active_power", CSV)

    def test_may_have_a_quality_in_a_long_table(self) -> None:
        body = b"signal,time,value,quality\nx,2026-01-01T00:00:00Z,1.5,GOOD\nx,2026-01-01T00:01:00Z,2,BAD\n"
        body += b"x,2026-01-01T00:02:00Z,3,UNCERTAIN\nx,2026-01-01T00:03:00Z,4,\n"
        received = read(body, CSV)
        assert received.refusals.pointers == {Reason.BAD_QUALITY: ["/1/quality"]}
        assert list(points_of(received).values()) == [1.5, 3, 4]

    @pytest.mark.parametrize("form", [CSV, JSON])
    def test_has_the_first_fault_of_a_point_that_has_several(self, form: str) -> None:
        time = "2026-01-01T00:00:00Z"
        rows = [
            ("x", time, "oops", "GOOD"),
            ("x", "never", "oops", "BAD"),
            ("x", "never", 1, "BAD"),
            ("X", time, 1, ""),
        ]
        if form == CSV:
            body = "signal,time,value,quality\n" + "\n".join(",".join(map(str, row)) for row in rows)
        else:
            body = json.dumps([dict(zip(("signal", "time", "value", "quality"), row, strict=True)) for row in rows])
        received = read(body.encode(), form)
        assert received.refusals.pointers == {
            Reason.INVALID_VALUE: ["/0/value", "/1/value"],
            Reason.BAD_QUALITY: ["/2/quality"],
            Reason.INVALID_SIGNAL: ["/3/signal"],
        }
        assert received.points == {}

    def test_may_come_in_pieces_and_with_dictionaries(self) -> None:
        """Each record batch of an Arrow stream goes on where the one before ends."""
        times = pa.array([1_700_000_000 + number for number in range(5)], pa.timestamp("s", "UTC"))
        values = pa.array([1.0, 2.0, 1.0, 4.0, 5.0])
        for table, names in (
            (pa.table({"signal": ["x", "y", "x", "y", "x"], "time": times, "value": values}), "xyxyx"),
            (pa.table({"time": times, "x": values}), "xxxxx"),
            (pa.table({"time": times, "x": values.dictionary_encode()}), "xxxxx"),
        ):
            for rows in (2, 3):  # in three batches, and in two
                sink = io.BytesIO()
                with pa.ipc.new_stream(sink, table.schema) as writer:
                    writer.write_table(table, max_chunksize=rows)
                assert points_of(read(sink.getvalue(), ARROW)) == {
                    (name, (1_700_000_000 + number) * 1_000_000): value
                    for number, (name, value) in enumerate(zip(names, values.to_pylist(), strict=True))
                }

    def test_names_each_column_that_is_missing_there_twice_or_unknown(self) -> None:
        for header, many, faults in (
            ("time,x,y,x,z,z", False, ["/x is there twice", "/z is there twice"]),
            ("x,y", True, ["/physicalAssetID is missing", "/time is missing"]),
            ("time,signal", False, ["/value is missing"]),
            ("time,value", False, ["/signal is missing"]),
            (
                "time,value,unit,colour",
                False,
                [
                    "/signal is missing",
                    "/colour is not known beside signal, time and value",
                    "/unit is not known beside signal, time and value",
                ],
            ),
            (
                "signal,time,value,physicalAssetID",
                False,
                ["/physicalAssetID is not known beside signal, time and value"],
            ),
        ):
            names = header.split(",")
            as_arrow = arrow_stream(pa.Table.from_arrays([pa.array(["a"])] * len(names), names=names))
            for body, media_type in ((header.encode() + b"\n", CSV), (as_arrow, ARROW)):
                with pytest.raises(BadRequest) as refusal:
                    read(body, media_type, many=many)
                assert [f"{fault.pointer} {fault.detail}" for fault in refusal.value.errors] == faults

    def test_may_be_a_wide_table_of_more_than_one_asset_with_nulls_and_faults(self) -> None:
        first, second = map(str, ASSETS)
        body = (
            f"time,physicalAssetID,x,y\n2026-01-01T00:00:00Z,{first},,2\n"
            f"2026-01-01T00:00:00Z,{second},3,inf\nnever,{first},5,\n"
        )
        received = read(body.encode(), CSV, many=True)
        assert [points_of(received, asset) for asset in ASSETS] == [
            {("y", 1_767_225_600_000_000): 2.0},
            {("x", 1_767_225_600_000_000): 3.0},
        ]
        assert received.refusals.pointers == {
            Reason.INVALID_TIME: ["/2/time"],
            Reason.VALUE_NOT_FINITE: ["/1/y"],
        }

    @pytest.mark.parametrize("media_type", [JSON, CSV])
    def test_may_spell_the_id_of_an_asset_in_two_ways(self, media_type: str) -> None:
        first, second = str(ASSETS[0]), str(ASSETS[0]).upper()
        times = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")
        body = {first: {"x": {"time": times[:1], "value": [1]}}, second: {"x": {"time": times[1:], "value": [2]}}}
        table = f"physicalAssetID,signal,time,value\n{first},x,{times[0]},1\n{second},x,{times[1]},2\n"
        received = read(json.dumps(body).encode() if media_type == JSON else table.encode(), media_type, many=True)
        assert list(received.assets) == [ASSETS[0]]
        assert points_of(received, ASSETS[0]) == expected([("x", times[0], 1.0), ("x", times[1], 2.0)])

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_takes_timestamps_of_every_unit(self, unit: str) -> None:
        times = pa.array([1_700_000_000], pa.timestamp("s", "UTC")).cast(pa.timestamp(unit, "UTC"))
        received = read(arrow_stream(pa.table({"signal": ["x"], "time": times, "value": [1.0]})), ARROW)
        assert points_of(received) == {("x", 1_700_000_000_000_000): 1.0}

    def test_has_times_of_whole_milliseconds_from_2000_on_up_to_the_latest(self) -> None:
        earliest_ns, latest_ns = 946_684_800 * 10**9, 1000 * LATEST
        times_ns = [earliest_ns - 1, earliest_ns, latest_ns - 1, latest_ns, latest_ns + 999_999, latest_ns + 1_000_000]
        table = pa.table({"time": pa.array(times_ns, pa.timestamp("ns", "UTC")), "x": np.arange(6.0)})
        received = read(arrow_stream(table), ARROW)
        assert list(zip(received.points[None].times.tolist(), received.points[None].values.tolist(), strict=True)) == [
            (earliest_ns // 1000, 1.0),
            (LATEST - 1000, 2.0),
            (LATEST, 3.0),
            (LATEST, 4.0),
        ]
        assert received.refusals.pointers == {Reason.TIME_OUT_OF_RANGE: ["/0/time", "/5/time"]}


FAULTY: list[tuple[dict[str, object], Reason]] = [
    ({"signal": "Active Power"}, Reason.INVALID_SIGNAL),
    ({"signal": "x" * 65}, Reason.INVALID_SIGNAL),
    ({"signal": ""}, Reason.INVALID_SIGNAL),
    ({"signal": 7}, Reason.INVALID_SIGNAL),
    ({"time": "yesterday"}, Reason.INVALID_TIME),
    ({"time": 1767225600}, Reason.INVALID_TIME),
    ({"time": None}, Reason.INVALID_TIME),
    ({"time": "2026-01-01T00:00:00"}, Reason.TIME_WITHOUT_OFFSET),
    ({"time": "1999-12-31T23:59:59Z"}, Reason.TIME_OUT_OF_RANGE),
    ({"time": "2027-01-01T00:00:01Z"}, Reason.TIME_OUT_OF_RANGE),
    ({"value": None}, Reason.INVALID_VALUE),
    ({"value": "12"}, Reason.INVALID_VALUE),
    ({"value": True}, Reason.INVALID_VALUE),
    ({"value": [1]}, Reason.INVALID_VALUE),
    ({"quality": "BAD"}, Reason.BAD_QUALITY),
    ({"quality": "dreadful"}, Reason.INVALID_QUALITY),
    ({"quality": None}, Reason.INVALID_QUALITY),
]


class TestABadPoint:
    @pytest.mark.parametrize(("change", "reason"), FAULTY)
    @pytest.mark.parametrize("lines", [False, True])
    def test_is_refused_alone_with_its_reason_and_place(
        self, change: dict[str, object], reason: Reason, lines: bool
    ) -> None:
        good = {"signal": "x", "time": "2026-01-01T00:00:00Z", "value": 1.0}
        rows = [good, good | {"signal": "y"} | change]
        body = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
        received = read(body.encode(), NDJSON if lines else JSON)
        assert points_of(received) == {("x", 1_767_225_600_000_000): 1.0}
        assert received.refusals.counts == {reason: 1}
        assert received.refusals.pointers[reason] == [f"/1/{next(iter(change))}"]

    def test_is_found_in_columns(self) -> None:
        body = {"x": {"time": ["2026-01-01T00:00:00Z", None], "value": [None, 2]}, "é": {"time": [], "value": []}}
        received = read(json.dumps(body).encode())
        assert received.refusals.pointers == {Reason.INVALID_VALUE: ["/x/value/0"], Reason.INVALID_TIME: ["/x/time/1"]}
        times = ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "never"]
        column = {"time": times, "value": [1, 2, 3]}
        later = read(json.dumps({"x": {"time": times[:2], "value": [1, 2]}, "y/z": column}).encode())
        assert later.refusals.pointers == {
            Reason.INVALID_SIGNAL: ["/y~1z", "/y~1z", "/y~1z"],
        }, "the first fault of a point"
        later = read(json.dumps({"x": {"time": times[:2], "value": [1, 2]}, "y": column}).encode())
        assert later.refusals.pointers == {Reason.INVALID_TIME: ["/y/time/2"]}
        first, second = map(str, ASSETS)
        of_many = read(json.dumps({first: {"x": column}, second: {"x": column, "y": column}}).encode(), many=True)
        assert of_many.refusals.pointers == {
            Reason.INVALID_TIME: [f"/{first}/x/time/2", f"/{second}/x/time/2", f"/{second}/y/time/2"]
        }

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
    def test_is_one_that_is_not_finite(self, value: float) -> None:
        for form in (CSV, ARROW):
            received = read(BODIES[form]([*ROWS, ("x", "2026-01-01T00:00:00Z", value)]), form)
            assert received.refusals.counts == {Reason.VALUE_NOT_FINITE: 1}
            assert points_of(received) == expected(ROWS)


UNREADABLE: list[tuple[bytes, str]] = [
    (b"", JSON),
    (b"7", JSON),
    (b"{", JSON),
    (b'{"x": {"time": ["2026-01-01T00:00:00Z"], "value": [NaN]}}', JSON),
    (b'{"x": {"time": ["2026-01-01T00:00:00Z"], "value": [1, 2]}}', JSON),
    (b'{"x": {"time": ["2026-01-01T00:00:00Z"]}}', JSON),
    (b'{"x": {"time": "2026-01-01T00:00:00Z", "value": [1]}}', JSON),
    (b'{"x": {"time": [], "value": [], "unit": []}}', JSON),
    (b'{"x": 1}', JSON),
    (b"[1]", JSON),
    (b'[{"signal": "x", "time": "2026-01-01T00:00:00Z"}]', JSON),
    (b'[{"signal": "x", "time": "2026-01-01T00:00:00Z", "value": 1, "more": 1}]', JSON),
    (b'["' + b"[" * 5000, JSON),
    (b"[" * 100_000, JSON),
    (b"\xff\xfe", JSON),
    (b"not json\n", NDJSON),
    (b"", CSV),
    (b"signal,value\nx,1\n", CSV),
    (b"signal,time,value,colour\nx,2026-01-01T00:00:00Z,1,red\n", CSV),
    (b"time,time\n", CSV),
    (b"time\n2026-01-01T00:00:00Z\n", CSV),
    (b"signal,time,value\nx,2026-01-01T00:00:00Z\n", CSV),
    (b"\xff\xfe,\n", CSV),
    (b"", ARROW),
    (b"nonsense that is no arrow", ARROW),
    (arrow_body(ROWS)[:-60], ARROW),
    (arrow_stream(pa.table({"signal": ["x"], "time": pa.array([0], pa.timestamp("us")), "value": [1.0]})), ARROW),
    (arrow_stream(pa.table({"signal": ["x"], "time": [0], "value": [1.0]})), ARROW),
    *(
        (arrow_stream(pa.table({"signal": signals, "time": ["2026-01-01T00:00:00Z"] * 2, "value": [1.0, 2.0]})), ARROW)
        for signals in (
            pa.DictionaryArray.from_arrays(pa.array([0, place], pa.int8()), pa.array(["x"]), safe=False)
            for place in (1, -1)
        )
    ),
    (arrow_stream(pa.table({"signal": [1], "time": ["2026-01-01T00:00:00Z"], "value": [1.0]})), ARROW),
    (arrow_stream(pa.table({"signal": ["x"], "time": ["2026-01-01T00:00:00Z"], "value": [True]})), ARROW),
]


class TestAnUnreadableBody:
    @pytest.mark.parametrize(("body", "media_type"), UNREADABLE)
    def test_refuses_the_request(self, body: bytes, media_type: str) -> None:
        with pytest.raises(BadRequest):
            read(body, media_type)

    @given(st.binary(max_size=300), st.sampled_from([JSON, NDJSON, CSV, ARROW]), st.booleans())
    def test_never_stumbles(self, body: bytes, media_type: str, many: bool) -> None:
        with suppress(BadRequest):
            read(body, media_type, many=many)

    @given(st.data())
    def test_never_stumbles_over_a_damaged_arrow_stream(self, data: st.DataObject) -> None:
        body = bytearray(
            arrow_stream(
                pa.table({"signal": ["x"] * 3, "time": ["2026-01-01T00:00:00Z"] * 3, "value": [1.0] * 3}), "zstd"
            )
        )
        for _ in range(data.draw(st.integers(1, 3))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        with suppress(BadRequest, PayloadTooLarge):
            read(bytes(body), ARROW)

    @pytest.mark.parametrize("lines", [False, True])
    def test_in_rows_names_the_fields_of_the_first_that_is_none(self, lines: bool) -> None:
        point = {"signal": "x", "time": "2026-01-01T00:00:00Z", "value": 1}
        of_asset = {**point, "physicalAssetID": str(ASSETS[0])}
        for many, good, bad, faults in (
            (False, point, of_asset, ["/1/physicalAssetID is not known here"]),
            (True, of_asset, point, ["/1/physicalAssetID is missing"]),
            (False, point, {"time": 1, "unit": 1}, ["/1/signal is missing", "/1/value is missing"]),
        ):
            rows = [good | {"quality": "GOOD"}, bad, bad]
            body = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
            with pytest.raises(BadRequest) as refusal:
                read(body.encode(), NDJSON if lines else JSON, many=many)
            unknown = ["/1/unit is not known here"] if "unit" in bad else []
            assert [f"{fault.pointer} {fault.detail}" for fault in refusal.value.errors] == faults + unknown

    def test_names_the_asset_that_is_none(self) -> None:
        with pytest.raises(BadRequest) as refusal:
            read(b'[{"physicalAssetID": "7", "signal": "x", "time": "2026-01-01T00:00:00Z", "value": 1}]', many=True)
        assert refusal.value.errors[0].pointer == "/0/physicalAssetID"


class TestTooMuch:
    def test_is_more_than_a_million_points(self) -> None:
        table = pa.table(
            {
                "signal": pa.repeat("x", 1_000_001),
                "time": pa.repeat("2026-01-01T00:00:00Z", 1_000_001),
                "value": np.zeros(1_000_001),
            }
        )
        with pytest.raises(TooManyPoints):
            read(arrow_stream(table), ARROW)

    def test_of_a_table_is_counted_by_its_points_and_its_cells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cells that are empty are no points, but four of them cost as much as one."""
        monkeypatch.setattr("gridloom.monitoring.ingest.columns.MAX_POINTS", 3)
        time = "2026-01-01T00:00:0"
        fine = (
            "signal,time,value" + "".join(f"\nx,{time}{number}Z,1" for number in range(3)),
            f"time,x,y\n{time}0Z,1,2\n{time}1Z,,4",
            "time," + ",".join("abcde") + "".join(f"\n{time}{number}Z,1,,,," for number in range(3)),
        )
        for body in fine:
            assert read(body.encode(), CSV).count == 3
        for body in (
            fine[0] + f"\nx,{time}3Z,1",
            f"time,x,y\n{time}0Z,1,2\n{time}1Z,3,4",
            "time," + ",".join("abcdefgh") + f"\n{time}0Z,1,,,,,,,\n{time}1Z,,,,,,,,",
        ):
            with pytest.raises(TooManyPoints):
                read(body.encode(), CSV)

    @pytest.mark.parametrize(
        ("write", "media_type"),
        [
            (lambda: b"[" + b",".join([b"{}"] * 2_100_000) + b"]", JSON),
            (lambda: b"[" + b"0," * 6_100_000 + b"0]", JSON),
            (lambda: b"{}\n" * 2_100_000, NDJSON),
            (lambda: b"0\n" * 8_100_000, NDJSON),
            (lambda: b"{" + b",".join(b'"s%d":{}' % number for number in range(100_001)) + b"}", JSON),
        ],
    )
    def test_is_not_even_unpacked(
        self, write: Callable[[], bytes], media_type: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for unpacking in ("json_rows._read_batch", "json_columns._loose_pieces"):
            monkeypatch.delattr(f"gridloom.monitoring.ingest.{unpacking}")
        with pytest.raises(TooManyPoints):
            read(write(), media_type)

    def test_is_a_table_of_more_columns_than_an_asset_has_signals(self) -> None:
        doubled = ",".join(f"a{number // 2}" for number in range(200_000)).encode()
        for body in (doubled, b"," * 20_000_000, doubled[:300_000].rpartition(b",")[0] + b"\n"):
            with pytest.raises(BadRequest, match="4096"):
                read(body, CSV)
        names = [f"a{number // 2}" for number in range(20_000)]
        table = pa.Table.from_arrays([pa.array([1.0])] * len(names), names=names)
        with pytest.raises(BadRequest, match="4096"):
            read(arrow_stream(table), ARROW)


class TestTheClock:
    """Known from a while ago: whoever sends points ahead of it is not refused before it has been looked at again."""

    @pytest.fixture
    def looks(self, monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
        """When the clock is looked at, it says the first of these, which is taken away."""
        found: list[datetime] = []

        async def platform_now(_: object) -> datetime:
            return found.pop(0)

        monkeypatch.setattr(parsing, "platform_now", platform_now)
        return found

    async def receive(self, clock: parsing.CachedClock, time: datetime) -> Received:
        request: Any = SimpleNamespace(content_type=JSON, pool=None, holder=None)
        body = json.dumps([{"signal": "x", "time": time.isoformat(), "value": 1}]).encode()
        return await parsing.receive(request, body, clock, many=False)

    async def test_is_looked_at_again_for_points_that_are_too_far_ahead_of_it(self, looks: list[datetime]) -> None:
        now, minute = datetime(2026, 6, 1, 12, tzinfo=UTC), timedelta(minutes=1)
        clock, day = parsing.CachedClock(), timedelta(days=1)
        looks[:] = [now]
        assert (await self.receive(clock, now + day)).refusals.total == 0
        assert (await self.receive(clock, now + day - minute)).refusals.total == 0
        assert looks == [], "looked at once"
        for moved, is_taken in ((minute, False), (2 * minute, True)):
            looks[:] = [now, now + moved]
            await clock.exactly_now(None)  # type: ignore[arg-type]
            refused = (await self.receive(clock, now + day + minute)).refusals.counts
            assert refused == ({} if is_taken else {Reason.TIME_OUT_OF_RANGE: 1}), "by a sandbox that has moved on"
            assert looks == []
