"""Which parameters a battery can have."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from gridloom.kernel.market_time import PERIOD
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.window import Window
from gridloom.physical_assets.conflicts import MAX_WINDOW
from gridloom.physical_assets.health.rules import HealthStatus, check_telemetry
from gridloom.physical_assets.model import AssetStatus, NewParameters
from gridloom.physical_assets.rules import (
    AssetNotActive,
    InconsistentParameters,
    check_active,
    check_parameters,
    first_valid_from,
)
from gridloom.physical_assets.schedule.model import NewSchedulePoint
from gridloom.physical_assets.schedule.rules import scheduled_window
from gridloom.physical_assets.telemetry import LatestTelemetry

pytestmark = pytest.mark.pure

RATING: dict[str, Any] = {
    "rated_charge_power": 1000,
    "rated_discharge_power": 1000,
    "energy_capacity": 2000,
    "charge_efficiency": 0.9,
    "discharge_efficiency": 0.9,
}


class TestParameters:
    @pytest.mark.parametrize(
        ("changes", "pointer"),
        [
            ({"min_state_of_charge": 0.4, "max_state_of_charge": 0.5}, None),
            ({"min_state_of_charge": 0.5, "max_state_of_charge": 0.5}, "/p/minStateOfCharge"),
            ({"min_state_of_charge": 0.6, "max_state_of_charge": 0.5}, "/p/minStateOfCharge"),
            ({"daily_cycle_limit": 2, "annual_cycle_limit": 500}, None),
            ({"daily_cycle_limit": 2, "annual_cycle_limit": 2}, None),
            ({"daily_cycle_limit": 3, "annual_cycle_limit": 2}, "/p/dailyCycleLimit"),
            ({"daily_cycle_limit": 3}, None),
            ({"annual_cycle_limit": 2}, None),
        ],
    )
    def test_do_not_contradict_each_other(self, changes: dict[str, float], pointer: str | None) -> None:
        given = NewParameters(**RATING, **changes)
        if pointer is None:
            check_parameters(given, "/p")
            return
        with pytest.raises(InconsistentParameters) as refused:
            check_parameters(given, "/p")
        assert [error.pointer for error in refused.value.errors] == [pointer]

    def test_hold_from_the_market_day_of_commissioning_on(self) -> None:
        assert first_valid_from(date(2026, 7, 1)) == datetime(2026, 6, 30, 22, tzinfo=UTC)
        assert first_valid_from(None) < datetime(1970, 1, 2, tzinfo=UTC)


class TestASchedule:
    START = datetime(2026, 6, 18, 12, tzinfo=UTC)

    def test_may_reach_over_three_years_and_no_further(self) -> None:
        """And its periods may come in any order."""
        points = [NewSchedulePoint(self.START + MAX_WINDOW, 1.0), NewSchedulePoint(self.START, 1.0)]
        assert scheduled_window(points, None) == Window(self.START, self.START + MAX_WINDOW + PERIOD)
        with pytest.raises(BadRequest):
            scheduled_window([*points, NewSchedulePoint(self.START - PERIOD, 1.0)], None)

    def test_lies_within_what_the_query_asks_for(self) -> None:
        points = [NewSchedulePoint(self.START, 1.0), NewSchedulePoint(self.START + PERIOD, 1.0)]
        for asked in (Window(self.START, self.START + PERIOD), Window(self.START + PERIOD, self.START + 2 * PERIOD)):
            with pytest.raises(BadRequest, match="outside the window"):
                scheduled_window(points, asked)
        whole = Window(self.START, self.START + 2 * PERIOD)
        assert scheduled_window(points, whole) == whole


class TestABattery:
    def test_takes_schedules_and_bids_while_it_is_active(self) -> None:
        check_active(AssetStatus.ACTIVE)
        for status in (AssetStatus.INACTIVE, AssetStatus.DECOMMISSIONED):
            with pytest.raises(AssetNotActive, match=status):
                check_active(status)


class TestTelemetry:
    @pytest.mark.parametrize(
        ("age", "status"),
        [
            (timedelta(minutes=15), HealthStatus.OK),
            (timedelta(minutes=15, milliseconds=1), HealthStatus.UNKNOWN),
        ],
    )
    def test_is_fresh_for_a_quarter_of_an_hour(self, age: timedelta, status: HealthStatus) -> None:
        now = datetime(2026, 6, 1, 12, tzinfo=UTC)
        assert check_telemetry(LatestTelemetry(now - age, None), now).status is status
