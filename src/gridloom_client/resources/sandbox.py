"""The sandbox's clock."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gridloom_client.answers import Clock, Simulator, SimulatorStep
from gridloom_client.operations import M, Resource, operation


class Sandbox(Resource[M]):
    """There only in the sandbox: elsewhere these raise NotFoundError."""

    @operation("GET", "/sandbox/clock")
    def clock(self) -> Clock: ...

    @operation("PUT", "/sandbox/clock")
    def set_clock(self, *, now: datetime | None = None, advance: str | None = None) -> Clock:
        """Forward to a time, or by an ISO 8601 duration such as `PT1H`, at most 31 days; what falls due meanwhile
        happens in order."""

    @operation("DELETE", "/sandbox/clock/walk")
    def stop_clock_walk(self) -> None:
        """Operator only: end the move of the clock that is under way; NotFoundError without one."""

    @operation("POST", "/sandbox/reset")
    def reset(self) -> None:
        """Empty it; where a simulator runs, its world begins anew."""

    @operation("GET", "/sandbox/simulator")
    def simulator(self) -> Simulator:
        """How the simulated world is doing."""

    @operation("PUT", "/sandbox/simulator")
    def steer(self, *, running: bool | None = None, seed: int | None = None, speed: float | None = None) -> Simulator:
        """Operator only: pause it, give it another speed (1 is real time), or another seed for the days to come."""

    @operation("PUT", "/sandbox/simulator/step")
    def step(
        self,
        *,
        world: int | None = None,
        done: datetime | None = None,
        memory: Mapping[str, Any] | None = None,
    ) -> SimulatorStep:
        """For a simulator: say that a quarter-hour is done, and wait for the next."""
