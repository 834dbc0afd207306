"""What commands work out themselves: months of revenue, and where a schedule leads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom_client.commands.revenue import TOTAL, rows_of_points, sum_by_month
from gridloom_client.commands.scheduling.changes import foresee_end
from gridloom_client.commands.scheduling.points import changed_points
from gridloom_client.inputs import Point

pytestmark = pytest.mark.pure

START = datetime(2026, 10, 31, 22, 0, tzinfo=UTC)
"""In Berlin an hour before November."""


def earned(**series: Any) -> Any:
    """Hourly series from START on."""
    data = {
        name: [SimpleNamespace(time=START + timedelta(hours=n), value=value) for n, value in enumerate(values)]
        for name, values in series.items()
    }
    return SimpleNamespace(data=data)


class TestRevenue:
    def test_goes_from_the_first_time_that_earned_to_the_last(self) -> None:
        points = earned(**{TOTAL: [0, 5, 0, 7, 0, None], "revenue_fcr": [0, 2, 0, 7, 0, None]})
        rows = rows_of_points(points)
        assert [row["time"].hour for row in rows] == [23, 0, 1]
        assert [(row["total"], row["revenue_fcr"], row["revenue_tolling"]) for row in rows] == [
            (5, 2, None),
            (0, 0, None),
            (7, 7, None),
        ]
        assert rows_of_points(earned(**{TOTAL: [0, 0]})) == []

    def test_of_a_month_is_that_of_the_market(self) -> None:
        rows = rows_of_points(earned(**{TOTAL: [1, 20, 300], "revenue_vba": [1, None, 300]}))
        assert [(row["time"].isoformat(), row["total"], row["revenue_vba"]) for row in sum_by_month(rows)] == [
            ("2026-10-01T00:00:00+02:00", 1, 1),
            ("2026-11-01T00:00:00+01:00", 320, 300),
        ]


class TestASchedule:
    battery: Any = SimpleNamespace(
        end_state_of_charge_percentage=50,
        energy_capacity=1000,
        final_soc_tolerance=0.01,
        charge_efficiency=0.9,
        discharge_efficiency=0.8,
    )

    @pytest.mark.parametrize(
        ("stored", "power", "said"),
        [
            (0, -400, "ends its life at 59.0%, 90 kWh above the balance of 50%"),
            (0, 400, "ends its life at 37.5%, 125 kWh below the balance of 50%"),
            (400, 0, "ends its life at 62.5%, 125 kWh above"),
            (-400, 400, "ends its life at 28.5%, 215 kWh below"),
            (0, -44, "at 51.0%: balanced"),
        ],
    )
    def test_leads_where_the_efficiency_of_its_direction_has_it(self, stored: float, power: float, said: str) -> None:
        assert said in foresee_end(self.battery, {START: stored}, [Point(time=START, power=power)])

    def test_changes_what_differs_from_what_is_stored(self) -> None:
        points = [Point(time=START + n * timedelta(minutes=15), power=power) for n, power in enumerate((5, 0, -5, 3))]
        stored = {START: 5.0, points[2].time: 5.0}
        assert changed_points(points, stored) == [points[2], points[3]]
        assert changed_points(points[:1], {START: 4.9}) == [points[0]], "by less than a kilowatt too"
        assert changed_points(points[:1], {START: 5.0 + 1e-9}) == []
