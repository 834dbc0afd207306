"""How far long work is: a bar or a turning sign on the terminal, beside the answer and never in it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


def pause(seconds: float) -> None:
    """Between two looks at work that goes on in the service."""
    time.sleep(seconds)


def count_progress() -> Progress:
    """A bar with how many of how many."""
    from rich.progress import MofNCompleteColumn

    return make_progress(MofNCompleteColumn())


def share_progress() -> Progress:
    """A bar with its percentage."""
    from rich.progress import TaskProgressColumn

    return make_progress(TaskProgressColumn())


def make_progress(*columns: ProgressColumn, quiet: bool = False) -> Progress:
    """A bar with these columns on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    around = (TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn())
    is_hidden = quiet or not sys.stderr.isatty()
    return Progress(*around, console=Console(stderr=True), disable=is_hidden, transient=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner for work of unknown length."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield
