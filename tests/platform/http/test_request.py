"""A request's conditions, and its one transaction from beginning to end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.kernel.problem import PreconditionRequired
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
    def test_is_none_before_it_begins(self) -> None:
        with pytest.raises(AssertionError, match="begin"):
            _ = request_with().db
        reading = request_with()
        reading.operation.changes_state = False  # type: ignore[misc]
        assert str(reading.db) == "the pool"
