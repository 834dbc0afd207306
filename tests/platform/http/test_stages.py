"""The stages of a request without a server: what is preferred, what is left of a limit, and which bodies are taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.stand_ins import replace_for

from gridloom.kernel.problem import NotAcceptable, TooManyRequests
from gridloom.kernel.shares import KIBIBYTE, Share, ShareExceeded
from gridloom.platform.http import shares
from gridloom.platform.http.answer.render import negotiate
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.decode.body import BodyBudget
from gridloom.platform.http.shares import ShareUse, TokenBuckets

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
        replace_for(monkeypatch, shares, "time", monotonic=lambda: now[0])
        return now

    async def _take(self, buckets: TokenBuckets, db: Any, holder: str = "a") -> str:
        headers: dict[str, str] = {}
        try:
            await buckets.take(db, holder, headers)
        except TooManyRequests as refusal:
            wait_s = refusal.headers["Retry-After"]
            assert headers["RateLimit"] == f'"public";r=0;t={wait_s}', "the window does not outlast the pause"
            return f"refused for {wait_s} s"
        assert headers["RateLimit-Policy"] == '"public";q=120;w=60'
        return headers["RateLimit"].removeprefix('"public";')

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

    async def test_tells_what_is_used_of_it(self) -> None:
        buckets, organisation = TokenBuckets("public", per_minute=120, burst=40, scope="here"), UUID(int=7)
        db: Any = Bucket((0, 12.9))
        assert await buckets.read_use(db, organisation) == ShareUse(used=28, limit=40, per_minute=120)
        assert await buckets.read_use(db, organisation) == ShareUse(used=0, limit=40, per_minute=120)
        assert db.asked == [(f"here|{organisation}", 40.0, 2.0)] * 2


class TestACaller:
    def test_is_one_person_or_key_of_its_organisation(self) -> None:
        assert CALLER.key == f"USER:{UUID(int=1)}"
        assert replace(CALLER, kind="API_KEY").key == f"API_KEY:{UUID(int=1)}"
        kinds = [("OPERATOR", "VIEWER"), ("PARTICIPANT", "OPERATOR")]
        callers = [replace(CALLER, organisation_kind=kind, role=role) for kind, role in kinds]
        assert [caller.is_operator for caller in callers] == [True, False]


class TestABody:
    async def test_counts_for_its_organisation_while_it_is_held(self) -> None:
        budget, organisation = BodyBudget(1000 * KIBIBYTE, share_bytes=500 * KIBIBYTE), UUID(int=7)
        db: Any = None
        with budget.hold(organisation) as held, budget.hold(UUID(int=8)) as other:
            held.grow_to(100 * KIBIBYTE)
            other.grow_to(90 * KIBIBYTE)
            assert await budget.read_use(db, organisation) == ShareUse(used=100 * KIBIBYTE, limit=500 * KIBIBYTE)
