"""From connections to the spool: what is no sample is counted and dropped, what repeats is left out, and a message is
acknowledged when its samples are on disk."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from gridloom_gateway.clock import now_us
from gridloom_gateway.configuration import Signal
from gridloom_gateway.connection import Deliver, Reading
from gridloom_gateway.spool import Spool

EARLIEST_US: Final = 946_684_800_000_000
MAX_AHEAD_US: Final = 3600 * 1_000_000
MAX_QUIET_US: Final = 60 * 1_000_000
"""A signal within its dead band is sent once a minute all the same."""
MAX_WAITING: Final = 2000
MAX_GROUP: Final = 4000
RETRY_S: Final = 1.0

_log = logging.getLogger(__name__)


class Latest(NamedTuple):
    """The last usable value of a signal; `time_us` is the sample's own time."""

    time_us: int
    value: float


class _Message(NamedTuple):
    samples: list[tuple[int, int, float]]
    acknowledge: Callable[[], None]


class Intake:
    """One for all connections; each delivers from a thread of its own, and one thread writes the spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._queue: queue.Queue[_Message | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._write_messages, name="spool-writer", daemon=True)
        self._kept: dict[int, tuple[int, float]] = {}
        self._lock = threading.Lock()
        self.received = 0
        self.rejected: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Everything that was delivered before is on disk when it returns."""
        self._queue.put(None)
        self._thread.join()

    def deliver_for(self, asset: UUID, signals: Mapping[str, Signal]) -> Deliver:
        """Where a battery's connection delivers its readings."""
        codes = {name: self._spool.find_code(asset, name) for name in signals}
        bands = {name: signal.dead_band for name, signal in signals.items()}
        kept, isfinite = self._kept, math.isfinite

        def deliver(readings: Sequence[Reading], acknowledge: Callable[[], None]) -> None:
            samples = []
            moment_us = now_us()
            latest_us = moment_us + MAX_AHEAD_US
            for signal, own_us, value in readings:
                time_us = moment_us if own_us is None else own_us
                if not isfinite(value):
                    self.reject(asset, "a value is not finite", signal)
                    continue
                if not EARLIEST_US <= time_us <= latest_us:
                    reason = "a time is before the year 2000 or more than an hour ahead"
                    self.reject(asset, reason, f"{signal} {time_us}")
                    continue
                code = codes[signal]
                last = kept.get(code)
                if last is not None and _is_repeated(last, time_us, value, bands[signal]):
                    continue
                if last is None or time_us >= last[0]:
                    kept[code] = (time_us, value)
                samples.append((code, time_us, value))
            self._queue.put(_Message(samples, acknowledge))

        return deliver

    def find_latest(self, asset: UUID, signal: str) -> Latest | None:
        """The last value of a signal that was not left out as a repetition."""
        kept = self._kept.get(self._spool.find_code(asset, signal))
        return None if kept is None else Latest(*kept)

    def reject(self, asset: UUID, reason: str, detail: str) -> None:
        """Counted, and logged the first time for each battery."""
        with self._lock:
            is_first = self.rejected[f"{asset} {reason}"] == 0
            self.rejected[f"{asset} {reason}"] += 1
        if is_first:
            _log.warning(
                "Battery %s: %s (%s). More of the kind are counted and not logged.", asset, reason, detail[:200]
            )

    def _write_messages(self) -> None:
        """One sync for all messages that have come meanwhile."""
        is_open = True
        while is_open:
            group = [self._queue.get()]
            while len(group) < MAX_GROUP and not self._queue.empty():
                group.append(self._queue.get())
            is_open = None not in group
            messages = [message for message in group if message is not None]
            self._store_samples([sample for message in messages for sample in message.samples])
            for message in messages:
                message.acknowledge()

    def _store_samples(self, samples: Sequence[tuple[int, int, float]]) -> None:
        while samples:
            try:
                self._spool.append(samples)
            except OSError as error:
                self.errors["spool"] += 1
                _log.error("The spool cannot be written (%s); nothing is acknowledged until it can.", error)
                time.sleep(RETRY_S)
            else:
                self.received += len(samples)
                return


def _is_repeated(last: tuple[int, float], time_us: int, value: float, dead_band: float) -> bool:
    """What a broker sends again, and what stays within the dead band for up to a minute."""
    age_us, change = time_us - last[0], abs(value - last[1])
    if age_us == 0:
        return change == 0
    return 0 < age_us < MAX_QUIET_US and change < dead_band
