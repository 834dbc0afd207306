"""Which parameters a battery can have."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, availability_at
from gridloom.kernel.codes import eic_check_character
from gridloom.kernel.market_time import PERIOD
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.window import Window
from gridloom.physical_assets.conflicts import MAX_WINDOW
from gridloom.physical_assets.health.rules import (
    HealthStatus,
    check_availability,
    check_telemetry,
)
from gridloom.physical_assets.metadata.model import ContractMetadata, MarketMetadata
from gridloom.physical_assets.metadata.routes import InconsistentMetadata, check_metadata
from gridloom.physical_assets.model import AssetStatus, NewParameters
from gridloom.physical_assets.rules import (
    AssetNotActive,
    InconsistentParameters,
    InvalidCode,
    check_active,
    check_parameters,
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


class TestACodeOfTheMarket:
    def test_is_of_an_area_or_of_a_party(self) -> None:
        given: Any
        area, party = "10Y1001A1001A82H", "11XGRIDLOOM----" + eic_check_character("11XGRIDLOOM----")
        for name, pointer, good, bad in (
            ("bidding_zone", "/biddingZone", area, party),
            ("balancing_group", "/balancingGroup", party, area),
            ("market_participant_eic", "/marketParticipantEic", party, area),
        ):
            given = {name: good}
            check_metadata(MarketMetadata(**given))
            given = {name: bad}
            with pytest.raises(InvalidCode) as refused:
                check_metadata(MarketMetadata(**given))
            assert [error.pointer for error in refused.value.errors] == [pointer]


class TestAContract:
    def test_may_end_on_the_day_on_which_it_starts_and_no_earlier(self) -> None:
        day = date(2026, 2, 1)
        for starts_on, ends_on in ((day, day), (day, day + timedelta(days=1)), (None, day), (day, None)):
            check_metadata(ContractMetadata(starts_on=starts_on, ends_on=ends_on))
        with pytest.raises(InconsistentMetadata, match="ends on 2026-01-31"):
            check_metadata(ContractMetadata(starts_on=day, ends_on=day - timedelta(days=1)))


class TestABattery:
    def test_takes_schedules_and_bids_while_it_is_active(self) -> None:
        check_active(AssetStatus.ACTIVE)
        for status in (AssetStatus.INACTIVE, AssetStatus.DECOMMISSIONED):
            with pytest.raises(AssetNotActive, match=status):
                check_active(status)


class TestHealth:
    @pytest.mark.parametrize(
        ("lost", "status", "able"),
        [
            ((0, 0, 0), HealthStatus.OK, "1000 kW of 1000 kW can be imported, 1200 kW of 1200 kW exported."),
            ((0, 0, 1), HealthStatus.DEGRADED, "1000 kW of 1000 kW can be imported, 1200 kW of 1200 kW exported."),
            ((400, 0, 0), HealthStatus.DEGRADED, "600 kW of 1000 kW can be imported, 1200 kW of 1200 kW exported."),
            ((0, 1200, 0), HealthStatus.DEGRADED, "1000 kW of 1000 kW can be imported, 0 kW of 1200 kW exported."),
            ((1000, 0, 0), HealthStatus.DEGRADED, "0 kW of 1000 kW can be imported, 1200 kW of 1200 kW exported."),
            ((1000, 1200, 0), HealthStatus.DOWN, "0 kW of 1000 kW can be imported, 0 kW of 1200 kW exported."),
        ],
    )
    def test_is_degraded_by_lost_power_or_energy_and_down_without_any_power(
        self, lost: tuple[float, float, float], status: HealthStatus, able: str
    ) -> None:
        now = datetime(2026, 6, 1, 12, tzinfo=UTC)
        outage = CapacityOutage(now, now + PERIOD, *lost)
        found = check_availability(availability_at([Rating(now, 1000, 1200, 2000)], [outage], now))
        assert (found.status, found.detail) == (status, able)

    def test_says_since_when_nothing_was_measured(self) -> None:
        now = datetime(2026, 6, 1, 12, tzinfo=UTC)
        stale = check_telemetry(LatestTelemetry(now - timedelta(hours=1), None), now)
        assert stale.detail.startswith("The last measurement is from 2026-06-01T11:00:00Z,")
        assert (check_telemetry(None, now).status, check_telemetry(None, now).detail) == (
            HealthStatus.UNKNOWN,
            "Nothing has ever been measured.",
        )


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
