"""Bulk bodies: four formats, the same rows, every fault named."""

from __future__ import annotations

import io
import json
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.settlements.reading import decode_rows

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.platform.http import CSV, JSON, NDJSON, PARQUET
from gridloom.settlements import decoding
from gridloom.settlements.model import FCR_AWARDS, WHOLESALE_TRADES, FactKind
from gridloom.settlements.rules import read_columns

pytestmark = pytest.mark.pure

ASSET = "0198f0a4-5b6c-7d8e-9f00-112233445566"
TRADE = {
    "tradeID": "T1",
    "assetID": ASSET,
    "time": "2026-03-29T00:00:00Z",
    "side": "BUY",
    "volume": 2.5,
    "price": -12.34,
    "market": "DAY_AHEAD",
}
AWARD = {
    "assetID": ASSET,
    "deliveryDay": "2026-03-29",
    "product": "NEGPOS_00_04",
    "capacity": 10,
    "settlementPrice": 22.286667,
}


def as_json(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows).encode()


def as_ndjson(rows: list[dict[str, Any]]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows) + b"\n"


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    names = list(rows[0])
    lines = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    return "\r\n".join(lines).encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    names = list({name: None for row in rows for name in row})
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), sink)
    return sink.getvalue()


FORMATS = [(JSON, as_json), (NDJSON, as_ndjson), (CSV, as_csv), (PARQUET, as_parquet)]


def refusal(kind: FactKind, body: bytes, media_type: str = JSON) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        decode_rows(kind, body, media_type)
    return caught.value


@pytest.fixture
def three_rows_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_ROWS", 3)


class TestEveryFormat:
    @pytest.mark.parametrize(("media_type", "write"), FORMATS)
    def test_gives_the_same_rows(self, media_type: str, write: Any) -> None:
        rows = [TRADE, {**TRADE, "tradeID": "T2", "side": "SELL", "executedAt": "2026-03-28T12:00:00+01:00"}]
        if media_type == CSV:
            rows = [{**row, "executedAt": row.get("executedAt", "")} for row in rows]
        found = decode_rows(WHOLESALE_TRADES, write(rows), media_type)
        given = [{name: cell for name, cell in row.items() if cell != ""} for row in rows]
        expected = decode_rows(WHOLESALE_TRADES, as_json(given), JSON)
        assert [msgspec.to_builtins(row) for row in found] == [msgspec.to_builtins(row) for row in expected]

    @pytest.mark.parametrize(("media_type", "write"), FORMATS)
    def test_names_rows_that_break_a_rule_beside_those_that_cannot_be_read(self, media_type: str, write: Any) -> None:
        off_grid, unread = {**TRADE, "time": "2026-03-29T00:07:00Z"}, {**TRADE, "side": "HOLD"}
        rows = [TRADE, off_grid, unread, TRADE, {**TRADE, "price": 1.005}]
        with pytest.raises(BadRequest) as caught:
            read_columns(write(rows), WHOLESALE_TRADES, media_type)
        assert [error.pointer for error in caught.value.errors] == ["/1/time", "/2/side", "/4/price"]

    def test_counts_the_rows_that_break_a_rule_beside_those_that_cannot_be_read(self) -> None:
        rows = [{**TRADE, "time": "2026-03-29T00:01:00Z"}] * 101 + [{**TRADE, "volume": "much"}]
        with pytest.raises(BadRequest) as caught:
            read_columns(as_json(rows), WHOLESALE_TRADES, JSON)
        assert len(caught.value.errors) == 100
        assert caught.value.detail.endswith(" and 2 more")
        refused = refusal(WHOLESALE_TRADES, as_json([{**TRADE, "volume": "much"}] * 103))
        assert len(refused.errors) == 100
        assert refused.detail.endswith(" and 3 more")

    @pytest.mark.parametrize(("media_type", "write"), [one for one in FORMATS if one[0] != CSV])
    def test_takes_names_of_one_to_two_hundred_characters(self, media_type: str, write: Any) -> None:
        assert len(decode_rows(WHOLESALE_TRADES, write([{**TRADE, "tradeID": "T" * n} for n in (1, 200)]), media_type))
        for name in ("", "T" * 201):
            errors = refusal(WHOLESALE_TRADES, write([TRADE, {**TRADE, "tradeID": name}]), media_type).errors
            assert [error.pointer for error in errors] == ["/1/tradeID"], len(name)

    @pytest.mark.parametrize(("media_type", "write"), FORMATS)
    def test_refuses_what_is_not_a_field(self, media_type: str, write: Any) -> None:
        errors = refusal(FCR_AWARDS, write([{**AWARD, "colour": "red"}]), media_type).errors
        assert [error.pointer for error in errors] == ["/0/colour"]

    @pytest.mark.parametrize(("media_type", "write"), FORMATS)
    def test_refuses_an_instant_without_an_offset(self, media_type: str, write: Any) -> None:
        assert refusal(WHOLESALE_TRADES, write([{**TRADE, "time": "2026-03-29T00:00:00"}]), media_type).errors

    @pytest.mark.parametrize("media_type", [JSON, NDJSON, CSV, PARQUET])
    @pytest.mark.parametrize(
        "body", [b"", b"\x00\xff\xfe", b"{", b"nonsense", b"[1,2]", b"PAR1PAR1", b"[[[[[[", b'"a"']
    )
    def test_refuses_bytes_that_are_something_else(self, media_type: str, body: bytes) -> None:
        refusal(WHOLESALE_TRADES, body, media_type)

    @pytest.mark.usefixtures("three_rows_at_most")
    @pytest.mark.parametrize(("media_type", "write"), FORMATS)
    def test_takes_so_many_rows_and_no_more(self, media_type: str, write: Any) -> None:
        assert len(decode_rows(FCR_AWARDS, write([AWARD] * 3), media_type)) == 3
        with pytest.raises(PayloadTooLarge):
            decode_rows(FCR_AWARDS, write([AWARD] * 4), media_type)
        with pytest.raises(PayloadTooLarge):
            decode_rows(FCR_AWARDS, write([*[AWARD] * 3, {**AWARD, "capacity": -1}]), media_type)
        if media_type == CSV:  # the header and an end of each line
            assert len(decode_rows(FCR_AWARDS, write([AWARD] * 3) + b"\r\n", media_type)) == 3


