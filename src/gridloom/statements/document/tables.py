"""A statement as CSV: a line a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

import msgspec
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
    "asset",
    "assetName",
    "figure",
    "value",
    "unit",
)
_FIGURES: Final = (
    ("ratedPower", "MW"),
    ("earnedPerMW", "EUR/MW"),
    ("availabilityDelivered", ""),
    ("measuredShare", ""),
)
_ASSET_FIGURES: Final = (
    ("ratedPower", "MW"),
    ("days", "d"),
    ("chargedEnergy", "MWh"),
    ("dischargedEnergy", "MWh"),
    ("cycles", ""),
    ("cycleLimit", ""),
    ("availabilityDelivered", ""),
    ("measuredShare", ""),
    ("earned", "EUR"),
    ("earnedPerMW", "EUR/MW"),
)
_NO_LINE: Final = ("",) * 8
_NO_FIGURE: Final = ("",) * 5
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def render_csv(statement: IssuedStatement) -> bytes:
    """UTF-8 with RFC 4180's line ends; amounts with two decimals. A row for each line, then one for each figure, which
    has no amount."""
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
                *_NO_FIGURE,
            )
        )
    for asset, name, figure, value, unit in _list_figures(statement):
        writer.writerow((statement.id, number, *_NO_LINE, asset, _guard_formula(name), figure, value, unit))
    return text.getvalue().encode()


def _list_figures(statement: IssuedStatement) -> Iterator[tuple[str, str, str, float, str]]:
    """Asset, its name, the figure, its value and unit; those that there are."""
    if statement.figures is UNSET:
        return
    whole = msgspec.to_builtins(statement.figures)
    yield from (("", "", figure, whole[figure], unit) for figure, unit in _FIGURES if figure in whole)
    for asset in whole["assets"]:
        for figure, unit in _ASSET_FIGURES:
            if figure in asset:
                yield asset["assetID"], asset["name"], figure, asset[figure], unit


def _guard_formula(text: str) -> str:
    """A name is text, also for a spreadsheet that would compute what starts like a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
