"""The body of a request: received within limits of size and time, decoded inline, in a thread or in a subprocess."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any

from gridloom.edge.asgi import Receive
from gridloom.edge.decode.backpressure import BodyReservation
from gridloom.edge.decode.body_timeout import BodyReadTimeout
from gridloom.edge.decode.decoder_process import SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.edge.decode.prechecks import reject_long_numbers
from gridloom.edge.fields import Decoder
from gridloom.edge.idempotency import fingerprint_of
from gridloom.edge.operation import Operation
from gridloom.edge.request import Request
from gridloom.edge.watchdog import SlowRequestWatchdog
from gridloom.kernel.problem import BadRequest, PayloadTooLarge, UnsupportedMediaType

BODY_TIMEOUT_S = 60
BODY_IDLE_TIMEOUT_S = 10
"""Maximum time without data in a body, after which its memory is released."""
INLINE_MAX_BYTES = 32 * 1024
"""Longer bodies are decoded in a thread, so that the event loop stays free."""


def read_content_type(request: Request) -> str:
    header = request.header("content-type")
    media_type = header.split(";")[0].strip().lower() if header else ""
    if media_type not in request.operation.consumes:
        raise UnsupportedMediaType(f"The Content-Type is to be {' or '.join(request.operation.consumes)}.")
    if request.header("content-encoding") not in (None, "identity"):
        raise UnsupportedMediaType("Bodies are taken as they are, without Content-Encoding.")
    return media_type


async def receive_body(
    request: Request, receive: Receive, held: BodyReservation, slow: SlowRequestWatchdog[BodyReadTimeout]
) -> bytes:
    limit_bytes = request.operation.body_limit_bytes
    announced = request.header("content-length")
    if announced is not None and announced.isdigit():
        if int(announced) > limit_bytes:
            raise PayloadTooLarge(f"The body may have up to {limit_bytes} bytes.")
        held.check_announced(int(announced))
    chunks: list[bytes] = []
    size = 0
    now = asyncio.get_running_loop().time
    started = now()
    wait = BodyReadTimeout(started + BODY_IDLE_TIMEOUT_S)
    slow.add(wait)
    held.begin_receiving(wait.end_now)
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadRequest("The connection closed before the body was complete.")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit_bytes:
                raise PayloadTooLarge(f"The body may have up to {limit_bytes} bytes.")
            held.grow_to(size)
            chunks.append(chunk)
            if not message.get("more_body", False):
                break
            wait.until_s = min(now() + BODY_IDLE_TIMEOUT_S, started + BODY_TIMEOUT_S)
    except asyncio.CancelledError:
        if wait.is_why_cancelled():
            held.reject_if_evicted()
            raise BadRequest(
                f"The request body timed out: {BODY_IDLE_TIMEOUT_S:g} s without data, or {BODY_TIMEOUT_S:g} s in all."
            ) from None
        raise
    finally:
        held.end_receiving()
        slow.remove(wait)
        wait.close()
    if len(chunks) == 1:
        return chunks[0]
    return b"".join(chunks) if size <= SUBPROCESS_MIN_BYTES else await asyncio.to_thread(b"".join, chunks)


async def decode_body(operation: Operation, body: bytes, holder: Hashable | None) -> Any:
    if operation.read_body is None:
        return body
    if len(body) <= INLINE_MAX_BYTES:
        return _decode_checked(body, operation.read_body)
    if len(body) <= SUBPROCESS_MIN_BYTES:
        # Field by field where moments and euros are checked: in a thread, others get their turn in between.
        return await asyncio.to_thread(_decode_checked, body, operation.read_body)
    # To look for faults takes far longer than to read what has none: that happens elsewhere, and this in slices.
    await run_in_subprocess(holder, _decode_in_subprocess, body, operation.handler)
    return await asyncio.to_thread(operation.read_body.decode_trusted, body)


def _decode_checked(body: bytes, read_body: Decoder) -> Any:
    reject_long_numbers(body)
    return read_body(body)


def _decode_in_subprocess(body: bytes, handler: Any) -> None:
    """Raises what is wrong with the body of an operation, which goes to another process by its handler's name."""
    _decode_checked(body, handler.__operation__.read_body)


async def take_fingerprint(request: Request, body: bytes) -> bytes:
    """What tells a repetition of a request from another one under the same Idempotency-Key."""
    if len(body) <= SUBPROCESS_MIN_BYTES:
        return fingerprint_of(request.operation.method, request.target, body)
    return await asyncio.to_thread(fingerprint_of, request.operation.method, request.target, body)
