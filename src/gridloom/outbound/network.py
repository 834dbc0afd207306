"""Connections to the address that was checked, and to no other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpcore2

from gridloom.outbound.url_policy import UrlPolicy


class PinnedAddressBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a name once, checks what it found, and connects to exactly that.

    The check is made where the socket is opened, so no other name, redirect or second answer of a name server can lead
    past it. The certificate is still checked against the name.
    """

    def __init__(self, rules: UrlPolicy) -> None:
        self._rules = rules
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        address = await self._rules.resolve(host, port)
        return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
