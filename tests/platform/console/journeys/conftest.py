"""A real browser before the real service: the console as people use it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn
from playwright.async_api import Browser, StorageState, async_playwright
from tests.conftest import counting_reads, migrated_database, read_from_standby
from tests.database_server import find_standby
from tests.people import PASSWORD
from tests.platform.console.journeys.scene import Scene, make_scene
from tests.platform.console.journeys.watching import DESK, Tab
from tests.ports import free_port

from gridloom.app import create_edge
from gridloom.platform.console.application import ConsoleMiddleware
from gridloom.platform.database.pool import create_pool
from gridloom.platform.http.application import Application
from gridloom.platform.identity.bootstrap import bootstrap_operator
from gridloom.settings import Settings

WEB = Path(__file__).parents[4] / "web"
# The first has no windows, which cost the others a second of processor time for each tab that a journey opens.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = (
    "No Chromium was found: set GRIDLOOM_CHROMIUM to one, or install one (Debian: apt install chromium), "
    "and the console's journeys run."
)

OpenTab = Callable[..., AbstractAsyncContextManager[Tab]]


def find_chromium() -> str | None:
    named = os.environ.get("GRIDLOOM_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = find_chromium()
    if found is None:
        if "GRIDLOOM_NEVER_SKIP" in os.environ:
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    return found


@pytest.fixture(scope="session")
def built() -> None:
    """The console as it stands in `web/`."""
    subprocess.run([sys.executable, str(WEB / "build.py"), "--strict"], check=True)


@pytest.fixture(scope="session")
async def browser(chromium: str, built: None) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        await launched.close()


class Service:
    """The service on a port of this machine, in a thread."""

    def __init__(self, port: int) -> None:
        self._port = port

    def start(self, edge: Application) -> None:
        self._server = uvicorn.Server(
            uvicorn.Config(ConsoleMiddleware(edge), port=self._port, log_level="warning", timeout_graceful_shutdown=3)
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 30
        while not self._server.started:
            assert time.monotonic() < deadline, "the service did not start"
            time.sleep(0.05)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)

    def restart(self, edge: Application) -> None:
        self.stop()
        self.start(edge)


@pytest.fixture(scope="session")
async def scene(settings: Settings, browser: Browser) -> AsyncIterator[Scene]:
    """The service on a real port with a small world in it; one for all journeys, which keep out of each other's way."""
    async with migrated_database() as url:
        pool = await create_pool(url, size=1)
        await bootstrap_operator(pool, "operator", PASSWORD)
        await pool.close()
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        own = replace(settings, database_url=url, base_url=address, sandbox_base_url=address, simulator=False)
        edge = create_edge(await read_from_standby(own))
        service = Service(port)
        service.start(edge)
        try:
            with counting_reads(edge):
                scene = await asyncio.to_thread(make_scene, address)
                scene.database_url = url
                scene.restart = lambda: service.restart(create_edge(replace(own, read_database_urls=find_standby(url))))
                yield scene
        finally:
            await asyncio.to_thread(service.stop)


@pytest.fixture(scope="session")
def sessions() -> dict[str, StorageState]:
    """What a browser keeps of each person who has signed in once: the cookie, and that there is one."""
    return {}


@pytest.fixture(scope="session")
def parked() -> dict[str, list[Tab]]:
    """Tabs of signed-in people at a desk that no test has open: to start another takes as long as a short journey."""
    return {}


@pytest.fixture
def open_tab(
    browser: Browser, scene: Scene, sessions: dict[str, StorageState], parked: dict[str, list[Tab]]
) -> OpenTab:
    """`async with open_tab("trader") as tab`: of a signed-in user, and at its end nothing may have gone wrong.
    Where it goes first is the test's to say. A tab that `is_new` has nothing in its cache."""

    async def make(username: str | None, size: tuple[int, int], locale: str | None) -> Tab:
        context = await browser.new_context(
            locale=locale,
            viewport={"width": size[0], "height": size[1]},
            color_scheme="light",
            reduced_motion="reduce",  # what only moves would be painted sixty times a second
            permissions=["clipboard-read", "clipboard-write"],
            base_url=scene.base_url,
            storage_state=None if username is None else sessions.get(username),
        )
        tab = Tab(await context.new_page(), scene.base_url)
        await tab.watch()
        return tab

    @asynccontextmanager
    async def opened(
        username: str | None, *, size: tuple[int, int] = DESK, locale: str | None = None, is_new: bool = False
    ) -> AsyncIterator[Tab]:
        parks = parked.setdefault(username, []) if username and (size, locale, is_new) == (DESK, None, False) else None
        tab = parks.pop() if parks else await make(username, size, locale)
        is_parked = False
        try:
            if username is not None and username not in sessions:
                await tab.sign_in(username)
                sessions[username] = await tab.page.context.storage_state()
            yield tab
            assert tab.faults == []
            if username is not None and parks is not None and (is_parked := await tab.park(sessions[username])):
                parks.append(tab)
        finally:
            if not is_parked:
                await tab.page.context.close()

    return opened
