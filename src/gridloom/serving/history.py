"""Progress at the terminal while a sandbox plays its history."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress

import asyncpg

from gridloom.database.pool import create_pool
from gridloom.sandbox.simulation import Simulation
from gridloom.sandbox.simulator_store import read_simulation
from gridloom.settings import Settings

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
