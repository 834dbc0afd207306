"""Asking before something changes, and reading what was piped or pasted."""

from __future__ import annotations

import sys
from pathlib import Path

from gridloom_client.commands.terminal.ending import Misunderstood

_YES = ("y", "yes")


def agree(question: str, *, yes: bool) -> bool:
    """Whether the person agrees; asked on the terminal itself, so that a table may be piped in meanwhile."""
    if yes:
        return True
    try:
        with Path("/dev/tty").open() as answers, Path("/dev/tty").open("w") as terminal:
            terminal.write(f"{question} [y/N] ")
            terminal.flush()
            return answers.readline().strip().lower() in _YES
    except OSError:
        pass
    if not sys.stdin.isatty():
        raise Misunderstood("Pass --yes where there is no terminal to confirm on.")
    return input(f"{question} [y/N] ").strip().lower() in _YES


def read_text(file: Path | None, what: str) -> str:
    """A file's text, or what is piped or pasted into standard input."""
    if file is None or str(file) == "-":
        if sys.stdin.isatty():
            sys.stderr.write(f"Paste {what}, then press Ctrl-D:\n")
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Misunderstood(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Misunderstood(f"{file} is no text in UTF-8; save it as CSV (UTF-8).") from None


def confirm(question: str, *, yes: bool) -> bool:
    """Whether the person agrees to what cannot be taken back; says that nothing was changed where not."""
    agreed = agree(question, yes=yes)
    if not agreed:
        sys.stderr.write("Nothing was changed.\n")
    return agreed
