"""Tables on disk, cut into bodies that the service takes: CSV as it stands, Parquet as Arrow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from gridloom_client.commands.terminal.ending import Misunderstood

ASSET = "physicalAssetID"
CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
CSV_BYTES = 4 * 1024 * 1024
CELLS = 400_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file as a body; `size` counts towards the file's."""

    body: bytes
    media_type: str
    first_row: int
    size: int


@contextmanager
def open_table(path: Path) -> Iterator[TableFile]:
    """The file by its ending: .csv or .parquet."""
    kinds: dict[str, type[TableFile]] = {".csv": CSVFile, ".parquet": ParquetFile}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise Misunderstood(f"{path.name} is neither .csv nor .parquet.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise Misunderstood(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        yield kind(file, path.stat().st_size)


class CSVFile:
    """Cut between lines, the header repeated above each piece."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._header = file.readline()
        self.size = size - len(self._header)
        separator = ";" if is_separated_by_semicolons(self._header) else ","
        names = next(csv.reader([self._header.decode("utf-8-sig", "replace").strip()], delimiter=separator), [])
        self.names_assets = ASSET in names

    def pieces(self) -> Iterator[Piece]:
        first_row = 0
        while lines := self._file.read(CSV_BYTES):
            lines += self._file.readline()
            body = b"".join(commas_for_semicolons((self._header + lines).splitlines(keepends=True)))
            yield Piece(body, CSV, first_row, len(lines))
            first_row += lines.count(b"\n")


class ParquetFile:
    def __init__(self, file: BinaryIO, size: int) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise Misunderstood("Parquet needs pyarrow: pip install 'gridloom[parquet]'.") from None
        self._arrow: Any = pyarrow
        try:
            self._parquet = pyarrow.parquet.ParquetFile(file)
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise Misunderstood(f"The file is no Parquet: {error}.") from None
        self.size = self._parquet.metadata.num_rows
        self.names_assets = ASSET in self._parquet.schema_arrow.names

    def pieces(self) -> Iterator[Piece]:
        first_row = 0
        columns = max(1, len(self._parquet.schema_arrow.names) - 1)
        for batch in self._parquet.iter_batches(batch_size=max(1, CELLS // columns)):
            sink = io.BytesIO()
            with self._arrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield Piece(sink.getvalue(), ARROW, first_row, batch.num_rows)
            first_row += batch.num_rows


TableFile: TypeAlias = CSVFile | ParquetFile


_DECIMAL = re.compile(r"[-+\u2212]?[0-9]+(\.[0-9]{3})*,[0-9]+")


def commas_for_semicolons(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The same lines; where semicolons separate the header's names, rows come with commas and decimal points."""
    given = iter(lines)
    header = next(given, b"")
    if not is_separated_by_semicolons(header):
        yield header
        yield from given
        return
    for line in chain([header.removeprefix(b"\xef\xbb\xbf")], given):
        cells = next(csv.reader([line.decode("utf-8", "replace").rstrip("\r\n")], delimiter=";"), [])
        yield write_row([_plain_number(cell) for cell in cells])


def is_separated_by_semicolons(header: bytes) -> bool:
    return b";" in header and b"," not in header


def write_row(cells: Iterable[str]) -> bytes:
    row = io.StringIO()
    csv.writer(row, lineterminator="\n").writerow(cells)
    return row.getvalue().encode()


def _plain_number(cell: str) -> str:
    """`1.234,5` → `1234.5`; anything else as it is."""
    if _DECIMAL.fullmatch(cell.strip()) is None:
        return cell
    return cell.strip().replace("\u2212", "-").replace(".", "").replace(",", ".")
