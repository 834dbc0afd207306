"""The entries of a statement as it shows them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from msgspec import UNSET

from gridloom.kernel.market_time import Resolution, market_day_window
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.window import Window
from gridloom.revenue.grid import days_of, grid_of
from gridloom.revenue.model import SecondsSpan
from gridloom.revenue.routes import _read_window
from gridloom.revenue.statement.listing import sum_assumed, sum_entries
from gridloom.revenue.statement.model import LineType, StatementEntry
from gridloom.revenue.statement.routes import StatementQuery, _make_statement, _read_asked

pytestmark = pytest.mark.pure


def entry(line: LineType, counterparty: str, *until: int) -> StatementEntry:
    return StatementEntry(line, counterparty, np.array(until, dtype=np.int64))


class TestAWindow:
    @pytest.mark.parametrize(
        ("start", "end", "pointers"),
        [
            ("1999-12-31T23:00:00+00:00", "2000-01-02T23:00:00+00:00", []),
            ("1999-12-31T22:45:00+00:00", "2000-01-02T23:00:00+00:00", ["query:start"]),
            ("2099-12-30T23:00:00+00:00", "2099-12-31T23:00:00+00:00", []),
            ("2099-12-30T23:00:00+00:00", "2099-12-31T23:15:00+00:00", ["query:end"]),
            ("2026-01-01T00:00:00+00:00", "2036-01-09T00:00:00+00:00", []),
            ("2026-01-01T00:00:00+00:00", "2036-01-10T00:00:00+00:00", ["query:end"]),
            ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", ["query:end"]),
        ],
        ids=["first", "too early", "last", "too late", "long", "too long", "empty"],
    )
    def test_of_reports_and_statements_lies_in_this_century_and_lasts_ten_years_at_most(
        self, start: str, end: str, pointers: list[str]
    ) -> None:
        """On the market's clock, and to the last of its days."""
        window = datetime.fromisoformat(start), datetime.fromisoformat(end)
        asked = StatementQuery(*window)
        for read in (lambda: _read_window(*window), lambda: _read_asked(asked)):
            try:
                read()
                found = []
            except BadRequest as refusal:
                found = [fault.pointer for fault in refusal.errors]
            assert found == pointers


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

    def test_are_lines_of_the_days_on_which_they_are_not_zero_with_what_was_assumed_there(self) -> None:
        start, end = market_day_window(date(2026, 3, 1)).start, market_day_window(date(2026, 3, 3)).end
        span = SecondsSpan(start.timestamp(), end.timestamp())
        entries = [
            replace(entry(LineType.IMBALANCE, "a", 0, -120, -120, -50), assumed_mwh=np.array([0.0, 0.5, 0.25])),
            entry(LineType.TRADING, "b", 0, 1000, 1200, 1200),
        ]
        shown = _make_statement(Window(start, end), grid_of(days_of(span), Resolution.DAY, span), entries)
        day = timedelta(days=1)
        assert [(one.time, one.line, one.amount, one.counterparty, one.assumed_energy) for one in shown.lines] == [
            (start, "TRADING", Decimal("10.00"), "b", UNSET),
            (start, "IMBALANCE", Decimal("-1.20"), "a", UNSET),
            (start + day, "TRADING", Decimal("2.00"), "b", UNSET),
            (start + 2 * day, "IMBALANCE", Decimal("0.70"), "a", 0.25),
        ]
        assert (shown.start, shown.end, shown.total, shown.assumed_energy) == (start, end, Decimal("11.50"), 0.75)

    def test_of_a_window_that_begins_within_a_day_bear_the_name_of_that_day(self) -> None:
        day = market_day_window(date(2026, 3, 1))
        start = day.start + timedelta(hours=6)
        span = SecondsSpan(start.timestamp(), day.end.timestamp())
        entries = [entry(LineType.TRADING, "b", 0, 1000)]
        shown = _make_statement(Window(start, day.end), grid_of(days_of(span), Resolution.DAY, span), entries)
        assert (shown.start, [one.time for one in shown.lines]) == (start, [day.start])
