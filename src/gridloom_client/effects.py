"""The effects of a call, as values: one script serves the blocking and the awaiting client.

A script is a generator. It yields one of the effects below, is sent what came of it (or thrown the TransportError), and
returns its result. `transport.py` carries them out.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from gridloom_client.wire import RawResponse, Request

T = TypeVar("T")
Steps: TypeAlias = "Generator[Effect, Any, T]"


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request; granted with the RawResponse."""

    request: Request


@dataclass(frozen=True, slots=True)
class Open:
    """Send the request and keep the answer open; granted with a RawResponse, with content only if it is a refusal."""

    request: Request


@dataclass(frozen=True, slots=True)
class Read:
    """Granted with the next bytes of what is open, or None at its end."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Exclusive:
    """Run the steps while no other call of this client is within such steps."""

    steps: Generator[Any, Any, None]


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand an item to the iterating caller."""

    item: Any


Effect: TypeAlias = Send | Open | Read | Pause | Exclusive | Emit


def send(request: Request) -> Steps[RawResponse]:
    reply: RawResponse = yield Send(request)
    return reply


def open_stream(request: Request) -> Steps[RawResponse]:
    reply: RawResponse = yield Open(request)
    return reply


def read() -> Steps[bytes | None]:
    chunk: bytes | None = yield Read()
    return chunk
