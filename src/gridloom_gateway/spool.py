"""Store and forward: samples in files, oldest first, until the service has them; bounded, and whole after any kill.

A segment is a file of records. It is written as samples come (`.raw`), and rewritten packed (`.packed`) when two newer
ones exist, that is while the line is down. A record counts once it is synced to disk. A record that was cut off by a
crash was not acknowledged to the broker, which sends it again.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from gridloom_gateway.files import replace_file
from gridloom_gateway.samples import (
    DamagedRecord,
    SampleColumns,
    decode_record,
    encode_record,
    pack_columns,
    unpack_columns,
)

SEGMENT_BYTES: Final = 2 * 1024 * 1024
MAX_CODES: Final = 65_535

_log = logging.getLogger(__name__)


class Position(NamedTuple):
    """Before the record at `offset` of a segment."""

    segment: int
    offset: int = 0


class SpooledSignal(NamedTuple):
    asset: UUID
    signal: str


class Spool:
    """One writer and one reader, of different threads."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self.signals: list[SpooledSignal] = self._read_catalog()
        self._codes = {signal: code for code, signal in enumerate(self.signals)}
        segments = self._list_segments()
        self._segment = max([*segments, self.read_sent().segment - 1], default=-1) + 1
        self._file = self._open_segment(self._segment)
        self._synced_bytes = 0
        self.dropped_segments = 0

    # --- the catalog: a number for each battery and signal, for ever ---

    def find_code(self, asset: UUID, signal: str) -> int:
        """The number of a battery's signal; a new one is on disk before it is used."""
        key = SpooledSignal(asset, signal)
        with self._lock:
            code = self._codes.get(key)
            if code is None:
                if len(self.signals) > MAX_CODES:
                    raise ValueError(f"The spool in {self._directory} has had {MAX_CODES} signals.")
                code = self._codes[key] = len(self.signals)
                self.signals.append(key)
                catalog = [[str(one.asset), one.signal] for one in self.signals]
                replace_file(self._directory / "signals.json", json.dumps(catalog).encode())
        return code

    def _read_catalog(self) -> list[SpooledSignal]:
        path = self._directory / "signals.json"
        if not path.exists():
            return []
        return [SpooledSignal(UUID(asset), signal) for asset, signal in json.loads(path.read_bytes())]

    # --- writing ---

    def append(self, samples: Sequence[tuple[int, int, float]]) -> None:
        """Durable when it returns."""
        columns = SampleColumns()
        columns.extend(samples)
        record = encode_record(columns)
        try:
            self._file.write(record)
            self._file.flush()
            os.fdatasync(self._file.fileno())
        except OSError:
            self._file.truncate(self._synced_bytes)
            self._file.seek(self._synced_bytes)
            raise
        with self._lock:
            self._synced_bytes += len(record)
        if self._synced_bytes >= SEGMENT_BYTES:
            try:
                self.begin_segment()
            except OSError as error:
                _log.error("No new segment can be begun (%s); the last one goes on.", error)

    def begin_segment(self) -> Position:
        """What is appended from now on stands at this position and after it. Where it fails, all goes on as before."""
        with self._lock:
            if self._synced_bytes:
                file = self._open_segment(self._segment + 1)
                self._file.close()
                self._file, self._segment, self._synced_bytes = file, self._segment + 1, 0
            position = Position(self._segment)
        self._pack_segment(position.segment - 2)
        self._drop_oldest()
        return position

    def _open_segment(self, number: int) -> FileIO:
        return FileIO(self._directory / f"{number:012d}.raw", "w")

    def _pack_segment(self, number: int) -> None:
        raw = self._directory / f"{number:012d}.raw"
        if not raw.exists():
            return
        columns, _ = _read_records(raw.read_bytes(), 0, None)
        replace_file(raw.with_suffix(".packed"), pack_columns(columns))
        raw.unlink(missing_ok=True)

    def _drop_oldest(self) -> None:
        """Keep within the limit: what has waited longest goes first."""
        sizes = {number: path.stat().st_size for number, path in self._list_segments().items()}
        for number in sorted(sizes)[:-1]:
            if sum(sizes.values()) <= self._limit_bytes:
                return
            del sizes[number]
            self._unlink_segment(number)
            self.dropped_segments += 1
            _log.error("The spool is full: segment %d with the oldest unsent samples was deleted.", number)

    # --- reading ---

    def read(
        self, position: Position, max_samples: int, *, before: Position | None = None
    ) -> tuple[SampleColumns, Position]:
        """Samples from `position` on, from one segment, and the position after them; none where all is read, or all
        of the segments that lie before another position."""
        while before is None or position.segment < before.segment:
            with self._lock:
                current, synced_bytes = self._segment, self._synced_bytes
            if position.segment > current or (position.segment == current and position.offset >= synced_bytes):
                return SampleColumns(), position
            columns, end = self._read_segment(
                position, synced_bytes if position.segment == current else None, max_samples
            )
            if len(columns):
                return columns, end
            if position.segment == current:
                return columns, position
            position = Position(position.segment + 1)
        return SampleColumns(), position

    def _read_segment(
        self, position: Position, size_bytes: int | None, max_samples: int
    ) -> tuple[SampleColumns, Position]:
        """A packed segment comes whole; what of it was sent before is sent again, which changes nothing."""
        path = self._directory / f"{position.segment:012d}.raw"
        try:
            with path.open("rb") as file:
                file.seek(position.offset)
                data = file.read() if size_bytes is None else file.read(size_bytes - position.offset)
        except FileNotFoundError:
            packed = path.with_suffix(".packed")
            if not packed.exists():
                return SampleColumns(), position
            try:
                return unpack_columns(packed.read_bytes()), Position(position.segment + 1)
            except DamagedRecord:
                _log.error("Segment %d is damaged on disk; its samples are lost.", position.segment)
                return SampleColumns(), position
        columns, end = _read_records(data, 0, max_samples)
        return columns, Position(position.segment, position.offset + end)

    def mark_sent(self, position: Position) -> None:
        """The service has all before `position`; it is forgotten here."""
        for number in self._list_segments():
            if number < position.segment:
                self._unlink_segment(number)
        replace_file(self._directory / "sent.json", json.dumps(position).encode(), is_durable=False)

    def read_sent(self) -> Position:
        try:
            return Position(*json.loads((self._directory / "sent.json").read_bytes()))
        except (OSError, ValueError, TypeError):
            return Position(min(self._list_segments(), default=0))

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self._list_segments().values() if path.exists())

    def close(self) -> None:
        self._file.close()

    def _list_segments(self) -> dict[int, Path]:
        found = {}
        for path in self._directory.iterdir():
            if path.suffix in (".raw", ".packed") and path.stem.isdigit():
                found[int(path.stem)] = path
        return dict(sorted(found.items()))

    def _unlink_segment(self, number: int) -> None:
        for suffix in ("raw", "packed"):
            (self._directory / f"{number:012d}.{suffix}").unlink(missing_ok=True)


def _read_records(data: bytes, offset: int, max_samples: int | None) -> tuple[SampleColumns, int]:
    """Whole records from `offset` on, until so many samples are read; a damaged end is left out."""
    columns = SampleColumns()
    while offset < len(data) and (max_samples is None or len(columns) < max_samples):
        try:
            record, offset = decode_record(data, offset)
        except DamagedRecord:
            break
        columns.join(record)
    return columns, offset
