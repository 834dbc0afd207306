"""How answers look on a terminal, and as JSON for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 200
_COLOURS = {
    "RUNNING": "green",
    "WON": "bold green",
    "OK": "green",
    "ACTIVE": "green",
    "PENDING": "yellow",
    "DEGRADED": "yellow",
    "LOST": "red",
    "DOWN": "red",
}


def show(*renderables: RenderableType) -> None:
    """On a terminal as wide as it is; into a pipe without padding."""
    if sys.stdout.isatty():
        Console().print(*renderables, sep="\n")
        return
    console = Console(width=_PIPE_WIDTH)
    with console.capture() as captured:
        console.print(*renderables, sep="\n")
    sys.stdout.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())


def print_json(value: Any) -> None:
    """One JSON document; indented on a terminal."""
    encoded = msgspec.json.encode(value)
    if sys.stdout.isatty():
        Console().print_json(encoded.decode())
    else:
        sys.stdout.write(encoded.decode() + "\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table, or a sentence when there is nothing in it."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "ID")
    for row in rows:
        table.add_row(*map(_cell, row))
    if table.row_count:
        show(table)
    else:
        show(f"No {title.lower()}.")


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Names and values under each other; what is unknown is left out."""
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value is not None and value != ():
            table.add_row(Text(name, style="dim"), _cell(value))
    show(Text(title, style="bold"), table)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("–", style="dim")
    text = _text(value)
    return Text(text, style=_COLOURS.get(text, ""))


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        moment = value.astimezone(UTC)
        return moment.strftime("%Y-%m-%d %H:%MZ" if not moment.second else "%Y-%m-%d %H:%M:%SZ")
    if isinstance(value, Decimal):
        return f"{value:,.2f}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    return str(value)
