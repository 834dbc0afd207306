"""Tables for spreadsheets: XLSX, and CSV with commas or as Excel opens it where decimals have a comma."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, TypeVar

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.utils import get_column_letter

from gridloom.kernel.problem import Unprocessable
from gridloom.platform.http.responses import EXCEL_CSV

T = TypeVar("T")

BYTE_ORDER_MARK: Final = "\ufeff".encode()
MAX_CELLS: Final = 400_000
"""A year of quarter-hours in ten columns: some seconds of writing, which holds up others."""
_COLUMN_WIDTH: Final = 22
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
_FIRST_TIME: Final = (1980, 1, 1, 0, 0, 0)
_TIMES_OF_WRITING: Final = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


class TooManyCells(Unprocessable, title="The table is too large for a workbook"):
    """A workbook holds at most 400,000 cells, the names of its columns among them.

    Ask for a shorter window, fewer columns or a coarser resolution, or for CSV or Parquet.
    """


def guard_formula(text: str) -> str:
    """A text is a text, also for a spreadsheet that would compute what starts like a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def write_csv(rows: Iterable[Iterable[object]], media_type: str) -> bytes:
    """A small table, the names of its columns first; UTF-8 with RFC 4180's line ends. Texts are guarded.

    For Excel with a byte order mark, semicolons and decimal commas.
    """
    text = io.StringIO(newline="")
    if media_type == EXCEL_CSV:
        csv.writer(text, delimiter=";").writerows([_show_in_excel(cell) for cell in row] for row in rows)
        return BYTE_ORDER_MARK + text.getvalue().encode()
    csv.writer(text).writerows([_guard_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _guard_cell(cell: T) -> T | str:
    return guard_formula(cell) if isinstance(cell, str) else cell


def _show_in_excel(cell: object) -> object:
    return str(cell).replace(".", ",") if isinstance(cell, float | Decimal) else _guard_cell(cell)


def write_workbook(rows: Iterable[Iterable[object]], title: str) -> bytes:
    """One sheet, the names of its columns first and frozen; instants are dates in UTC. The same rows are the same
    bytes."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    cells = 0
    for number, row in enumerate(rows):
        shown = [_make_cell(cell) for cell in row]
        cells += len(shown)
        check_cells(cells)
        if number == 0:
            for column in range(len(shown)):
                sheet.column_dimensions[get_column_letter(column + 1)].width = _COLUMN_WIDTH
        sheet.append(shown)
    body = io.BytesIO()
    book.save(body)
    return make_repeatable(body.getvalue())


def check_cells(count: int) -> None:
    if count > MAX_CELLS:
        raise TooManyCells(f"A workbook holds at most {MAX_CELLS} cells, and this table has more.")


def _make_cell(cell: object) -> object:
    if isinstance(cell, str):
        return guard_formula(ILLEGAL_CHARACTERS_RE.sub("", cell))
    if isinstance(cell, datetime):
        return cell.astimezone(UTC).replace(tzinfo=None)
    return cell


def make_repeatable(workbook: bytes) -> bytes:
    """The same workbook without the time at which it was written."""
    body = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook)) as given, zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as written:
        for name in given.namelist():
            part = given.read(name)
            if name == "docProps/core.xml":
                part = _TIMES_OF_WRITING.sub(rb"\g<1>1980-01-01T00:00:00Z", part)
            written.writestr(zipfile.ZipInfo(name, _FIRST_TIME), part, zipfile.ZIP_DEFLATED)
    return body.getvalue()
