"""`gridloom import …`"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from cyclopts import Parameter

from gridloom_client.commands.table_files import commas_for_semicolons
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.commands.terminal.progress import count_progress
from gridloom_client.commands.terminal.rendering import print_facts, print_json
from gridloom_client.errors import GridloomError, ProblemError
from gridloom_client.literals import PriceSeries
from gridloom_client.published.balancing import read_afrr_capacity, read_afrr_energy, read_fcr
from gridloom_client.published.day_ahead import read_day_ahead
from gridloom_client.published.imbalance import read_rebap
from gridloom_client.published.price_rows import read_price_rows
from gridloom_client.published.prices import PublishedFileError, PublishedPrice
from gridloom_client.published.tables import FileContent, NamedFile

if TYPE_CHECKING:
    from gridloom_client.answers import BulkOutcome

app = CommandGroup(name="import", help="Load files that markets publish, and settlements.", group="Using the platform")

FilePath = Annotated[Path, Parameter(help="The files, in any order; `-` is standard input.", allow_leading_hyphen=True)]
Kind = Literal["wholesale-trades", "fcr", "afrr-capacity", "afrr-energy", "net-off", "tolling-contracts"]
T = TypeVar("T")

_ROW = re.compile(r"/([0-9]+)(/.*)?$")
MAX_SHOWN = 10
ROWS_AT_ONCE = 10_000
LINES_AT_ONCE = 50_000
_PARQUET = b"PAR1"
_MEDIA_TYPES = {
    ".csv": "text/csv",
    ".ndjson": "application/x-ndjson",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
}


@app.command
def fcr(*files: FilePath, options: Options = USUAL) -> None:
    """Load FCR result files of regelleistung.net (XLSX or CSV) as reference prices.

    For example:

        gridloom import fcr results.csv

    Prices per block become prices per hour, by the block's three, four or five hours.
    """
    _import_prices(files, read_fcr, options)


@app.command
def afrr_capacity(*files: FilePath, options: Options = USUAL) -> None:
    """Load aFRR capacity result overviews of regelleistung.net (XLSX or CSV) as reference prices.

    For example:

        gridloom import afrr-capacity results.csv
    """
    _import_prices(files, read_afrr_capacity, options)


@app.command
def afrr_energy(*files: FilePath, options: Options = USUAL) -> None:
    """Load lists of anonymous aFRR energy bids of regelleistung.net (XLSX or CSV) as reference prices.

    For example:

        gridloom import afrr-energy results.csv

    Prices become positive when the provider is paid, in both directions.
    """
    _import_prices(files, read_afrr_energy, options)


@app.command
def day_ahead(*files: FilePath, options: Options = USUAL) -> None:
    """Load day-ahead prices of DE-LU as reference prices: JSON of Energy-Charts or SMARD, or CSV of `start,price`.

    For example:

        gridloom import day-ahead prices.json
    """
    _import_prices(files, read_day_ahead, options)


@app.command
def rebap(*files: FilePath, options: Options = USUAL) -> None:
    """Load imbalance prices (reBAP) from CSV files of netztransparenz.de as reference prices.

    For example:

        gridloom import rebap results.csv

    Rows say their time zone, so the hour that the clock goes back is told apart; those without a price are left out.
    """
    _import_prices(files, read_rebap, options)


@app.command
def prices(
    *files: FilePath,
    series: PriceSeries | None = None,
    zone: Literal["UTC", "Europe/Berlin"] | None = None,
    minutes: Literal[15, 60] | None = None,
    options: Options = USUAL,
) -> None:
    """Load reference prices of any series: CSV, XLSX or Parquet with columns series, start, end and price, from files
    or a pipe.

    Columns may be separated by commas, semicolons or tabs, and decimals by a point or a comma. Parquet is sent as it
    is, with all four columns.

    For example:

        gridloom import prices ida.xlsx --series IDA1_DE_LU --zone Europe/Berlin --minutes 15
        fetch-prices | gridloom import prices -

    Parameters
    ----------
    series
        The series of rows that name none.
    zone
        The clock of times without an offset from UTC.
    minutes
        How long a price holds where rows have no end.
    """
    step = None if minutes is None else timedelta(minutes=minutes)
    _import_prices(files, partial(read_price_rows, series=series, zone=zone, step=step), options, takes_parquet=True)


@app.command
def settlements(
    kind: Annotated[Kind, Parameter(help="What the rows are.")], *files: FilePath, options: Options = USUAL
) -> None:
    """Record settlements from CSV, NDJSON, JSON or Parquet files with the fields of the interface.

    A CSV file may be separated by commas or, as spreadsheets of half of Europe write it, by semicolons with decimal
    commas.

    For example:

        gridloom import settlements wholesale-trades trades.csv
        gridloom import settlements fcr october.parquet november.parquet
    """
    _demand_files(files)
    pieces = [(path, piece) for path in files for piece in _cut_file(path)]
    total = sum(len(piece.body) for _, piece in pieces)
    outcomes: list[BulkOutcome] = []
    with connect(options) as client, count_progress() as progress:
        record: Callable[..., BulkOutcome] = getattr(client.settlements, f"add_{kind.replace('-', '_')}")
        task = progress.add_task("bytes", total=total)
        for path, piece in pieces:
            try:
                outcomes.append(record(piece.body, content_type=_MEDIA_TYPES[path.suffix.lower()]))
            except ProblemError as refusal:
                if options.form == "json" or not any(_ROW.match(fault.pointer) for fault in refusal.errors):
                    raise
                raise GridloomError(_describe_refused_rows(path, piece, refusal)) from refusal
            progress.advance(task, len(piece.body))
    _print_outcome(outcomes, options)


def _import_prices(
    files: Sequence[Path],
    read: Callable[[NamedFile], Iterator[PublishedPrice]],
    options: Options,
    *,
    takes_parquet: bool = False,
) -> None:
    """Read everything first, so that a broken file stops the import before anything is sent."""
    _demand_files(files)
    with count_progress() as progress:
        reading = progress.add_task("files", total=len(files))
        prices: dict[tuple[str, Any], PublishedPrice] = {}
        tables: list[bytes] = []
        for path in files:
            file = _open_file(path)
            if takes_parquet and (body := file.read_bytes()).startswith(_PARQUET):
                tables.append(body)
            else:
                prices |= {(price.series, price.start): price for price in read(file)}
            progress.advance(reading)
        sending = progress.add_task("prices", total=len(prices))
        with connect(options) as client:
            add = client.reference_prices.add
            outcomes = [add(body, content_type=_MEDIA_TYPES[".parquet"]) for body in tables]
            for part in _take_parts(iter(prices.values()), ROWS_AT_ONCE):
                outcomes.append(add([price.row() for price in part]))
                progress.advance(sending, len(part))
    _print_outcome(outcomes, options)


def _demand_files(files: Sequence[Path]) -> None:
    if not files:
        raise PublishedFileError("Name at least one file.")
    missing = [str(path) for path in files if str(path) != "-" and not path.is_file()]
    if missing:
        raise PublishedFileError(f"There is no file {', '.join(missing)}.")


def _open_file(path: Path) -> NamedFile:
    return FileContent("standard input", sys.stdin.buffer.read()) if str(path) == "-" else path


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of a file as one request, which records all of them or none."""

    body: bytes
    first_row: int


