"""What a body may be before anybody reads it."""

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.edge.plausibility import refuse_long_lines
from gridloom.kernel.problem import BadRequest


class TestLongLines:
    @given(st.lists(st.integers(0, 12), max_size=20), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
    def test_are_those_with_more_bytes_than_a_line_may_have(self, lengths: list[int], mark: bytes, is_ended: bool):
        body = mark.join(b"x" * length for length in lengths) + mark * is_ended
        is_long = any(len(line) > 8 for line in body.split(b"\n"))
        with pytest.raises(BadRequest, match="longer than 8 bytes") if is_long else nullcontext():
            refuse_long_lines(body, 8)

    def test_are_found_among_those_that_end_in_carriage_returns(self):
        refuse_long_lines(b"aaaa\r" * 1000, 8)
        with pytest.raises(BadRequest):
            refuse_long_lines(b"aaaa\r" * 1000 + b"a" * 9 + b"\r", 8)
