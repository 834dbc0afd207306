"""Connections of a service as people run it: the silent go, the served stay."""

from __future__ import annotations

import contextlib
import socket
import time

from tests.journeys.service import a_service

from gridloom.platform.worker.connection_reaper import FIRST_REQUEST_TIMEOUT_S, POLL_INTERVAL_S


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True


class TestConnections:
    def test_that_say_nothing_are_closed_and_streams_go_on(self) -> None:
        with a_service() as service:
            service.start()
            token = service.operator_token()
            streams = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(4)]
            for stream in streams:
                stream.sendall(f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
                stream.settimeout(10)
                assert b"200 OK" in stream.recv(65_536)
            silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
            half = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
            for connection in half:
                connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n")
            deadline = time.monotonic() + FIRST_REQUEST_TIMEOUT_S + 10 * POLL_INTERVAL_S + 20
            while any(map(is_open, silent)) or any(map(is_open, half)):
                assert time.monotonic() < deadline, "silent connections stay open"
                time.sleep(0.2)
            time.sleep(2 * POLL_INTERVAL_S)
            service.call("POST", "/organisations", {"name": "New", "kind": "PARTICIPANT"}, token)
            for stream in streams:
                stream.setblocking(True)
                stream.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    assert stream.recv(65_536) != b"", "a stream was closed"
