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
    def live(self) -> Record:
        """Whether the process answers.

        Uses no dependency: it answers whatever the state of the database.
        """

    @operation("GET", "/health/ready")
    def ready(self) -> Record:
        """Whether the service can do its work.

        One check for each part, with what is wrong with it. 503 only while this replica cannot serve: the database does
        not answer, nothing can be written, migrations are missing, or the replica is stopping. Anything else that is
        wrong (job runner, event sequencer, webhooks, disk, read replicas, worker nodes, revocations) is `DEGRADED` with
        a 200. It answers within two seconds, whatever hangs. Which release of PostgreSQL runs, and at which addresses
        worker nodes are missing, is shown to the operator only.

        Note:
            Raises UnavailableError until database, migrations and jobs are in order.
        """

    @operation("GET", "/metrics")
    def metrics(self) -> bytes:
        """Figures for Prometheus.

        Needs the token in `GRIDLOOM_METRICS_TOKEN` as Bearer; without that setting there is nothing here.
        """

    @operation("GET", "/openapi.json")
    def interface(self) -> Record:
        """This interface as OpenAPI 3.1.0.

        The OpenAPI document, the same for every caller.
        """

    @operation("GET", "/.well-known/security.txt")
    def security_contact(self) -> bytes:
        """Read the contact for reports of vulnerabilities.

        RFC 9116. `GRIDLOOM_SECURITY_CONTACT` names the contact; otherwise it is the project's policy.
        """

    @operation("GET", "/")
    def home(self) -> Record:
        """Read the index of the service.

        A browser that asks for a page is led to the console instead.
        """

    @operation("POST", "/console/session")
    def begin_console_session(
        self,
        username: str | None = None,
        password: str | None = None,
        challenge: str | None = None,
        code: str | None = None,
    ) -> None:
        """Sign in to the console.

        Sets a cookie that only the console's gateway takes. The tokens behind it stay in the service. Takes a user name
        and a password or, where these were answered with a challenge, the challenge and a code. The session ends after
        two idle hours, and after twelve hours in any case.

        Args:
            username: User name, in any case of its letters
            password: Password of the user
            challenge: Instead of user name and password: of the 401 `second-factor-required`; valid for five minutes
            code: With a challenge: a one-time code of the device, or a recovery code
        """

    @operation("GET", "/console/session")
    def console_session(self) -> Record:
        """Read the session of the console.

        The person behind the cookie, with what they may do now.
        """

    @operation("DELETE", "/console/session")
    def end_console_session(self) -> None:
        """Sign out of the console.

        Ends this login: the cookie and the tokens behind it stop working everywhere within a second.
        """

    @operation("GET", "/docs")
    def documentation(self) -> bytes:
        """This interface as a page.

        Renders the OpenAPI document. Loads nothing from another host.
        """

    @operation("GET", "/docs/assets/{assetName}")
    def documentation_asset(self, asset_name: str) -> bytes:
        """A script, style or picture of the documentation.

        Files that the page at `/docs` loads.

        Args:
            asset_name: Name of a file that the documentation loads
        """

    @operation("GET", "/docs/problems")
    def problems(self) -> bytes:
        """Every problem type.

        Each with its status and a link to its explanation.
        """

    @operation("GET", "/docs/problems/{problemName}")
    def problem(self, problem_name: str) -> bytes:
        """Explain a problem type.

        A problem's `type` leads here.

        Args:
            problem_name: The last part of a problem's `type`
        """


class Sandbox(Resource[M]):
    """There only in the sandbox: elsewhere these raise NotFoundError."""

    @operation("GET", "/sandbox/clock")
    def clock(self) -> Clock:
        """Read the platform's clock.

        The platform's clock. While a request moves it, `walk` says to which instant.
        """

    @operation("PUT", "/sandbox/clock")
    def set_clock(self, *, now: datetime | None = None, advance: str | None = None) -> Clock:
        """Move the platform's clock forward.

        All that is due on the way (auctions opening, closing and clearing, gates closing) happens in order before this
        answers; where a simulator runs, it simulates every quarter-hour on the way. One call moves the clock by at most
        31 days. Callers that may only read cannot move it; where the sandbox is set so, only the operator's members
        can.

        Args:
            now: Instant to which the clock is moved
            advance: Span by which the clock is moved, as an ISO 8601 duration

        Note:
            Forward to a time, or by an ISO 8601 duration such as `PT1H`, at most 31 days; what falls due meanwhile
            happens in order.
        """

    @operation("DELETE", "/sandbox/clock/walk")
    def stop_clock_walk(self) -> None:
        """Stop the clock on its way.

        By the operator's people: the move of the clock that is under way ends at the next instant at which something
        falls due, and what was due until then has happened. The request that moves the clock answers 409
        `clock-walk-stopped`; from there the clock goes on at its usual pace.

        Note:
            Operator only: end the move of the clock that is under way; NotFoundError without one.
        """

    @operation("POST", "/sandbox/reset")
    def reset(self) -> None:
        """Reset the sandbox.

        Removes every organisation but the operator's, all assets, auctions and figures, and puts the clock back to the
        real time. The operator's people and sign-ins stay, and so does the audit log. Where a simulator runs, the same
        world begins anew, thirty days back.
        """

    @operation("GET", "/sandbox/simulator")
    def simulator(self) -> Simulator:
        """Read the state of the simulator.

        `progress` reaches 1 when the world's past has been lived through; from then on the clock goes at `speed`.
        """

    @operation("PUT", "/sandbox/simulator")
    def steer(
        self,
        *,
        running: bool | None = None,
        seed: int | None = None,
        speed: float | None = None,
        failures: Sequence[Failure] | Sequence[Mapping[str, Any]] | None = None,
    ) -> Simulator:
        """Steer the simulator.

        By the operator's people; what is left out stays. Paused, the world idles while the clock runs on at the real
        one's pace; it makes up for what it missed. A new seed holds for the market days whose prices are not published
        yet, and for the next reset. Where the sandbox was in use before its simulator was switched on, `running` has
        the world begin, without a past, at the present time of the clock. `failures` lists what fails on purpose, in
        place of those ordered before; the past of such a failure stays. One that is announced its owner announces at
        once; the others are seen by what is measured, and by what is not delivered.

        Args:
            running: Whether the simulated world moves
            seed: Seed of the random numbers of market days to come
            speed: Platform time ÷ real time: 1 is real time, 96 a day in a quarter of an hour
            failures: Failures on purpose from now on, in place of those that were ordered before

        Note:
            Operator only: pause it, give it another speed (1 is real time), another seed for the days to come, or have
            batteries fail on purpose, in place of those that were ordered before.
        """

    @operation("PUT", "/sandbox/simulator/step")
    def step(
        self,
        *,
        world: int | None = None,
        done: datetime | None = None,
        memory: Mapping[str, Any] | None = None,
        reported_until: datetime | None = None,
    ) -> SimulatorStep:
        """Complete a quarter-hour and wait for the next.

        For the simulator, as a member of the operator's organisation. The clock goes on to the next quarter-hour once
        the last one is done, and this answers when it is there, or after 20 seconds without. What is said to be done
        twice, or of another world, changes nothing. While time hurries, `done` may lie ahead, before `hurriesUntil`:
        the clock does not wait at quarter-hours in which the simulator has nothing to do. One member at a time takes
        part; others stand by until it has been silent for a minute.

        Args:
            world: Number of the world in this sandbox: each reset begins another
            done: The quarter-hour that is done
            memory: State that the simulator gets back after a restart
            reported_until: `now` of the last response, where all that was measured until then is reported
        """
