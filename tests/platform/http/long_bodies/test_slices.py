"""Long JSON is read in slices that block no other request, with the same result as in one piece."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.problem import BadRequest
from gridloom.platform.http.long_bodies.slices import count_in_slices, decode_in_batches, reject_long_lines, rows_of

pytestmark = pytest.mark.pure

NASTY = st.text(st.sampled_from('ab"\\},{[] \n'), max_size=12)
ROWS = st.lists(st.fixed_dictionaries({"name": NASTY, "value": st.integers(0, 9)}), max_size=30)


class Row(msgspec.Struct):
    name: str
    value: int


ARRAY, LINE = msgspec.json.Decoder(list[Row]), msgspec.json.Decoder(Row)


def written(rows: list[dict[str, Any]], *, lines: bool, indent: int | None) -> bytes:
    if lines:
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return json.dumps(rows, indent=indent).encode()


class TestALongBody:
    @given(ROWS, st.booleans(), st.sampled_from([None, 0, 2]), st.integers(1, 80))
    def test_says_the_same_in_slices_whatever_its_texts_hold(
        self, rows: list[dict[str, Any]], lines: bool, indent: int | None, slice_bytes: int
    ) -> None:
        body = written(rows, lines=lines, indent=indent)
        decode = LINE.decode_lines if lines else ARRAY.decode
        slices = decode_in_batches(body, decode, lines=lines, slice_bytes=slice_bytes)
        assert [row for one in slices for row in one] == decode(body)

    @given(st.binary(max_size=200), st.binary(min_size=1, max_size=2), st.integers(1, 50))
    def test_is_counted_through_across_the_cuts(self, body: bytes, mark: bytes, slice_bytes: int) -> None:
        places = sum(body[place : place + len(mark)] == mark for place in range(len(body)))
        counted = count_in_slices(body, mark, slice_bytes)
        assert body.count(mark) <= counted <= places

    def test_whose_slice_has_another_shape_is_refused_in_the_words_of_its_reader(self) -> None:
        rows: list[dict[str, Any]] = [{"name": f"row {number}", "value": 1} for number in range(100)]
        rows[70]["value"] = "many"
        with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$\[\d\]\.value`"):
            decode_in_batches(written(rows, lines=False, indent=None), ARRAY.decode, lines=False, slice_bytes=200)

    def test_is_cut_behind_the_length_of_a_slice_and_not_before(self) -> None:
        body = b'[{"a":1},{"a":2},{"a":3}]'
        for slice_bytes, pieces in (
            (7, [b'[{"a":1}]', b'[{"a":2},{"a":3}]']),
            (8, [b'[{"a":1},{"a":2}]', b'[{"a":3}]']),
            (25, [body]),
        ):
            assert decode_in_batches(body, bytes, lines=False, slice_bytes=slice_bytes) == pieces
        lines = b"a\nbb\nccc"
        for slice_bytes, pieces in ((1, [b"a\n", b"bb\n", b"ccc"]), (2, [b"a\nbb\n", b"ccc"]), (8, [lines])):
            assert decode_in_batches(lines, bytes, lines=True, slice_bytes=slice_bytes) == pieces


class TestALongLine:
    @pytest.mark.parametrize("mark", [b"\n", b"\r", b"\r\n"])
    def test_is_one_beyond_what_a_line_may_have_wherever_it_stands(self, mark: bytes) -> None:
        fits, longer = b"x" * (8 - (mark == b"\r\n")), b"x" * 9
        for lines in ([fits], [fits, fits], [b"", fits, b""]):
            reject_long_lines(mark.join(lines), 8)
        for lines in ([longer], [fits, longer], [longer, fits], [fits, longer, fits]):
            with pytest.raises(BadRequest, match="longer than 8 bytes"):
                reject_long_lines(mark.join(lines), 8)


class Rows(msgspec.Struct):
    rows: list[Row] = msgspec.field(name="theRows")


class Named(msgspec.Struct):
    name: str
    rows: list[Row]


class Titled(msgspec.Struct):
    rows: list[Row]
    name: str


class TestABodyOfRows:
    def test_is_a_list_of_structs_or_a_struct_of_nothing_else(self) -> None:
        for hint in (list[Row], Annotated[list[Row], msgspec.Meta()], Rows):
            assert rows_of(hint) is not None
        others: tuple[Any, ...] = (Row, Named, Titled, list[int], tuple[Row, ...], bytes, dict[str, Row])
        assert {rows_of(hint) for hint in others} == {None}

    def test_is_read_by_its_name_on_the_wire_or_in_one_piece(self) -> None:
        reader, plain = rows_of(Rows), rows_of(list[Row])
        assert reader is not None
        assert plain is not None
        one = Row("a", 1)
        assert reader.read(b' { "theRows" : [{"name": "a", "value": 1}] } ') == Rows(rows=[one])
        assert plain.read(b' [{"name": "a", "value": 1}, {"name": "a", "value": 1}]') == [one, one]
        for body in (b'{"rows": []}', b"{}", b'{"theRows": ', b'{"theRows": [{}], "x": []}'):
            assert reader.read(body) is None
        assert plain.read(b'{"theRows": []}') is None
