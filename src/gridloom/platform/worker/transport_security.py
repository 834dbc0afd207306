"""Strict-Transport-Security on every answer, where a production is reached over https (RFC 6797)."""

from __future__ import annotations

from typing import Any, Final

from gridloom.platform.http.request import Receive, Scope, Send

_HEADER: Final = (b"strict-transport-security", b"max-age=31536000")


class WithTransportSecurity:
    """Has browsers use https only, for a year from each response."""

    def __init__(self, behind: Any) -> None:
        self._behind = behind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return

        async def send_with_header(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], _HEADER]}
            await send(message)

        await self._behind(scope, receive, send_with_header)
