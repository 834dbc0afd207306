"""A transport for `https://` that reads certificates when the first request needs them.

A service at `http://` answers without; reading them takes longer than its answer. It may still redirect to `https://`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

import httpx2


class DeferredTls(httpx2.BaseTransport):
    def __init__(self, trust: Callable[[], ssl.SSLContext | bool]) -> None:
        self._trust = trust
        self._transport: httpx2.HTTPTransport | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._transport is None:
            self._transport = httpx2.HTTPTransport(verify=self._trust())
        return self._transport.handle_request(request)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
