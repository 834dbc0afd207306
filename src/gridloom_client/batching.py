"""Frames that are too long for one request: cut, sent one by one with a bar to watch, their answers put together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gridloom_client.frames import arrow_of
from gridloom_client.wire import ARROW, PARQUET

if TYPE_CHECKING:
    import pyarrow

CELLS_AT_ONCE: Final = 400_000
"""Points of telemetry; the service takes a million."""
ROWS_AT_ONCE: Final = 50_000
"""Facts; the service takes a hundred thousand, all of a request or none."""


def cut_frame(frame: Any, media_type: str) -> list[pyarrow.Table]:
    """A frame in tables that the service takes at once, in their order."""
    table = arrow_of(frame)
    rows = {ARROW: max(1, CELLS_AT_ONCE // max(1, table.num_columns - 1)), PARQUET: ROWS_AT_ONCE}[media_type]
    return [table.slice(first, rows) for first in range(0, max(1, table.num_rows), rows)]


def join_answers(answers: Sequence[Any], first_rows: Sequence[int]) -> Any:
    """One answer for all pieces: counts add up, places count from the first row of the frame."""
    first = answers[0]
    joined: dict[str, Any] = {}
    for name in first.__struct_fields__:
        values = [getattr(answer, name) for answer in answers]
        if name == "refusals":
            joined[name] = _join_refusals(values, first_rows)
        elif name == "assets":
            joined[name] = _join_assets(values)
        else:
            joined[name] = sum(values)
    return type(first)(**joined)


def _join_refusals(pieces: Sequence[Sequence[Any]], first_rows: Sequence[int]) -> tuple[Any, ...]:
    by_reason: dict[str, Any] = {}
    for refusals, first_row in zip(pieces, first_rows, strict=True):
        for refusal in refusals:
            pointers = tuple(_move_pointer(pointer, first_row) for pointer in refusal.pointers)
            known = by_reason.get(refusal.reason)
            by_reason[refusal.reason] = msgspec.structs.replace(
                refusal,
                count=refusal.count + (known.count if known else 0),
                pointers=((*known.pointers, *pointers) if known else pointers)[:10],
            )
    return tuple(by_reason.values())


def _move_pointer(pointer: str, first_row: int) -> str:
    _, row, *rest = pointer.split("/")
    return "/".join(["", str(int(row) + first_row), *rest]) if row.isdigit() else pointer


def _join_assets(pieces: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    by_id: dict[Any, Any] = {}
    for asset in (asset for assets in pieces for asset in assets):
        known = by_id.get(asset.physical_asset_id)
        by_id[asset.physical_asset_id] = (
            asset
            if known is None
            else msgspec.structs.replace(
                asset, written=asset.written + known.written, overwritten=asset.overwritten + known.overwritten
            )
        )
    return tuple(by_id.values())


@contextmanager
def watch_progress(what: str, total: int, *, is_wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal or in a notebook, on standard error; nothing elsewhere unless it is asked for."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr)
    is_shown = (console.is_terminal or console.is_jupyter) if is_wanted is None else is_wanted
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # What is no terminal is written to once, at the end, and only with what is to stay there.
    with Progress(*columns, console=console, disable=not is_shown, transient=console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda rows: progress.advance(task, rows)
