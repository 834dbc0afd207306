"""`gridloom monitoring export`: series into a file, a market day at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.finding import find_battery
from gridloom_client.commands.terminal.options import USUAL, BatteryName, Options, WindowEnd, connect
from gridloom_client.commands.terminal.progress import count_progress
from gridloom_client.commands.terminal.rendering import count_text, print_json, show_lines
from gridloom_client.commands.terminal.windows import market_day, past_window, service_time, today
from gridloom_client.frames import load_library
from gridloom_client.literals import Aggregation, SeriesResolution
from gridloom_client.wire import ARROW, CSV


def export(
    asset: BatteryName,
    file: Path,
    *,
    start: datetime | None = None,
    end: WindowEnd = None,
    signals: str | None = None,
    resolution: SeriesResolution = "raw",
    aggregation: Aggregation | None = None,
    options: Options = USUAL,
) -> None:
    """Write telemetry into a CSV or Parquet file, day by day.

    For example:

        gridloom monitoring export "Husum 1" week.csv
        gridloom monitoring export "Husum 1" year.parquet --start 2026-01-01 --end 2027-01-01
        gridloom monitoring export "Husum 1" power.csv --signals active_power --resolution 15-minute --aggregation avg

    Parameters
    ----------
    file
        Its ending says the format: .csv or .parquet. Written whole or not at all.
    start
        From when; without an offset it is market time. The last 7 days when left out.
    signals
        Only these, separated by commas.
    resolution
        raw, 1-minute, 15-minute, hourly or daily.
    aggregation
        How points of a coarser resolution are put together.
    """
    kinds: dict[str, type[_CSVWritten | _ParquetWritten]] = {".csv": _CSVWritten, ".parquet": _ParquetWritten}
    kind = kinds.get(file.suffix.lower())
    if kind is None:
        raise Misunderstood(f"{file.name} is neither .csv nor .parquet.")
    wanted = [name.strip() for name in signals.split(",")] if signals else None
    draft = file.with_name(f".{file.name}.part")
    with ExitStack() as stack:
        client = stack.enter_context(connect(options))
        battery = find_battery(client, asset)
        days = list(cut_days(*past_window(start, end, service_time(client), 7)))
        progress = stack.enter_context(count_progress())
        task = progress.add_task("days", total=len(days))
        stack.callback(draft.unlink, missing_ok=True)
        try:
            target = stack.enter_context(draft.open("wb"))
        except OSError as error:
            raise Misunderstood(f"{file} cannot be written: {error.strerror}.") from None
        written = kind(target)
        stack.callback(written.close)  # of days that are left unfinished too: before their file is closed
        for first, last in days:
            content = client.monitoring.read.content(
                kind.media_type,
                battery,
                start=first,
                end=last,
                datapoints=wanted,
                resolution=resolution,
                aggregation=aggregation,
            )
            written.add(content)
            progress.advance(task)
        written.close()
        target.close()
        draft.replace(file)
    if options.form == "table":
        show_lines(f"{count_text(written.rows, 'row')} of {count_text(len(days), 'day')} in {file}.")
    else:
        print_json({"file": str(file), "rows": written.rows, "days": len(days)})


def cut_days(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Market days, the first and the last as much of them as is asked for."""
    while start < end:
        last = min(market_day(today(start))[1], end)
        yield start, last
        start = last


class _CSVWritten:
    """Each answer's rows below the first one's header."""

    media_type = CSV

    def __init__(self, target: BinaryIO) -> None:
        self._target, self._header, self.rows = target, b"", 0

    def add(self, content: bytes) -> None:
        header, _, rows = content.partition(b"\n")
        if not self._header:
            self._header = header
            self._target.write(header + b"\n")
        elif rows and header != self._header:
            raise Misunderstood("The signals differ from day to day: name those you want with --signals.")
        self._target.write(rows)
        self.rows += rows.count(b"\n")

    def close(self) -> None:
        pass


class _ParquetWritten:
    media_type = ARROW

    def __init__(self, target: BinaryIO) -> None:
        self._target, self.rows = target, 0
        self._arrow, self._parquet = load_library("pyarrow"), load_library("pyarrow.parquet")
        self._ipc = load_library("pyarrow.ipc")
        self._writer: Any = None

    def add(self, content: bytes) -> None:
        table = self._ipc.open_stream(io.BytesIO(content)).read_all()
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._target, table.schema)
        try:
            self._writer.write_table(table)
        except ValueError:
            raise Misunderstood("The signals differ from day to day: name those you want with --signals.") from None
        self.rows += table.num_rows

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