class TestCrowd:
    @pytest.mark.parametrize(
        ("media_type", "body"),
        [
            (JSON, b"[" + b'{"assetID":1},' * 9 + b"{}]"),
            (NDJSON, b"{}\n" * 9),
            (CSV, b"a\n" * 9),
            (PARQUET, as_parquet([{"a": 1}] * 9)),
        ],
    )
    @pytest.mark.usefixtures("three_rows_at_most")
    def test_is_refused_before_it_is_unfolded(self, media_type: str, body: bytes) -> None:
        with pytest.raises(PayloadTooLarge):
            decode_rows(FCR_AWARDS, body, media_type)


class TestATableOfFarTooMuch:
    @pytest.mark.parametrize("body", [b"a," * 20_000_000, b"a," * 4_000 + b"a\n", b"a\r" * 2_000_000])
    def test_is_refused_before_its_names_are_compared(self, body: bytes) -> None:
        began = time.thread_time()
        with pytest.raises((BadRequest, PayloadTooLarge)):
            decode_rows(WHOLESALE_TRADES, body, CSV)
        assert time.thread_time() - began < 2

    def test_is_a_parquet_file_of_thousands_of_columns(self) -> None:
        sink = io.BytesIO()
        pq.write_table(pa.table({f"c{number}": [1] for number in range(2_000)}), sink)
        with pytest.raises(BadRequest, match="2000 columns"):
            decode_rows(WHOLESALE_TRADES, sink.getvalue(), PARQUET)


