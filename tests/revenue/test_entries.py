"""The entries of a statement as it shows them."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.revenue.statement.listing import sum_entries
from gridloom.revenue.statement.model import LineType, StatementEntry

pytestmark = pytest.mark.pure


def entry(line: LineType, counterparty: str, *until: int) -> StatementEntry:
    return StatementEntry(line, counterparty, np.array(until, dtype=np.int64))


class TestEntries:
    def test_are_summed_by_line_and_counterparty_in_the_order_of_the_lines(self) -> None:
        entries = [
            entry(LineType.END_OF_LIFE, "a", 0, 1, 1),
            entry(LineType.AFRR_ENERGY, "b", 0, 5, 9),
            entry(LineType.TRADING, "b", 0, 10, 30),
            entry(LineType.TRADING, "a", 0, -7, -7),
            entry(LineType.TRADING, "b", 0, 1, 0),
        ]
        assert [(*name, cents.tolist()) for name, cents in sum_entries(entries).items()] == [
            ("TRADING", "a", [-7, 0]),
            ("TRADING", "b", [11, 19]),
            ("AFRR_ENERGY", "b", [5, 4]),
            ("END_OF_LIFE", "a", [1, 0]),
        ]
