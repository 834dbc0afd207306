"""Read replicas: standbys that answer reads once they have replayed what the reader must see.

The response to a write has its WAL position, encrypted (`Gridloom-Position`); clients may send it with later reads.
For a read that brings none the primary is asked how far its log has come now. Either way a replica answers
only what it has replayed up to there, else the primary does: no caller ever misses its own writes, nor those it was
told of.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import asyncpg
import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gridloom.kernel.tasks import cancel_and_wait
from gridloom.platform.database.errors import DATABASE_ERRORS, DatabaseFailure
from gridloom.platform.database.pool import Pool, abort_connections, create_pool, prepare_connection

Lsn = int
"""A position in PostgreSQL's log, in bytes from its beginning."""

_WRITTEN: Final = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_SEALED: Final = re.compile(r"[0-9a-f]{1,16}\.([A-Za-z0-9_-]{48})")
_NONCE_BYTES: Final = 12


def read_position(text: str | None) -> Lsn | None:
    """A position as PostgreSQL writes it, such as 0/16B3748; None for anything else."""
    found = _WRITTEN.fullmatch(text) if text is not None else None
    return None if found is None else (int(found[1], 16) << 32) | int(found[2], 16)


class LsnCipher:
    """Seals and opens positions with a key that all replicas of the service share."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, position: Lsn, read_at_us: int) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, position.to_bytes(8), None)
        return f"{read_at_us:x}.{base64.urlsafe_b64encode(sealed).decode()}"

    def open(self, text: str | None) -> Lsn | None:
        """None for what was not sealed with this key."""
        found = _SEALED.fullmatch(text) if text is not None else None
        if found is None:
            return None
        try:
            sealed = base64.urlsafe_b64decode(found[1])
            return int.from_bytes(self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None))
        except (InvalidTag, binascii.Error):
            return None


log = structlog.get_logger()

POLL_INTERVAL_S: Final = 0.25
POLL_TIMEOUT_S: Final = 0.6
"""A replica that does not answer for so long is left out, and the primary answers what it was asked: within a second,
also where it hangs."""
MAX_REPLAY_LAG_S: Final = 3.0
"""A replica that is further behind is left out: waiting for it would mostly be in vain."""
WAIT_S: Final = 0.05
WAIT_STEP_S: Final = 0.002

_DATABASE: Final = "select current_database() || ' ' || system_identifier from pg_control_system()"
"""Which database this is: a standby has its primary's number, and no other server has it."""

_POSITION_OF_PRIMARY: Final = """
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint as read_at_us,
      (case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn()
       else pg_current_wal_flush_lsn() end)::text as position
"""
"""The time first: of two positions, the one of the later time has what was committed before the other was asked for.
What is committed is flushed, unless the server does not wait for that (`synchronous_commit`). What is not flushed no
standby gets to see, and it may lie there for long: reads write, too (hints), but no request waits for it."""


