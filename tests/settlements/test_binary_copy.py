"""Columns as PostgreSQL's binary COPY."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.settlements.binary_copy import FLOAT8, HEADER, INT4, INT8, TEXT, TRAILER, copy_bytes

pytestmark = pytest.mark.pure

READ = {INT4: struct.Struct(">i"), INT8: struct.Struct(">q"), FLOAT8: struct.Struct(">d")}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    INT4: st.integers(-(2**31), 2**31 - 1),
    INT8: st.integers(-(2**63), 2**63 - 1),
    FLOAT8: st.floats(allow_nan=False),
    TEXT: st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
}


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str, list[Any]]]:
    forms = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=6))
    count = draw(st.integers(1, 5))
    return [(form, draw(st.lists(VALUES[form], min_size=count, max_size=count))) for form in forms]


def read_rows(content: bytes, forms: list[str]) -> list[list[Any]]:
    """As PostgreSQL's manual describes the format."""
    assert content.startswith(HEADER)
    rows: list[list[Any]] = []
    place = len(HEADER)
    while content[place : place + 2] != TRAILER:
        assert struct.unpack_from(">h", content, place) == (len(forms),)
        place += 2
        rows.append([])
        for form in forms:
            (length,) = struct.unpack_from(">i", content, place)
            cell = content[place + 4 : place + 4 + length]
            rows[-1].append(cell.decode() if form == TEXT else READ[form].unpack(cell)[0])
            place += 4 + length
    assert place + len(TRAILER) == len(content)
    return rows


class TestCopy:
    @given(tables())
    def test_holds_every_cell_of_every_row(self, table: list[tuple[str, list[Any]]]) -> None:
        columns = [(form, pa.array(cells, pa.string()) if form == TEXT else np.array(cells)) for form, cells in table]
        expected = [list(row) for row in zip(*(cells for _, cells in table), strict=True)]
        assert read_rows(copy_bytes(columns), [form for form, _ in table]) == expected
