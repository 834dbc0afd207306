"""How far long work is: a bar or a turning sign on the terminal, beside the answer and never in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


def count_progress() -> Progress:
    """A bar with how many of how many."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)


def share_progress() -> Progress:
    """A bar with its percentage."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Something that takes seconds, nobody knows how many."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(f"{what} …"):
        yield
