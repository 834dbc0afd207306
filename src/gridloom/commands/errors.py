"""How a command fails: with a sentence for the person at the keyboard instead of a stack trace."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

INSTALL_THE_SERVER: Final = "This command is part of the server. Install it with: pip install 'gridloom[server]'"

_SENTENCES: Final = frozenset(
    {
        "CommandError",
        "StartupError",
        "SettingsError",
        "EmbeddedPostgresError",
        "DataDirectoryLockedError",
        "NoPostgresBinaries",
        "MigrationError",
        "EnvironmentMismatchError",
        "BootstrapError",
    }
)
"""Exceptions whose message is written for the person at the keyboard; by name, since their modules load late."""

_SERVER_PACKAGES: Final = frozenset(
    {"asyncpg", "granian", "starlette", "structlog", "argon2", "jwt", "numpy", "orjson", "pyarrow"}
)


@contextmanager
def exit_on_known_errors() -> Iterator[None]:
    """End the process with what went wrong, where that is something that a person can put right."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _SERVER_PACKAGES:
            exit_with(INSTALL_THE_SERVER)
        raise
    except subprocess.CalledProcessError as error:
        exit_with(f"{Path(error.cmd[0]).name} failed: {(error.stderr or '').strip()}")
    except Exception as error:
        if not is_for_people(error):
            raise
        exit_with(str(error))


def is_for_people(error: Exception) -> bool:
    return type(error).__name__ in _SENTENCES


def exit_with(sentence: str) -> NoReturn:
    from rich.console import Console

    Console(stderr=True).print(sentence, style="red", markup=False, highlight=False, soft_wrap=True)
    raise SystemExit(1)
