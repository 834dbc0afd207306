"""How a command ends: with an answer, or with one sentence and an exit code, never with a stack trace.

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | the service refused, or failed |
| 2 | the command was not understood |
| 3 | not signed in |
| 4 | the service cannot be reached |
| 130 | stopped by Ctrl-C |
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn, ParamSpec

import msgspec
from cyclopts import App

from gridloom_client.errors import (
    CredentialsError,
    GridloomError,
    ProblemError,
    TransportError,
    UnauthenticatedError,
)

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def strip_controls(text: str) -> str:
    """Without what would move the cursor, colour the terminal or turn the text round."""
    return _CONTROLS.sub("", text)


P = ParamSpec("P")

REFUSED, MISUNDERSTOOD, NOT_SIGNED_IN, NOT_REACHED, STOPPED = 1, 2, 3, 4, 130


class Misunderstood(Exception):
    """The command line makes no sense; the text says why."""


class CommandGroup(App):
    """A command or a group of commands: all that are registered with it end as this module says."""

    def default(self, obj: Any = None, *, validator: Any = None) -> Any:
        """Cyclopts registers every command by this method of its own group."""
        super().default(_end_with_sentence(obj), validator=validator)
        return obj


def _end_with_sentence(command: Callable[P, None]) -> Callable[P, None]:
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except GridloomError as error:
            end(error, as_json=getattr(kwargs.get("options"), "form", "table") == "json")
        except (Misunderstood, ValueError) as error:
            fail(str(error), MISUNDERSTOOD)
        except KeyboardInterrupt:
            raise SystemExit(STOPPED) from None
        except BrokenPipeError:  # the reader of the output has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return run


def end(error: GridloomError, *, as_json: bool = False) -> NoReturn:
    """The exit of an error; with `-o json` the problem is printed as JSON."""
    if as_json and isinstance(error, ProblemError):
        document = {"status": error.status, "title": error.title, **error.members}
        sys.stderr.write(msgspec.json.encode(document).decode() + "\n")
        raise SystemExit(code_of(error))
    sentence = str(error)
    if isinstance(error, ProblemError) and len(error.errors) > 1 and sentence == error.sentence:
        sentence = "\n".join([error.detail or error.title, *(f"  {fault}" for fault in error.faults)])
    if isinstance(error, ProblemError) and error.status >= 500 and error.request_id:
        sentence += f" (request {error.request_id})"
    if isinstance(error, TransportError) and not error.is_sent:
        sentence += " Does it run there? --url or GRIDLOOM_URL names another address."
    fail(sentence, code_of(error))


def code_of(error: GridloomError) -> int:
    if isinstance(error, CredentialsError | UnauthenticatedError):
        return NOT_SIGNED_IN
    if isinstance(error, TransportError):
        return NOT_REACHED
    return REFUSED


def fail(sentence: str, code: int) -> NoReturn:
    from rich.console import Console

    Console(stderr=True).print(strip_controls(sentence), style="red", markup=False, highlight=False, soft_wrap=True)
    raise SystemExit(code)
