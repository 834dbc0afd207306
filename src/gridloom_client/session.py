"""The script of every call: sign in, send, renew the token, try again, follow pages and streams."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from gridloom_client.effects import Emit, Exclusive, Pause, Steps, open_stream, read, send
from gridloom_client.errors import (
    CredentialsError,
    ProblemError,
    ResponseError,
    ServiceError,
    TooManyRequestsError,
    TransportError,
    UnauthenticatedError,
)
from gridloom_client.retries import RetryPolicy
from gridloom_client.sse import EventParser, ServerSentEvent
from gridloom_client.tokens import ApiKey, InMemoryTokenStore, Password, Tokens, TokenStore
from gridloom_client.wire import JSON, RawResponse, Request, encode_body

_MARGIN_S = 30.0  # renew this long before the token ends
_POSITION = "gridloom-position"
log = logging.getLogger("gridloom_client")
"""Each request at INFO: method, path, status, time and request id; never a query, a header or a body."""


class _TokenAnswer(msgspec.Struct):
    access_token: str
    expires_in: float = 900.0
    refresh_token: str | None = None


@dataclass
class LogPosition:
    """How far the service's log had come with the last change made here: a replica that answers has replayed it."""

    latest: str | None = None

    def note(self, reply: RawResponse) -> None:
        """The latest of them: answers may overtake each other."""
        position = reply.headers.get(_POSITION)
        if position is not None and (
            self.latest is None or _measure_position(position) > _measure_position(self.latest)
        ):
            self.latest = position


