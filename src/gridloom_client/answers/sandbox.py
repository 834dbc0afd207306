"""Answers of the sandbox."""

from __future__ import annotations

from datetime import datetime

from gridloom_client.answers.answered import Answered, Record


class ClockWalk(Answered):
    """A move of the clock that is under way."""

    target: datetime


class Clock(Answered):
    """`walk` is there while the clock is being moved."""

    now: datetime
    walk: ClockWalk | None = None


class Simulator(Answered):
    """`progress` reaches 1 when the world's past has been lived through, in about `history_seconds_left`; `fault` says
    why it stands still."""

    running: bool
    seed: int
    speed: float
    now: datetime
    history_complete: bool
    progress: float
    history_seconds_left: int | None = None
    fault: str | None = None


class SimulatorStep(Answered):
    """The quarter-hour that awaits the simulator; none where nothing happens for now."""

    world: int
    seed: int
    start: datetime
    now: datetime
    speed: float
    history_complete: bool
    hurrying: bool
    hurries_until: datetime | None = None
    step: datetime | None = None
    memory: Record | None = None
