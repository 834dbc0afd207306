"""A browser as the service sees one: what it says of where a request comes from, and the cookie it keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from tests.people import PASSWORD, Person

from gridloom.platform.console.application import ConsoleMiddleware
from gridloom.platform.console.pages import StaticFiles
from gridloom.platform.http.application import Application

ORIGIN = "http://gridloom.test"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
A_CHANGE = {**SAME_ORIGIN, "Origin": ORIGIN, "X-Gridloom-Console": "1"}


@asynccontextmanager
async def browser(edge: Application, built: Path | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """Nothing is sent but what a test says; cookies are kept."""
    app = ConsoleMiddleware(edge, pages=StaticFiles(built) if built else None)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False, client=("10.9.8.7", 50_000))  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        yield client


async def sign_in(client: httpx2.AsyncClient, person: Person, password: str = PASSWORD) -> httpx2.Response:
    return await client.post(
        "/console/session", json={"username": person.username, "password": password}, headers=A_CHANGE
    )
