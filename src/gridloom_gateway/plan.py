"""Dispatch of each battery for the next 36 hours: read from the service, kept on disk, and valid without the line."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from gridloom_client import Client, GridloomError
from gridloom_gateway.clock import PERIOD, now, period_of
from gridloom_gateway.files import replace_file

HORIZON: Final = timedelta(hours=36)
READ_EVERY_S: Final = 60.0
RETRY_S: Final = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """`power_kw` by the start of the quarter-hour; positive discharges."""

    version: int = 0
    power_kw: Mapping[datetime, float] = field(default_factory=dict)

    def find_power(self, instant: datetime) -> float | None:
        return self.power_kw.get(period_of(instant))


class PlanStore:
    """A file for each battery."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def read(self, asset: UUID) -> Plan:
        try:
            stored: Any = json.loads((self._directory / f"{asset}.json").read_bytes())
            power_kw = {datetime.fromisoformat(time): float(power) for time, power in stored["power"].items()}
            return Plan(int(stored["version"]), power_kw)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Plan()

    def write(self, asset: UUID, plan: Plan) -> None:
        power = {time.isoformat(): power for time, power in plan.power_kw.items()}
        replace_file(self._directory / f"{asset}.json", json.dumps({"version": plan.version, "power": power}).encode())


class DispatchReader:
    """Reads a battery's dispatch when an event says that it has changed, once a minute all the same, and as soon as the
    line is back."""

    def __init__(self, client: Client, store: PlanStore, changed: Mapping[UUID, Callable[[Plan], None]]) -> None:
        self._client, self._store, self._changed = client, store, changed
        self._stopping, self._wanted = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._due: set[UUID] = set(changed)
        self._threads = [
            threading.Thread(target=self._follow_events, name="events", daemon=True),
            threading.Thread(target=self._read_due_batteries, name="dispatch", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wanted.set()
        self._threads[1].join(5)

    def request(self, *assets: UUID) -> None:
        """Have these read as soon as possible."""
        with self._lock:
            self._due.update(assets)
        self._wanted.set()

    def _follow_events(self) -> None:
        subjects = {f"physical-assets/{asset}": asset for asset in self._changed}
        last: str | None = None
        while not self._stopping.is_set():
            try:
                for event in self._client.events.follow(types=["dispatch.updated"], last_event_id=last):
                    last = event.place or last
                    if event.subject in subjects:
                        self.request(subjects[event.subject])
                    if self._stopping.is_set():
                        return
            except GridloomError as error:
                _log.info("The stream of events ended: %s", error)
            self._stopping.wait(RETRY_S)
            self.request(*self._changed)

    def _read_due_batteries(self) -> None:
        while not self._stopping.is_set():
            is_asked = self._wanted.wait(0 if self._due else READ_EVERY_S)
            self._wanted.clear()
            with self._lock:
                due, self._due = self._due, set()
            if not is_asked and not due:
                due = set(self._changed)
            failed = {asset for asset in due if not self._read_dispatch(asset)}
            if failed:
                with self._lock:
                    self._due |= failed
                self._stopping.wait(RETRY_S)

    def _read_dispatch(self, asset: UUID) -> bool:
        start = period_of(now())
        try:
            answer = self._client.physical_assets.dispatch(asset, start=start, end=start + HORIZON)
        except GridloomError as error:
            _log.info("Battery %s: its dispatch cannot be read: %s", asset, error)
            return False
        plan = Plan(answer.version, {point.time: point.power for point in answer.dispatch})
        try:
            self._store.write(asset, plan)
        except OSError as error:
            _log.error("Battery %s: its dispatch holds, but cannot be kept on disk: %s", asset, error)
        self._changed[asset](plan)
        return True


def find_first_change(before: Plan, after: Plan, instant: datetime) -> datetime | None:
    """The first quarter-hour from `instant` on whose power is another than before."""
    times = sorted(time for time in after.power_kw if time >= period_of(instant))
    return next((time for time in times if before.power_kw.get(time) != after.power_kw[time]), None)


__all__ = ["HORIZON", "PERIOD", "DispatchReader", "Plan", "PlanStore", "find_first_change"]
