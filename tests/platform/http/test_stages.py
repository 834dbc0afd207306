"""The stages of a request without a server: what is preferred, what is left of a limit, who is still admitted, and
which bodies are taken."""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from tests.stand_ins import replace_for

from gridloom.kernel.problem import (
    BadRequest,
    Forbidden,
    NotAcceptable,
    PayloadTooLarge,
    TooManyRequests,
    Unauthenticated,
    UnsupportedMediaType,
)
from gridloom.kernel.shares import KIBIBYTE, Share, ShareExceeded, ShareLimits
from gridloom.platform.http import admit
from gridloom.platform.http.answer import errors
from gridloom.platform.http.answer.negotiation import MAX_HEADER, negotiate
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.decode import body as bodies
from gridloom.platform.http.decode.body import BodyBudget
from gridloom.platform.http.paging import MAX_CURSOR_INTEGER, decode_cursor, encode_cursor
from gridloom.platform.http.shares import LEASE_DURATION_S, MAX_LEASE, Shares, ShareUse, TokenBuckets

pytestmark = pytest.mark.pure

CALLER = Caller(
    id=UUID(int=1),
    kind="USER",
    organisation_id=UUID(int=2),
    organisation_kind="PARTICIPANT",
    role="TRADER",
    permissions=frozenset(),
    session_id=UUID(int=3),
    username="ada",
    display_name="Ada",
)
OFFERED = ("application/json", "text/csv", "text/plain")


class TestAPreference:
    @pytest.mark.parametrize(
        ("accept", "chosen"),
        [
            (None, "application/json"),
            ("  ", "application/json"),
            (" */* ", "application/json"),
            ("text/csv", "text/csv"),
            ("TEXT/CSV; charset=utf-8", "text/csv"),
            ("text/*;q=0.5, application/json;q=0.4", "text/csv"),
            ("text/csv;q=0.2, text/*;q=0.5, */*;q=0.3", "text/plain"),
            ("application/json;q=0, */*", "text/csv"),
            ("*;q=0.1", "application/json"),
            ("text/*;q=0.1, */*;q=0.9", "application/json"),
            ("*/*;q=0.2, text/*;q=0.1, application/json;q=0.1", "application/json"),
            ("TEXT/CSV; q =0.6, application/json;q=0.5", "text/csv"),
            ("text/csv; q =0.4, application/json;q=0.5", "application/json"),
            ("text/csv;q=7, application/json", "application/json"),
            ("application/json;q=-1, text/plain;q=0.001", "text/plain"),
            ("application/json;q=much, text/plain;q=0.5", "text/plain"),
            ("image/png, text/plain;q=0.1", "text/plain"),
        ],
    )
    def test_is_by_quality_of_what_names_it_most_closely(self, accept: str | None, chosen: str) -> None:
        assert negotiate(accept, OFFERED) == chosen

    @pytest.mark.parametrize("accept", ["image/*", "text/html, application/*+json", "text/csv;q=0", "text"])
    def test_that_nothing_meets_is_told(self, accept: str) -> None:
        with pytest.raises(NotAcceptable, match="application/json, text/csv, text/plain"):
            negotiate(accept, OFFERED)

    def test_is_read_no_further_than_a_header_may_be_long(self) -> None:
        assert negotiate("text/csv".rjust(MAX_HEADER), OFFERED) == "text/csv"
        with pytest.raises(NotAcceptable):
            negotiate("text/csv".rjust(MAX_HEADER + 1), OFFERED)


