"""Where a simulated world's clock goes next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gridloom.sandbox.simulation import Idle, JumpTo, RunUntil, Simulation, next_move, start_of_history

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
    def test_flows_with_real_time_up_to_the_next_quarter_hour(self):
        assert next_move(LIVE) == RunUntil(timedelta(), NOON + QUARTER, 900)

    def test_in_history_jumps_from_quarter_to_quarter_until_the_present(self):
        past = replace(LIVE, history_complete=False, real=NOON + timedelta(minutes=20))
        assert next_move(past) == JumpTo(NOON + QUARTER)
        assert next_move(replace(past, step=NOON + QUARTER, now=NOON + QUARTER)) == Idle()

    def test_in_history_arrives_at_the_very_present(self):
        past = replace(LIVE, history_complete=False, real=NOON + QUARTER)
        assert next_move(past) == JumpTo(NOON + QUARTER)
        assert next_move(replace(past, real=past.real - MICROSECOND)) == Idle()

    def test_hurries_to_what_was_asked_for_but_waits_at_each_quarter_hour(self):
        assert next_move(replace(LIVE, target=NOON + timedelta(hours=3))) == JumpTo(NOON + QUARTER)
        assert next_move(replace(LIVE, target=NOON + timedelta(minutes=4))) == JumpTo(NOON + timedelta(minutes=4))

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

    def test_catches_up_with_what_the_wait_has_cost(self):
        waited = replace(LIVE, real=NOON + timedelta(seconds=40))
        assert next_move(waited) == JumpTo(NOON + timedelta(seconds=40))

    def test_runs_by_itself_where_it_lags_by_a_second_at_most(self):
        lag = replace(LIVE, real=NOON + timedelta(seconds=1))
        assert next_move(lag) == RunUntil(timedelta(), NOON + QUARTER, 899)
        assert next_move(replace(lag, real=lag.real + MICROSECOND)) == JumpTo(lag.real + MICROSECOND)

    def test_goes_to_the_quarter_hour_and_waits_there_once_its_time_has_come(self):
        just_before = replace(LIVE, now=NOON + QUARTER - MICROSECOND)
        assert next_move(replace(just_before, real=NOON + QUARTER)) == JumpTo(NOON + QUARTER)
        assert next_move(replace(just_before, real=NOON + 3 * QUARTER)) == JumpTo(NOON + QUARTER)

    def test_runs_as_far_ahead_of_the_real_clock_as_it_was_set(self):
        ahead = replace(LIVE, anchor_real=NOON - timedelta(days=2), real=NOON - timedelta(days=2))
        assert next_move(ahead) == RunUntil(timedelta(days=2), NOON + QUARTER, 900)

    def test_forgets_what_was_asked_for_when_it_is_there(self):
        assert next_move(replace(LIVE, target=NOON)) == next_move(LIVE)
        assert next_move(replace(LIVE, target=NOON + MICROSECOND)) == JumpTo(NOON + MICROSECOND)

    def test_at_another_speed_never_goes_back_and_ticks_less_than_a_second_before_the_quarter_hour(self):
        late = replace(LIVE, speed=96, real=NOON + timedelta(seconds=9), now=NOON + timedelta(seconds=870))
        assert next_move(late) == JumpTo(NOON + timedelta(seconds=870), 0.375)

    def test_is_a_jump_where_it_is_longer_than_half_a_minute_by_its_speed(self):
        for speed, longest_s in ((0.5, 30), (1, 30), (4, 120)):
            state, longest = replace(LIVE, speed=speed), timedelta(seconds=longest_s)
            assert not state.has_jumped_to(NOON + longest)
            assert state.has_jumped_to(NOON + longest + MICROSECOND)

    def test_is_unknown_to_a_simulator_that_reported_less_than_where_the_clock_has_arrived(self):
        arrived = replace(LIVE, anchor_platform=NOON, now=NOON + timedelta(seconds=1))
        assert arrived.has_arrived_since(NOON - timedelta(seconds=1))
        assert not arrived.has_arrived_since(NOON - timedelta(milliseconds=1)), "responses have whole milliseconds"
        assert replace(arrived, now=NOON).has_arrived_since(NOON - timedelta(seconds=1)), "just there"
        assert not replace(arrived, now=NOON - QUARTER).has_arrived_since(NOON - timedelta(hours=1)), "not there yet"

    def test_hands_out_the_latest_quarter_hour_that_was_passed_without_the_simulator(self):
        missed = replace(LIVE, now=NOON + timedelta(hours=2, minutes=7))
        assert missed.next_step == NOON + timedelta(hours=2)
        assert next_move(missed) == JumpTo(missed.now)

    def test_awaits_the_simulator_of_a_running_world_alone(self):
        cases = {(True, False): True, (True, True): False, (False, False): False, (False, True): False}
        for (running, is_done), awaits in cases.items():
            assert replace(LIVE, running=running, is_done=is_done).awaits_simulator is awaits


class TestTheStartOfHistory:
    def test_is_of_the_day_that_the_wall_clock_shows(self):
        assert start_of_history(datetime(2026, 3, 2, 23, 30, tzinfo=UTC), 1) == datetime(2026, 3, 1, 23, tzinfo=UTC)

    def test_is_the_beginning_of_a_market_day(self):
        assert start_of_history(NOON, 30) == datetime(2026, 1, 30, 23, tzinfo=UTC)
        assert start_of_history(datetime(2026, 4, 1, 12, tzinfo=UTC), 5) == datetime(2026, 3, 26, 23, tzinfo=UTC)


class TestTheTimeUntilHistoryIsComplete:
    def test_follows_the_pace_so_far(self):
        """Ten days of thirty in forty seconds: eighty more for the other twenty."""
        start = NOON - timedelta(days=30)
        third = replace(
            LIVE,
            history_complete=False,
            anchor_platform=start,
            now=start + timedelta(days=10),
            anchor_real=NOON - timedelta(seconds=40),
        )
        assert third.history_left_s == 80

    def test_is_unknown_after_the_first_quarter_hour_which_takes_long(self):
        begun = replace(
            LIVE,
            history_complete=False,
            anchor_platform=NOON - timedelta(minutes=15),
            anchor_real=NOON - timedelta(seconds=10),
        )
        assert begun.history_left_s is None
        a_while = replace(begun, anchor_platform=NOON - timedelta(hours=6), real=NOON + timedelta(hours=3))
        assert a_while.history_left_s == 5405, "half of three hours and ten seconds"
        assert replace(a_while, running=False).history_left_s is None
        assert replace(a_while, anchor_real=a_while.real).history_left_s is None
        assert replace(a_while, now=a_while.real).history_left_s == 0

    def test_is_unknown_before_it_moves_and_none_when_it_is_complete(self):
        assert LIVE.history_left_s is None
        assert replace(LIVE, history_complete=False).history_left_s is None


class TestProgress:
    def test_is_the_share_of_the_past_that_was_lived_through(self):
        half = replace(LIVE, history_complete=False, start=NOON - QUARTER, real=NOON + QUARTER)
        assert (half.progress, LIVE.progress) == (0.5, 1.0)
        assert replace(half, now=NOON - timedelta(hours=1)).progress == 0.0
        assert replace(half, now=NOON + timedelta(hours=1)).progress == 1.0
        assert replace(half, real=half.start).progress == 1.0, "there is no past"
        assert replace(half, history_complete=True).progress == 1.0
