"""Declares the service's operations as methods: once, typed, for the blocking and the awaiting client alike.

    class Auctions(Resource[M]):
        @operation("POST", "/auctions/{auctionID}/bids")
        def bid(self, auction_id: ID, price: Decimal | str) -> Bid: ...

The signature is the declaration. Parameters named in the path fill it; `body` is the whole body; what is left goes into
the query of a GET or DELETE, and into the JSON object of a POST, PUT or PATCH, but for names in `query`. `if_match`,
`idempotency_key`, `content_type` and `last_event_id` become headers. Fields of a TypedDict that is unpacked last are
parameters as well. The return annotation says what the answer is.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints, overload

import msgspec

from gridloom_client.batching import cut_frame, join_answers, watch_progress
from gridloom_client.calls import (
    AsyncCollection,
    AsyncItemIterator,
    AsyncMethod,
    ItemIterator,
    Response,
    SyncCollection,
    SyncMethod,
    end_awaited_tracebacks,
    end_tracebacks,
)
from gridloom_client.display import facts_html
from gridloom_client.effects import Steps
from gridloom_client.errors import GridloomError, PointsRefusedError, UnprocessableError
from gridloom_client.frames import Rows, Table, Tabular, arrow_bytes, is_frame, parquet_bytes, plain_body
from gridloom_client.session import ClientSession, decode, new_key
from gridloom_client.sse import ServerSentEvent
from gridloom_client.transport import AsyncTransport, SyncTransport
from gridloom_client.wire import (
    ARROW,
    EVENT_STREAM,
    JSON,
    PARQUET,
    UNSET,
    RawResponse,
    Request,
    encode_body,
    field_name,
    fill_path,
    parameter_name,
    query_string,
    wire_name,
)

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", SyncTransport, AsyncTransport)
AnySurface = TypeVar("AnySurface", bound="Resource[Any]")

OPERATIONS: dict[tuple[str, str], str] = {}
"""Every operation, method and path, with the method that calls it: `("GET", "/auctions")` → `auctions.list`."""

_HEADERS = {
    "if_match": "If-Match",
    "idempotency_key": "Idempotency-Key",
    "content_type": "Content-Type",
    "last_event_id": "Last-Event-ID",
}
_RENAMED = {"page_size": "limit"}
_OF_THE_CALL = frozenset({"partial"})
"""Parameters that say what the method does with the answer; the service does not see them."""
_FRAMES = {ARROW: arrow_bytes, PARQUET: parquet_bytes}


class Resource(Generic[M]):
    """The methods of one domain, bound to a client."""

    def __init__(self, exchange: ClientSession, runner: M) -> None:
        self._exchange = exchange
        self._runner: M = runner

    @classmethod
    def _list_methods(cls) -> dict[str, Endpoint[..., Any]]:
        return {name: value for name, value in vars(cls).items() if isinstance(value, Endpoint)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._runner.client.base_url}: {', '.join(self._list_methods())}>"

    def _repr_html_(self) -> str:
        """For notebooks: every method with what it does."""
        return facts_html(type(self).__name__, [(name, each.summary) for name, each in self._list_methods().items()])


class Endpoint(Generic[P, T]):
    """One operation: how its arguments become a request, and what its answer is."""

    def __init__(
        self,
        method: str,
        path: str,
        function: Callable[Concatenate[Any, P], T],
        query: Sequence[str] = (),
        frames: str | None = None,
    ) -> None:
        self.method = method
        self.path = path
        self.function = function
        self.name = function.__name__
        self.full_name = function.__name__
        self.__doc__ = function.__doc__
        """Generated from the interface description (`sdk/docstrings.py`)."""
        self._in_query = frozenset(query)
        self._frames = frames

    @cached_property
    def signature(self) -> inspect.Signature:
        """Read when the method is: a process calls few of them."""
        return _name_unpacked(self.function)

    @cached_property
    def in_path(self) -> dict[str, str]:
        placeholders = set(re.findall(r"\{(\w+)\}", self.path))
        named = {name: wire_name(name) for name in self.signature.parameters if wire_name(name) in placeholders}
        assert set(named.values()) == placeholders, f"{self.path} does not fit its parameters"
        return named

    def bind(self, surface: Resource[Any], call: Callable[..., Any]) -> Any:
        """A plain function that a person can ask for its parameters and its help, kept for the next time."""

        end = end_tracebacks if isinstance(surface._runner, SyncTransport) else end_awaited_tracebacks
        bound = end(call) if isinstance(self, Operation) else end_tracebacks(call)
        bound.__name__, bound.__doc__ = self.name, inspect.getdoc(self.function)
        bound.__qualname__ = f"{type(surface).__name__}.{self.name}"
        bound.__module__ = self.function.__module__
        own = [parameter for name, parameter in self.signature.parameters.items() if name != "self"]
        bound.__signature__ = self.signature.replace(parameters=own)  # type: ignore[attr-defined]
        bound.request = self.request  # type: ignore[attr-defined]
        for more in ("answer", "content", "table", "page"):
            if hasattr(call, more):
                setattr(bound, more, end(getattr(call, more)))
        surface.__dict__[self.name] = bound
        return bound

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.__doc__ or "").partition("\n")[0].removesuffix(".")

    def name_errors(self, steps: Steps[Any]) -> Steps[Any]:
        """The steps; an error that ends them says of which method."""
        try:
            return (yield from steps)
        except GridloomError as error:
            error.name_method(self.full_name, self.method, self.path)
            raise

    def __set_name__(self, owner: type, name: str) -> None:
        surface = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", owner.__name__).lower()
        self.full_name = f"{surface}.{name}"
        assert (self.method, self.path) not in OPERATIONS, f"{self.method} {self.path} is declared twice"
        OPERATIONS[self.method, self.path] = f"{surface}.{name}"

    @cached_property
    def answer_type(self) -> Any:
        return get_type_hints(self.function)["return"]

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        if get_origin(self.answer_type) is Rows:
            return msgspec.json.Decoder(list[get_args(self.answer_type)[0]])  # type: ignore[misc]
        return msgspec.json.Decoder(self.answer_type)

    @property
    def is_public(self) -> bool:
        """Whether it is called without a token; `GET /metrics` has one of its own."""
        public = ("/auth/public/", "/health/", "/docs", "/openapi.json", "/.well-known/")
        return self.path == "/" or self.path.startswith(public)

    def bind_arguments(self, *args: P.args, **kwargs: P.kwargs) -> inspect.BoundArguments:
        try:
            return self.signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.full_name}(): {error}") from None

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request:
        """The request of a call with these arguments; nothing is sent."""
        bound = self.bind_arguments(*args, **kwargs)
        bound.apply_defaults()
        values = {name: value for name, value in bound.arguments.items() if name != "self" and name not in _OF_THE_CALL}
        path = fill_path(self.path, {wire: values.pop(name) for name, wire in self.in_path.items()})
        headers = {_HEADERS[name]: values.pop(name) for name in list(values) if name in _HEADERS}
        headers = {name: value for name, value in headers.items() if value is not None}
        headers["Accept"] = "*/*" if self.answer_type is bytes else JSON
        query = {name: values.pop(name) for name in list(values) if self.is_in_query(name)}
        target = path + query_string({parameter_name(_RENAMED.get(name, name)): value for name, value in query.items()})
        if self.method in ("GET", "DELETE") and "body" not in values:
            return Request(self.method, target, headers)
        if self.method == "POST":
            headers = {**new_key(), **headers}
        body = values.get("body")
        if self._frames is not None and is_frame(body):
            headers.setdefault("Content-Type", self._frames)
            return Request(self.method, target, headers, _FRAMES[self._frames](body))
        if isinstance(body, bytes) and "Content-Type" not in headers:
            raise ValueError("Bytes need their content_type, such as gridloom_client.CSV; nothing was sent.")
        content = self._encode_content(values)
        if content is not None:
            headers.setdefault("Content-Type", JSON)
        return Request(self.method, target, headers, content)

    def pieces(self, *args: P.args, **kwargs: P.kwargs) -> list[tuple[int, Callable[[], Request]]]:
        """The requests of a call, each with the first row it holds: one, or several for a long frame."""
        bound = self.bind_arguments(*args, **kwargs)
        body = bound.arguments.get("body")
        tables = cut_frame(body, self._frames) if self._frames is not None and is_frame(body) else []
        if not tables:
            return [(0, partial(self.request, *args, **kwargs))]
        made: list[tuple[int, Callable[[], Request]]] = []
        first_row = 0
        for table in tables:
            bound.arguments["body"] = table
            made.append((first_row, partial(self.request, *bound.args[1:], **bound.kwargs)))
            first_row += table.num_rows
        return made

    def is_in_query(self, name: str) -> bool:
        return (self.method in ("GET", "DELETE") and name != "body") or name in self._in_query

    def _encode_content(self, values: dict[str, Any]) -> bytes | None:
        if "body" in values:
            body = values["body"]
            return body if isinstance(body, bytes) else encode_body(plain_body(body))
        if not values:
            return None
        if self.method == "PATCH":
            return encode_body(_name_fields(values))
        return encode_body(_name_fields({name: value for name, value in values.items() if value is not None}))

    def read(self, reply: RawResponse) -> Any:
        if self.answer_type is type(None) or reply.status in (204, 304):
            return None
        if self.answer_type is bytes:
            return reply.content
        value = decode(reply, self.decoder)
        return Rows(value) if isinstance(value, list) else value


def _name_unpacked(function: Callable[..., Any]) -> inspect.Signature:
    """The signature, with each field of the TypedDict in `**window: Unpack[Window]` as a parameter of its own."""
    signature = inspect.signature(function)
    own = list(signature.parameters.values())
    unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(own[-1].annotation))
    if unpacked is None:
        return signature
    kind = function.__globals__[unpacked[1]]
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in kind.__required_keys__ else None,
            annotation=annotation.__forward_arg__,
        )
        for name, annotation in kind.__annotations__.items()
    ]
    return signature.replace(parameters=[*own[:-1], *named])


def _name_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {field_name(name): plain_body(value) for name, value in values.items() if value is not UNSET}


class Operation(Endpoint[P, T]):
    """An operation that answers once."""

    @overload
    def __get__(self, surface: Resource[SyncTransport], owner: type) -> SyncMethod[P, T]: ...
    @overload
    def __get__(self, surface: Resource[AsyncTransport], owner: type) -> AsyncMethod[P, T]: ...
    @overload
    def __get__(self, surface: None, owner: type) -> Operation[P, T]: ...
    def __get__(self, surface: Resource[Any] | None, owner: type) -> Any:
        if surface is None:
            return self
        make: type[Any] = SyncMethod if isinstance(surface._runner, SyncTransport) else AsyncMethod
        return self.bind(surface, make(self, surface._exchange, surface._runner))

    def answer(self, exchange: ClientSession, request: Request) -> Steps[Response[T]]:
        reply = yield from exchange.call(request, is_public=self.is_public)
        return Response(self.read(reply), reply.status, reply.headers)

    def call(self, exchange: ClientSession, *args: P.args, **kwargs: P.kwargs) -> Steps[Response[T]]:
        """The answer to a call: one that `partial` allows may be of points that were refused."""
        pieces = self.pieces(*args, **kwargs)
        if "partial" not in self.signature.parameters:
            return (yield from self.answer_pieces(exchange, pieces))
        allows_refusals = self.bind_arguments(*args, **kwargs).arguments.get("partial", False)
        answered = yield from self.answer_pieces(exchange, pieces, allows_refusals=allows_refusals)
        if getattr(answered.value, "refused", 0) and not allows_refusals:
            raise PointsRefusedError(answered.value)
        return answered

    def answer_pieces(
        self,
        exchange: ClientSession,
        pieces: Sequence[tuple[int, Callable[[], Request]]],
        *,
        allows_refusals: bool = False,
    ) -> Steps[Response[T]]:
        """The answer to all pieces of a call; where one is refused, what went before it has been taken."""
        answer = self._answer_counted if allows_refusals else self.answer
        if len(pieces) == 1:
            return (yield from answer(exchange, pieces[0][1]()))
        answers: list[Response[T]] = []
        with watch_progress(f"{self.name} pieces", len(pieces), is_wanted=exchange.show_progress) as advance:
            for first_row, make_request in pieces:
                try:
                    answers.append((yield from answer(exchange, make_request())))
                except GridloomError as error:
                    error.add_note(f"The rows before row {first_row} of the frame have been taken.")
                    raise
                advance(1)
        whole = join_answers([answer.value for answer in answers], [first_row for first_row, _ in pieces])
        return Response(whole, answers[-1].status, answers[-1].headers)

    def _answer_counted(self, exchange: ClientSession, request: Request) -> Steps[Response[T]]:
        """The same, where the problem of a request of which nothing was written is its counts."""
        try:
            return (yield from self.answer(exchange, request))
        except UnprocessableError as error:
            if error.name != "nothing-written":
                raise
            counts = msgspec.convert({"assets": [], **error.members}, self.answer_type)
            return Response(counts, error.status, {})

    def content(self, exchange: ClientSession, request: Request, accept: str) -> Steps[bytes]:
        reply = yield from exchange.call(request.asking_for(accept), is_public=self.is_public)
        return reply.content

    def table(self, exchange: ClientSession, request: Request) -> Steps[Tabular]:
        """As Arrow where the service has it, else from what it answers."""
        wanted = request.with_headers(Accept=f"{ARROW}, {JSON};q=0.5")
        reply = yield from exchange.call(wanted, is_public=self.is_public)
        if reply.headers.get("content-type", "").startswith(ARROW):
            return Table.read(reply.content)
        value = self.read(reply)
        return value if isinstance(value, Tabular) else Rows([value])


class Series(Endpoint[P, T]):
    """An operation whose items are iterated: a collection in pages, or a stream."""

    def items(self, exchange: ClientSession, request: Request) -> Steps[None]:
        raise NotImplementedError


class Collection(Series[P, T]):
    """Items in pages, as many as there are; `page_size` is how many are fetched at a time."""

    @overload
    def __get__(self, surface: Resource[SyncTransport], owner: type) -> SyncCollection[P, T]: ...
    @overload
    def __get__(self, surface: Resource[AsyncTransport], owner: type) -> AsyncCollection[P, T]: ...
    @overload
    def __get__(self, surface: None, owner: type) -> Collection[P, T]: ...
    def __get__(self, surface: Resource[Any] | None, owner: type) -> Any:
        if surface is None:
            return self
        make: type[Any] = SyncCollection if isinstance(surface._runner, SyncTransport) else AsyncCollection
        return self.bind(surface, make(self, surface._exchange, surface._runner))

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(list[self.answer_type])  # type: ignore[name-defined]

    def items(self, exchange: ClientSession, request: Request) -> Steps[None]:
        return exchange.pages(request, self.decoder)

    def page(self, exchange: ClientSession, request: Request) -> Steps[tuple[Rows[T], Request | None]]:
        items, following = yield from exchange.page(request, self.decoder)
        return Rows(items), following


class Stream(Series[P, T]):
    """Items as they happen, until the caller stops; a lost connection is taken up where it was lost."""

    def __init__(
        self, path: str, function: Callable[Concatenate[Any, P], T], read: Callable[[ServerSentEvent], Any]
    ) -> None:
        super().__init__("GET", path, function)
        self._read_event = read

    @overload
    def __get__(self, surface: Resource[SyncTransport], owner: type) -> Callable[P, ItemIterator[T]]: ...
    @overload
    def __get__(self, surface: Resource[AsyncTransport], owner: type) -> Callable[P, AsyncItemIterator[T]]: ...
    @overload
    def __get__(self, surface: None, owner: type) -> Stream[P, T]: ...
    def __get__(self, surface: Resource[Any] | None, owner: type) -> Any:
        if surface is None:
            return self
        runner, exchange = surface._runner, surface._exchange
        wrap: type[Any] = ItemIterator if isinstance(runner, SyncTransport) else AsyncItemIterator

        def iterate(*args: P.args, **kwargs: P.kwargs) -> Any:
            steps = self.items(exchange, self.request(*args, **kwargs))
            return wrap(runner.iterate(self.name_errors(steps)), self.full_name)

        return self.bind(surface, iterate)

    def items(self, exchange: ClientSession, request: Request) -> Steps[None]:
        return exchange.events(request.with_headers(Accept=EVENT_STREAM), self._read_event)


def operation(
    method: str, path: str, *, query: Sequence[str] = (), frames: str | None = None
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """A method that sends one request and returns its answer. frames: the media type in which a frame is sent."""
    return lambda function: Operation(method, path, function, query, frames)


def collection(path: str) -> Callable[[Callable[Concatenate[Any, P], T]], Collection[P, T]]:
    """A method that iterates the items of a collection; the annotation is the item's type."""
    return lambda function: Collection("GET", path, function)


def stream(
    path: str, *, read: Callable[[ServerSentEvent], Any]
) -> Callable[[Callable[Concatenate[Any, P], T]], Stream[P, T]]:
    """A method that iterates server-sent events. read: the item of an event; None leaves it out."""
    return lambda function: Stream(path, function, read)
