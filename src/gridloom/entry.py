"""The command `gridloom` begins here: what needs little is done before the rest is imported."""

from __future__ import annotations

import os
import sys
from typing import Final

HELP_COLUMNS: Final = 80


def main() -> None:
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        from gridloom.platform.release import release_name

        sys.stdout.write(release_name() + "\n")
    elif words in ([], ["--help"], ["-h"]):
        from gridloom_client.commands.directory import write_help

        write_help(sys.stdout)
    elif words == ["serve"]:
        from gridloom.commands.errors import exit_on_known_errors
        from gridloom.commands.serving.command import run_service

        with exit_on_known_errors():
            run_service()
    elif words[:1] == ["--install-completion"]:
        from gridloom.commands.cli import install_completion

        install_completion(words[1] if len(words) > 1 else None)
    elif not (words[-1] in ("--help", "-h") and _show_stored_help(words[:-1])):
        _run_command(words[0])


def _show_stored_help(words: list[str]) -> bool:
    """The text that was made for 80 columns, for fewer without its boxes; False where there is none."""
    from gridloom_client.commands.directory import find_help

    text = find_help(" ".join(words))
    if text is None:
        return False
    columns = _count_columns()
    if columns < HELP_COLUMNS:
        from gridloom_client.commands.narrow_help import reflow_help

        text = reflow_help(text, columns)
    sys.stdout.write(text)
    return True


def _count_columns() -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return os.get_terminal_size(sys.stdout.fileno()).columns or HELP_COLUMNS if sys.stdout.isatty() else HELP_COLUMNS


def _run_command(name: str) -> None:
    """A user's command loads nothing of the operator's, and the other way round."""
    from gridloom_client.commands.directory import OPERATOR_COMMANDS, USER_COMMANDS, describe_unknown

    if name in USER_COMMANDS:
        from gridloom_client.commands import make_app

        make_app(name)()
    elif name in OPERATOR_COMMANDS or name.startswith("-"):
        from gridloom.commands.cli import main as run

        run()
    else:
        sys.stderr.write(describe_unknown(name) + "\n")
        raise SystemExit(2)
