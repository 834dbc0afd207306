"""What actors send and what comes back, as plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import orjson

MAX_SHOWN = 100_000
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who is signed in; `name` stands for the token wherever a person reads it."""

    name: str
    organisation: str
    role: str
    token: str = field(repr=False)


@dataclass(eq=False)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @cached_property
    def body(self) -> Any:
        return orjson.loads(self.content) if self.content else None

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 400

    @property
    def problem(self) -> str:
        """The last part of the problem's type."""
        if self.status < 400 or "problem+json" not in self.headers.get("content-type", ""):
            return ""
        return str(self.body["type"]).rpartition("/")[2]


@dataclass(slots=True)
class Request:
    """A call of an operation by a person, and what must come of it.

    `expect` is None where the contract leaves the model no way to know; else a status, or several, or a status with a
    problem's name. `on_success` takes a good answer into the model; `check` compares an answer with the model.
    """

    operation: str
    by: Person
    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    expect: int | tuple[int, ...] | tuple[int, str] | None = None
    on_success: Callable[[Answer], None] | None = None
    check: Callable[[Answer], None] | None = None
    on_refusal: Callable[[Answer], None] | None = None
    """Takes an expected refusal into the model."""
    causes: tuple[tuple[str, str, str], ...] = ()
    """Organisations and types of the events that come of a success, and the id that each names; where it is empty, the
    one that was made or is named last in the path."""
    hints: tuple[tuple[str, str], ...] = ()
    """Those of which one at least must come."""
    aim: str | None = None
    """The problem type that a mistake is made for."""
    floods: int = 0
    """It is sent again until it is refused with what it aims for, so many times at most."""
    met: tuple[str, ...] = ()
    """The rooms that meet in this request, for the report."""

    @property
    def target(self) -> str:
        return self.path + ("?" + urlencode(self.query) if self.query else "")

    def as_curl(self) -> str:
        """A line for a shell in which BASE and each person's token are set."""
        parts = ["curl -sS", f"-X {self.method}", f'-H "Authorization: Bearer ${self.by.name.upper()}"']
        parts += [f"-H '{name}: {value}'" for name, value in self.headers.items()]
        if self.body is not None:
            text = json.dumps(self.body)
            shown = text if len(text) < MAX_SHOWN else f"{text[:80]}… ({len(text)} characters)"
            parts += ["-H 'Content-Type: application/json'", f"-d '{shown}'"]
        return " ".join([*parts, f'"$BASE{self.target}"'])


class Finding(Exception):
    """The service broke a promise of the contract."""

    def __init__(self, rule: str, expected: str, request: Request | None = None, answer: Answer | None = None) -> None:
        super().__init__(f"{rule}: {expected}")
        self.rule = rule
        self.expected = expected
        self.request = request
        self.answer = answer


def show_answer(answer: Answer | None) -> str:
    if answer is None:
        return ""
    try:
        return f"{answer.status} {json.dumps(json.loads(answer.content))[:1500]}"
    except ValueError:
        return f"{answer.status} {answer.content[:500]!r}"
