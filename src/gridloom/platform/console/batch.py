"""Several reads of one screen in one request: `POST /console/api/batch` with their paths, answered in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.platform.http.request import Receive, Scope, Send

MAX_PATHS: Final = 100
MAX_BODY_BYTES: Final = 64 * 1024
MAX_CONCURRENT: Final = 4
_NOT_REPEATED: Final = (b"content-length", b"content-type", b"accept", b"accept-encoding", b"idempotency-key", b"range")
_JSON: Final = (b"application/json", b"application/problem+json")

Call = Callable[[Scope, Receive, Send], Awaitable[None]]


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    paths: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=2000)]], Meta(min_length=1, max_length=MAX_PATHS)
    ]


class Answered(msgspec.Struct):
    """An answer with the headers that a screen needs of it."""

    status: int
    body: msgspec.Raw
    etag: str | None = None
    link: str | None = None


async def read_batch(receive: Receive) -> Batch:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge(f"A batch has at most {MAX_BODY_BYTES} bytes.")
        if not message.get("more_body"):
            break
    try:
        return msgspec.json.decode(body, type=Batch)
    except msgspec.MsgspecError as error:
        raise BadRequest(f"The batch cannot be read: {error}.") from None


async def answer_batch(scope: Scope, batch: Batch, inner_path: Callable[[str], str], call: Call) -> list[Answered]:
    """Each path as a GET of its own, with the caller's rights and limits, a few at a time."""
    free = asyncio.Semaphore(MAX_CONCURRENT)

    async def answer(path: str) -> Answered:
        async with free:
            return await _answer_one(_scope_of(scope, path, inner_path), call)

    return list(await asyncio.gather(*(answer(path) for path in batch.paths)))


def _scope_of(scope: Scope, path: str, inner_path: Callable[[str], str]) -> Scope:
    plain, _, query = path.partition("?")
    if "#" in path or not path.isascii() or not path.isprintable():
        raise BadRequest(f"{path} is not a path.")
    target = inner_path(plain)
    headers = [(name, value) for name, value in scope["headers"] if name not in _NOT_REPEATED]
    return {
        **scope,
        "method": "GET",
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "headers": [*headers, (b"accept", b"application/json")],
    }


async def _answer_one(scope: Scope, call: Call) -> Answered:
    status, headers, parts = 500, dict[bytes, bytes](), list[bytes]()

    async def collect(message: dict[str, Any]) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], dict(message["headers"])
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await call(scope, _empty_body(), collect)
    body = b"".join(parts)
    is_json = headers.get(b"content-type", b"").split(b";")[0] in _JSON
    return Answered(
        status=status,
        body=msgspec.Raw(body if is_json and body else b"null"),
        etag=_text_of(headers, b"etag"),
        link=_text_of(headers, b"link"),
    )


def _text_of(headers: dict[bytes, bytes], name: bytes) -> str | None:
    found = headers.get(name)
    return None if found is None else found.decode("latin-1")


def _empty_body() -> Receive:
    """A request without a body, whose sender stays."""
    has_been_read = False

    async def receive() -> dict[str, Any]:
        nonlocal has_been_read
        if has_been_read:
            await asyncio.Event().wait()
        has_been_read = True
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive
