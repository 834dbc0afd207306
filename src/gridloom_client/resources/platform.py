"""The service itself, and the sandbox's clock and world."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gridloom_client.answers import Clock, Simulator, SimulatorStep
from gridloom_client.inputs import Failure
from gridloom_client.operations import M, Resource, operation
from gridloom_client.response_types import Record


class Platform(Resource[M]):
    """The service itself."""

    @operation("GET", "/health/live")
    def live(self) -> Record: ...

    @operation("GET", "/health/ready")
    def ready(self) -> Record:
        """Raises UnavailableError until database, migrations and jobs are in order."""

    @operation("GET", "/metrics")
    def metrics(self) -> bytes:
        """In Prometheus's text format, where the service shows them to the caller."""

    @operation("GET", "/openapi.json")
    def interface(self) -> Record:
        """OpenAPI 3.1."""

    @operation("GET", "/.well-known/security.txt")
    def security_contact(self) -> bytes:
        """The contact for reports of vulnerabilities."""

    @operation("GET", "/")
    def home(self) -> Record:
        """The index of the service."""

    @operation("POST", "/console/session")
    def begin_console_session(
        self,
        username: str | None = None,
        password: str | None = None,
        challenge: str | None = None,
        code: str | None = None,
    ) -> None:
        """Signs a browser in to the console: the answer sets a cookie. Programs use tokens or API keys instead."""

    @operation("GET", "/console/session")
    def console_session(self) -> Record:
        """Whose cookie it is."""

    @operation("DELETE", "/console/session")
    def end_console_session(self) -> None: ...

    @operation("GET", "/docs")
    def documentation(self) -> bytes: ...

    @operation("GET", "/docs/assets/{assetName}")
    def documentation_asset(self, asset_name: str) -> bytes: ...

    @operation("GET", "/docs/problems")
    def problems(self) -> bytes:
        """The problem types and their meanings."""

    @operation("GET", "/docs/problems/{problemName}")
    def problem(self, problem_name: str) -> bytes: ...


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
    def steer(
        self,
        *,
        running: bool | None = None,
        seed: int | None = None,
        speed: float | None = None,
        failures: Sequence[Failure] | Sequence[Mapping[str, Any]] | None = None,
    ) -> Simulator:
        """Operator only: pause it, give it another speed (1 is real time), another seed for the days to come, or have
        batteries fail on purpose, in place of those that were ordered before."""

    @operation("PUT", "/sandbox/simulator/step")
    def step(
        self,
        *,
        world: int | None = None,
        done: datetime | None = None,
        memory: Mapping[str, Any] | None = None,
        reported_until: datetime | None = None,
    ) -> SimulatorStep:
        """For a simulator: say that a quarter-hour is done, and wait for the next."""
