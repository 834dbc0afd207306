"""Where the clock of a simulated world goes next, and when. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gridloom.kernel.market_time import PERIOD, floor_to_period, market_day_of, market_day_window

TICK_S = 1.0
"""How often the clock is moved within a quarter-hour, where it does not run by itself."""
MIN_LIVED = timedelta(hours=6)
"""Before a pace is known: the first quarter-hour takes longer than many after it."""
MAX_TICK = timedelta(seconds=30)
"""The clock's largest advance between two polls, at speed 1."""
RUN_IMMEDIATELY = timedelta(seconds=TICK_S)
"""A larger lag is fast-forwarded, with due jobs run at their instants."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The state of the simulated world at one instant."""

    world: int
    seed: int
    running: bool
    speed: float
    start: datetime
    step: datetime
    is_done: bool
    history_complete: bool
    target: datetime | None
    anchor_real: datetime
    anchor_platform: datetime
    now: datetime
    """On the platform's clock."""
    real: datetime
    fault: str | None = None
    """Why no simulator takes part, where it was not let in."""
    failures: Sequence[dict[str, Any]] = ()
    """Failures on purpose, as the operator has ordered them."""

    @property
    def awaits_simulator(self) -> bool:
        return self.running and not self.is_done

    @property
    def next_step(self) -> datetime:
        """The quarter-hour at which the clock waits next; one that it has passed without the simulator is made up
        for."""
        return max(self.step + PERIOD, floor_to_period(self.now))

    @property
    def is_hurrying(self) -> bool:
        """Whether time is passed as fast as it goes until the next quarter-hour: in history, and on the way to a
        requested instant."""
        after = self.step + PERIOD
        return (not self.history_complete and after <= self.real) or (self.target is not None and after <= self.target)

    @property
    def hurries_until(self) -> datetime | None:
        """The last quarter-hour until which time is hurrying, where it is."""
        goals = [] if self.history_complete else [self.real]
        goals += [] if self.target is None else [self.target]
        return floor_to_period(max(goals)) if self.is_hurrying else None

    def has_jumped_to(self, now: datetime) -> bool:
        """Whether the clock has gone further since than it goes by itself between two ticks."""
        return now - self.now > MAX_TICK * max(1.0, self.speed)

    def has_arrived_since(self, reported_until: datetime) -> bool:
        """Whether a simulator that has reported until then does not know where the clock has arrived. (Responses have
        whole milliseconds.)"""
        return reported_until + timedelta(milliseconds=1) < self.anchor_platform <= self.now

    @property
    def progress(self) -> float:
        if self.history_complete or self.real <= self.start:
            return 1.0
        return max(0.0, min(1.0, (self.now - self.start) / (self.real - self.start)))

    @property
    def history_left_s(self) -> float | None:
        """Real seconds until the past has been lived through, at the pace since the world began or the service
        started; None where it is complete, or its pace is not known yet."""
        lived, took = self.now - self.anchor_platform, self.real - self.anchor_real
        if self.history_complete or not self.running or lived < MIN_LIVED or took <= timedelta():
            return None
        return max(0.0, (self.real - self.now) / lived * took.total_seconds())

    @property
    def position(self) -> datetime:
        """The clock by its speed alone, without waiting for the simulator."""
        return self.anchor_platform + (self.real - self.anchor_real) * self.speed


@dataclass(frozen=True, slots=True)
class Idle:
    """History has reached the present."""


@dataclass(frozen=True, slots=True)
class JumpTo:
    """Take the clock there now; then poll after the pause."""

    to: datetime
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RunUntil:
    """Let the clock run at the real one's pace, `ahead` of it, until the instant at which it waits."""

    ahead: timedelta
    until: datetime
    pause_s: float


def next_move(state: Simulation) -> Idle | JumpTo | RunUntil:
    """The clock's next move once the simulator has completed its quarter-hour."""
    goal = state.next_step
    if goal <= state.now:
        return JumpTo(state.now)
    if not state.history_complete:
        return JumpTo(goal) if goal <= state.real else Idle()
    if state.target is not None and state.target > state.now:
        return JumpTo(min(goal, state.target))
    if state.position >= goal:
        return JumpTo(goal)
    if state.speed == 1 and state.position > state.now + RUN_IMMEDIATELY:
        return JumpTo(state.position)
    left_s = (goal - state.position).total_seconds() / state.speed
    if state.speed == 1:
        return RunUntil(state.anchor_platform - state.anchor_real, goal, left_s)
    return JumpTo(max(state.position, state.now), min(TICK_S, left_s))


def start_of_history(now: datetime, days: int) -> datetime:
    """The beginning of the market day that many days ago."""
    return market_day_window(market_day_of(now) - timedelta(days=days)).start
