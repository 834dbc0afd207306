"""The entries of a statement as it shows them."""

from __future__ import annotations

from datetime import datetime

import pytest

from gridloom.kernel.problem import BadRequest
from gridloom.revenue.routes import read_report_window
from gridloom.revenue.statement.routes import StatementQuery, _read_asked

pytestmark = pytest.mark.pure


class TestAWindow:
    @pytest.mark.parametrize(
        ("start", "end", "pointers"),
        [
            ("1999-12-31T23:00:00+00:00", "2000-01-02T23:00:00+00:00", []),
            ("1999-12-31T22:45:00+00:00", "2000-01-02T23:00:00+00:00", ["query:start"]),
            ("2099-12-30T23:00:00+00:00", "2099-12-31T23:00:00+00:00", []),
            ("2099-12-30T23:00:00+00:00", "2099-12-31T23:15:00+00:00", ["query:end"]),
            ("2026-01-01T00:00:00+00:00", "2036-01-09T00:00:00+00:00", []),
            ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", ["query:end"]),
        ],
        ids=["first", "too early", "last", "too late", "long", "empty"],
    )
    def test_of_reports_and_statements_lies_in_this_century(self, start: str, end: str, pointers: list[str]) -> None:
        """On the market's clock, and to the last of its days."""
        window = datetime.fromisoformat(start), datetime.fromisoformat(end)
        asked = StatementQuery(*window)
        for read in (lambda: read_report_window(*window), lambda: _read_asked(asked)):
            try:
                read()
                found = []
            except BadRequest as refusal:
                found = [fault.pointer for fault in refusal.errors]
            assert found == pointers
