"""The command `gridloom` begins here: what needs little is done before the rest is imported."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

HELP_COLUMNS: Final = 80


def main(leave: Callable[[int], NoReturn] = os._exit) -> None:
    """Users' commands leave at once: taking down what was imported would cost another fifth of their time."""
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
    elif words[:1] == ["--complete"]:
        from gridloom_client.commands.completion import complete

        sys.stdout.writelines(f"{word}\n" for word in complete(words[1:]))
    elif words[:1] == ["--install-completion"]:
        from gridloom.commands.cli import install_completion

        install_completion(words[1] if len(words) > 1 else None)
    elif not (words[-1] in ("--help", "-h") and _show_stored_help(words[:-1])):
        _run_command(words, leave)


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


def _run_command(words: list[str], leave: Callable[[int], NoReturn]) -> None:
    """A user's command loads nothing of the operator's, and the other way round."""
    from gridloom_client.commands.directory import USER_COMMANDS, asks_for_json, describe_unknown, is_unknown

    if is_unknown(words):
        sentence = describe_unknown(words)
        if asks_for_json(words):
            import json

            sentence = json.dumps({"title": "Not understood", "detail": sentence, "exitCode": 2})
        sys.stderr.write(sentence + "\n")
        raise SystemExit(2)
    if words[0] in USER_COMMANDS:
        from gridloom_client.commands import make_app

        gc.set_threshold(200_000)  # collecting what imports leave would cost a twentieth of a short process
        try:
            make_app(words[0])()
        except SystemExit as ended:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            leave(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    else:
        from gridloom.commands.cli import main as run

        run()
