"""Connections of callers, by their address and port: which of them have requests in progress."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Sequence

Peer = tuple[str, int]


def peer_of(address: Sequence[str | int]) -> Peer:
    """Address and port in one spelling: servers write ports as numbers or as texts, and IPv6 in more ways than one."""
    host, port = str(address[0]), int(address[1])
    if ":" in host:
        host = str(ipaddress.ip_address(host.partition("%")[0]))
    return host, port


class ServedConnections:
    """Which connections have requests in progress, and when each had its last response."""

    def __init__(self) -> None:
        self.in_progress: dict[Peer, int] = {}
        self.answered_at: dict[Peer, float] = {}
        self.evicted: set[Peer] = set()
        """Of readers that were too slow: what they have not fetched is dropped."""

    def begin(self, client: Sequence[str | int] | None) -> Peer | None:
        """A complete request has come over this connection; `client` is as the server's scope has it."""
        if not client:
            return None
        peer = peer_of(client)
        self.in_progress[peer] = self.in_progress.get(peer, 0) + 1
        return peer

    def evict(self, client: Sequence[str | int] | None) -> None:
        if client:
            self.evicted.add(peer_of(client))

    def end(self, peer: Peer | None) -> None:
        """Its response has been handed to the server; `peer` is what `begin` gave."""
        if peer is None:
            return
        left = self.in_progress[peer] - 1
        if left > 0:
            self.in_progress[peer] = left
            return
        del self.in_progress[peer]
        self.answered_at[peer] = time.monotonic()
