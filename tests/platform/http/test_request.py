"""A request's conditions, and its one transaction from beginning to end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from tests.platform.http.test_stages import CALLER

from gridloom.kernel.problem import PreconditionFailed, PreconditionRequired
from gridloom.platform.http import request as requests
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.request import Request, await_disconnect
from gridloom.platform.http.shares import Shares

pytestmark = pytest.mark.pure


def request_with(headers: dict[bytes, bytes] | None = None, **more: Any) -> Request:
    operation: Any = SimpleNamespace(method=more.pop("method", "PUT"), audited=True, changes_state=True)
    nothing: Any = None
    given: dict[str, Any] = {
        "operation": operation,
        "headers": headers or {},
        "path": "/toys",
        "target": "/toys",
        "address": "203.0.113.5",
        "request_id": "1",
        "pool": "the pool",
        "resources": nothing,
        "shares": Shares(exempt_usernames=frozenset({"probe"})),
        "stopping": asyncio.Event(),
        "audit": nothing,
        "accepts": "application/json",
    }
    return Request(**{**given, **more})


class TestACondition:
    @pytest.mark.parametrize("sent", [b'"3"', b'"2", "3"', b"*", b'"1",*', b' "3" '])
    def test_is_met_by_any_of_its_tags(self, sent: bytes) -> None:
        for etag in ("3", '"3"'):
            request_with({b"if-match": sent}).check_if_match(etag, required=True)

    @pytest.mark.parametrize("sent", [b'"2"', b"3", b'"33"', b'W/"3"', b""])
    def test_is_not_met_by_another(self, sent: bytes) -> None:
        with pytest.raises(PreconditionFailed, match='its ETag is "3" now'):
            request_with({b"if-match": sent}).check_if_match("3")

    def test_may_be_left_out_unless_it_is_required(self) -> None:
        request_with().check_if_match("3")
        for method in ("PUT", "PATCH", "DELETE", "POST"):
            with pytest.raises(PreconditionRequired):
                request_with(method=method).check_if_match("3", required=True)

    def test_that_nothing_has_looked_at_is_not_met(self) -> None:
        with pytest.raises(PreconditionFailed, match="carries no ETag"):
            request_with({b"if-match": b'"3"'}).reject_unchecked_if_match()
        request_with({b"if-match": b'"3"'}, method="POST").reject_unchecked_if_match()
        request_with({b"if-match": b" * "}).reject_unchecked_if_match()
        request_with().reject_unchecked_if_match()
        checked = request_with({b"if-match": b'"3"'})
        checked.check_if_match("3")
        checked.reject_unchecked_if_match()


class TestACallerOfARequest:
    async def test_counts_for_its_organisation_and_is_as_it_is_now_when_asked_again(self) -> None:
        request = request_with()
        later = replace(CALLER, role="VIEWER")

        async def verify() -> Caller:
            return later

        request.set_caller(CALLER, verify)
        assert (request.caller, request.holder) == (CALLER, CALLER.organisation_id)
        assert await request.reauthenticate() is later
        assert request.caller is later
        request.set_caller(replace(CALLER, username="probe"))
        assert request.holder is None

    async def test_has_left_when_the_server_says_so_and_not_before(self) -> None:
        messages = [{"type": "http.request"}, {"type": "http.request"}, {"type": "http.disconnect"}, {"type": "more"}]

        async def receive() -> Any:
            return messages.pop(0)

        await await_disconnect(receive)
        assert messages == [{"type": "more"}]


class TestTheTransactionOfARequest:
    @pytest.fixture
    def done(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What happens, in its order."""
        found: list[str] = []

        def note(name: str, answer: Any = None) -> Any:
            def call(*_: Any, **__: Any) -> Any:
                found.append(name)
                return answer

            return call

        def note_later(name: str, answer: Any = None) -> Any:
            async def call(*_: Any, **__: Any) -> Any:
                found.append(name)
                return answer

            return call

        transaction = SimpleNamespace(
            start=note_later("start"), commit=note_later("commit"), rollback=note_later("rollback")
        )
        connection = SimpleNamespace(transaction=lambda: transaction)
        physical = SimpleNamespace(is_closed=lambda: False, terminate=note("terminate"))
        monkeypatch.setattr(requests, "acquire", note_later("acquire", connection))
        monkeypatch.setattr(requests, "give_back", note_later("give back"))
        monkeypatch.setattr(requests, "begin_deferring", note("defer"))
        monkeypatch.setattr(requests, "flush_deferred", note_later("flush"))
        monkeypatch.setattr(requests, "run_callbacks", note("callbacks"))
        monkeypatch.setattr(requests, "discard_callbacks", note("discard callbacks"))
        monkeypatch.setattr(requests, "discard_deferred", note("discard rows"))
        monkeypatch.setattr(requests, "underlying_connection", lambda _: physical)
        return found

    async def test_begins_once_and_is_committed_with_what_was_deferred(self, done: list[str]) -> None:
        request = request_with()
        assert not request.in_transaction
        db = await request.begin()
        assert (await request.begin(), request.db, request.in_transaction) == (db, db, True)
        assert done == ["acquire", "start", "defer"]
        done.clear()
        await request.commit()
        assert (done, request.in_transaction) == (["flush", "commit", "callbacks"], False)
        done.clear()
        await request.commit()
        await request.release()
        await request.release()
        assert done == ["discard callbacks", "discard rows", "give back"]

    async def test_is_rolled_back_where_it_was_not_committed(self, done: list[str]) -> None:
        request = request_with()
        await request.begin()
        done.clear()
        await request.release()
        assert done == ["discard callbacks", "discard rows", "rollback", "give back"]
        assert not request.in_transaction

    async def test_of_a_connection_that_has_died_is_let_go_of_without_a_word(
        self, done: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: Any) -> None:
            done.append("fail")
            raise asyncpg.ConnectionDoesNotExistError("gone")

        monkeypatch.setattr(requests, "give_back", fail)
        request = request_with()
        await request.begin()
        request._transaction.rollback = fail  # type: ignore[union-attr, method-assign]
        done.clear()
        await request.release()
        assert done == ["discard callbacks", "discard rows", "fail", "terminate", "fail"]
        await request.begin()
        done.clear()
        with monkeypatch.context() as closed:
            closed.setattr(requests, "underlying_connection", lambda _: SimpleNamespace(is_closed=lambda: True))
            await request.release()
        assert done == ["discard callbacks", "discard rows", "fail"]
        await request.begin()
        done.clear()
        request.abandon_connection()
        assert done == ["terminate"]

    async def test_looks_up_what_was_answered_before_and_gives_its_connection_back(self, done: list[str]) -> None:
        class Retry:
            async def begin(self, db: Any) -> None:
                done.append("look up")

        nothing: Any = Retry()
        await request_with(retry=nothing).replay_if_stored()
        assert done[:4] == ["acquire", "start", "defer", "look up"]
        assert done[-2:] == ["rollback", "give back"]
        done.clear()
        await request_with().replay_if_stored()
        assert done == []

    @pytest.mark.parametrize(("passed_s", "is_committed"), [(4.9, True), (5.0, True), (5.1, False)])
    async def test_is_undone_behind_its_deadline(
        self, done: list[str], monkeypatch: pytest.MonkeyPatch, passed_s: float, is_committed: bool
    ) -> None:
        now = [100.0]
        monkeypatch.setattr(requests, "time", SimpleNamespace(monotonic=lambda: now[0]))
        request = request_with()
        await request.begin()
        request.set_commit_deadline(5.0)
        now[0] += passed_s
        if is_committed:
            await request.commit()
        else:
            with pytest.raises(TimeoutError):
                await request.commit()
            await request.release()
        assert ("commit" in done, "rollback" in done) == (is_committed, not is_committed)

    def test_is_none_before_it_begins(self) -> None:
        with pytest.raises(AssertionError, match="begin"):
            _ = request_with().db
        reading = request_with()
        reading.operation.changes_state = False  # type: ignore[misc]
        assert str(reading.db) == "the pool"
