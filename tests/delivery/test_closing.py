"""A zone that its last virtual asset has left."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from tests.delivery.zones import even_limits

from gridloom.delivery.runs import release
from gridloom.kernel.market_time import market_day_window, period_number

pytestmark = pytest.mark.pure


class TestABatteryThatFollowsItsOwner:
    def test_has_the_cycles_of_each_day(self) -> None:
        """The last two quarter-hours of a market day and the first two of the next; 150 kWh may be exported a day."""
        first = period_number(market_day_window(date(2026, 7, 2)).start) - 2
        limits = replace(
            even_limits([1000], [2000], 4),
            own_kw=np.full((1, 4), 400.0),
            promised_kwh=np.zeros((1, 4)),
            daily_export_kwh=np.full((1, 4), 150.0),
        )
        dispatch = release._follow_owners(limits, first, first + 4)
        unlimited = release._follow_owners(replace(limits, daily_export_kwh=np.full((1, 4), np.inf)), first, first + 4)
        assert unlimited.own_kw[0].tolist() == pytest.approx([400.0] * 4)
        assert dispatch.own_kw[0].tolist() == pytest.approx([400.0, 200.0, 400.0, 200.0])
