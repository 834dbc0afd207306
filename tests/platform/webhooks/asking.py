"""What tests ask about webhooks over HTTP, and wait for."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.people import OrganisationUnderTest


async def set_up(ours: OrganisationUnderTest, url: str, *types: str, **more: Any) -> dict[str, Any]:
    made = await ours.admin.post("/webhooks", json={"url": url, "types": list(types), **more})
    assert made.status_code == 201, made.text
    webhook: dict[str, Any] = made.json()
    return webhook


async def deliveries(ours: OrganisationUnderTest, webhook: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    read = await ours.admin.get(f"/webhooks/{webhook['id']}/deliveries", params=query)
    assert read.status_code == 200, read.text
    found: list[dict[str, Any]] = read.json()
    return found


async def until_state(ours: OrganisationUnderTest, webhook: dict[str, Any], state: str, count: int = 1) -> list[Any]:
    async with asyncio.timeout(120):
        while len(found := await deliveries(ours, webhook, state=state)) < count:
            await asyncio.sleep(0.02)
    return found


async def until_attempts(ours: OrganisationUnderTest, webhook: dict[str, Any], count: int) -> None:
    async with asyncio.timeout(120):
        while not (found := await deliveries(ours, webhook)) or len(found[0]["attempts"]) < count:
            await asyncio.sleep(0.02)
