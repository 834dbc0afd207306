"""PostgreSQL is shared by the processes of a run: one of them restarts it while the others wait between two steps."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg

SHARED = "GRIDLOOM_LIVES_SHARED"
"""A directory that the processes of a run share; not set where a process is alone."""
POLL_S = 0.02
MAX_RESTART_S = 60.0


class SharedServer:
    """The lock under which steps are taken, and the way to ask for a restart."""

    def __init__(self, directory: Path) -> None:
        self._wanted = directory / "restart"
        self._file = (directory / "steps").open("a")

    async def hold(self) -> bool:
        """Until `release`, PostgreSQL stays. Whether that had to be waited for."""
        has_waited = False
        while self._wanted.exists() or not self._try_lock(fcntl.LOCK_SH):
            has_waited = True
            await asyncio.sleep(POLL_S)
        return has_waited

    def release(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    async def restart(self, url: str) -> None:
        """Once the others have ended their steps; the process that started this one does it."""
        before = await _read_start(url)
        while not self._try_lock(fcntl.LOCK_EX):
            self._wanted.touch()
            await asyncio.sleep(POLL_S)
        self._wanted.touch()
        os.kill(os.getppid(), signal.SIGUSR1)
        try:
            async with asyncio.timeout(MAX_RESTART_S):
                while await _read_start(url) in (None, before):
                    await asyncio.sleep(POLL_S)
        finally:
            self._wanted.unlink(missing_ok=True)
            self.release()

    def _try_lock(self, kind: int) -> bool:
        with suppress(BlockingIOError):
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
            return True
        return False


async def _read_start(url: str) -> object:
    """Since when the server runs; None where it does not."""
    with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval("select pg_postmaster_start_time()")
        finally:
            await connection.close()
    return None


_shared = SharedServer(Path(os.environ[SHARED])) if SHARED in os.environ else None


def find_shared_server() -> SharedServer | None:
    return _shared


@asynccontextmanager
async def calm() -> AsyncIterator[bool]:
    """While PostgreSQL stays; whether it may have been restarted just before."""
    if _shared is None:
        yield False
        return
    try:
        yield await _shared.hold()
    finally:
        _shared.release()
