"""One life of the platform: a script lived step by step against the service, judged by the oracle as it goes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from tests.simulation import canonical
from tests.simulation.actors import every_action
from tests.simulation.audit import audit
from tests.simulation.calls import UUID as ANY_UUID
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.faults import FAULTS, disturb
from tests.simulation.market import berlin_day
from tests.simulation.model import Organisation, World
from tests.simulation.oracle.clearing import settle
from tests.simulation.schemas import read_interface
from tests.simulation.service import Service
from tests.simulation.steps import PLAIN, Pick, Step

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
STEPS_BETWEEN_AUDITS = 40
TWISTS = {
    PLAIN: 78,
    "repeated": 6,
    "other body": 2,
    "stale": 3,
    "by a viewer": 3,
    "by a stranger": 2,
    "signed out": 1,
    "surprising field": 2,
    "unknown id": 2,
    "malformed id": 1,
}
"""What is done to a request before it is sent, and how often."""


@dataclass
class AuthorizedAsset:
    """What lives have met so far."""

    steps: int = 0
    calls: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    """Good answers by operation."""
    problems: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    meetings: Counter[str] = field(default_factory=Counter)
    twists: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    spent_ms: Counter[str] = field(default_factory=Counter)

    def add(self, other: AuthorizedAsset) -> None:
        self.steps += other.steps
        self.calls += other.calls
        for name in ("operations", "problems", "events", "meetings", "twists", "checks", "spent_ms"):
            getattr(self, name).update(getattr(other, name))


@dataclass
class Life:
    """The service, the model of it, and everything that was said."""

    service: Service
    world: World
    reach: AuthorizedAsset = field(default_factory=AuthorizedAsset)
    spoken: list[Request] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    etags: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    said_before: list[tuple[Request, Any]] = field(default_factory=list)
    heard: dict[str, int] = field(default_factory=dict)
    """The last event's number by organisation."""
    events: Counter[tuple[str, str]] = field(default_factory=Counter)
    event_ids: dict[str, set[str]] = field(default_factory=dict)
    caused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Events that must have come, by organisation and type."""
    audited: date = date.min
    next_audit: int = 0
    stormy_until: float = 0.0
    """Until when a fault may last, on the monotonic clock."""
    changes: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the requests that changed something, by the organisation of who sent them."""

    async def live(self, script: Sequence[Step], survived: list[Finding] | None = None) -> None:
        """Through all steps; a broken promise is raised as a Finding, or noted in `survived`, and life goes on."""
        self.audited = berlin_day(self.world.now)
        for number, step in enumerate(script):
            try:
                await self.take(step, number)
                await self.resolve_doubts()
                await self.audit_at_midnight(is_end=number == len(script) - 1)
            except Finding as finding:
                if survived is None:
                    raise
                survived.append(finding)

    async def audit_at_midnight(self, *, is_end: bool) -> None:
        today = berlin_day(self.world.now)
        is_due = today != self.audited and self.reach.steps >= self.next_audit
        if is_due or is_end:
            self.audited, self.next_audit = today, self.reach.steps + STEPS_BETWEEN_AUDITS
            await audit(self, is_end=is_end)

    async def take(self, step: Step, number: int) -> None:
        self.reach.steps += 1
        if step.action in FAULTS:
            self.reach.twists[step.action] += 1
            await disturb(self, step, number)
            return
        request = every_action()[step.action].perform(self.world, Pick(step.choices))
        if request is None:
            return
        self.reach.meetings.update(request.met)
        twisted = twist(request, step, self.world, number)
        if twisted is not None:
            self.reach.twists[step.twist] += 1
            await self.ask(twisted)
            return
        if step.twist in ("repeated", "other body") and request.method == "POST":
            self.reach.twists[step.twist] += 1
            await self.ask_again(request, step, number)
            return
        await self.ask(request)

    async def resolve_doubts(self) -> None:
        """Whether auctions that closed half deliverable were cleared or cancelled."""
        while self.world.doubtful:
            auction = self.world.auctions[self.world.doubtful.pop()]
            path = f"/auctions/{auction.id}"
            answer = await self.ask(Request("readAuction", self.world.operator.trader, "GET", path, expect=200))
            settle(auction, is_deliverable=answer.body["state"] == "CLEARED")

    async def send(self, request: Request, edge: int = 0) -> Answer:
        self.spoken.append(request)
        begun = time.perf_counter()
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
        self.reach.spent_ms[request.operation] += round(1000 * (time.perf_counter() - begun))
        if answer.is_good:
            self.reach.operations[request.operation] += 1
            is_change = request.method != "GET" and request.operation not in CHANGE_NOTHING and bool(request.by.token)
            if is_change and "idempotency-replayed" not in answer.headers:
                self.changes.setdefault(request.by.organisation, []).append(answer.headers["x-request-id"])
        elif answer.problem:
            self.reach.problems[answer.problem] += 1
        if request.operation != "followEvents":  # all streams are read at once, and end as they come
            self.trace.append(canonical.describe(request, answer))
        return answer

    async def ask(self, request: Request) -> Answer:
        """Send, judge the answer, take it into the model."""
        answer = await self.send(request)
        while answer.status == 503 and time.monotonic() < self.stormy_until:  # nothing was changed, it says
            await asyncio.sleep(0.1)
            answer = await self.send(request)
        self.judge(request, answer)
        if answer.is_good:
            self.remember(request, answer)
        if answer.is_good and request.check is not None:
            self.reach.checks[request.operation] += 1
            try:
                request.check(answer)
            except AssertionError as error:
                raise Finding("oracle", str(error), request, answer) from None
        return answer

    def remember(self, request: Request, answer: Answer) -> None:
        """A success that counts once."""
        if request.on_success is None:
            return
        request.on_success(answer)
        kind = CAUSES.get(request.operation)
        if kind is not None:
            self.caused[request.by.organisation, kind] += 1

    async def ask_again(self, request: Request, step: Step, number: int) -> None:
        """Under one key twice; or a second time with another body."""
        key = {"Idempotency-Key": f"step-{number}"}
        first = replace(request, headers={**request.headers, **key})
        answer = await self.ask(first)
        if not answer.is_good:
            return
        if step.twist == "repeated":
            again = replace(first, expect=answer.status, on_success=None, check=None)
            second = await self.ask(again)
            if second.content != answer.content or second.headers.get("idempotency-replayed") != "true":
                raise Finding("idempotency", "the same key and body answer the stored response", again, second)
        elif isinstance(request.body, dict):
            other = replace(first, body={**request.body, "surprise": 1}, expect=(400, 422), on_success=None, check=None)
            await self.ask(other)

    def judge(self, request: Request, answer: Answer) -> None:
        if answer.status >= 500:
            raise Finding("no 5xx", "an answer below 500", request, answer)
        error = read_interface().explain_fault(
            request.operation, answer.status, answer.headers.get("content-type", ""), answer.content
        )
        if error is not None:
            raise Finding("declared schema", error, request, answer)
        if "x-request-id" not in answer.headers:
            raise Finding("request id", "X-Request-Id on every answer", request, answer)
        if not _meets(request.expect, answer):
            raise Finding("expected status", f"{request.expect}", request, answer)
        self._judge_etag(request, answer)

    def _judge_etag(self, request: Request, answer: Answer) -> None:
        """The same ETag under the same address is the same content."""
        etag = answer.headers.get("etag")
        if etag is None or request.method != "GET" or answer.status != 200 or request.operation in MOVING_WINDOWS:
            return
        digest = hashlib.sha256(answer.content).digest()
        if self.etags.setdefault((request.by.organisation, request.target, etag), digest) != digest:
            raise Finding("ETag", "another ETag for another content", request, answer)


