"""A request's conditions, and its one transaction from beginning to end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.kernel.problem import PreconditionRequired
from gridloom.platform.http import request as requests
from gridloom.platform.http.request import Request
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
    def test_may_be_left_out_unless_it_is_required(self) -> None:
        request_with().check_if_match("3")
        for method in ("PUT", "PATCH", "DELETE", "POST"):
            with pytest.raises(PreconditionRequired):
                request_with(method=method).check_if_match("3", required=True)


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

    def test_is_none_before_it_begins(self) -> None:
        with pytest.raises(AssertionError, match="begin"):
            _ = request_with().db
        reading = request_with()
        reading.operation.changes_state = False  # type: ignore[misc]
        assert str(reading.db) == "the pool"
