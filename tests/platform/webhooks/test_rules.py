"""The schedule of attempts: quick at first, patient later, three days in all."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.platform.webhooks.rules import MAX_DELIVERY_AGE, is_accepted, next_attempt

pytestmark = pytest.mark.pure

START = datetime(2026, 3, 29, tzinfo=UTC)


def schedule(spread: float) -> list[timedelta]:
    at, failures, attempts = START, 0, [timedelta()]
    while True:
        failures += 1
        upcoming = next_attempt(at, failures, START + MAX_DELIVERY_AGE, spread)
        if upcoming is None:
            return attempts
        assert upcoming > at, "it would be tried without end"
        at = upcoming
        attempts.append(at - START)


class TestTheSchedule:
    def test_is_the_documented_one(self) -> None:
        pauses = [later - earlier for earlier, later in zip(schedule(0), schedule(0)[1:], strict=False)]
        seconds = [5, 30, 120, 600, 1800, 3600, 7200, 14400, 21600, 28800, 43200, 43200, 43200]
        assert [pause.total_seconds() for pause in pauses[:13]] == seconds

    @pytest.mark.parametrize(("spread", "seconds"), [(-1, 108), (0, 120), (1, 132)])
    def test_is_spread_by_a_tenth_either_way(self, spread: float, seconds: int) -> None:
        assert next_attempt(START, 3, START + MAX_DELIVERY_AGE, spread) == START + timedelta(seconds=seconds)

    @given(st.floats(-1, 1))
    def test_ends_with_an_attempt_after_exactly_three_days(self, spread: float) -> None:
        attempts = schedule(spread)
        assert attempts[-1] == MAX_DELIVERY_AGE
        assert attempts == sorted(attempts)
        assert 14 <= len(attempts) <= 17


@pytest.mark.parametrize(
    ("status", "is_taken"),
    [(200, True), (204, True), (299, True), (199, False), (300, False), (302, False), (500, False)],
)
def test_a_call_is_accepted_by_an_answer_of_success_alone(status: int, is_taken: bool):
    assert is_accepted(status) is is_taken
