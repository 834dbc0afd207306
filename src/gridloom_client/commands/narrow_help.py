"""The text of a `--help` for a terminal of less than 80 columns: without boxes, each entry over lines of its own."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Final

MIN_COLUMNS: Final = 20
_INDENT: Final = "  "
_DEEPER: Final = "      "
_ENTRY: Final = re.compile(r"^(?:\*  |   (?=\S))?(?P<name>\S+(?: \S+)*)  +(?=\S)")
_MARK: Final = 3
"""Columns before the names of a box in which some entries are required: `*` and two blanks."""


def reflow_help(text: str, columns: int) -> str:
    """The stored text with every line of prose within the columns; lines of examples stay as they are."""
    columns = max(columns, MIN_COLUMNS)
    shown: list[str] = []
    prose: list[str] = []
    box: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line[:1] in "│╭╰" and line:
            if line[0] == "│":
                box.append(line[2:-2])
            elif line[0] == "╭":
                shown += [*([""] if shown[-1:] != [""] else []), line.strip("╭─╮ ")]
            else:
                shown += _reflow_box(box, columns)
                box = []
        elif line and not line.startswith(" "):
            prose.append(line)
        else:
            shown += wrap(" ".join(prose), columns, break_long_words=False, break_on_hyphens=False)
            prose = []
            if line or shown[-1:] != [""]:
                shown.append(line)
    return "\n".join(shown).strip("\n") + "\n"


def _reflow_box(rows: list[str], columns: int) -> list[str]:
    shown: list[str] = []
    for name, words in _read_entries(rows):
        shown += wrap(
            name,
            columns,
            break_long_words=False,
            initial_indent=_INDENT,
            subsequent_indent=_DEEPER,
            break_on_hyphens=False,
        )
        shown += wrap(
            words,
            columns,
            break_long_words=False,
            initial_indent=_DEEPER,
            subsequent_indent=_DEEPER,
            break_on_hyphens=False,
        )
    return shown


def _read_entries(rows: list[str]) -> list[tuple[str, str]]:
    """Names and what is said of them, from the two columns of a box."""
    found = next((match for match in map(_ENTRY.match, rows) if match is not None), None)
    if found is None:
        return [(row.strip(), "") for row in rows]
    mark, column = (_MARK if any(row.startswith("*") for row in rows) else 0), found.end()
    entries: list[tuple[str, str]] = []
    for row in rows:
        name, words = row[mark:column].strip(), row[column:].strip()
        if entries and row[mark : mark + 1].strip() == "":  # indented: the rest of the entry before
            before = entries.pop()
            name, words = f"{before[0]} {name}".strip(), f"{before[1]} {words}".strip()
        entries.append((name, words))
    return entries
