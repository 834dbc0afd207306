"""Files that are whole after any kill: written beside the old one, then put in its place."""

from __future__ import annotations

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
