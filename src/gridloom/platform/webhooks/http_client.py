"""One HTTP call to a receiver: to the address that was checked and no other, with an end to everything."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import httpcore2

from gridloom.kernel.problem import Problem
from gridloom.platform.outbound.url_policy import PinnedAddressBackend, UrlPolicy

CONNECT_S = 5.0
CALL_TIMEOUT_S = 15.0
MAX_ANSWER = 64 * 1024
LOGGED_RESPONSE_BYTES = 4 * 1024
MAX_STORED_HEADERS = 30


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """Either a status with the beginning of the answer, or why there was none."""

    took_ms: int
    status: int | None = None
    headers: Mapping[str, str] | None = None
    body: str | None = None
    error: str | None = None


def read_trust() -> ssl.SSLContext:
    """The machine's authorities, or those that the environment names. Reading them takes longer than a call: once a
    process, not once for each connection."""
    return _read_authorities(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read_authorities(_file: str | None, _directory: str | None) -> ssl.SSLContext:
    return httpcore2.default_ssl_context()


class WebhookClient:
    def __init__(
        self, rules: UrlPolicy, *, whole_call_s: float = CALL_TIMEOUT_S, trust: ssl.SSLContext | None = None
    ) -> None:
        self._whole_call_s = whole_call_s
        self._trust = trust or read_trust()
        # A connection is never shared between organisations' calls that come later: each call opens its own.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._trust,
            max_connections=200,
            max_keepalive_connections=0,
            retries=0,
            network_backend=PinnedAddressBackend(rules),
        )

    async def close(self) -> None:
        await self._pool.aclose()

    async def post(self, url: str, headers: Mapping[str, str], body: str) -> AttemptResult:
        began = time.perf_counter()

        def took_ms() -> int:
            return round((time.perf_counter() - began) * 1000)

        try:
            async with asyncio.timeout(self._whole_call_s):
                status, answer_headers, answer = await self._post_event(url, headers, body.encode())
        except TimeoutError:
            return AttemptResult(took_ms(), error=f"no answer within {self._whole_call_s:g} s")
        except Problem as refusal:
            return AttemptResult(took_ms(), error=refusal.detail)
        except Exception as error:  # noqa: BLE001  # whatever a receiver or its name server provokes is a failed attempt
            detail = f"{type(error).__name__}: {error}".replace("\x00", "�")
            return AttemptResult(took_ms(), error=detail[:500])
        stored = answer[:LOGGED_RESPONSE_BYTES].decode("utf-8", "replace").replace("\x00", "�")
        return AttemptResult(took_ms(), status=status, headers=answer_headers, body=stored)

    async def _post_event(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        sent = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        timeouts = {"connect": CONNECT_S, "read": self._whole_call_s, "write": self._whole_call_s, "pool": CONNECT_S}
        async with self._pool.stream(
            "POST", url, headers=sent, content=body, extensions={"timeout": timeouts}
        ) as answer:
            read = b""
            async for chunk in answer.aiter_stream():
                read += chunk
                if len(read) > MAX_ANSWER:
                    break
            stored = {
                name.decode("latin-1").lower().replace("\x00", ""): value.decode("latin-1").replace("\x00", "")[:500]
                for name, value in answer.headers[:MAX_STORED_HEADERS]
            }
            return answer.status, stored, read
