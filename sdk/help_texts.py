"""The text of every `--help` at 80 columns: showing it loads no library (cyclopts and rich take 0.2 s of CPU)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from gridloom_client.commands import make_app
from gridloom_client.commands.directory import OPERATOR_COMMANDS, USER_COMMANDS

COLUMNS = 80


def write_help_texts() -> str:
    """Every command with its text; a form feed and the command's words stand before each."""
    return "".join(f"\f{words}\n{text}" for words, text in _list_texts())


def _list_texts() -> Iterator[tuple[str, str]]:
    from gridloom.commands.cli import app as operator_app

    for name in USER_COMMANDS:
        yield from _render_tree(make_app(name), [name])
    for name in OPERATOR_COMMANDS:
        yield from _render_tree(operator_app, [name])


def _render_tree(app: Any, words: list[str]) -> Iterator[tuple[str, str]]:
    yield " ".join(words), _render_help(app, words)
    inner = app
    for word in words:
        inner = inner[word]
    for each in inner:
        if not each.startswith("-"):
            yield from _render_tree(app, [*words, each])


def _render_help(app: Any, words: list[str]) -> str:
    from rich.console import Console

    shown = io.StringIO()
    app.help_print(words, console=Console(file=shown, width=COLUMNS, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines()) + "\n"
