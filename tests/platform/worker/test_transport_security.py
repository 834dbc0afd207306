"""Strict-Transport-Security is added to what answers a request, and to nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.platform.worker.transport_security import WithTransportSecurity

pytestmark = pytest.mark.pure


class TestAnAnswerOverHttps:
    @pytest.mark.parametrize(("kind", "added"), [("http", 1), ("lifespan", 0)])
    async def test_has_browsers_come_back_over_https_for_a_year(self, kind: str, added: int) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": [(b"etag", b'"3"')]}
        body = {"type": "http.response.body", "body": b"{}"}
        sent: list[Any] = []

        async def behind(scope: Any, receive: Any, send: Any) -> None:
            assert (scope, receive) == ({"type": kind}, "receive")
            await send(start)
            await send(body)

        async def send(message: Any) -> None:
            sent.append(message)

        receive: Any = "receive"
        await WithTransportSecurity(behind)({"type": kind}, receive, send)
        header = (b"strict-transport-security", b"max-age=31536000")
        assert sent == [{**start, "headers": [(b"etag", b'"3"'), *[header] * added]}, body]
        assert start["headers"] == [(b"etag", b'"3"')], "what was behind keeps its own"
