"""Whether the ports of a service can be listened on, found out before anything is started."""

from __future__ import annotations

import socket
from typing import Any


def listening_address(host: str, port: int) -> Any:
    """The first address of the host, as getaddrinfo gives it."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]


def find_port_fault(host: str, port: int) -> str | None:
    """The reason why this port cannot be listened on; None if it can.

    Workers share the port among themselves, so the kernel would let us share it with a stranger of ours too.
    """
    try:
        family, kind, protocol, _, address = listening_address(host, port)
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return error.strerror or str(error)
    return None
