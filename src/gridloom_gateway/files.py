"""Files that are whole after any kill: written beside the old one, then put in its place; and whose they are."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def replace_file(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """is_durable: it survives a power cut as well, at the price of a sync."""
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        file.write(content)
        if is_durable:
            file.flush()
            os.fsync(file.fileno())
    beside.replace(path)
    if is_durable:
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def lock_directory(directory: Path) -> bool:
    """Whether the directory is this process's alone, until it ends in whatever way."""
    directory.mkdir(parents=True, exist_ok=True)
    file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    return True
