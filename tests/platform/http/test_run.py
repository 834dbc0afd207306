"""The third stage of a request: who answers a read, and the one transaction of a change from its first attempt on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from tests.stand_ins import replace_for

from gridloom.kernel.problem import Conflict, Forbidden
from gridloom.platform.database.errors import DatabaseFailure
from gridloom.platform.http import run as stage
from gridloom.platform.http.answer.render import EncodedResponse
from gridloom.platform.http.idempotency import ReplayStored, StoredResponse
from gridloom.platform.http.responses import Response
from gridloom.platform.http.run import MAX_ATTEMPTS, POSITION, run

pytestmark = pytest.mark.pure

LOST = asyncpg.ConnectionDoesNotExistError("closed in the middle of an operation")


def conflict(table: str) -> asyncpg.UniqueViolationError:
    error: Any = asyncpg.UniqueViolationError("twice")
    error.table_name = table
    return error  # type: ignore[no-any-return]


class Asked:
    """In place of a request: what is done with it, in its order."""

    def __init__(self, *outcomes: Any, method: str = "POST", transaction: str = "automatic", **headers: str) -> None:
        self.done: list[Any] = []
        self.outcomes = list(outcomes)
        self.pool: Any = "primary"
        self.retry: Any = None
        self.db = "rows"
        self.in_transaction = False
        self.caller_if_known = SimpleNamespace(key="USER:7")
        self.address, self.target = "203.0.113.5", "/toys?a=b"
        self.audit_details: dict[str, Any] = {}
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.operation: Any = SimpleNamespace(
            changes_state=method != "GET",
            method=method,
            operation_id="makeToy",
            replica_read=True,
            transaction=transaction,
            audited=True,
            secret_response=False,
            status=201,
            deprecation=None,
            handler=self.handle,
        )

    def header(self, name: str) -> str | None:
        return self.headers.get(name.lower())

    async def handle(self, request: Any, **arguments: Any) -> Any:
        self.done.append(f"handle on {self.pool}" if self.operation.method == "GET" else "handle")
        self.audit_details[f"attempt {len(self.outcomes)}"] = arguments
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def begin(self) -> None:
        self.done.append("begin")
        self.in_transaction = True

    def reject_unchecked_if_match(self) -> None:
        self.done.append("check condition")

    async def audit(self, _db: Any, _request: Any, status: int) -> None:
        self.done.append(("audit", status, sorted(self.audit_details)))

    async def commit(self) -> None:
        self.done.append("commit")

    async def release(self) -> None:
        self.done.append("release")
        self.in_transaction = False

    def abandon_connection(self) -> None:
        self.done.append("abandon")

    async def run(self, replicas: Any = None, check_replay: Any = None, body: bytes = b"{}") -> EncodedResponse:
        async def allow(_: Any) -> None:
            self.done.append("check replay")

        asked: Any = self
        return await run(asked, {"x": 1}, body, replicas, check_replay or allow)


CHANGE = ["begin", "handle", "check condition", ("audit", 201, ["attempt 1"]), "commit", "release"]


@pytest.fixture(autouse=True)
def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which take no time here."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    replace_for(monkeypatch, stage, "asyncio", sleep=sleep)
    return found


class Standbys:
    """One standby, or none, and how far the primary has come."""

    def __init__(self, *, has_one: bool = True, is_lost: bool = False) -> None:
        self.asked: list[Any] = []
        self.failed: list[Any] = []
        self._is_lost = is_lost
        self._one = SimpleNamespace(pool="standby", record_failed_read=lambda *what: self.failed.append(what))
        self._has_one = has_one

    async def find(self, position: str | None) -> Any:
        self.asked.append(position)
        return self._one if self._has_one else None

    async def seal_primary_position(self) -> str:
        if self._is_lost:
            raise LOST
        return "1.position"


class TestARead:
    async def test_is_answered_by_a_standby_that_has_what_its_reader_saw(self) -> None:
        standbys, asked = Standbys(), Asked({"a": 1}, method="GET", **{POSITION.lower(): "1.seen"})
        answer = await asked.run(standbys)
        assert (answer.status, answer.body, POSITION in answer.headers) == (201, b'{"a":1}', False)
        assert (standbys.asked, asked.done) == (["1.seen"], ["handle on standby"])

    async def test_is_answered_by_the_primary_where_there_is_none_or_it_says_so(self) -> None:
        asked, standbys = Asked({}, method="GET"), Standbys(has_one=False)
        await asked.run(standbys)
        assert (standbys.asked, asked.done) == ([None], ["handle on primary"])
        for operation_may, there in ((False, Standbys()), (True, None)):
            asked = Asked({}, method="GET")
            asked.operation.replica_read = operation_may
            await asked.run(there)
            assert asked.done == ["handle on primary"]
            assert there is None or there.asked == []

    async def test_is_answered_by_the_primary_once_a_standby_has_failed(self) -> None:
        standbys, asked = Standbys(), Asked(LOST, {"a": 1}, method="GET")
        assert (await asked.run(standbys)).body == b'{"a":1}'
        assert asked.done == ["handle on standby", "handle on primary"]
        assert standbys.failed == [("makeToy", DatabaseFailure.UNREACHABLE)]
        assert asked.pool == "primary"

    async def test_that_fails_by_itself_fails_on_a_standby_too(self) -> None:
        for error in (asyncpg.UndefinedTableError("no such table"), Conflict("no")):
            standbys, asked = Standbys(), Asked(error, method="GET")
            with pytest.raises(type(error)):
                await asked.run(standbys)
            assert (asked.done, standbys.failed) == (["handle on standby"], [])


class TestAChange:
    async def test_is_one_transaction_with_its_line_in_the_audit_log(self) -> None:
        asked = Asked({"a": 1})
        answer = await asked.run()
        assert (answer.status, answer.body, asked.done) == (201, b'{"a":1}', CHANGE)
        assert (asked.retry, POSITION in answer.headers) == (None, False)

    async def test_tells_how_far_the_primary_has_come_where_there_are_standbys(self) -> None:
        assert (await Asked({}).run(Standbys())).headers[POSITION] == "1.position"
        lost = await Asked({"a": 1}).run(Standbys(is_lost=True))
        assert (lost.status, POSITION in lost.headers) == (201, False), "it has happened all the same"

    async def test_that_begins_by_itself_is_not_begun_for_it(self) -> None:
        asked = Asked({}, transaction="manual")
        await asked.run()
        assert asked.done == ["handle", "release"], "it has written nothing"

    @pytest.mark.parametrize("error", [asyncpg.SerializationError("x"), asyncpg.DeadlockDetectedError("x")])
    async def test_is_tried_five_times_where_the_database_asks_for_it(
        self, error: Exception, paused: list[float]
    ) -> None:
        asked = Asked(*[error] * (MAX_ATTEMPTS - 1), {})
        await asked.run()
        assert asked.done == ["begin", "handle", "release"] * 4 + CHANGE, "what an attempt has noted goes with it"
        assert paused == [0.005, 0.01, 0.02, 0.04]
        asked = Asked(*[error] * (MAX_ATTEMPTS + 1))
        with pytest.raises(type(error)):
            await asked.run()
        assert asked.done.count("handle") == MAX_ATTEMPTS == 5

    @pytest.mark.parametrize("error", [Conflict("no"), LOST, asyncpg.QueryCanceledError("x"), conflict("idempotency")])
    async def test_that_fails_otherwise_is_not_tried_again(self, error: Exception) -> None:
        asked = Asked(error, {})
        with pytest.raises(type(error)):
            await asked.run()
        assert asked.done == ["begin", "handle", "release"]

    async def test_whose_connection_the_driver_has_lost_leaves_that_to_nobody(self) -> None:
        asked = Asked(asyncpg.InternalClientError("unknown protocol state"))
        with pytest.raises(asyncpg.InternalClientError):
            await asked.run()
        assert asked.done == ["begin", "handle", "abandon", "release"]


class TestAKeyOfARepetition:
    @pytest.fixture
    def kept(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """What is said of each attempt under a key, and what is kept of its answer."""
        found: list[Any] = []

        class Scope:
            def __init__(self, **of: Any) -> None:
                found.append(of)

            async def finish(self, rows: Any, answer: StoredResponse) -> None:
                found.append((rows, answer))

        monkeypatch.setattr(stage, "IdempotencyScope", Scope)
        return found

    async def test_is_of_its_caller_its_operation_and_its_words(self, kept: list[Any]) -> None:
        await Asked({"a": 1}, idempotency_key="k").run()
        [of, (rows, answer)] = kept
        assert (of["caller_key"], of["operation_id"], of["key"], of["sealed"]) == ("USER:7", "makeToy", "k", False)
        assert (rows, answer.status, answer.body) == ("rows", 201, b'{"a":1}')
        prints = {of["fingerprint"]}
        for body, target in ((b"{ }", "/toys?a=b"), (b"{}", "/toys?a=c"), (b"x" * 2**20 + b"y", "/toys?a=b")):
            asked = Asked({}, idempotency_key="k")
            asked.target, asked.operation.secret_response, asked.caller_if_known = target, True, None  # type: ignore[assignment]
            await asked.run(body=body)
            assert (kept[-2]["caller_key"], kept[-2]["sealed"]) == ("public:203.0.113.5", True)
            prints.add(kept[-2]["fingerprint"])
        assert len(prints) == 4

    async def test_keeps_any_answer_with_its_own_status_which_is_that_of_its_line_in_the_audit_log(
        self, kept: list[Any]
    ) -> None:
        for outcome, status, body in (
            (None, 201, b""),
            (Response([], 202), 202, b"[]"),
            (Response(None, 302), 302, b""),
        ):
            asked = Asked(outcome, idempotency_key="k")
            await asked.run()
            assert kept[-1] == ("rows", StoredResponse(status, kept[-1][1].headers, body))
            assert [step[1] for step in asked.done if step[0] == "audit"] == [status]

    async def test_is_one_of_a_post_alone_and_looked_at_anew_in_each_attempt(self, kept: list[Any]) -> None:
        await Asked({}, method="PUT", idempotency_key="k").run()
        await Asked({}).run()
        assert kept == []
        await Asked(asyncpg.SerializationError("x"), {}, idempotency_key="k").run()
        assert len(kept) == 3

    async def test_gives_the_stored_answer_to_who_may_still_have_it(self, kept: list[Any]) -> None:
        stored = ReplayStored(StoredResponse(202, {"ETag": '"3"'}, b"[]"))
        asked = Asked(stored, idempotency_key="k")
        answer = await asked.run()
        assert (answer.status, answer.body) == (202, b"[]")
        assert answer.headers == {"ETag": '"3"', "Idempotency-Replayed": "true"}
        assert asked.done == ["begin", "handle", "release", "check replay", "release"]

        async def forbid(_: Any) -> None:
            raise Forbidden("not any more")

        with pytest.raises(Forbidden):
            await Asked(stored, idempotency_key="k").run(check_replay=forbid)
