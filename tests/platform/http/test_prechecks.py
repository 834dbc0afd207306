"""Checks of a body before it is decoded."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.problem import BadRequest
from gridloom.platform.http.decode.json_decoder import MAX_NUMBER, reject_long_numbers
from gridloom.platform.http.long_bodies.slices import reject_long_lines

pytestmark = pytest.mark.pure


class TestLongLines:
    @given(st.lists(st.integers(0, 12), max_size=20), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
    def test_are_those_with_more_bytes_than_a_line_may_have(self, lengths: list[int], mark: bytes, is_ended: bool):
        body = mark.join(b"x" * length for length in lengths) + mark * is_ended
        is_long = any(len(line) > 8 for line in body.split(b"\n"))
        with pytest.raises(BadRequest, match="longer than 8 bytes") if is_long else nullcontext():
            reject_long_lines(body, 8)


NUMBERS = st.integers(36, 44).flatmap(lambda length: st.integers(10 ** (length - 1), 10**length - 1))
TEXTS = st.lists(st.sampled_from(['"', "\\", ",", ":", "x", "1" * 50]), max_size=6).map("".join)


class TestLongNumbers:
    @given(st.lists(st.one_of(NUMBERS, NUMBERS.map(lambda number: -number), TEXTS), max_size=6))
    def test_are_those_of_more_characters_outside_of_texts(self, row: list[Any]):
        is_long = any(isinstance(one, int) and len(str(one)) > MAX_NUMBER for one in row)
        for body in (json.dumps(row), json.dumps({str(place): one for place, one in enumerate(row)})):
            with pytest.raises(BadRequest, match="40 characters") if is_long else nullcontext():
                reject_long_numbers(body.encode())
