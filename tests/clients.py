"""The client that people of tests have."""

from __future__ import annotations

from typing import Any

import httpx2


class PersonClient(httpx2.AsyncClient):
    """One person's requests, without a network in between."""

    async def change(self, path: str, *, json: Any, headers: dict[str, str] | None = None) -> httpx2.Response:
        """Sends a PATCH, under the word of the interface's summaries: in tests, `patch` is for what is replaced."""
        return await self.request("PATCH", path, json=json, headers=headers)
