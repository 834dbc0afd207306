"""Windows, powers, shares and gates at their very limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.market_time import period_number
from gridloom.kernel.problem import BadRequest
from gridloom.virtual_assets.rules import (
    MAX_LIFETIME,
    check_rated,
    check_window,
    find_share_errors,
    first_open_period,
    gate_closes_at,
    periods_between,
    requested_periods,
)

pytestmark = pytest.mark.pure

NOON = datetime(2026, 6, 18, 12, tzinfo=UTC)
NOW = NOON + timedelta(minutes=7)
HOUR, QUARTER, SECOND = timedelta(hours=1), timedelta(minutes=15), timedelta(seconds=1)
FIRST = period_number(NOON)


def pointers(refusal: pytest.ExceptionInfo[BadRequest]) -> list[str]:
    return [error.pointer for error in refusal.value.errors]


class TestAWindow:
    @pytest.mark.parametrize("end", [NOON, NOON - QUARTER, NOON + MAX_LIFETIME + QUARTER])
    def test_that_is_empty_turned_round_or_too_long_is_refused_by_its_end(self, end: datetime) -> None:
        with pytest.raises(BadRequest) as refusal:
            check_window(NOON, end, prefix="/body/")
        assert pointers(refusal) == ["/body/end"]
        with pytest.raises(BadRequest) as refusal:
            periods_between(NOON, end)
        assert pointers(refusal) == ["query:end"]

    def test_of_ten_years_or_one_quarter_hour_is_none_too_long_or_short(self) -> None:
        check_window(NOON, NOON + MAX_LIFETIME)
        check_window(NOON, NOON + QUARTER)
        assert periods_between(NOON, NOON + MAX_LIFETIME) == (FIRST, FIRST + 3660 * 96)

    def test_off_the_grid_is_refused_by_either_side_where_the_grid_counts(self) -> None:
        for start, end, named in (
            (NOON + SECOND, NOON + HOUR, ["/start"]),
            (NOON, NOON + HOUR + SECOND, ["/end"]),
            (NOON + SECOND, NOON + HOUR + SECOND, ["/start", "/end"]),
        ):
            with pytest.raises(BadRequest) as refusal:
                check_window(start, end)
            assert pointers(refusal) == named
            check_window(start, end, on_grid=False)

    def test_holds_the_periods_that_start_in_it(self) -> None:
        assert periods_between(NOON, NOON + HOUR) == (FIRST, FIRST + 4)
        assert periods_between(NOON + SECOND, NOON + HOUR + SECOND) == (FIRST + 1, FIRST + 5)

    def test_left_open_reaches_from_a_day_before_now_to_two_days_after_it_or_its_start(self) -> None:
        assert requested_periods(None, None, NOW) == (FIRST - 95, FIRST + 193)
        assert requested_periods(NOON - HOUR, None, NOW) == (FIRST - 4, FIRST + 193)
        assert requested_periods(NOON + HOUR, None, NOW) == (FIRST + 4, FIRST + 4 + 192)
        assert requested_periods(None, NOON, NOW) == (FIRST - 95, FIRST)


class TestAnAsset:
    def test_has_the_part_of_a_range_that_lies_within_its_life(self) -> None:
        asset = asset_of_five_days()
        first, end = asset.periods
        for asked, found in (
            ((first - 5, first + 5), (first, first + 5)),
            ((end - 5, end + 5), (end - 5, end)),
            ((first + 1, end - 1), (first + 1, end - 1)),
            ((first - 5, first - 1), (first, first)),
            ((end + 1, end + 5), (end, end)),
        ):
            assert asset.clip(*asked) == found

    def test_has_power_in_one_direction_at_least(self) -> None:
        check_rated(1.0, 0.0)
        check_rated(0.0, 1.0)
        with pytest.raises(BadRequest):
            check_rated(0.0, 0.0)


class TestShares:
    ONE, OTHER = UUID(int=1), UUID(int=2)

    @pytest.mark.parametrize("other", [0.75, 0.75 + 9e-10, 0.75 - 9e-10])
    def test_may_miss_a_whole_by_a_hair(self, other: float) -> None:
        assert find_share_errors([(self.ONE, 0.25), (self.OTHER, other)]) == []

    @pytest.mark.parametrize("other", [0.75 + 2e-9, 0.75 - 2e-9, 0.25])
    def test_may_not_miss_it_by_more(self, other: float) -> None:
        assert [fault.pointer for fault in find_share_errors([(self.ONE, 0.25), (self.OTHER, other)])] == ["/backing"]

    def test_name_each_battery_once_and_say_no_more_where_they_do_not(self) -> None:
        faults = find_share_errors([(self.ONE, 0.25), (self.OTHER, 0.5), (self.ONE, 0.5)])
        assert [fault.pointer for fault in faults] == ["/backing/2/physicalAssetID"]


class TestAGate:
    @pytest.mark.parametrize("gate_closure_s", [0, 300, 3600])
    def test_is_closed_from_its_very_instant_on(self, gate_closure_s: int) -> None:
        closes = gate_closes_at(FIRST, gate_closure_s)
        assert closes == NOON - timedelta(seconds=gate_closure_s)
        assert first_open_period(closes - timedelta(microseconds=1), gate_closure_s) == FIRST
        assert first_open_period(closes, gate_closure_s) == FIRST + 1
