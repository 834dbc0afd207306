"""Cells, lines and columns of a terminal, with styles where it shows them.

Loads no library: what rich takes to load is a tenth of a command's processor time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Final, NamedTuple, TextIO
from unicodedata import category, east_asian_width

STYLES: Final[Mapping[str, str]] = {
    **{"bold": "1", "dim": "2", "italic": "3", "bold green": "1;32"},
    **{"red": "31", "green": "32", "yellow": "33"},
}
GAP: Final = 2


class Cell(NamedTuple):
    """A text with the style that it is shown in."""

    text: str
    style: str = ""


def paint(cell: Cell, stream: TextIO) -> str:
    """The text as the stream's terminal shows it; plain into a file or a pipe, and where NO_COLOR asks for that."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or sys.platform == "win32"
    if not cell.style or not cell.text or is_plain or not stream.isatty():
        return cell.text
    return f"\x1b[{STYLES[cell.style]}m{cell.text}\x1b[0m"


def measure_text(text: str) -> int:
    """The columns that a text takes: two for a wide sign of East Asia, none for one that joins the sign before it."""
    if text.isascii():
        return len(text)
    return sum(
        2 if east_asian_width(sign) in "WF" else 0 if category(sign) in ("Mn", "Me", "Cf") else 1 for sign in text
    )


def cut_text(text: str, room: int) -> str:
    """As much of a text as there is room for, and an ellipsis where that is not all."""
    if measure_text(text) <= room:
        return text
    kept = text
    while measure_text(kept) >= room > 0:
        kept = kept[:-1]
    return f"{kept}…"


def wrap_text(text: str, room: int) -> list[str]:
    """The lines of a text, broken between words, and within words that are longer than a line."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line] if measure_text(line) <= room else wrap(line, room, break_on_hyphens=False) or [""]
    return lines


def lay_out_table(titles: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[bool], room: int) -> list[str]:
    """The lines of a table, a row each: columns as wide as their widest cell, numbers to the right."""
    columns = range(len(titles))
    widths = [max(measure_text(titles[at]), *(measure_text(row[at].text) for row in rows)) for at in columns]
    widths[0] = min(widths[0], room)
    table = [[Cell(title, "bold") for title in titles], *rows]
    return [
        (" " * GAP).join(_fill_cell(row[at], widths[at], is_right=right[at]) for at in columns).rstrip()
        for row in table
    ]


def _fill_cell(cell: Cell, width: int, *, is_right: bool) -> str:
    text = cut_text(cell.text, width)
    blanks = " " * (width - measure_text(text))
    shown = paint(Cell(text, cell.style), sys.stdout)
    return blanks + shown if is_right else shown + blanks


def lay_out_facts(facts: Sequence[tuple[str, Cell]], room: int) -> list[str]:
    """The lines of names and values under each other; a value goes on below itself."""
    width = max((measure_text(name) for name, _ in facts), default=0)
    lines = []
    for name, value in facts:
        first, *more = wrap_text(value.text, max(20, room - width - GAP))
        blanks = " " * (width - measure_text(name) + GAP)
        lines.append(f"{paint(Cell(name, 'dim'), sys.stdout)}{blanks}{paint(Cell(first, value.style), sys.stdout)}")
        lines += [f"{' ' * (width + GAP)}{paint(Cell(line, value.style), sys.stdout)}" for line in more]
    return [line.rstrip() for line in lines]
