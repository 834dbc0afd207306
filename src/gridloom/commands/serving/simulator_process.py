"""The sandbox's simulator beside the service: a client with a process of its own, started again whenever it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import asyncpg
import structlog

from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.server.processes import end_with_parent
from gridloom.sandbox.simulation import Simulation
from gridloom.sandbox.simulator.credentials import SHUT_OUT_STATUS, say_shut_out
from gridloom.sandbox.simulator_store import read_simulation
from gridloom.settings import Settings, address_of

log = structlog.get_logger()

PAUSE_S = 2.0
LOGIN_REJECTED_DELAY_S = 600.0
"""Where it was not let in: an operator has to correct that, so retry rarely."""


class SimulatorProcess:
    """It goes on from its last step whenever it is started."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        self.due = 0.0

    def keep_alive(self) -> None:
        if not self.settings.simulator:
            return
        if self.process is not None:
            status = self.process.poll()
            if status is None:
                return
            self._note_end(status)
        if time.monotonic() >= self.due:
            self._start_process()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _start_process(self) -> None:
        self.due = time.monotonic() + PAUSE_S
        command = [
            sys.executable,
            "-m",
            "gridloom.sandbox.simulator",
            address_of(self.settings),
            str(self.settings.home),
        ]
        self.process = subprocess.Popen(  # noqa: S603
            command, preexec_fn=partial(end_with_parent, os.getpid(), signal.SIGKILL), start_new_session=True
        )

    def _note_end(self, status: int) -> None:
        self.process = None
        if status != SHUT_OUT_STATUS:
            log.error("simulator.exited", action="starting it again")
            return
        self.due = time.monotonic() + LOGIN_REJECTED_DELAY_S
        # It has said why in the log; callers of the service get the same. Should the database be away, that is
        # written after the next attempt.
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            asyncio.run(_store_error(self.settings, say_shut_out(self.settings.home)))


async def _store_error(settings: Settings, sentence: str) -> None:
    from gridloom.platform.database.pool import create_pool
    from gridloom.sandbox import simulator_store

    assert settings.database_url is not None
    async with await create_pool(settings.database_url, size=1) as pool:
        await simulator_store.store_error(pool, sentence)


POLL_INTERVAL_S = 10.0
NO_WORLD = "none: this sandbox was in use before; gridloom sandbox simulator --running begins one"


def history_text(state: Simulation) -> str | None:
    """For example `history 31 %, about 80 s left`; None where it is complete."""
    if state.history_complete:
        return None
    share = f"history {state.progress * 100:.0f} %"
    left_s = state.history_left_s
    return share if left_s is None else f"{share}, about {left_s:.0f} s left"


async def describe_history(settings: Settings) -> str | None:
    assert settings.database_url is not None
    async with await create_pool(settings.database_url, size=1) as pool:
        state = await read_simulation(pool)
    return NO_WORLD if state is None else history_text(state)


def follow_history(settings: Settings) -> None:
    """A line every few seconds until the history is complete; a database that is away is asked again."""
    while True:
        time.sleep(POLL_INTERVAL_S)
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            text = asyncio.run(describe_history(settings))
            sys.stdout.write(f"{text or 'history complete'}\n")
            sys.stdout.flush()
            if text is None:
                return
