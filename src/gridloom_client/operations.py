"""Declares the service's operations as methods: once, typed, for the blocking and the awaiting client alike.

    class Auctions(Surface[M]):
        @operation("POST", "/auctions/{auctionID}/bids")
        def bid(self, auction_id: ID, price: Decimal | str) -> Bid: ...

The signature is the declaration. Parameters named in the path fill it; `body` is the whole body; what is left goes into
the query of a GET or DELETE, and into the JSON object of a POST, PUT or PATCH, but for names in `query`. `if_match`,
`idempotency_key`, `content_type` and `last_event_id` become headers. The return annotation says what the answer is.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_type_hints, overload
from urllib.parse import parse_qs

import msgspec

from gridloom_client.exchange import Exchange, decode, new_key
from gridloom_client.server_sent import ServerSentEvent
from gridloom_client.steps import Steps
from gridloom_client.transport import Awaiting, Blocking
from gridloom_client.wire import (
    EVENT_STREAM,
    JSON,
    KEEP,
    Reply,
    Request,
    encode_body,
    fill_path,
    parameter_name,
    query_string,
    wire_name,
)

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", Blocking, Awaiting)
AnySurface = TypeVar("AnySurface", bound="Surface[Any]")

OPERATIONS: dict[tuple[str, str], str] = {}
"""Every operation, method and path, with the method that calls it: `("GET", "/auctions")` → `auctions.list`."""

_HEADERS = {
    "if_match": "If-Match",
    "idempotency_key": "Idempotency-Key",
    "content_type": "Content-Type",
    "last_event_id": "Last-Event-ID",
}
_RENAMED = {"page_size": "limit"}
_SPELT = {"refresh_token": "refresh_token", "exchange_notification_ids": "exchangeNotificationIds"}


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer with what came beside it."""

    value: T
    status: int
    headers: Mapping[str, str]

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")

    @property
    def next_cursor(self) -> str | None:
        """Where the next page starts, for the few answers that are objects with a page in them."""
        query = Reply(self.status, self.headers).next_query
        return parse_qs(query[1:]).get("cursor", [None])[0] if query else None

    @property
    def is_replayed(self) -> bool:
        """Whether the service had carried out this request before."""
        return self.headers.get("idempotency-replayed") == "true"


class Surface(Generic[M]):
    """The methods of one domain, bound to a client."""

    def __init__(self, exchange: Exchange, runner: M) -> None:
        self._exchange = exchange
        self._runner: M = runner


class Declared(Generic[P, T]):
    """One operation: how its arguments become a request, and what its answer is."""

    def __init__(
        self, method: str, path: str, function: Callable[Concatenate[Any, P], T], query: Sequence[str] = ()
    ) -> None:
        self.method = method
        self.path = path
        self.function = function
        self.__doc__ = function.__doc__
        self._in_query = frozenset(query)
        self._signature = inspect.signature(function)
        placeholders = set(re.findall(r"\{(\w+)\}", path))
        self._in_path = {
            name: wire_name(name) for name in self._signature.parameters if wire_name(name) in placeholders
        }
        assert set(self._in_path.values()) == placeholders, f"{path} does not fit its parameters"

    def __set_name__(self, owner: type, name: str) -> None:
        surface = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", owner.__name__).lower()
        assert (self.method, self.path) not in OPERATIONS, f"{self.method} {self.path} is declared twice"
        OPERATIONS[self.method, self.path] = f"{surface}.{name}"

    @cached_property
    def answer_type(self) -> Any:
        return get_type_hints(self.function)["return"]

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.answer_type)

    @property
    def is_public(self) -> bool:
        return self.path == "/" or self.path.startswith(("/auth/public/", "/health/", "/docs", "/openapi.json"))

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request:
        """What a call with these arguments sends; nothing is sent."""
        bound = self._signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        values = {name: value for name, value in bound.arguments.items() if name != "self"}
        path = fill_path(self.path, {wire: values.pop(name) for name, wire in self._in_path.items()})
        headers = {_HEADERS[name]: values.pop(name) for name in list(values) if name in _HEADERS}
        headers = {name: value for name, value in headers.items() if value is not None}
        headers["Accept"] = "*/*" if self.answer_type is bytes else JSON
        query = {name: values.pop(name) for name in list(values) if self.is_in_query(name)}
        target = path + query_string({parameter_name(_RENAMED.get(name, name)): value for name, value in query.items()})
        if self.method in ("GET", "DELETE"):
            return Request(self.method, target, headers)
        if self.method == "POST":
            headers = {**new_key(), **headers}
        content = self._content(values)
        if content is not None:
            headers.setdefault("Content-Type", JSON)
        return Request(self.method, target, headers, content)

    def is_in_query(self, name: str) -> bool:
        return self.method in ("GET", "DELETE") or name in self._in_query

    def _content(self, values: dict[str, Any]) -> bytes | None:
        if "body" in values:
            body = values["body"]
            return body if isinstance(body, bytes) else encode_body(body)
        if not values:
            return None
        if self.method == "PATCH":
            return encode_body(_named(values))
        return encode_body(_named({name: value for name, value in values.items() if value is not None}))

    def read(self, reply: Reply) -> Any:
        if self.answer_type is type(None) or reply.status in (204, 304):
            return None
        if self.answer_type is bytes:
            return reply.content
        return decode(reply, self.decoder)


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    return {field_name(name): value for name, value in values.items() if value is not KEEP}


