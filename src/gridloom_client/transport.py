"""Carries out the effects that a script asks for, over httpx2: once blocking, once awaiting."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from typing import Any, TypeVar

import httpx2

from gridloom_client.effects import Effect, Emit, Exclusive, Open, Pause, Read, Send, Steps
from gridloom_client.errors import GridloomError, TransportError
from gridloom_client.wire import RawResponse, Request

T = TypeVar("T")

_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
)
_FAULTS = (httpx2.RequestError, httpx2.InvalidURL, httpx2.StreamError)
STREAM_SILENCE_S = 60.0
"""An open stream that says nothing for so long, not even a comment, is lost."""


def _describe_loss(fault: Exception, base_url: httpx2.URL) -> TransportError:
    reason = _describe_reason(fault)
    if not isinstance(fault, _UNSENT):
        return TransportError(f"The connection to {base_url} was lost: {reason}.", is_sent=True)
    loss = TransportError(f"The service at {base_url} cannot be reached: {reason}.", is_sent=False)
    loss.add_note("Does it run there? `url`, GRIDLOOM_URL or a profile names another address.")
    return loss


def _describe_reason(fault: BaseException) -> str:
    """In the system's words, which asyncio's libraries hide behind their own."""
    said = str(fault)
    while fault.__cause__ is not None or fault.__context__ is not None:
        fault = fault.__cause__ or fault.__context__ or fault
        if isinstance(fault, ConnectionError) and fault.errno:
            said = os.strerror(fault.errno)
        elif isinstance(fault, socket.gaierror):
            said = fault.strerror or said
    return re.sub(r"^\[Errno -?[0-9]+\] ", "", said).rstrip(".") or type(fault).__name__


def _build_request(client: httpx2.Client | httpx2.AsyncClient, request: Request, *, is_stream: bool) -> httpx2.Request:
    timeout = client.timeout if request.timeout_s is None else httpx2.Timeout(request.timeout_s)
    return client.build_request(
        request.method,
        request.target,
        headers=dict(request.headers),
        content=request.content,
        timeout=httpx2.Timeout(timeout.connect, read=STREAM_SILENCE_S) if is_stream else timeout,
    )


def _make_reply(response: httpx2.Response, content: bytes) -> RawResponse:
    return RawResponse(response.status_code, {name.lower(): value for name, value in response.headers.items()}, content)


class _Progress:
    """Where a script stands: sends it what came of its last effect."""

    def __init__(self, steps: Steps[Any]) -> None:
        self.steps = steps
        self.granted: Any = None
        self.loss: GridloomError | None = None

    def next_effect(self) -> Effect:
        granted, loss = self.granted, self.loss
        self.granted = self.loss = None
        return self.steps.throw(loss) if loss is not None else self.steps.send(granted)


class SyncTransport:
    """Runs scripts in the calling thread; any number of threads may share it."""

    def __init__(self, client: httpx2.Client, sleep: Callable[[float], None] = time.sleep) -> None:
        self.client = client
        self._sleep = sleep
        self._lock = threading.Lock()

    def run(self, steps: Steps[T]) -> T:
        """The script's result."""
        walk = self._walk_steps(steps)
        while True:
            try:
                next(walk)
            except StopIteration as stop:
                result: T = stop.value
                return result

    def iterate(self, steps: Steps[None]) -> Iterator[Any]:
        """The items that the script emits."""
        with closing(self._walk_steps(steps)) as walk:
            yield from walk

    def _walk_steps(self, steps: Steps[T]) -> Any:
        progress, opened = _Progress(steps), None
        chunks: Iterator[bytes] = iter(())
        try:
            while True:
                try:
                    effect = progress.next_effect()
                except StopIteration as stop:
                    return stop.value
                try:
                    match effect:
                        case Emit(item):
                            yield item
                        case Send(request):
                            response = self.client.send(
                                _build_request(self.client, request, is_stream=False),
                                follow_redirects=request.method == "GET",
                            )
                            progress.granted = _make_reply(response, response.content)
                        case Open(request):
                            if opened is not None:
                                opened.close()
                            opened = self.client.send(_build_request(self.client, request, is_stream=True), stream=True)
                            chunks = opened.iter_bytes()
                            progress.granted = _make_reply(opened, opened.read() if opened.status_code >= 400 else b"")
                        case Read():
                            progress.granted = next(chunks, None)
                        case Pause(seconds):
                            self._sleep(seconds)
                        case Exclusive(inner):
                            with self._lock:
                                self.run(inner)
                except _FAULTS as fault:
                    progress.loss = _describe_loss(fault, self.client.base_url)
                except GridloomError as error:
                    progress.loss = error
        finally:
            steps.close()
            if opened is not None:
                opened.close()


class AsyncTransport:
    """Runs scripts in an asyncio event loop."""

    def __init__(self, client: httpx2.AsyncClient, sleep: Callable[[float], Any] | None = None) -> None:
        import asyncio  # a tenth of what a command costs, and none of them awaits

        self.client = client
        self._sleep = sleep or asyncio.sleep
        self._lock = asyncio.Lock()

    async def run(self, steps: Steps[T]) -> T:
        """The script's result."""
        result: list[T] = []
        async for _ in self._walk_steps(steps, result.append):
            pass
        return result[0]

    async def iterate(self, steps: Steps[None]) -> AsyncIterator[Any]:
        """The items that the script emits."""
        async with aclosing(self._walk_steps(steps, lambda _: None)) as walk:
            async for item in walk:
                yield item

    async def _walk_steps(self, steps: Steps[T], finish: Callable[[T], None]) -> Any:
        progress, opened, chunks = _Progress(steps), None, None
        try:
            while True:
                try:
                    effect = progress.next_effect()
                except StopIteration as stop:
                    finish(stop.value)
                    return
                try:
                    match effect:
                        case Emit(item):
                            yield item
                        case Send(request):
                            response = await self.client.send(
                                _build_request(self.client, request, is_stream=False),
                                follow_redirects=request.method == "GET",
                            )
                            progress.granted = _make_reply(response, response.content)
                        case Open(request):
                            if opened is not None:
                                await opened.aclose()
                            opened = await self.client.send(
                                _build_request(self.client, request, is_stream=True), stream=True
                            )
                            chunks = opened.aiter_bytes()
                            progress.granted = _make_reply(
                                opened, await opened.aread() if opened.status_code >= 400 else b""
                            )
                        case Read():
                            assert chunks is not None
                            progress.granted = await anext(chunks, None)
                        case Pause(seconds):
                            await self._sleep(seconds)
                        case Exclusive(inner):
                            async with self._lock:
                                await self.run(inner)
                except _FAULTS as fault:
                    progress.loss = _describe_loss(fault, self.client.base_url)
                except GridloomError as error:
                    progress.loss = error
        finally:
            steps.close()
            if opened is not None:
                await opened.aclose()
