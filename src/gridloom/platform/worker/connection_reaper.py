"""Open connections of this process: those that ask for nothing are closed, and none of them keeps a caller out.

The server accepts what comes and reports no connection before its first request is complete. So the sockets
themselves are looked at: which of the process's descriptors are connections of callers, since when each has had no
request, and how many an address holds. Why this and not something in front is in
docs/decisions/0015-idle-connections.md.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import socket
import stat
import struct
import termios
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client import Counter as Count

from gridloom.kernel.networks import network_of
from gridloom.platform.http.admit import Peer, ServedConnections, peer_of

log = structlog.get_logger("gridloom.platform.http")

POLL_INTERVAL_S: Final = 0.5
FIRST_REQUEST_TIMEOUT_S: Final = 5.0
"""How long a connection may be open without a complete request, however it dribbles."""
KEEP_ALIVE_TIMEOUT_S: Final = 15.0
"""How long a connection stays open for the next request after an answer."""
SEND_TIMEOUT_S: Final = 120.0
"""How long an answer that is complete may take to be fetched."""
MAX_PER_ADDRESS: Final = 512
"""Connections without a request that one address may hold in one process; the oldest go first."""
SCAN_BATCH_SIZE: Final = 256
"""Descriptors between two turns of the event loop: about a millisecond."""

CLOSED: Final = Count("gridloom_connections_closed", "Connections closed because they asked for nothing", ["reason"])


@dataclass(slots=True)
class IdleConnection:
    """A connection of a caller, as it was found."""

    inode: int
    peer: Peer
    network: str
    found_at: float


class ConnectionReaper:
    """Closes connections without a request in progress: after a time-out, or where there are too many."""

    def __init__(
        self,
        port: int,
        served: ServedConnections,
        *,
        max_per_address: int | None = MAX_PER_ADDRESS,
        max_idle: int | None = None,
    ) -> None:
        """max_idle: of this process; three quarters of its descriptors when left out."""
        self._port = port
        self.served = served
        self._max_per_address = max_per_address
        self._max_idle = max_idle or resource.getrlimit(resource.RLIMIT_NOFILE)[0] * 3 // 4
        self._known: dict[int, IdleConnection | int] = {}
        """By descriptor; the bare inode of what is no connection of a client."""

    async def watch(self) -> None:
        """Look around for ever."""
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            try:
                await self.scan()
            except OSError as error:  # no descriptor left to look with: the next look may find one
                log.warning("connections.scan_failed", error=repr(error))

    async def scan(self) -> None:
        """Find new connections, drop those that have gone, close idle ones."""
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 — names only, thousands of them
        for start in range(0, len(descriptors), SCAN_BATCH_SIZE):
            for descriptor in descriptors[start : start + SCAN_BATCH_SIZE]:
                self._recognise_connection(descriptor)
            await asyncio.sleep(0)
        for descriptor in self._known.keys() - set(descriptors):
            del self._known[descriptor]
        self._evict_past_responses()
        for index, (descriptor, reason) in enumerate(list(self._list_superfluous(time.monotonic()))):
            self._close_connection(descriptor, reason)
            if index % SCAN_BATCH_SIZE == SCAN_BATCH_SIZE - 1:
                await asyncio.sleep(0)

    def _recognise_connection(self, descriptor: int) -> None:
        try:
            status = os.fstat(descriptor)
        except OSError:  # closed meanwhile
            self._known.pop(descriptor, None)
            return
        known = self._known.get(descriptor)
        if known is not None and (known if isinstance(known, int) else known.inode) == status.st_ino:
            return
        peer = self._peer_of(descriptor) if stat.S_ISSOCK(status.st_mode) else None
        self._known[descriptor] = (
            status.st_ino
            if peer is None
            else IdleConnection(status.st_ino, peer, network_of(peer[0]), time.monotonic())
        )

    def _peer_of(self, descriptor: int) -> Peer | None:
        """Who is at the other end of a connection to our port; None for any other socket."""
        try:
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                if connection.family not in (socket.AF_INET, socket.AF_INET6):
                    return None
                if connection.getsockname()[1] != self._port:
                    return None
                peer = connection.getpeername()
        except OSError:  # it listens, or has gone
            return None
        return peer_of(peer)

    def _evict_past_responses(self) -> None:
        if self.served.answered_at or self.served.evicted:
            open_peers = {known.peer for known in self._known.values() if isinstance(known, IdleConnection)}
            for peer in self.served.answered_at.keys() - open_peers:
                del self.served.answered_at[peer]
            self.served.evicted &= open_peers

    def _list_superfluous(self, now: float) -> Iterator[tuple[int, str]]:
        """Connections idle for too long; then, where too many are open, the oldest of the others."""
        waiting: list[tuple[float, int, str]] = []
        for descriptor, known in self._known.items():
            if isinstance(known, int) or known.peer in self.served.in_progress:
                continue
            if known.peer in self.served.evicted:
                yield descriptor, "slow reader"
                continue
            answered_at = self.served.answered_at.get(known.peer)
            since = known.found_at if answered_at is None else max(answered_at, known.found_at)
            if now - since > (FIRST_REQUEST_TIMEOUT_S if answered_at is None else KEEP_ALIVE_TIMEOUT_S):
                yield descriptor, "silent" if answered_at is None else "idle"
            else:
                waiting.append((since, descriptor, known.network))
        waiting.sort()
        held = Counter(network for _, _, network in waiting)
        excess = len(waiting) - self._max_idle
        for _, descriptor, network in waiting:
            if excess > 0:
                excess -= 1
                held[network] -= 1
                yield descriptor, "too many"
            elif self._max_per_address is not None and held[network] > self._max_per_address:
                held[network] -= 1
                yield descriptor, "too many of one address"

    def _close_connection(self, descriptor: int, reason: str) -> None:
        """End it for reading: a request that has just arrived is still served, an answer on its way still sent."""
        known = self._known[descriptor]
        assert isinstance(known, IdleConnection)
        try:
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                # The duplicate cannot become another connection; the descriptor could have, since it was looked at.
                if peer_of(connection.getpeername()) != known.peer or known.peer in self.served.in_progress:
                    return
                is_evicted = known.peer in self.served.evicted
                is_stuck = is_evicted or time.monotonic() - known.found_at > SEND_TIMEOUT_S
                if _unfetched_bytes(connection) and not is_stuck:
                    return
                connection.shutdown(socket.SHUT_RDWR if is_stuck else socket.SHUT_RD)
        except OSError:  # it has gone by itself
            return
        CLOSED.labels(reason).inc()


def _unfetched_bytes(connection: socket.socket) -> int:
    answer = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
    return int(struct.unpack("i", answer)[0])