def field_name(name: str) -> str:
    """A field's name in a body: by rule, but for the few that the contract spells otherwise."""
    return _SPELT.get(name) or wire_name(name)


# --- an operation with one answer ------------------------------------------------------------------------------------


class Operation(Declared[P, T]):
    """An operation that answers once."""

    @overload
    def __get__(self, surface: Surface[Blocking], owner: type) -> Now[P, T]: ...
    @overload
    def __get__(self, surface: Surface[Awaiting], owner: type) -> Later[P, T]: ...
    @overload
    def __get__(self, surface: None, owner: type) -> Operation[P, T]: ...
    def __get__(self, surface: Surface[Any] | None, owner: type) -> Any:
        if surface is None:
            return self
        bound: type[Any] = Now if isinstance(surface._runner, Blocking) else Later
        return bound(self, surface)

    def answer(self, exchange: Exchange, request: Request) -> Steps[Answer[T]]:
        reply = yield from exchange.call(request, is_public=self.is_public)
        return Answer(self.read(reply), reply.status, reply.headers)

    def content(self, exchange: Exchange, request: Request, accept: str) -> Steps[bytes]:
        reply = yield from exchange.call(request.with_headers(Accept=accept), is_public=self.is_public)
        return reply.content


class Now(Generic[P, T]):
    """An operation of a blocking client."""

    def __init__(self, operation: Operation[P, T], surface: Surface[Blocking]) -> None:
        self._operation, self._exchange, self._runner = operation, surface._exchange, surface._runner
        self.__doc__ = operation.__doc__
        self.request = operation.request

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.answer(*args, **kwargs).value

    def answer(self, *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        """The answer with its headers, for its ETag."""
        return self._runner.run(self._operation.answer(self._exchange, self.request(*args, **kwargs)))

    def content(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The answer's bytes in another media type: CSV, ARROW or PARQUET."""
        return self._runner.run(self._operation.content(self._exchange, self.request(*args, **kwargs), accept))


class Later(Generic[P, T]):
    """An operation of an awaiting client."""

    def __init__(self, operation: Operation[P, T], surface: Surface[Awaiting]) -> None:
        self._operation, self._exchange, self._runner = operation, surface._exchange, surface._runner
        self.__doc__ = operation.__doc__
        self.request = operation.request

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.answer(*args, **kwargs)).value

    async def answer(self, *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        """The answer with its headers, for its ETag."""
        return await self._runner.run(self._operation.answer(self._exchange, self.request(*args, **kwargs)))

    async def content(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The answer's bytes in another media type: CSV, ARROW or PARQUET."""
        return await self._runner.run(self._operation.content(self._exchange, self.request(*args, **kwargs), accept))


# --- operations that answer item after item --------------------------------------------------------------------------


class Series(Declared[P, T]):
    """An operation whose items are iterated: a collection in pages, or a stream."""

    @overload
    def __get__(self, surface: Surface[Blocking], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, surface: Surface[Awaiting], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, surface: None, owner: type) -> Series[P, T]: ...
    def __get__(self, surface: Surface[Any] | None, owner: type) -> Any:
        if surface is None:
            return self

        def iterate(*args: P.args, **kwargs: P.kwargs) -> Any:
            return surface._runner.iterate(self.items(surface._exchange, self.request(*args, **kwargs)))

        return iterate

    def items(self, exchange: Exchange, request: Request) -> Steps[None]:
        raise NotImplementedError


class Collection(Series[P, T]):
    """Items in pages, as many as there are; `page_size` is how many are fetched at a time."""

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(list[self.answer_type])  # type: ignore[name-defined]

    def items(self, exchange: Exchange, request: Request) -> Steps[None]:
        return exchange.pages(request, self.decoder)


class Stream(Series[P, T]):
    """Items as they happen, until the caller stops; a lost connection is taken up where it was lost."""

    def items(self, exchange: Exchange, request: Request) -> Steps[None]:
        return exchange.events(request.with_headers(Accept=EVENT_STREAM), self._read_event)

    def _read_event(self, event: ServerSentEvent) -> Any:
        if self.answer_type is ServerSentEvent:
            return event
        value = decode(Reply(200, {}, event.data.encode()), self.decoder)
        return msgspec.structs.replace(value, place=event.id) if hasattr(value, "place") else value


def operation(
    method: str, path: str, *, query: Sequence[str] = ()
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """A method that sends one request and returns its answer."""
    return lambda function: Operation(method, path, function, query)


def collection(path: str) -> Callable[[Callable[Concatenate[Any, P], T]], Collection[P, T]]:
    """A method that iterates the items of a collection; the annotation is the item's type."""
    return lambda function: Collection("GET", path, function)


def stream(path: str) -> Callable[[Callable[Concatenate[Any, P], T]], Stream[P, T]]:
    """A method that iterates server-sent events; the annotation is what an event's data is read as."""
    return lambda function: Stream("GET", path, function)