class Bucket:
    """In place of the database: what it grants of a lease, and what it has left, in turn."""

    def __init__(self, *granted: tuple[int, float]) -> None:
        self.granted = list(granted)
        self.asked: list[Any] = []

    async def fetchrow(self, statement: str, *arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        granted, left = self.granted.pop(0)
        return {"granted": granted, "tokens_left": left}

    async def fetchval(self, statement: str, *arguments: Any) -> float | None:
        self.asked.append(arguments)
        return self.granted.pop(0)[1] if self.granted else None


class TestALimitOfRequests:
    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [100.0]
        monkeypatch.setattr("gridloom.platform.http.shares.time", SimpleNamespace(monotonic=lambda: now[0]))
        return now

    async def _take(self, buckets: TokenBuckets, db: Any, holder: str = "a") -> str:
        headers: dict[str, str] = {}
        try:
            await buckets.take(db, holder, headers)
        except TooManyRequests as refusal:
            return f"refused for {refusal.headers['Retry-After']} s"
        assert headers["RateLimit-Policy"] == '"public";q=120;w=60'
        return headers["RateLimit"].removeprefix('"public";')

    async def test_is_leased_by_the_twentieth_and_says_what_is_left(self, clock: list[float]) -> None:
        """Two a second, forty at once: two are leased together, and the next when they are used up."""
        buckets, db = (
            TokenBuckets("public", per_minute=120, burst=40, scope="here"),
            Bucket((2, 37.9), (1, 0.4), (0, 1.5)),
        )
        assert [await self._take(buckets, db) for _ in range(2)] == ["r=38;t=1", "r=37;t=2"]
        assert db.asked == [("here|a", 2, 2.0, 40)]
        assert await self._take(buckets, db) == "r=0;t=20"
        for _ in range(2):
            assert await self._take(buckets, db) == "refused for 1 s"
        assert len(db.asked) == 2, "not before a request has come back"
        clock[0] += 0.29
        assert await self._take(buckets, db) == "refused for 1 s"
        assert len(db.asked) == 2
        clock[0] += 0.02
        assert await self._take(buckets, db) == "refused for 1 s"
        assert len(db.asked) == 3

    async def test_is_leased_anew_when_the_lease_has_ended_and_for_each_holder(self, clock: list[float]) -> None:
        buckets, db = TokenBuckets("public", per_minute=120, burst=100), Bucket((5, 95.0), (5, 90.0), (5, 95.0))
        assert await self._take(buckets, db) == "r=99;t=1"
        clock[0] += LEASE_DURATION_S - 0.1
        assert await self._take(buckets, db, "b") == "r=94;t=3"
        assert await self._take(buckets, db) == "r=98;t=1"
        clock[0] += 0.1
        assert await self._take(buckets, db) == "r=99;t=1"
        assert [arguments[0] for arguments in db.asked] == ["|a", "|b", "|a"]

    async def test_keeps_what_requests_that_came_together_have_leased(self, clock: list[float]) -> None:
        buckets, db = TokenBuckets("public", per_minute=120, burst=100), Bucket((5, 95.0), (5, 90.0))
        leases = [await buckets._take_lease(db, "a", now) for now in (100.0, 100.0)]  # type: ignore[arg-type]
        assert [lease.left for lease in leases] == [5, 10]
        later = await buckets._take_lease(Bucket((5, 95.0)), "a", 100.0 + LEASE_DURATION_S)  # type: ignore[arg-type]
        assert later.left == 5

    async def test_is_remembered_for_so_many_holders_the_latest(
        self, clock: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gridloom.platform.http.shares.MAX_LEASES", 2)
        buckets, db = TokenBuckets("public", per_minute=120, burst=100), Bucket(*[(5, 95.0)] * 6)
        for holder in ("a", "b", "b", "c", "b"):
            await self._take(buckets, db, holder)
        assert [arguments[0] for arguments in db.asked] == ["|a", "|b", "|c"]
        await self._take(buckets, db, "a")
        assert [arguments[0] for arguments in db.asked[3:]] == ["|a"]
        assert list(buckets._leases) == ["c", "a"]

    async def test_names_the_organisation_or_the_network_that_has_exceeded_it(self, clock: list[float]) -> None:
        for name, kind, who in (
            (Share.REQUESTS, ShareExceeded, "organisation"),
            ("public", TooManyRequests, "network"),
        ):
            buckets: Any = TokenBuckets(name, per_minute=6, burst=40)
            with pytest.raises(
                kind, match=f"Your {who} has sent 40 requests at once, or more than 6 a minute"
            ) as refusal:
                await buckets.take(Bucket((0, 0.2)), "a", {})
            assert refusal.value.headers["Retry-After"] == "20", "until there is a lease again"
            assert refusal.value.members == ({"share": "requests", "limit": 6} if name is Share.REQUESTS else {})
            assert isinstance(refusal.value, ShareExceeded) == (kind is ShareExceeded)

    async def test_is_leased_by_so_many_at_most(self, clock: list[float]) -> None:
        for burst, lease in ((60_000, MAX_LEASE), (20 * MAX_LEASE - 1, MAX_LEASE - 1), (19, 1)):
            db: Any = Bucket((1, 5.0))
            await TokenBuckets("public", per_minute=120, burst=burst).take(db, "a", {})
            assert db.asked == [("|a", lease, 2.0, burst)]

    async def test_tells_what_is_used_of_it(self) -> None:
        buckets, organisation = TokenBuckets("public", per_minute=120, burst=40, scope="here"), UUID(int=7)
        db: Any = Bucket((0, 12.9))
        assert await buckets.read_use(db, organisation) == ShareUse(used=28, limit=40, per_minute=120)
        assert await buckets.read_use(db, organisation) == ShareUse(used=0, limit=40, per_minute=120)
        assert db.asked == [(f"here|{organisation}", 40.0, 2.0)] * 2


class TestAFailureInTheLog:
    def test_comes_with_its_traceback_once_a_minute_for_each_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now: list[float] = [10.0]  # as soon after the start of the machine as may be
        lines: list[dict[str, Any]] = []
        monkeypatch.setattr(errors, "_last_traceback_at", {})
        monkeypatch.setattr(errors, "time", SimpleNamespace(monotonic=lambda: now[0]))
        monkeypatch.setattr(errors, "log", SimpleNamespace(error=lambda event, **details: lines.append(details)))

        seen = []
        for at_s in (10.0, 69.9, 70.0, 129.9, 130.1):
            now[0] = at_s
            errors.log_error("failed", LookupError("no"))
            seen.append("exc_info" in lines.pop())
            errors.log_error("failed", LookupError("x" * 400), path="/toys")
            assert lines.pop() == {"error": f"LookupError: {'x' * 300}", "path": "/toys"}, "and another of its kind"
        assert seen == [True, False, True, False, True]
        for number in range(2 * errors.MAX_KINDS):
            errors.log_error("failed", type(f"Kind{number}", (Exception,), {})())
            assert "exc_info" in lines.pop(), f"{number} others do not hide it"
        assert len(errors._last_traceback_at) <= errors.MAX_KINDS


class TestACaller:
    def test_is_one_person_or_key_of_its_organisation(self) -> None:
        assert CALLER.key == f"USER:{UUID(int=1)}"
        assert replace(CALLER, kind="API_KEY").key == f"API_KEY:{UUID(int=1)}"
        kinds = [("OPERATOR", "VIEWER"), ("PARTICIPANT", "OPERATOR")]
        callers = [replace(CALLER, organisation_kind=kind, role=role) for kind, role in kinds]
        assert [caller.is_operator for caller in callers] == [True, False]


class TestShares:
    def test_count_for_the_organisation_of_whoever_is_not_exempt(self) -> None:
        shares = Shares(exempt_usernames=frozenset({"probe"}))
        assert shares.holder_of(CALLER) == CALLER.organisation_id
        assert shares.holder_of(replace(CALLER, username="probe")) is None

    def test_have_the_limits_that_they_were_given_and_the_meters_there_are(self) -> None:
        limits = ShareLimits(body_bytes=7)
        assert (Shares(limits).limits, Shares().limits) == (limits, ShareLimits())
        shares, budget = Shares(), BodyBudget()
        assert shares.meters == {}
        shares.add_meter(Share.BODY_BYTES, budget.read_use)
        shares.add_meter(Share.REQUESTS, TokenBuckets("requests", per_minute=6, burst=6).read_use)
        assert list(shares.meters) == [share for share in Share if share in (Share.BODY_BYTES, Share.REQUESTS)]
        assert shares.meters[Share.BODY_BYTES] == budget.read_use


class Authenticator:
    """Counts how often it is asked, and answers only when told to."""

    def __init__(self, known: Caller | None = None) -> None:
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self._known = known

    def known(self, token: str) -> Caller | None:
        return self._known

    async def authenticate(self, token: str) -> Caller:
        self.asked.append(token)
        await self.may_answer.wait()
        return CALLER


class TestACallerWhoIsVerifiedAgain:
    async def test_is_asked_for_once_by_many_responses_of_one_token(self) -> None:
        authenticator = Authenticator()
        waiting = [
            asyncio.ensure_future(admit._verify_shared(authenticator, token)) for token in ("one", "one", "two", "one")
        ]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        authenticator.may_answer.set()
        assert [await one for one in waiting[1:]] == [CALLER] * 3
        assert authenticator.asked == ["one", "two"]
        assert await admit._verify_shared(authenticator, "one") == CALLER
        assert authenticator.asked == ["one", "two", "one"], "what was read before says nothing of now"

    async def test_is_not_asked_for_where_it_is_known(self) -> None:
        authenticator = Authenticator(known=CALLER)
        assert await admit._verify_shared(authenticator, "one") is CALLER
        assert authenticator.asked == []

    async def test_has_the_token_of_its_source_and_still_comes_from_an_allowed_network(self) -> None:
        office = ipaddress.ip_network("203.0.113.0/24")
        authenticator = Authenticator()
        authenticator.may_answer.set()
        uses: list[bool] = []

        async def source(*, counts_as_use: bool = True) -> str:
            uses.append(counts_as_use)
            return "fresh"

        assert await admit._verify_again(authenticator, "old", source, "203.0.113.5") == CALLER
        assert await admit._verify_again(authenticator, "old", None, "203.0.113.5") == CALLER
        assert (authenticator.asked, uses) == (["fresh", "old"], [False])
        strict = Authenticator(known=replace(CALLER, allowed_networks=((office,),)))
        await admit._verify_again(strict, "old", None, "203.0.113.5")
        with pytest.raises(admit.NetworkNotAllowed):
            await admit._verify_again(strict, "old", None, "198.51.100.1")


class TestAdmission:
    """A request with a token, from an office, for an operation that needs a permission."""

    async def _admit(
        self, caller: Caller, *, source: Any = None, holder: Any = "organisation", known: bool = True, **access: Any
    ) -> tuple[list[Any], Any]:
        """What was counted, and the request as it is then."""
        counted: list[Any] = []

        def buckets(name: str) -> Any:
            async def take(db: Any, holder: Any, headers: dict[str, str]) -> None:
                counted.append((name, holder))

            return SimpleNamespace(take=take)

        class Once(Authenticator):
            async def authenticate(self, token: str) -> Caller:
                self.asked.append(token)
                return caller

        asked = {"is_public": False, "is_limited": True, "is_open_before_enrolment": False, "permission": "Read:toys"}
        request: Any = SimpleNamespace(
            operation=SimpleNamespace(access=SimpleNamespace(**{**asked, **access}), asset_scope=None),
            pool=None,
            address="203.0.113.5",
            header={"authorization": "bearer  abc "}.get,
            holder=holder,
            caller=None,
            path_values={},
        )

        def set_caller(found: Caller, again: Any) -> None:
            request.caller, request.again = found, again

        request.set_caller = set_caller
        authenticator = Once(known=caller if known else None)
        scope = {} if source is None else {admit.TOKEN_SOURCE: source}
        by_network, by_organisation = buckets("network"), buckets("organisation")
        await admit.admit(request, scope, authenticator, by_network, by_organisation, {})
        request.asked = authenticator.asked
        return counted, request

    TRADER = replace(CALLER, permissions=frozenset({"Read:toys"}))

    async def test_counts_by_network_what_needs_no_token_and_by_organisation_the_rest(self) -> None:
        counted, request = await self._admit(self.TRADER, is_public=True)
        assert ([name for name, _ in counted], request.caller) == (["network"], None)
        assert (await self._admit(self.TRADER, is_public=True, is_limited=False))[0] == []
        counted, request = await self._admit(self.TRADER)
        assert (counted, request.caller) == ([("organisation", "organisation")], self.TRADER)
        assert (await self._admit(self.TRADER, holder=None))[0] == [], "who is exempt"

    async def test_takes_the_token_of_the_header_or_of_its_source_and_verifies_one_that_is_not_known(self) -> None:
        async def source(*, counts_as_use: bool = True) -> str:
            assert counts_as_use
            return "fresh"

        assert (await self._admit(self.TRADER, known=False))[1].asked == ["abc"]
        assert (await self._admit(self.TRADER, known=False, source=source))[1].asked == ["fresh"]
        assert (await self._admit(self.TRADER))[1].asked == []

    async def test_needs_permission_network_and_second_factor(self) -> None:
        with pytest.raises(Forbidden, match="requires the permission Read:toys; the role TRADER"):
            await self._admit(CALLER)
        await self._admit(CALLER, permission=None)
        office, elsewhere = (ipaddress.ip_network(text) for text in ("203.0.113.0/24", "198.51.100.0/24"))
        await self._admit(replace(self.TRADER, allowed_networks=((office,),)))
        with pytest.raises(admit.NetworkNotAllowed, match=r"203\.0\.113\.5"):
            await self._admit(replace(self.TRADER, allowed_networks=((elsewhere,),)))
        with pytest.raises(admit.SecondFactorEnrolmentRequired):
            await self._admit(replace(self.TRADER, must_enrol=True))
        await self._admit(replace(self.TRADER, must_enrol=True), is_open_before_enrolment=True)

    @pytest.mark.parametrize("header", [None, "", "Basic abc", "Bearer", "Bearer  ", "abc"])
    def test_needs_a_bearer_token(self, header: str | None) -> None:
        request: Any = SimpleNamespace(header=lambda name: header)
        with pytest.raises(Unauthenticated, match="Bearer <ACCESS_TOKEN>"):
            admit._read_bearer(request)


def request_for(limit_bytes: int = 10, **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    body_format = SimpleNamespace(limit_bytes=limit_bytes, media_types=("application/json", "text/csv"))
    return SimpleNamespace(header=given.get, operation=SimpleNamespace(body_format=body_format))


async def receive(request: Any, *messages: Any) -> bytes:
    left = [message if isinstance(message, dict) else {"type": "http.request", "body": message} for message in messages]
    for message in left[:-1]:
        message["more_body"] = True

    async def give() -> Any:
        return left.pop(0)

    with BodyBudget().hold() as held:
        return await bodies.receive_body(request, give, held)


class TestABody:
    async def test_is_all_its_pieces_up_to_its_limit(self) -> None:
        assert await receive(request_for(), b"0123456789") == b"0123456789"
        assert await receive(request_for(content_length="10"), b"0123", b"", b"456789") == b"0123456789"
        assert await receive(request_for(content_length="many"), b"01", b"2") == b"012"

    async def test_beyond_its_limit_is_refused_as_announced_and_as_received(self) -> None:
        with pytest.raises(PayloadTooLarge, match="up to 10 bytes"):
            await receive(request_for(content_length="11"))
        with pytest.raises(PayloadTooLarge, match="up to 10 bytes"):
            await receive(request_for(), b"01234567", b"890")

    async def test_that_breaks_off_is_refused(self) -> None:
        with pytest.raises(BadRequest, match="closed before the body was complete"):
            await receive(request_for(), b"0123", {"type": "http.disconnect"})

    async def test_that_stays_away_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "BODY_IDLE_TIMEOUT_S", 0.0)

        async def give() -> Any:
            await asyncio.Event().wait()

        with BodyBudget().hold() as held:
            with pytest.raises(BadRequest, match="timed out"):
                await bodies.receive_body(request_for(), give, held)
            assert held not in held._budget.receiving

    async def test_beyond_its_organisations_share_is_refused_as_announced_after_a_pause(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before anything of it is received."""
        paused: list[float] = []

        async def sleep(seconds: float) -> None:
            paused.append(seconds)

        async def give() -> Any:
            pytest.fail("it is not received")

        replace_for(monkeypatch, bodies, "asyncio", sleep=sleep)
        budget = BodyBudget(1000 * KIBIBYTE, share_bytes=500 * KIBIBYTE)
        with budget.hold("a") as first, budget.hold("a") as second:
            first.grow_to(400 * KIBIBYTE)
            with pytest.raises(ShareExceeded):
                await bodies.receive_body(request_for(1000 * KIBIBYTE, content_length="102401"), give, second)
        assert paused == [bodies.REJECTION_PAUSE_S] == [0.25]

    def test_has_as_much_room_as_the_limits_of_organisations_say(self) -> None:
        budget = BodyBudget.of(ShareLimits(body_bytes=7, min_body_bytes_per_s=3))
        assert (budget.most_bytes, budget.share_bytes, budget.min_bytes_per_s) == (14, 7, 3)
        assert BodyBudget(9).share_bytes == 9

    def test_is_of_a_type_that_its_operation_takes_and_not_encoded(self) -> None:
        for content_type in ("application/json", " Text/CSV ; charset=utf-8"):
            found = bodies.read_content_type(request_for(content_type=content_type))
            assert found == content_type.split(";")[0].strip().lower()
        refused: tuple[dict[str, Any], ...] = (
            {},
            {"content_type": "text/html"},
            {"content_type": "text/csv", "content_encoding": "gzip"},
        )
        for headers in refused:
            with pytest.raises(UnsupportedMediaType):
                bodies.read_content_type(request_for(**headers))
        assert bodies.read_content_type(request_for(content_type="text/csv", content_encoding="identity")) == "text/csv"

    async def test_counts_for_its_organisation_while_it_is_held(self) -> None:
        budget, organisation = BodyBudget(1000 * KIBIBYTE, share_bytes=500 * KIBIBYTE), UUID(int=7)
        db: Any = None
        with budget.hold(organisation) as held, budget.hold(UUID(int=8)) as other:
            held.grow_to(100 * KIBIBYTE)
            other.grow_to(90 * KIBIBYTE)
            assert await budget.read_use(db, organisation) == ShareUse(used=100 * KIBIBYTE, limit=500 * KIBIBYTE)


class TestACursorAtTheEdge:
    @pytest.mark.parametrize("number", [MAX_CURSOR_INTEGER, -MAX_CURSOR_INTEGER, 0])
    def test_holds_any_number_that_a_column_can(self, number: int) -> None:
        assert decode_cursor(encode_cursor(number), int) == number
