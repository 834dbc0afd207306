"""How prices, calls of reserve and the frequency are made of what is drawn: each formula on draws of a test's own."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.balancing import Direction
from gridloom.sandbox.simulator import publishing

pytestmark = pytest.mark.pure

SUNDAY_IN_MARCH, SUNDAY_IN_OCTOBER, THURSDAY = date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 12)


class TestWhatIsPublished:
    def test_of_quarter_hours_is_the_index_and_what_afrr_energy_was_paid(self) -> None:
        paid = {Direction.POS: 1000.0, Direction.NEG: 2000.0}
        market_data: Any = SimpleNamespace(
            intraday=lambda day: np.arange(92.0),
            activation_prices=lambda day, direction: paid[direction] + np.arange(92.0),
        )
        rows = publishing.continuous_rows(market_data, SUNDAY_IN_MARCH, slice(8, 10))
        starts = ["2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z", "2026-03-29T01:30:00Z"]
        assert rows == [
            {"series": series, "start": starts[n], "end": starts[n + 1], "price": price + 8 + n}
            for series, price in (
                ("INTRADAY_DE_LU", 0.0),
                ("AFRR_ENERGY_POS_DE_MARGINAL", 1000.0),
                ("AFRR_ENERGY_NEG_DE_MARGINAL", 2000.0),
            )
            for n in range(2)
        ]