def _meets(expect: Any, answer: Answer) -> bool:
    if expect is None:
        return answer.status not in (401, 403, 405, 406, 415, 429)
    if isinstance(expect, int):
        return answer.status == expect
    if isinstance(expect[1], str):
        return answer.status == expect[0] and answer.problem == expect[1]
    return answer.status in expect


def twist(request: Request, step: Step, world: World, number: int) -> Request | None:
    """The same request as somebody would send it who may not, who is late, or who mistypes; None where that is not
    possible. Nothing of it reaches the model."""
    if request.path.startswith("/auth/public/"):
        return None  # they ask for no token
    bare = replace(request, on_success=None, check=None, headers={})
    writes = request.method != "GET"
    if step.twist == "signed out":
        nobody = replace(request.by, name="nobody", token="")
        return replace(bare, by=nobody, expect=401)
    if step.twist == "unknown id" and ANY_UUID.search(request.path):
        last = ANY_UUID.findall(request.path)[-1]
        return replace(bare, path=request.path.replace(last, UNKNOWN), expect=(403, 404))
    if step.twist == "malformed id" and ANY_UUID.search(request.path):
        last = ANY_UUID.findall(request.path)[-1]
        return replace(bare, path=request.path.replace(last, "17"), expect=400)
    if not writes or request.expect is None or request.operation in OPEN_TO_ALL:
        return None
    if step.twist == "by a viewer":
        viewer = world.find_organisation(request.by.organisation).viewer
        return replace(bare, by=viewer, expect=403)
    if step.twist == "by a stranger" and request.operation not in ANYONES_OWN:
        strangers = [one for one in world.traders + world.owners if one.name != request.by.organisation]
        stranger = _without_grant(world, strangers, request)
        return None if stranger is None else replace(bare, by=stranger.admin, expect=(403, 404))
    if step.twist == "surprising field" and isinstance(request.body, dict):
        return replace(bare, body={**request.body, "surprise": number}, expect=400)
    if step.twist == "stale" and request.method in ("PUT", "PATCH", "DELETE") and request.expect in (200, 204):
        return replace(bare, headers={"If-Match": '"stale"'}, expect=412)
    return None


