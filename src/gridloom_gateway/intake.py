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
from gridloom_gateway.samples import Sample
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
    samples: list[Sample]
    acknowledge: Callable[[], None]


class Intake:
    """One for all connections; each delivers from a thread of its own, and one thread writes the spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._queue: queue.Queue[_Message | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._write_messages, name="spool-writer", daemon=True)
        self._sent: dict[int, Latest] = {}
        self._lock = threading.Lock()
        self.latest: dict[tuple[UUID, str], Latest] = {}
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

        def deliver(readings: Sequence[Reading], acknowledge: Callable[[], None]) -> None:
            samples = []
            moment_us = now_us()
            for signal, time_us, value in readings:
                sample = Sample(codes[signal], moment_us if time_us is None else time_us, value)
                if self._is_usable(asset, signal, sample, moment_us) and self._is_news(sample, bands[signal]):
                    samples.append(sample)
            self._queue.put(_Message(samples, acknowledge))

        return deliver

    def reject(self, asset: UUID, reason: str, detail: str) -> None:
        """Counted, and logged the first time for each battery."""
        with self._lock:
            is_first = self.rejected[f"{asset} {reason}"] == 0
            self.rejected[f"{asset} {reason}"] += 1
        if is_first:
            _log.warning(
                "Battery %s: %s (%s). More of the kind are counted and not logged.", asset, reason, detail[:200]
            )

    def _is_usable(self, asset: UUID, signal: str, sample: Sample, moment_us: int) -> bool:
        if not math.isfinite(sample.value):
            self.reject(asset, "a value is not finite", signal)
            return False
        if not EARLIEST_US <= sample.time_us <= moment_us + MAX_AHEAD_US:
            self.reject(
                asset, "a time is before the year 2000 or more than an hour ahead", f"{signal} {sample.time_us}"
            )
            return False
        known = self.latest.get((asset, signal))
        if known is None or sample.time_us >= known.time_us:
            self.latest[asset, signal] = Latest(sample.time_us, sample.value)
        return True

    def _is_news(self, sample: Sample, dead_band: float) -> bool:
        """Not what a broker repeats, nor what stays within the dead band for up to a minute."""
        last = self._sent.get(sample.code)
        if last is not None and sample.time_us >= last.time_us:
            change = abs(sample.value - last.value)
            if sample.time_us == last.time_us and change == 0:
                return False
            if change < dead_band and sample.time_us - last.time_us < MAX_QUIET_US:
                return False
        if last is None or sample.time_us >= last.time_us:
            self._sent[sample.code] = Latest(sample.time_us, sample.value)
        return True

    def _write_messages(self) -> None:
        """One sync for all messages that have come meanwhile."""
        is_open = True
        while is_open:
            group = [self._queue.get()]
            while len(group) < MAX_GROUP and not self._queue.empty():
                group.append(self._queue.get())
            is_open = None not in group
            messages = [message for message in group if message is not None]
            self._store([sample for message in messages for sample in message.samples])
            for message in messages:
                message.acknowledge()

    def _store(self, samples: Sequence[Sample]) -> None:
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
