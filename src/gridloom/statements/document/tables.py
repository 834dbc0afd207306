"""A statement as CSV: a line a row."""

from __future__ import annotations

import csv
import io
from typing import Final

from msgspec import UNSET

from gridloom.statements.views import IssuedStatement

_COLUMNS: Final = (
    "statement",
    "number",
    "day",
    "line",
    "amount",
    "counterparty",
    "counterpartyName",
    "correctedMonth",
    "correctedNumber",
    "correctedLine",
)
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def render_csv(statement: IssuedStatement) -> bytes:
    """UTF-8 with RFC 4180's line ends; amounts with two decimals."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    number = "" if statement.number is UNSET else statement.number
    for line in statement.lines:
        corrects = None if line.corrects is UNSET else line.corrects
        writer.writerow(
            (
                statement.id,
                number,
                line.day,
                line.line,
                f"{line.amount:.2f}",
                line.counterparty,
                _guard_formula("" if line.counterparty_name is UNSET else line.counterparty_name),
                "" if corrects is None else corrects.month,
                "" if corrects is None or corrects.number is UNSET else corrects.number,
                "" if corrects is None else corrects.line,
            )
        )
    return text.getvalue().encode()


def _guard_formula(text: str) -> str:
    """A name is text, also for a spreadsheet that would compute what starts like a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
