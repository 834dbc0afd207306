"""How a command ends: with an answer, or with one sentence and an exit code, never with a stack trace.

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | the service refused |
| 2 | the command was not understood |
| 3 | not signed in |
| 4 | the service cannot be reached |
| 5 | the service failed, or its answer cannot be read |
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
from cyclopts import App, CycloptsError, MissingArgumentError

from gridloom_client.commands.directory import asks_for_json
from gridloom_client.commands.terminal.cells import Cell, paint
from gridloom_client.errors import (
    CredentialsError,
    GridloomError,
    NotFoundError,
    ProblemError,
    ResponseError,
    ServiceError,
    TransportError,
    UnauthenticatedError,
)

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def strip_controls(text: str) -> str:
    """Without what would move the cursor, colour the terminal or turn the text round."""
    return _CONTROLS.sub("", text)


P = ParamSpec("P")

REFUSED, MISUNDERSTOOD, NOT_SIGNED_IN, NOT_REACHED, FAILED, STOPPED = 1, 2, 3, 4, 5, 130
_KINDS: Final = {
    REFUSED: "Refused",
    MISUNDERSTOOD: "Not understood",
    NOT_SIGNED_IN: "Not signed in",
    NOT_REACHED: "Not reached",
    FAILED: "The service failed",
}


class Misunderstood(Exception):
    """The command line makes no sense; the text says why."""


class CommandGroup(App):
    """A command or a group of commands: all that are registered with it end as this module says."""

    def default(self, obj: Any = None, *, validator: Any = None) -> Any:
        """Cyclopts registers every command by this method of its own group."""
        super().default(_end_with_sentence(obj), validator=validator)
        return obj

    def __call__(self, tokens: Any = None, **how: Any) -> Any:
        """Options and arguments that are none end as other faults do."""
        words = sys.argv[1:] if tokens is None else list(tokens)
        try:
            return super().__call__(tokens, exit_on_error=False, print_error=False, **how)
        except CycloptsError as error:
            fail(_describe_misuse(error), MISUNDERSTOOD, as_json=asks_for_json(words))


def _describe_misuse(error: CycloptsError) -> str:
    """The sentence of a fault: a missing argument has the name of `--help`, other faults the words of the library."""
    argument, command = error.argument, " ".join(["gridloom", *(error.command_chain or ())])
    if isinstance(error, MissingArgumentError) and argument is not None and not argument.tokens:
        name = argument.name.lstrip("-").upper() if argument.field_info.is_positional else argument.name
        return f"{command} needs {name}; {command} --help has examples."
    return " ".join(str(error).split())


def _end_with_sentence(command: Callable[P, None]) -> Callable[P, None]:
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = getattr(kwargs.get("options"), "form", "table") == "json"
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except GridloomError as error:
            end(error, as_json=as_json)
        except (Misunderstood, ValueError) as error:
            fail(str(error), MISUNDERSTOOD, as_json=as_json)
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
    if isinstance(error, NotFoundError) and error.detail.startswith("No operation has the path /sandbox/"):
        sentence = "This service is a production: it has no clock to move and no simulated world."
    if isinstance(error, TransportError) and not error.is_sent:
        sentence += " Does it run there? --url or GRIDLOOM_URL names another address."
    if isinstance(error, ProblemError) and error.name == "reauthentication-required":
        sentence = f"{sentence.rstrip('.')}: sign in again with gridloom login, then repeat the command."
    fail(sentence, code_of(error), as_json=as_json)


def code_of(error: GridloomError) -> int:
    if isinstance(error, CredentialsError | UnauthenticatedError):
        return NOT_SIGNED_IN
    if isinstance(error, TransportError):
        return NOT_REACHED
    return FAILED if isinstance(error, ServiceError | ResponseError) else REFUSED


def fail(sentence: str, code: int, *, as_json: bool = False) -> NoReturn:
    """The exit of a command that did not do what was asked, with the reason on standard error."""
    if as_json:
        document = {"title": _KINDS.get(code, ""), "detail": strip_controls(sentence), "exitCode": code}
        sys.stderr.write(msgspec.json.encode(document).decode() + "\n")
        raise SystemExit(code)
    sys.stderr.write(paint(Cell(strip_controls(sentence), "red"), sys.stderr) + "\n")
    raise SystemExit(code)
