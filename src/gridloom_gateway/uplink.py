"""Telemetry and acknowledgements to the service: live samples first, what waited in between, oldest first."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from gridloom_client import Client, GridloomError, ProblemError
from gridloom_gateway.samples import SampleColumns
from gridloom_gateway.spool import Position, Spool, SpooledSignal

FORBIDDEN: Final = 403
MAX_BACKOFF_S: Final = 5.0
CATCH_UP_AFTER_S: Final = 10.0
"""Longer without an answer than this, and live samples go ahead of what waits."""
_FINAL_STATUSES: Final = frozenset({400, 403, 404, 409, 413, 415, 422})
"""The service will never take the same again; anything else is tried until it does."""

_log = logging.getLogger(__name__)


def make_table(columns: SampleColumns, signals: Sequence[SpooledSignal]) -> pa.Table:
    """The samples with their batteries and signals, in the order of time."""
    used = sorted(set(columns.codes))
    places = {code: place for place, code in enumerate(used)}
    indices = pa.array([places[code] for code in columns.codes], pa.int32())
    assets = pa.DictionaryArray.from_arrays(indices, pa.array([str(signals[code].asset) for code in used]))
    names = pa.DictionaryArray.from_arrays(indices, pa.array([signals[code].signal for code in used]))
    times = pa.Array.from_buffers(
        pa.timestamp("us", "UTC"), len(columns), [None, pa.py_buffer(columns.times.tobytes())]
    )
    values = pa.Array.from_buffers(pa.float64(), len(columns), [None, pa.py_buffer(columns.values.tobytes())])
    table = pa.table({"physicalAssetID": assets, "signal": names, "time": times, "value": values})
    return table.sort_by("time")


class Uplink:
    """Sends until it is stopped. Two places in the spool are kept while it catches up: everything before `_sent` has
    arrived, and live samples follow `_live`."""

    def __init__(self, client: Client, spool: Spool, *, every_s: float, batch_samples: int) -> None:
        self._client, self._spool = client, spool
        self._every_s, self._batch_samples = every_s, batch_samples
        self._sent = spool.read_sent()
        self._live: Position | None = None
        self._live_from: Position | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._send_samples, name="uplink", daemon=True)
        self.samples_sent = self.samples_refused = 0
        self.is_reached = True

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(5)

    def _send_samples(self) -> None:
        backoff_s, last_answer_s, has_begun = 0.0, time.monotonic(), False
        while not self._stopping.is_set():
            try:
                if not has_begun:
                    self._begin_catch_up()
                has_begun = True
                has_more = self._send_batches()
                if not self.is_reached and time.monotonic() - last_answer_s > CATCH_UP_AFTER_S:
                    self._begin_catch_up()
            except (GridloomError, OSError) as error:
                if self.is_reached and isinstance(error, OSError):
                    _log.error("The spool cannot be read or written, which is tried again: %s", error)
                elif self.is_reached:
                    _log.warning("The service does not take telemetry, which waits on disk: %s", error)
                self.is_reached = False
                backoff_s = min(MAX_BACKOFF_S, max(1.0, 2 * backoff_s))
                self._stopping.wait(backoff_s)
                continue
            self.is_reached, backoff_s, last_answer_s = True, 0.0, time.monotonic()
            if not has_more:
                self._stopping.wait(self._every_s)

    def _begin_catch_up(self) -> None:
        """From here on live samples go first."""
        self._live_from = self._live = self._spool.begin_segment()

    def _send_batches(self) -> bool:
        """A batch of live samples and one of those that waited; whether more of the latter wait."""
        if self._live is None:
            columns, after = self._spool.read(self._sent, self._batch_samples)
            self._send_columns(columns)
            self._advance_sent(after)
            return len(columns) >= self._batch_samples
        assert self._live_from is not None
        columns, after = self._spool.read(self._live, self._batch_samples)
        self._send_columns(columns)
        self._live = after
        columns, after = self._spool.read(self._sent, self._batch_samples, before=self._live_from)
        if not len(columns):  # all that waited has arrived
            self._advance_sent(self._live)
            self._live = self._live_from = None
            return False
        self._send_columns(columns)
        self._advance_sent(after)
        return True

    def _advance_sent(self, position: Position) -> None:
        if position != self._sent:
            self._spool.mark_sent(position)
            self._sent = position

    def _send_columns(self, columns: SampleColumns) -> None:
        if not len(columns):
            return
        table = make_table(columns, self._spool.signals)
        try:
            self._write_table(table)
        except ProblemError as error:
            if error.status not in _FINAL_STATUSES:
                raise
            self._send_by_battery(table, error)

    def _send_by_battery(self, table: pa.Table, refusal: ProblemError) -> None:
        """Battery by battery, since one may be out of reach. A key that reaches none is held to be a mistake that will
        be mended: the samples wait."""
        assets = table["physicalAssetID"].unique().to_pylist()
        refused: list[tuple[str, int, ProblemError]] = []
        for asset in assets:
            part = table.filter(pc.equal(table["physicalAssetID"], asset))
            try:
                self._write_table(part)
            except ProblemError as error:
                if error.status not in _FINAL_STATUSES:
                    raise
                refused.append((asset, part.num_rows, error))
        if len(refused) == len(assets) and all(reason.status == FORBIDDEN for _, _, reason in refused):
            raise refusal
        for asset, count, reason in refused:
            self.samples_refused += count
            _log.error("Battery %s: the service refused %d samples: %s", asset, count, reason)

    def _write_table(self, table: pa.Table) -> None:
        answer = self._client.monitoring.write_many(table, partial=True)
        self.samples_sent += answer.written + answer.overwritten
        if answer.refused:
            self.samples_refused += answer.refused
            _log.error("The service refused %d samples: %s", answer.refused, [one.reason for one in answer.refusals])


def is_final(error: GridloomError) -> bool:
    """Whether the service will refuse the same again."""
    return isinstance(error, ProblemError) and error.status in _FINAL_STATUSES
