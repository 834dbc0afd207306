"""CSV as spreadsheets of half of Europe write it (`1,5;2`), for a service that reads commas and points."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain

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
