"""Ports for what tests start."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

_COUNT = 12_000
_claims: dict[int, int] = {}
"""Descriptors of the locks on this process' ports, kept to its end."""


def free_port() -> int:
    """A port that no other test of this run gets, and no connection: it lies below those that connections are made
    from. (A port that the kernel chose may be taken again between here and the start of who asked for it.)"""
    end = _find_first_of_connections()
    for port in random.SystemRandom().sample(range(max(1024, end - _COUNT), end), k=min(_COUNT, end - 1024)):
        if port not in _claims and _claim(port):
            return port
    raise RuntimeError("every port is in use")


def _find_first_of_connections() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32_768


def _claim(port: int) -> bool:
    lock = os.open(Path(tempfile.gettempdir()) / f"port-{port}", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        os.close(lock)
        return False
    _claims[port] = lock
    return True
