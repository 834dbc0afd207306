"""One life of the platform: a script lived step by step against the service, compared with the oracle as it goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from tests.simulation import canonical
from tests.simulation.actors.books import book_request
from tests.simulation.audits.whole import audit
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.consequences import Consequences
from tests.simulation.exploring import resolve_step
from tests.simulation.faults import FAULTS, STORM_S, disturb
from tests.simulation.judging import Judge
from tests.simulation.kinds import KINDS
from tests.simulation.market import berlin_day, quarter_of
from tests.simulation.model import World
from tests.simulation.oracle.clearing import settle
from tests.simulation.paging import compare_pages, is_paged
from tests.simulation.reach import Reach
from tests.simulation.service import Service
from tests.simulation.steps import Step
from tests.simulation.twists import change_body, is_changeable, is_repeatable, twist
from tests.simulation.versions import VERSIONED_EVERY, compare_versions, names_version
from tests.simulation.weather import calm

RESET_AFTER_STEPS = 250
"""Lives of so many steps end with a reset of the sandbox."""
POLL_INTERVAL_S = 0.02
MAX_BOOK, MAX_BOOK_BEFORE = 200, 8
"""Quarter-hours of a battery's book that are read after a change of it, and how many of them before now."""
REVOKED_WITHIN_S = 1.0
ENDS_WITH_TIME = frozenset({"createBacktest"})
"""What was asked for before may have ended meanwhile, so that a share is not used up."""
UNTRACED = frozenset(
    {
        "followEvents",
        "followDatapoints",
        "readStatementRun",
        "listBacktests",
        "readBacktest",
        "listBacktestDays",
        "readOptimisation",
        "listWebhookDeliveries",
        "replayWebhookDelivery",
        "readUsage",
        "readKeySet",
    }
)
"""How often they are read, where a stream ends and how far a job has come is a matter of time; keys are random."""


