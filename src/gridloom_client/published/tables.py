"""Rows out of the spreadsheets that people download: XLSX, and CSV with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol

from gridloom_client.published.prices import PublishedFileError

MISSING = frozenset({"", "-", "n/a", "n.a.", "n/e", "n.e."})
MAX_ROWS, MAX_COLUMNS = 1_048_576, 256
_ZIP = b"PK\x03\x04"
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?")
_DAY_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d")


class NamedFile(Protocol):
    """A file to read: a path, or `FileContent`."""

    @property
    def name(self) -> str: ...
    @property
    def suffix(self) -> str: ...
    def read_bytes(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file that is no path: an answer over HTTP, or standard input."""

    name: str
    body: bytes = field(repr=False)

    @property
    def suffix(self) -> str:
        """By what it holds, since its name need not tell."""
        if self.body.startswith(_ZIP):
            return ".xlsx"
        return ".json" if self.body.lstrip()[:1] in (b"{", b"[") else ".csv"

    def read_bytes(self) -> bytes:
        return self.body


class Row:
    """One row, its cells found by the name of their column."""

    def __init__(self, place: str, cells: dict[str, Any]) -> None:
        self.place = place
        self._cells = cells

    @property
    def columns(self) -> list[str]:
        return list(self._cells)

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def text(self, name: str) -> str:
        return str(self._cells.get(name) if self._cells.get(name) is not None else "").strip()

    def is_missing(self, name: str) -> bool:
        return self.text(name).lower() in MISSING

    def number(self, name: str) -> Decimal:
        """A number with a point or, as in German files, a comma before its decimals."""
        cell = self._cells.get(name)
        if isinstance(cell, int | float) and math.isfinite(cell):
            return Decimal(str(cell))
        text = self.text(name)
        if "," in text and "." not in text:
            text = text.replace(",", ".")
        elif "," in text:
            thousands = "," if text.rindex(".") > text.rindex(",") else "."
            text = text.replace(thousands, "").replace(",", ".")
        if _NUMBER.fullmatch(text) is None:
            raise PublishedFileError(f"{self.place}: {name} is {text!r}, not a number.")
        return Decimal(text)

    def time(self, name: str, forms: Sequence[str]) -> datetime:
        """A date cell, RFC 3339, or one of these forms."""
        cell = self._cells.get(name)
        if isinstance(cell, datetime):
            return cell
        text = self.text(name)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
        for form in forms:
            try:
                return datetime.strptime(text, form)  # noqa: DTZ007 — its zone is the caller's to say
            except ValueError:
                continue
        raise PublishedFileError(f"{self.place}: {text!r} is not a time.")

    def day(self, *names: str) -> date:
        """The first of these columns that there is, as a day."""
        for name in names:
            cell = self._cells.get(name)
            if isinstance(cell, datetime):
                return cell.date()
            if isinstance(cell, date):
                return cell
            if not self.is_missing(name):
                return self._parsed_day(self.text(name))
        raise PublishedFileError(f"{self.place}: there is no day in {' or '.join(names)}.")

    def _parsed_day(self, text: str) -> date:
        for form in _DAY_FORMS:
            try:
                return datetime.strptime(text.split("T")[0].split(" ")[0], form).date()  # noqa: DTZ007 — only a day
            except ValueError:
                continue
        raise PublishedFileError(f"{self.place}: {text!r} is not a day.")


def read_rows(path: NamedFile, needed: str) -> Iterator[Row]:
    """The rows of a file below the header, which is the first row that has the needed column."""
    lines = _xlsx_lines(path) if path.suffix.lower() in (".xlsx", ".xlsm") else _csv_lines(path)
    names: list[str] | None = None
    for number, cells in enumerate(lines, 1):
        if names is None:
            found = [str(cell if cell is not None else "").strip().strip('"') for cell in cells]
            if needed in found:
                names = found
            continue
        if any(cell not in (None, "") for cell in cells):
            yield Row(f"{path.name}, row {number}", dict(zip(names, cells, strict=False)))
    if names is None:
        raise PublishedFileError(f"{path.name} has no column {needed}.")


def _xlsx_lines(path: NamedFile) -> Iterator[list[Any]]:
    # Loaded when first needed: it takes as long as all the rest of the command.
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        workbook = load_workbook(io.BytesIO(path.read_bytes()), read_only=True, data_only=True)
        sheet = workbook.worksheets[0]
    except (InvalidFileException, zipfile.BadZipFile, KeyError, OSError, IndexError, SyntaxError, ValueError) as fault:
        raise PublishedFileError(f"{path.name} is not a spreadsheet: {fault}.") from None
    sheet.reset_dimensions()  # what a sheet says of its size need not be so, and rows would be filled up to it
    width = 0
    try:
        for number, line in enumerate(sheet.iter_rows(values_only=True), 1):
            width = max(width, len(line))
            if number > MAX_ROWS or width > MAX_COLUMNS:
                raise PublishedFileError(f"{path.name} has more than {MAX_ROWS} rows or {MAX_COLUMNS} columns.")
            yield [*line, *[None] * (width - len(line))]
    except PublishedFileError:
        raise
    except (zipfile.BadZipFile, KeyError, OSError, IndexError, SyntaxError, TypeError, ValueError) as fault:
        raise PublishedFileError(f"{path.name} is not a whole spreadsheet: {fault}.") from None
    finally:
        workbook.close()


def _csv_lines(path: NamedFile) -> Iterator[list[Any]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (UnicodeDecodeError, OSError) as fault:
        raise PublishedFileError(f"{path.name} cannot be read: {fault}.") from None
    first = text.split("\n", 1)[0]
    delimiter = max(";,\t", key=first.count)
    try:
        yield from csv.reader(text.splitlines(), delimiter=delimiter)
    except csv.Error as fault:
        raise PublishedFileError(f"{path.name} is not CSV: {fault}.") from None
