"""HTTP to the sources: to public addresses alone, without redirects, bounded in bytes and in time."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import time
from collections import OrderedDict
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

import httpcore2

from gridloom.feeds.model import PullTally
from gridloom.feeds.question import (
    Answer,
    AnswerTooLarge,
    Conversation,
    Question,
    Refused,
    SourceUnavailable,
    UnexpectedAnswer,
    describe_body,
)
from gridloom.kernel.problem import Problem
from gridloom.platform.outbound.url_policy import PinnedAddressBackend, UrlPolicy
from gridloom.platform.webhooks.http_client import read_trust

T = TypeVar("T")

CONNECT_S: Final = 5.0
CALL_TIMEOUT_S: Final = 30.0
MAX_RETRY_AFTER: Final = timedelta(hours=6)
REUSED_FOR_S: Final = 60.0
"""A source is asked the same thing at most once a minute; a sandbox's clock that runs ahead takes the last answer."""
MAX_REUSED: Final = 64
MAX_REUSED_BYTES: Final = 512 * 1024
_OUTAGES: Final = frozenset({404, 408, 425, 429})
_REFUSALS: Final = frozenset({401, 403})


class FeedClient:
    """One a worker; each call has a connection of its own."""

    def __init__(self, rules: UrlPolicy, trust: ssl.SSLContext | None = None) -> None:
        self._rules = rules
        self._trust = trust
        self._pool: httpcore2.AsyncConnectionPool | None = None
        self._answers: OrderedDict[str, tuple[float, Answer]] = OrderedDict()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def converse(self, conversation: Conversation[T], tally: PullTally, *, reuses: bool = False) -> T:
        """Put its questions one after the other; what it makes of the answers.

        `reuses`: what was answered within the last minute is not asked for again.
        """
        try:
            question = next(conversation)
            while True:
                answer = await self._ask(question, tally, reuses)
                question = conversation.send(answer)
        except StopIteration as ended:
            result: T = ended.value
            return result

    async def _ask(self, question: Question, tally: PullTally, reuses: bool) -> Answer:
        if not tally.asked:
            tally.asked = question.shown
        known = self._answers.get(question.url) if reuses else None
        if known is not None and time.monotonic() - known[0] < REUSED_FOR_S:
            tally.http_status = known[1].status
            return known[1]
        began = time.monotonic()
        tally.asked = question.shown
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                answer, retry_after = await self._call(question, tally)
        except TimeoutError:
            raise SourceUnavailable(f"{question.shown}: no whole answer within {CALL_TIMEOUT_S:g} s.") from None
        finally:
            tally.seconds += time.monotonic() - began
        check_status(question, answer, retry_after)
        self._keep_answer(question, answer)
        return answer

    def _keep_answer(self, question: Question, answer: Answer) -> None:
        if "Authorization" in question.headers or question.form is not None or len(answer.body) > MAX_REUSED_BYTES:
            return  # what came for a token is asked for anew with the next one
        self._answers[question.url] = (time.monotonic(), answer)
        self._answers.move_to_end(question.url)
        if len(self._answers) > MAX_REUSED:
            self._answers.popitem(last=False)

    async def _call(self, question: Question, tally: PullTally) -> tuple[Answer, str | None]:
        tally.http_status = None
        method, content = ("GET", None) if question.form is None else ("POST", urlencode(question.form).encode())
        headers = {"Accept-Encoding": "identity", "User-Agent": "Gridloom", **question.headers}
        if content is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        timeouts = {"connect": CONNECT_S, "read": CALL_TIMEOUT_S, "write": CALL_TIMEOUT_S, "pool": CONNECT_S}
        sent = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        host = urlsplit(question.url).netloc
        try:
            self._rules.check_url(question.url)
            async with self._open_pool().stream(
                method, question.url, headers=sent, content=content, extensions={"timeout": timeouts}
            ) as response:
                tally.http_status = response.status
                body = question.hide_secrets(await _read_bounded(response, question, tally))
                headers_found = [(name.lower(), question.hide_secrets(value)) for name, value in response.headers]
                found = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers_found}
        except Problem as refusal:
            raise Refused(f"{host} is not called: {refusal.detail}") from None
        except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            # Their texts may name addresses inside; which kind it was says enough.
            raise SourceUnavailable(f"{question.shown}: {host} is not reached ({type(error).__name__}).") from None
        encoding = found.get("content-encoding", "identity").lower()
        if encoding not in ("identity", ""):
            raise UnexpectedAnswer(f"{question.shown} is encoded as {encoding[:40]!r}, which was not asked for.")
        if 300 <= response.status < 400:
            raise UnexpectedAnswer(
                f"{question.shown} redirects ({response.status}) to {found.get('location', '')[:200]!r}, "
                "and no redirect is followed."
            )
        tally.hashes.append(hash_body(body))
        return Answer(response.status, body, found.get("content-type", "")), found.get("retry-after")

    def _open_pool(self) -> httpcore2.AsyncConnectionPool:
        if self._pool is None:
            self._pool = httpcore2.AsyncConnectionPool(
                ssl_context=self._trust or read_trust(),
                max_connections=20,
                max_keepalive_connections=0,
                retries=0,
                network_backend=PinnedAddressBackend(self._rules),
            )
        return self._pool


def hash_body(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


async def _read_bounded(response: Any, question: Question, tally: PullTally) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_stream():
        size += len(chunk)
        tally.bytes += len(chunk)
        if size > question.limit_bytes:
            raise AnswerTooLarge(f"{question.shown} answers more than {question.limit_bytes} bytes.")
        parts.append(chunk)
    return b"".join(parts)


def check_status(question: Question, answer: Answer, retry_after: str | None) -> None:
    """Whether the source's reader can make something of the answer."""
    if answer.status in question.statuses:
        return
    phrase = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else ""
    seen = f"{question.shown} answered {answer.status} {phrase}".rstrip()
    if answer.status in _OUTAGES or answer.status >= 500:
        raise SourceUnavailable(f"{seen}.", read_retry_after(retry_after))
    if answer.status in _REFUSALS:
        raise Refused(f"{seen}.")
    raise UnexpectedAnswer(f"{seen}: {describe_body(answer.body)}.")


def read_retry_after(text: str | None) -> timedelta | None:
    """Seconds or a date, at most some hours; nothing where it cannot be read."""
    if text is None:
        return None
    if text.strip().isdigit():
        return min(timedelta(seconds=min(int(text.strip()[:9]), 10**8)), MAX_RETRY_AFTER)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return min(max(timedelta(seconds=at.timestamp() - time.time()), timedelta()), MAX_RETRY_AFTER)
