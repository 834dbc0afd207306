"""Which files of the service a piece of work passes through: those a newcomer has to read to follow it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import gridloom

SOURCE = str(Path(gridloom.__file__).parent)


@contextmanager
def noted_files() -> Iterator[set[str]]:
    """The files in which the current task has called a function, once the block has ended."""
    files: set[str] = set()
    task = asyncio.current_task()

    def note_file(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE) and asyncio.current_task() is task:
            files.add(name.removeprefix(SOURCE))

    sys.setprofile(note_file)
    try:
        yield files
    finally:
        sys.setprofile(None)