CHANGE_NOTHING = frozenset(
    {
        "previewUnavailability",
        "optimiseVirtualAsset",
        "repairSchedule",
        "optimisePortfolio",
        "valueAuction",
        "writeDatapoints",
        "writeDatapointsOfMany",
    }
)
"""They answer, or take telemetry, and leave no line in the audit log."""
CAUSES = {
    "placeBid": "bid.placed",
    "createUnavailability": "unavailability.created",
    "cancelUnavailability": "unavailability.cancelled",
}
"""Operations with exactly one event of their type for the caller's organisation."""
OPEN_TO_ALL = frozenset({"moveClock"})
ANYONES_OWN = frozenset({"createApiKey", "createWebhook"})
"""Whoever calls makes one for its own organisation."""


def _without_grant(world: World, strangers: list[Organisation], request: Request) -> Organisation | None:
    granted = {name for battery in world.batteries.values() if battery.id in request.path for name in battery.grants}
    named = f"{request.path} {request.body}"
    holding = {virtual.holder.name for virtual in world.virtuals.values() if virtual.id in named}
    left = [one for one in strangers if one.name not in granted | holding and one.id not in request.path]
    if request.operation in NEEDS_INVITATION:
        auction = next((one for one in world.auctions.values() if one.id in request.path), None)
        left = [one for one in left if auction is None or one.name not in auction.participants]
    return left[0] if left else None


MOVING_WINDOWS = frozenset(
    {"readBlock", "readAssetSchedule", "readPhysicalAssetSchedule", "readVirtualAsset", "readAuction"}
)
"""Their ETag is the version that a change is judged by; what they show also moves with the clock."""
NEEDS_INVITATION = frozenset({"placeBid", "withdrawBid", "listBids", "readAuction", "valueAuction"})


async def found_world(service: Service, now: datetime) -> World:
    """An operator, two owners and three traders."""
    operator_id, cast = await service.sign_in_operator()
    world = World(now, Organisation("operator", operator_id, "OPERATOR", cast), [], [])
    for name in ("owner1", "owner2"):
        world.owners.append(Organisation(name, *_unpack(await service.found_cast(name, "PARTICIPANT"))))
    for name in ("trader1", "trader2", "trader3"):
        world.traders.append(Organisation(name, *_unpack(await service.found_cast(name, "PARTICIPANT"))))
    return world


def _unpack(founded: tuple[str, Any]) -> tuple[str, str, Any]:
    return str(UUID(founded[0])), "PARTICIPANT", founded[1]


def show_answer(answer: Answer | None) -> str:
    if answer is None:
        return ""
    try:
        return f"{answer.status} {json.dumps(json.loads(answer.content))[:1500]}"
    except ValueError:
        return f"{answer.status} {answer.content[:500]!r}"