class Replica:
    """One standby: how far it has come, and why it is left out, if it is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pool: Pool
        self.replayed: Lsn = 0
        self.database: str | None = None
        self.answered = 0
        self.refused_writes_of: set[str] = set()
        self.disabled_because: str | None = "not seen yet"

    async def prepare_connection(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        """A new connection may be to a server that has begun anew, further back than it was, or to another one."""
        await prepare_connection(connection)
        self.replayed = read_position(await connection.fetchval("select pg_last_wal_replay_lsn()::text")) or 0
        self.database = await connection.fetchval(_DATABASE)

    async def poll(self) -> bool:
        """Ask how far it has come, and whether it follows at all; raises what speaking to a database may raise."""
        row = await self.pool.fetchrow(
            "select pg_is_in_recovery() as follows, pg_last_wal_replay_lsn()::text as position", timeout=POLL_TIMEOUT_S
        )
        assert row is not None
        self.replayed = max(self.replayed, read_position(row["position"]) or 0)
        if not row["follows"]:
            self.disable("follows no primary")
            await self.pool.expire_connections()  # where its address names several, another one may be the standby now
        return bool(row["follows"])

    async def has_reached(self, position: Lsn) -> bool:
        """Whether it has replayed the log up to there, now or within moments."""
        deadline = time.monotonic() + WAIT_S
        while self.replayed < position:
            if not await self.poll():
                return False
            if self.replayed < position and time.monotonic() >= deadline:
                return False
            if self.replayed < position:
                await asyncio.sleep(WAIT_STEP_S)
        return True

    def record_failed_read(self, operation: str, outage: DatabaseFailure) -> None:
        """The primary answers instead, so the client notices nothing; an operation that writes is declared wrongly."""
        if outage is DatabaseFailure.UNREACHABLE:
            self.disable("broke off")
        if outage is DatabaseFailure.READ_ONLY:
            log.error("replica.write_attempted", replica=self.name, operation=operation)
            self.refused_writes_of.add(operation)

    def disable(self, reason: str) -> None:
        if self.disabled_because is None:
            log.warning("replica.disabled", replica=self.name, reason=reason)
        self.disabled_because = reason

    def disable_unanswering(self, error: BaseException) -> None:
        """Leave it out, and let go of reads that wait for it: the primary answers them."""
        self.disable(f"does not answer ({type(error).__name__})")
        abort_connections(self.pool)

    def enable(self) -> None:
        if self.disabled_because is not None:
            log.info("replica.enabled", replica=self.name)
        self.disabled_because = None


async def follow_replica(name: str, url: str, size: int) -> Replica:
    """Connections are made when they are needed: the replica need not be there yet."""
    replica = Replica(name)
    replica.pool = await create_pool(
        url, size=size, min_size=0, connect_timeout_s=POLL_TIMEOUT_S, prepare=replica.prepare_connection
    )
    return replica


class Replicas:
    """All standbys of one service. Keeps watching them; one that is lost or lags is left out until it is back."""

    def __init__(self, primary: Pool, replicas: Sequence[Replica]) -> None:
        self.all = tuple(replicas)
        self.passed_over = 0  # reads that the primary answered instead
        self._primary = primary
        self._turn = 0
        self._past: deque[tuple[float, Lsn]] = deque(maxlen=64)
        self._database: str | None = None
        self._seal: LsnCipher
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._seal = LsnCipher(await self._primary.fetchval("select position_key from environment"))
        await self._poll_all()
        self._task = asyncio.create_task(self._poll_forever(), name="replicas")

    async def stop(self) -> None:
        await cancel_and_wait(self._task)
        for replica in self.all:
            replica.pool.terminate()

    async def find(self, asked: str | None) -> Replica | None:
        """A replica that has replayed what the reader must see; None where the primary has to answer."""
        replica = await self._find_replayed(asked)
        self.passed_over += replica is None
        return replica

    async def _find_replayed(self, asked: str | None) -> Replica | None:
        usable = [replica for replica in self.all if replica.disabled_because is None]
        if not usable:
            return None
        self._turn += 1
        replica = usable[self._turn % len(usable)]
        position = self._seal.open(asked)
        if position is None:
            position = await self.read_primary_position()
        try:
            if not await replica.has_reached(position) or replica.database != self._database:
                return None
            replica.answered += 1
            return replica
        except DATABASE_ERRORS as error:
            replica.disable_unanswering(error)
            return None

    async def read_primary_position(self) -> Lsn:
        """How far the primary's log has come: behind everything that is committed by now."""
        return (await self._ask_primary())[0]

    async def seal_primary_position(self) -> str:
        """The same, as a caller may see it."""
        return self._seal.seal(*await self._ask_primary())

    async def _ask_primary(self) -> tuple[Lsn, int]:
        row = await self._primary.fetchrow(_POSITION_OF_PRIMARY)
        assert row is not None
        return read_position(row["position"]) or 0, row["read_at_us"]

    async def _poll_forever(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            await self._poll_all()

    async def _poll_all(self) -> None:
        with suppress(*DATABASE_ERRORS):  # while the primary is unreachable, no replica falls behind it
            async with asyncio.timeout(POLL_TIMEOUT_S):
                self._past.append((time.monotonic(), await self.read_primary_position()))
                self._database = self._database or await self._primary.fetchval(_DATABASE)
        await asyncio.gather(*(self._poll_one(replica) for replica in self.all))

    async def _poll_one(self, replica: Replica) -> None:
        try:
            async with asyncio.timeout(POLL_TIMEOUT_S):
                if not await replica.poll():
                    return
        except DATABASE_ERRORS as error:
            replica.disable_unanswering(error)
            return
        lag_s = self._measure_lag_s(replica)
        if replica.database != self._database:
            replica.disable("is of another database")
        elif lag_s > MAX_REPLAY_LAG_S:
            replica.disable(f"{lag_s:.0f} s behind")
        else:
            replica.enable()

    def _measure_lag_s(self, replica: Replica) -> float:
        """How old the oldest position of the primary is that the replica has not replayed."""
        missed = [at for at, position in self._past if position > replica.replayed]
        return time.monotonic() - missed[0] if missed else 0.0