@dataclass
class ClientSession:
    """One client's side of the conversation: who it is, what tokens it holds, how patient it is."""

    credentials: Password | ApiKey | None
    store: TokenStore = field(default_factory=InMemoryTokenStore)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Callable[[], float] = time.time
    show_progress: bool | None = None
    """Of long writes; None shows it on terminals and in notebooks."""
    position: LogPosition = field(default_factory=LogPosition)
    timeout_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of every request, in place of those that it has by itself."""

    def with_options(
        self, timeout_s: float | None, retries: RetryPolicy | None, headers: Mapping[str, str] | None
    ) -> ClientSession:
        """The same caller with the same tokens; what is None stays as it is."""
        if timeout_s is not None and not timeout_s > 0:
            raise ValueError(f"timeout_s must be more than 0, not {timeout_s}.")
        if any(name.lower() == "authorization" for name in headers or {}):
            raise ValueError("A client signs its requests in by itself: give it username, password, api_key or tokens.")
        return replace(
            self,
            timeout_s=self.timeout_s if timeout_s is None else timeout_s,
            retries=retries or self.retries,
            headers=_merge_headers(self.headers, headers or {}),
        )

    @property
    def caller(self) -> str:
        """As whom, without any secret."""
        match self.credentials:
            case Password(username):
                return f"as {username}"
            case ApiKey():
                return "with an API key"
        return "signed in" if self.store.load() is not None else "not signed in"

    # --- one request -----------------------------------------------------------------------------------------------

    def call(self, request: Request, *, is_public: bool = False, is_stream: bool = False) -> Steps[RawResponse]:
        """The reply to a request, or the ProblemError or TransportError that it came to in the end."""
        attempt, was_renewed = 1, False
        headers = _merge_headers(request.headers, self.headers)
        request = replace(request, headers=headers, timeout_s=request.timeout_s or self.timeout_s)
        while True:
            token = None if is_public else (yield from self._find_token())
            bearer = request.with_headers(Authorization=f"Bearer {token}") if token else request
            if request.method == "GET" and self.position.latest is not None:
                bearer = bearer.with_headers(Gridloom_Position=self.position.latest)
            began = self.clock()
            try:
                reply = yield from open_stream(bearer) if is_stream else send(bearer)
            except TransportError as loss:
                log.info("%s %s: %s", request.method, request.path, loss)
                pause_s = self.retries.after_loss(request, loss, attempt)
                if pause_s is None:
                    raise
            else:
                _log_reply(request, reply, self.clock() - began)
                if reply.status == 401 and token and not was_renewed and self._can_renew:
                    yield Exclusive(self._renew_tokens(stale=token))
                    was_renewed = True
                    continue
                pause_s = self.retries.after_reply(request, reply, attempt)
                if pause_s is None:
                    self.position.note(reply)
                    return _reject_problem(reply)
            attempt += 1
            log.info("%s %s: attempt %d in %.1f s", request.method, request.path, attempt, pause_s)
            yield Pause(pause_s)

    # --- tokens ----------------------------------------------------------------------------------------------------

    @property
    def _can_renew(self) -> bool:
        return not isinstance(self.credentials, ApiKey)

    def _find_token(self) -> Steps[str]:
        if isinstance(self.credentials, ApiKey):
            return self.credentials.secret
        tokens = self.store.load()
        if not self._is_fresh(tokens):
            yield Exclusive(self._renew_tokens(stale=tokens.access_token if tokens else None))
            tokens = self.store.load()
        assert tokens is not None  # renewing gives some, or raises
        return tokens.access_token

    def _is_fresh(self, tokens: Tokens | None) -> bool:
        return tokens is not None and self.clock() < tokens.expires_at - _MARGIN_S

    def _renew_tokens(self, stale: str | None) -> Steps[None]:
        """New tokens in the store, unless another call or process has put them there meanwhile."""
        with self.store.lock():
            tokens = self.store.load()
            if tokens is not None and tokens.access_token != stale and self._is_fresh(tokens):
                return
            renewed = yield from self._refresh_tokens(tokens)
            if renewed is None:
                renewed = yield from self.signed_in()
            self.store.save(renewed)

    def _refresh_tokens(self, tokens: Tokens | None) -> Steps[Tokens | None]:
        if tokens is None or tokens.refresh_token is None:
            return None
        try:
            return (yield from self._obtain_tokens("/auth/public/refresh", {"refresh_token": tokens.refresh_token}))
        except UnauthenticatedError:
            return None

    def signed_in(self) -> Steps[Tokens]:
        """Tokens for the user's name and password."""
        if not isinstance(self.credentials, Password):
            raise CredentialsError("You are not signed in, or your session has ended.")
        who = {"username": self.credentials.username, "password": self.credentials.password}
        return (yield from self._obtain_tokens("/auth/public/authenticate", who))

    def _obtain_tokens(self, target: str, body: dict[str, str]) -> Steps[Tokens]:
        request = Request("POST", target, {"Content-Type": JSON, "Accept": JSON, **new_key()}, encode_body(body))
        sent_at = self.clock()
        reply = yield from self.call(request, is_public=True)
        answer = decode(reply, msgspec.json.Decoder(_TokenAnswer))
        return Tokens(
            access_token=answer.access_token,
            refresh_token=answer.refresh_token,
            expires_at=sent_at + answer.expires_in,
        )

    # --- pages and streams -----------------------------------------------------------------------------------------

    def page(
        self, request: Request, decoder: msgspec.json.Decoder[list[Any]]
    ) -> Steps[tuple[list[Any], Request | None]]:
        """The items of one page, and the request of the next."""
        reply = yield from self.call(request)
        query = reply.next_query
        return decode(reply, decoder), None if query is None else replace(request, target=request.path + query)

    def pages(self, request: Request, decoder: msgspec.json.Decoder[list[Any]]) -> Steps[None]:
        """Emits every item of a collection, page after page."""
        following: Request | None = request
        while following is not None:
            items, following = yield from self.page(following, decoder)
            for item in items:
                yield Emit(item)

    def events(self, request: Request, read_event: Callable[[ServerSentEvent], Any]) -> Steps[None]:
        """Emits what the service sends until the caller stops; takes up a lost stream where it was lost.

        A stream that was open once is tried again for as long as `retries.resume_for_s`, counted in pauses; any sign
        of life, even a comment, starts the count anew.
        """
        losses, waited_s, last_event_id, was_open = 0, 0.0, request.headers.get("Last-Event-ID", ""), False
        while True:
            parser = EventParser()
            try:
                reply = yield from self.call(request.with_headers(Last_Event_ID=last_event_id or None), is_stream=True)
                if reply.status == 204:  # the stream has ended for good
                    return
                was_open = True
                while (chunk := (yield from read())) is not None:
                    losses, waited_s = 0, 0.0
                    for event in parser.feed(chunk):
                        item = read_event(event)
                        if item is not None:
                            self.position.latest = None  # perhaps of another caller: let reads ask how far the log is
                            yield Emit(item)
                    last_event_id = parser.last_event_id or last_event_id
            except (TransportError, ServiceError, TooManyRequestsError):
                if not was_open or waited_s >= self.retries.resume_for_s:
                    raise
            losses += 1
            pause_s = max(parser.retry_s or 0.0, self.retries.pause_s(min(losses, 10)))
            pause_s = min(pause_s, self.retries.longest_pause_s)
            yield Pause(pause_s)
            waited_s += pause_s


def _measure_position(position: str) -> int:
    """When a position was read: what comes before its dot; what is none comes before all. The rest is sealed."""
    try:
        return int(position.partition(".")[0], 16)
    except ValueError:
        return -1


def _merge_headers(headers: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Names are the same in any case of letters."""
    replaced = {name.lower() for name in more}
    return {**{name: value for name, value in headers.items() if name.lower() not in replaced}, **more}


def _log_reply(request: Request, reply: RawResponse, seconds: float) -> None:
    request_id = reply.headers.get("x-request-id", "")
    log.info("%s %s %d in %.0f ms %s", request.method, request.path, reply.status, seconds * 1000, request_id)


def _reject_problem(reply: RawResponse) -> RawResponse:
    if reply.status >= 400:
        raise ProblemError.of(reply)
    if reply.status >= 300 and reply.status != 304:
        raise ResponseError(f"The service answered {reply.status} and points elsewhere; check its address.")
    return reply


def decode(reply: RawResponse, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode(reply.content)
    except msgspec.DecodeError as fault:
        raise ResponseError(f"The answer is not what this client expects: {fault}.") from None


def new_key() -> dict[str, str]:
    """A key under which a POST takes effect once, however often it is sent."""
    return {"Idempotency-Key": str(uuid.uuid4())}
