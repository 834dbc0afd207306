"""The command `gridloom` begins here: what needs little is done before the rest is imported."""

from __future__ import annotations

import sys


def main() -> None:
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        from importlib.metadata import version

        sys.stdout.write(version("gridloom") + "\n")
    elif words in ([], ["--help"], ["-h"]):
        from gridloom_client.commands.directory import write_help

        write_help(sys.stdout)
    elif words == ["serve"]:
        from gridloom.command_errors import exit_on_known_errors
        from gridloom.serving.command import run_service

        with exit_on_known_errors():
            run_service()
    elif words[:1] == ["--install-completion"]:
        from gridloom.cli import install_completion

        install_completion(words[1] if len(words) > 1 else None)
    else:
        from gridloom.cli import main as run

        run()