def _describe_refused_rows(path: Path, piece: _Piece, refusal: ProblemError) -> str:
    """Which rows of the file, not of the request, are at fault, and what of the file is recorded already."""
    rows = [(_ROW.match(fault.pointer), fault.detail) for fault in refusal.errors]
    faults = [f"row {piece.first_row + int(m[1]) + 1:,}{m[2]}: {detail}" for m, detail in rows if m is not None]
    more = f"; and {len(faults) - MAX_SHOWN} more" if len(faults) > MAX_SHOWN else ""
    before = f"its first {piece.first_row:,} rows are recorded" if piece.first_row else "nothing of it was recorded"
    return f"{path.name}: {before}. {'; '.join(faults[:MAX_SHOWN])}{more}"


def _cut_file(path: Path) -> Iterator[_Piece]:
    """A file in requests of a size that the service takes; only formats of lines can be divided."""
    suffix = path.suffix.lower()
    if suffix not in _MEDIA_TYPES:
        raise PublishedFileError(f"{path.name} ends in none of {', '.join(_MEDIA_TYPES)}.")
    if suffix in (".json", ".parquet"):
        yield _Piece(path.read_bytes(), 0)
        return
    with path.open("rb") as file:
        lines = commas_for_semicolons(file) if suffix == ".csv" else iter(file)
        header = next(lines, b"") if suffix == ".csv" else b""
        rows = 0
        for part in _take_parts((line for line in lines if line.strip()), LINES_AT_ONCE):
            yield _Piece(header + b"".join(part), rows)
            rows += len(part)


def _take_parts(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while part := list(islice(items, size)):
        yield part


def _print_outcome(outcomes: Sequence[BulkOutcome], options: Options) -> None:
    names = ("received", "inserted", "replaced", "unchanged")
    total = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in names}
    if options.form == "json":
        print_json(total)
        return
    print_facts("Imported", total)
