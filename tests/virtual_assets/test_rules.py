"""Windows, powers, shares and gates at their very limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

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
)

pytestmark = pytest.mark.pure

NOON = datetime(2026, 6, 18, 12, tzinfo=UTC)
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


class TestAnAsset:
    def test_has_power_in_one_direction_at_least(self) -> None:
        check_rated(1.0, 0.0)
        check_rated(0.0, 1.0)
        with pytest.raises(BadRequest):
            check_rated(0.0, 0.0)


class TestShares:
    ONE, OTHER = UUID(int=1), UUID(int=2)

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
