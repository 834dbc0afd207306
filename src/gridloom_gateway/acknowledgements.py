"""Acknowledgements of dispatch on their way to the service: on disk until it has them, in the order in which they came
about."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from uuid import UUID

from gridloom_client import Client, GridloomError
from gridloom_gateway.files import replace_file
from gridloom_gateway.uplink import is_final

Status: TypeAlias = Literal["RECEIVED", "APPLIED", "REJECTED", "NOT_FOLLOWED"]
MAX_WAITING: Final = 10_000
RETRY_S: Final = 5.0

_log = logging.getLogger(__name__)


class Acknowledgement(NamedTuple):
    """`time` is the quarter-hour, `at` when it came about."""

    asset: UUID
    version: int
    time: datetime
    status: Status
    at: datetime
    reason: str | None


class AcknowledgementQueue:
    """A thread of its own sends them; the same once more is the same acknowledgement for the service."""

    def __init__(self, client: Client, path: Path) -> None:
        self._client, self._path = client, path
        self._lock = threading.Lock()
        self._waiting: deque[Acknowledgement] = deque(_read_waiting(path), MAX_WAITING)
        self._has_some, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._send_waiting, name="acknowledgements", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._has_some.set()
        self._thread.join(5)

    def put(self, one: Acknowledgement) -> None:
        """Durable when it returns, unless the disk refuses it."""
        level = logging.INFO if one.status in ("RECEIVED", "APPLIED") else logging.WARNING
        _log.log(level, "Battery %s: dispatch of %s %s. %s", one.asset, one.time, one.status, one.reason or "")
        with self._lock:
            self._waiting.append(one)
            self._store_waiting()
        self._has_some.set()

    def _store_waiting(self) -> None:
        rows = [
            [*map(str, one[:2]), one.time.isoformat(), one.status, one.at.isoformat(), one.reason]
            for one in self._waiting
        ]
        try:
            replace_file(self._path, json.dumps(rows).encode())
        except OSError as error:
            _log.error("Acknowledgements cannot be kept on disk: %s", error)

    def _send_waiting(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                first = self._waiting[0] if self._waiting else None
                if first is None:
                    self._has_some.clear()
            if first is None:
                self._has_some.wait()
                continue
            try:
                self._client.physical_assets.acknowledge_dispatch(
                    first.asset, first.version, first.time, first.status, first.at, first.reason
                )
            except GridloomError as error:
                if not is_final(error):
                    self._stopping.wait(RETRY_S)
                    continue
                _log.error("Battery %s: the service refused an acknowledgement: %s", first.asset, error)
            with self._lock:
                if self._waiting and self._waiting[0] == first:
                    self._waiting.popleft()
                self._store_waiting()


def _read_waiting(path: Path) -> list[Acknowledgement]:
    try:
        rows: list[Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return [
        Acknowledgement(
            UUID(asset), int(version), datetime.fromisoformat(time), status, datetime.fromisoformat(at), reason
        )
        for asset, version, time, status, at, reason in rows
    ]
