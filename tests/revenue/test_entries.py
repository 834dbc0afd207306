"""The entries of a statement as it shows them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gridloom.revenue.statement.listing import sum_assumed, sum_entries
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

    def test_say_together_how_much_was_assumed(self) -> None:
        def assume(counterparty: str, *mwh: float) -> StatementEntry:
            return replace(entry(LineType.IMBALANCE, counterparty, 0, 1, 2), assumed_mwh=np.array(mwh))

        entries = [assume("a", 0.5, 0.0), entry(LineType.IMBALANCE, "a", 0, 1, 2), assume("b", 1, 1), assume("a", 1, 2)]
        found = {counterparty: mwh.tolist() for (_, counterparty), mwh in sum_assumed(entries).items()}
        assert found == {"a": [1.5, 2.0], "b": [1.0, 1.0]}
