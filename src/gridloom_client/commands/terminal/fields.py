"""Answers as tables whose columns name fields of the interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from gridloom_client.commands.terminal.options import Options
from gridloom_client.commands.terminal.rendering import print_data, print_facts, print_one, print_table, show_lines

Columns: TypeAlias = Mapping[str, str]
"""By title the field: `item.start` of a thing within, `start..end` as a span, `%soc` of a ratio in per cent, `#ids` the
number of a list."""


def print_rows(title: str, items: Iterable[Any], columns: Columns, options: Options) -> None:
    """Things by their fields, or for a script as they are."""
    listed = list(items)
    if not print_data(listed, options):
        rows = [[read_field(item, path) for path in columns.values()] for item in listed]
        print_table(title, list(columns), rows, options)


def print_thing(title: str, item: Any, columns: Columns, options: Options) -> bool:
    """One thing by its fields, or for a script as it is; whether a person saw it."""
    if print_one(item, options):
        return False
    print_facts(title, {name: read_field(item, path) for name, path in columns.items()}, options)
    return True


def print_answer(title: str, item: Any, rows: Sequence[Any], columns: Columns, options: Options) -> bool:
    """An answer with rows in it: the rows as a table; JSON has the whole answer. Whether a person saw it."""
    if options.form == "json":
        return not print_one(item, options)
    print_rows(title, rows, columns, options)
    return options.form == "table"


def report_done(sentence: str, options: Options) -> None:
    """That something without an answer is done; beside the answer for scripts."""
    show_lines(sentence, to_stderr=options.form != "table")


def read_field(item: Any, path: str) -> Any:
    if ".." in path:
        return tuple(read_field(item, part) for part in path.split(".."))
    kind, names = (path[0], path[1:]) if path[0] in "%#" else ("", path)
    for name in names.split("."):
        item = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
    if kind == "#":
        return len(item or ())
    return 100 * item if kind == "%" and item is not None else item
