"""A statement as a table, CSV or XLSX: a line a row."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import msgspec
from msgspec import UNSET

from gridloom.platform.http.responses import XLSX
from gridloom.platform.http.spreadsheets import write_csv, write_workbook
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
    ("earned", "EUR"),
    ("earnedPerMW", "EUR/MW"),
    ("netPerMW", "EUR/MW"),
    ("availabilityDelivered", ""),
    ("measuredShare", ""),
    ("foresight", "EUR"),
    ("foresightShare", ""),
)
_ASSET_FIGURES: Final = (
    ("ratedPower", "MW"),
    ("days", "d"),
    ("chargedEnergy", "MWh"),
    ("dischargedEnergy", "MWh"),
    ("dispatchedCharge", "MWh"),
    ("dispatchedDischarge", "MWh"),
    ("measuredCharge", "MWh"),
    ("measuredDischarge", "MWh"),
    ("reserveCharge", "MWh"),
    ("reserveDischarge", "MWh"),
    ("cycles", ""),
    ("cycleLimit", ""),
    ("technicalAvailability", ""),
    ("availabilityDelivered", ""),
    ("measuredShare", ""),
    ("earned", "EUR"),
    ("earnedPerMW", "EUR/MW"),
    ("foresight", "EUR"),
    ("foresightShare", ""),
)
_NO_LINE: Final = ("",) * 8
_NO_FIGURE: Final = ("",) * 5


def render_table(statement: IssuedStatement, media_type: str) -> bytes:
    """Amounts with two decimals. A row for each line, then one for each figure, which has no amount."""
    rows = _list_rows(statement)
    return write_workbook(rows, "Statement") if media_type == XLSX else write_csv(rows, media_type)


def _list_rows(statement: IssuedStatement) -> Iterator[tuple[object, ...]]:
    yield _COLUMNS
    number = "" if statement.number is UNSET else statement.number
    for line in statement.lines:
        corrects = None if line.corrects is UNSET else line.corrects
        yield (
            str(statement.id),
            number,
            line.day,
            line.line,
            Decimal(f"{line.amount:.2f}"),
            line.counterparty,
            "" if line.counterparty_name is UNSET else line.counterparty_name,
            "" if corrects is None else corrects.month,
            "" if corrects is None or corrects.number is UNSET else corrects.number,
            "" if corrects is None else corrects.line,
            *_NO_FIGURE,
        )
    for asset, name, figure, value, unit in _list_figures(statement):
        yield str(statement.id), number, *_NO_LINE, asset, name, figure, value, unit


def _list_figures(statement: IssuedStatement) -> Iterator[tuple[str, str, str, float | Decimal, str]]:
    """Asset, its name, the figure, its value and unit; those that there are."""
    if statement.to_date is not UNSET:
        yield "", "", "toDate", Decimal(f"{statement.to_date:.2f}"), "EUR"
    if statement.figures is UNSET:
        return
    whole = msgspec.to_builtins(statement.figures)
    yield from (("", "", figure, whole[figure], unit) for figure, unit in _FIGURES if figure in whole)
    for asset in whole["assets"]:
        for figure, unit in _ASSET_FIGURES:
            if figure in asset:
                yield asset["assetID"], asset["name"], figure, asset[figure], unit