class TestCSV:
    @pytest.mark.parametrize(
        "text",
        ["nan", "inf", "1_000", "0x10", "", "ten", " 5", "5 ", "\t5", "+5", "1e999", "1e", ".5", "5.", "５", "٥"],
    )
    def test_takes_only_numbers_as_people_and_programs_write_them(self, text: str) -> None:
        assert refusal(FCR_AWARDS, as_csv([{**AWARD, "capacity": text}]), CSV).errors[0].pointer == "/0/capacity"

    @pytest.mark.parametrize("product", ['"NEGPOS_00_04', '"NEGPOS"_00_04'])
    def test_refuses_quotes_that_do_not_enclose_a_cell(self, product: str) -> None:
        assert "not CSV" in refusal(FCR_AWARDS, as_csv([{**AWARD, "product": product}]), CSV).detail

    def test_is_text_in_utf_8_and_leaves_out_empty_cells_alone(self) -> None:
        refused = refusal(FCR_AWARDS, as_csv([AWARD]).replace(b"NEGPOS", b"\xff"), CSV)
        assert (refused.detail, refused.errors[0].pointer) == ("The body is not CSV in UTF-8.", "")
        errors = refusal(WHOLESALE_TRADES, as_csv([{**TRADE, "executedAt": " "}]), CSV).errors
        assert [error.pointer for error in errors] == ["/0/executedAt"]

    def test_refuses_a_row_of_another_width(self) -> None:
        assert refusal(FCR_AWARDS, as_csv([AWARD]) + b",1,2", CSV).errors[0].pointer == "/0"

    def test_refuses_a_column_that_is_given_twice(self) -> None:
        header, row = as_csv([AWARD]).split(b"\r\n")
        errors = refusal(FCR_AWARDS, header + b",capacity\r\n" + row + b",7", CSV).errors
        assert [(error.pointer, error.detail) for error in errors] == [("/0/capacity", "is given twice")]


class TestParquet:
    def test_may_hold_instants_days_and_decimals(self) -> None:
        trade = {**TRADE, "time": datetime(2026, 3, 29, tzinfo=UTC), "price": Decimal("1.25")}
        sink = io.BytesIO()
        schema = pa.schema(
            [
                (name, pa.timestamp("ns", tz="UTC") if name == "time" else pa.infer_type([value]))
                for name, value in trade.items()
            ]
        )
        pq.write_table(pa.Table.from_pylist([trade], schema=schema), sink)
        found = decode_rows(WHOLESALE_TRADES, sink.getvalue(), PARQUET)
        assert msgspec.to_builtins(found[0])["price"] == 1.25
        columns = {name: [value] for name, value in TRADE.items()}
        at = pa.array([1_774_738_800_123_456_789], pa.timestamp("ns", tz="UTC"))
        sink = io.BytesIO()
        pq.write_table(pa.table({**columns, "executedAt": at}), sink)
        [row] = decode_rows(WHOLESALE_TRADES, sink.getvalue(), PARQUET)
        assert msgspec.to_builtins(row)["executedAt"] == "2026-03-28T23:00:00.123456Z"
        award = {**AWARD, "deliveryDay": date(2026, 3, 29)}
        assert len(decode_rows(FCR_AWARDS, as_parquet([award]), PARQUET)) == 1


class TestALongBody:
    """Longer than one slice, so that places must be counted from its beginning all the same."""

    ROWS = tuple({**TRADE, "tradeID": f"T{number}, {{}},{{"} for number in range(5000))

    @pytest.mark.parametrize(("media_type", "write"), [(JSON, as_json), (NDJSON, as_ndjson)])
    def test_keeps_its_order(self, media_type: str, write: Any) -> None:
        found = decode_rows(WHOLESALE_TRADES, write(list(self.ROWS)), media_type)
        assert [msgspec.to_builtins(row)["tradeID"] for row in found] == [row["tradeID"] for row in self.ROWS]

    def test_is_refused_by_the_place_in_the_whole_also_when_it_is_crowded(self) -> None:
        rows: list[dict[str, Any]] = list(self.ROWS)
        rows[4321] = {**TRADE, "volume": [0] * 1_100_000}
        refused = refusal(WHOLESALE_TRADES, as_json(rows))
        assert [error.pointer for error in refused.errors] == ["/4321/volume"]
