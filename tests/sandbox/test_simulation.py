"""Where a simulated world's clock goes next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gridloom.sandbox.simulation import JumpTo, Simulation, next_move

pytestmark = pytest.mark.pure

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
MICROSECOND = timedelta(microseconds=1)
LIVE = Simulation(
    world=1,
    seed=1,
    running=True,
    speed=1,
    start=NOON - timedelta(days=30),
    step=NOON,
    is_done=True,
    history_complete=True,
    target=None,
    anchor_real=NOON,
    anchor_platform=NOON,
    now=NOON,
    real=NOON,
)


class TestTheNextMove:
    def test_hurries_up_to_the_very_quarter_hour_that_was_asked_for_and_not_into_the_next(self):
        arriving = replace(LIVE, target=NOON + QUARTER)
        assert (arriving.is_hurrying, arriving.hurries_until) == (True, NOON + QUARTER)
        within = replace(LIVE, target=NOON + timedelta(minutes=14))
        assert (within.is_hurrying, within.hurries_until) == (False, None)
        past = replace(LIVE, history_complete=False, real=NOON + QUARTER)
        assert (past.is_hurrying, past.hurries_until) == (True, NOON + QUARTER)
        further = replace(past, target=NOON + timedelta(minutes=47))
        assert (further.is_hurrying, further.hurries_until) == (True, NOON + 3 * QUARTER)
        assert not replace(past, real=past.real - MICROSECOND).is_hurrying

    def test_at_another_speed_goes_in_seconds(self):
        fast = replace(LIVE, speed=96, real=NOON + timedelta(seconds=2))
        assert next_move(fast) == JumpTo(NOON + timedelta(seconds=192), 1.0)
        assert next_move(replace(fast, real=NOON + timedelta(minutes=1))) == JumpTo(NOON + QUARTER)

    def test_goes_to_the_quarter_hour_and_waits_there_once_its_time_has_come(self):
        just_before = replace(LIVE, now=NOON + QUARTER - MICROSECOND)
        assert next_move(replace(just_before, real=NOON + QUARTER)) == JumpTo(NOON + QUARTER)
        assert next_move(replace(just_before, real=NOON + 3 * QUARTER)) == JumpTo(NOON + QUARTER)

    def test_at_another_speed_never_goes_back_and_ticks_less_than_a_second_before_the_quarter_hour(self):
        late = replace(LIVE, speed=96, real=NOON + timedelta(seconds=9), now=NOON + timedelta(seconds=870))
        assert next_move(late) == JumpTo(NOON + timedelta(seconds=870), 0.375)

    def test_hands_out_the_latest_quarter_hour_that_was_passed_without_the_simulator(self):
        missed = replace(LIVE, now=NOON + timedelta(hours=2, minutes=7))
        assert missed.next_step == NOON + timedelta(hours=2)
        assert next_move(missed) == JumpTo(missed.now)