@dataclass
class Life:
    """The service, the model of it, and everything that was said."""

    service: Service
    world: World
    reach: Reach = field(default_factory=Reach)
    taken: list[Step] = field(default_factory=list)
    """The script as it was lived, with what explore steps came to."""
    spoken: list[Request] = field(default_factory=list)
    is_traced: bool = False
    trace: list[str] = field(default_factory=list)
    said_before: list[tuple[Request, Any]] = field(default_factory=list)
    consequences: Consequences = field(default_factory=Consequences)
    audited: date = date.min
    next_audit: int = 0
    steps_between_audits: int = 40
    versioned: set[str] = field(default_factory=set)
    """Operations whose change was compared with what is read afterwards."""
    stormy_until: float = 0.0
    """Until when a fault may last, on the monotonic clock."""

    def __post_init__(self) -> None:
        self.world.compared = self.reach.invariants
        self.judge = Judge(self.reach.invariants)

    async def live(self, script: Sequence[Step], survived: list[Finding] | None = None) -> None:
        """Through all steps; a broken promise is raised as a Finding, or noted in `survived`, and life goes on."""
        self.audited = berlin_day(self.world.now)
        self.steps_between_audits = KINDS[script[0].kind].steps_between_audits
        for number, step in enumerate(script):
            try:
                async with calm() as is_disturbed:
                    if is_disturbed:
                        self.stormy_until = time.monotonic() + STORM_S
                    await self.take(step, number)
                    await self.resolve_doubts()
                    await self.compare_touched()
                    await self.await_runs()
                    await self.audit_at_midnight(is_end=number == len(script) - 1)
            except Finding as finding:
                if survived is None:
                    raise
                survived.append(finding)
        if len(script) >= RESET_AFTER_STEPS:
            async with calm() as is_disturbed:
                if is_disturbed:
                    self.stormy_until = time.monotonic() + STORM_S
                await self.start_over()

    async def start_over(self) -> None:
        """The sandbox is reset: nothing is left of the life but the operator."""
        operator = self.world.operator.admin
        await self.ask(Request("resetSandbox", operator, "POST", "/sandbox/reset", expect=204))
        for operation, path in (("listPhysicalAssets", "/physical-assets"), ("listAuctions", "/auctions")):
            request = Request(operation, operator, "GET", path, expect=200)
            answer = await self.ask(request)
            if answer.body:
                raise Finding("reset", "nothing is left", request, answer)
        request = Request("readMe", self.world.traders[0].admin, "GET", "/auth/me", expect=401)
        await self.ask(request)

    async def audit_at_midnight(self, *, is_end: bool) -> None:
        today = berlin_day(self.world.now)
        is_due = today != self.audited and self.reach.steps >= self.next_audit
        if is_due or is_end:
            self.audited, self.next_audit = today, self.reach.steps + self.steps_between_audits
            await audit(self, is_end=is_end)

    async def take(self, step: Step, number: int) -> None:
        self.reach.steps += 1
        self.taken.append(step)
        if step.action in FAULTS:
            self.reach.twists[step.action] += 1
            await disturb(self, step, number)
            return
        step, request = resolve_step(step, self.world, self.reach)
        self.taken[-1] = replace(step, is_fixed=True)
        if request is None:
            return
        self.reach.meetings.update(request.met)
        twisted = twist(request, step, self.world, number)
        if twisted is not None:
            self.reach.twists[step.twist] += 1
            await self.ask(twisted)
            return
        if step.twist == "by pages" and is_paged(request):
            self.reach.twists[step.twist] += 1
            await compare_pages(self, request, size=1 + number % 3)
            return
        if step.twist in ("repeated", "other body") and is_repeatable(request):
            self.reach.twists[step.twist] += 1
            await self.ask_again(request, step, number)
            return
        if len(self.service.edges) == 1 and names_version(request):  # two edges are there for faults
            is_first = request.operation not in self.versioned
            if is_first or number % VERSIONED_EVERY == 1:
                self.versioned.add(request.operation)
                await compare_versions(self, request)
                return
        await (self.repeat_until_refused(request) if request.floods else self.ask(request))

    async def repeat_until_refused(self, request: Request) -> None:
        """As often as it takes to use up a share; all at once where what was begun ends by itself."""
        if request.operation in ENDS_WITH_TIME:
            await asyncio.gather(*(self.ask(request) for _ in range(request.floods)))
            return
        for _ in range(request.floods):
            if (await self.ask(request)).problem == request.aim:
                return
        raise Finding("shares", f"{request.aim} after {request.floods} requests", request)

    async def resolve_doubts(self) -> None:
        """Whether auctions that closed half deliverable were cleared or cancelled."""
        while self.world.doubtful:
            auction = self.world.auctions[self.world.doubtful.pop()]
            path = f"/auctions/{auction.id}"
            answer = await self.ask(Request("readAuction", self.world.operator.trader, "GET", path, expect=200))
            settle(auction, is_deliverable=answer.body["state"] == "CLEARED")

    async def compare_touched(self) -> None:
        """The book of batteries in which this step has taken something or given it back."""
        now, touched = quarter_of(self.world.now), self.world.touched
        while touched:
            name, (first, end) = touched.popitem()
            first = max(first - 1, now - MAX_BOOK_BEFORE)
            if first < end:
                self.world.compared["book after a change"] += 1
                end = min(end + 1, first + MAX_BOOK)
                await self.ask(book_request(self.world, self.world.batteries[name], first, end))

    async def await_runs(self) -> None:
        """Statements are issued by a job; a life goes on when it has ended."""
        for run in self.world.runs:
            path = f"/statements/runs/{run.id}"
            request = Request("readStatementRun", self.world.operator.trader, "GET", path, expect=200)
            while run.status == "RUNNING":
                run.status = (await self.ask(request)).body["status"]
                await asyncio.sleep(POLL_INTERVAL_S if run.status == "RUNNING" else 0)
            if run.status == "FAILED":
                raise Finding("statements", f"{run.month} issued", request, None)

    async def send(self, request: Request, edge: int = 0) -> Answer:
        self.spoken.append(request)
        if self.is_traced:
            await self.make_repeatable(request)
        begun_cpu_s = time.process_time()
        answer = await self.service.call(
            request.method,
            request.path,
            token=request.by.token,
            query=request.query,
            body=request.body,
            headers=request.headers,
            edge=edge,
        )
        self.reach.calls += 1
        spent_s = time.process_time() - begun_cpu_s
        self.reach.service_cpu_s += spent_s
        self.reach.spent_ms[request.operation] += round(1000 * spent_s)
        if answer.is_good:
            self.reach.operations[request.operation] += 1
            self.consequences.note_change(request, answer)
        elif answer.problem:
            self.reach.problems[answer.problem] += 1
        if self.is_traced and request.operation not in UNTRACED:
            self.trace.append(canonical.describe(request, answer))
        return answer

    async def make_repeatable(self, request: Request) -> None:
        """What comes of a request must not depend on how fast this machine is: what earlier ones have made due has
        happened (two allocations in a row may have one run of their zone, or two), and the clock stands still."""
        await self.service.await_due_jobs()
        await (self.service.release_clock() if request.operation == "moveClock" else self.service.tick())

    async def ask(self, request: Request) -> Answer:
        """Send, compare the answer, take it into the model."""
        answer = await self.send_until_answered(request)
        self.take_answer(request, answer)
        return answer

    async def send_until_answered(self, request: Request) -> Answer:
        """Again while a fault lasts, and where rights have ended until every process knows it: within a second."""
        sent_at, answer = time.monotonic(), await self.send(request)
        while request.expect == 401 and answer.is_good and time.monotonic() < sent_at + REVOKED_WITHIN_S:
            await asyncio.sleep(0.05)
            answer = await self.send(request)
        is_meant = (answer.status, answer.problem) == request.expect
        while answer.status == 503 and not is_meant and time.monotonic() < self.stormy_until:  # nothing was changed
            await asyncio.sleep(0.1)
            answer = await self.send(request)
        return answer

    def take_answer(self, request: Request, answer: Answer) -> None:
        self.judge.judge_answer(request, answer)
        if answer.is_good:
            self.remember(request, answer)
        elif request.on_refusal is not None:
            request.on_refusal(answer)
        if answer.is_good and request.check is not None:
            self.reach.checks[request.operation] += 1
            try:
                request.check(answer)
            except AssertionError as error:
                raise Finding("oracle", str(error), request, answer) from None

    def remember(self, request: Request, answer: Answer) -> None:
        """A success that counts once."""
        self.judge.judge_id(request, answer)
        if request.on_success is None:
            return
        request.on_success(answer)
        self.consequences.note_events(request, answer)
        self.world.due_events |= set(request.hints)

    async def ask_again(self, request: Request, step: Step, number: int) -> None:
        """Under one key twice, and another time with another body; or with another body at once."""
        key = {"Idempotency-Key": f"step-{number}"}
        first = replace(request, headers={**request.headers, **key})
        answer = await self.ask(first)
        if not answer.is_good:
            return
        if step.twist == "repeated":
            again = replace(first, expect=answer.status, on_success=None, check=None)
            second = await self.ask(again)
            self.world.compared["repeated requests"] += 1
            if second.content != answer.content or second.headers.get("idempotency-replayed") != "true":
                raise Finding("idempotency", "the same key and body answer the stored response", again, second)
        if is_changeable(request.body):
            other, expect = change_body(request.body)
            await self.ask(replace(first, body=other, expect=expect, on_success=None, check=None))
