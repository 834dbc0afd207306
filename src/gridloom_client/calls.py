"""Bound methods of a client: calls that block or await, and items that are iterated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from html import escape
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qs

from gridloom_client.effects import Steps
from gridloom_client.errors import GridloomError
from gridloom_client.frames import Rows, Shape, Tabular, TimeZone
from gridloom_client.session import ClientSession
from gridloom_client.transport import AsyncTransport, SyncTransport
from gridloom_client.wire import RawResponse, Request

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

P = ParamSpec("P")
T = TypeVar("T")
Piece: TypeAlias = tuple[int, Callable[[], Request]]
"""A request of a call, made when it is sent, with the first row that it holds."""


@dataclass(frozen=True, slots=True)
class Response(Generic[T]):
    """An answer with what came beside it."""

    value: T
    status: int
    headers: Mapping[str, str] = field(repr=False)

    def _repr_html_(self) -> str:
        show = getattr(self.value, "_repr_html_", None)
        return str(show()) if show is not None else f"<p>{escape(repr(self.value))}</p>"

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")

    @property
    def next_cursor(self) -> str | None:
        """Where the next page starts, for the few answers that are objects with a page in them."""
        query = RawResponse(self.status, self.headers).next_query
        return parse_qs(query[1:]).get("cursor", [None])[0] if query else None

    @property
    def is_replayed(self) -> bool:
        """Whether the service had carried out this request before."""
        return self.headers.get("idempotency-replayed") == "true"


class CallableOperation(Protocol[P, T]):
    """The part of an operation that a bound method uses: its requests and the generators that carry them out."""

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request: ...
    def call(self, exchange: ClientSession, *args: P.args, **kwargs: P.kwargs) -> Steps[Response[T]]: ...
    def content(self, exchange: ClientSession, request: Request, accept: str) -> Steps[bytes]: ...
    def table(self, exchange: ClientSession, request: Request) -> Steps[Tabular]: ...
    def name_errors(self, steps: Steps[Any]) -> Steps[Any]: ...


class BoundMethod(Generic[P, T]):
    """An operation and the session of the client that it belongs to."""

    def __init__(self, operation: CallableOperation[P, T], exchange: ClientSession) -> None:
        self._operation, self._exchange = operation, exchange
        self.request = operation.request

    def _answer_steps(self, *args: P.args, **kwargs: P.kwargs) -> Steps[Response[T]]:
        return self._operation.name_errors(self._operation.call(self._exchange, *args, **kwargs))

    def _content_steps(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> Steps[bytes]:
        request = self.request(*args, **kwargs)
        return self._operation.name_errors(self._operation.content(self._exchange, request, accept))

    def _table_steps(self, *args: P.args, **kwargs: P.kwargs) -> Steps[Tabular]:
        return self._operation.name_errors(self._operation.table(self._exchange, self.request(*args, **kwargs)))


class SyncMethod(BoundMethod[P, T]):
    """An operation of a blocking client."""

    def __init__(self, operation: CallableOperation[P, T], exchange: ClientSession, runner: SyncTransport) -> None:
        super().__init__(operation, exchange)
        self._runner = runner

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.answer(*args, **kwargs).value

    def answer(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """The answer with its headers, for its ETag."""
        return self._runner.run(self._answer_steps(*args, **kwargs))

    def content(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The answer's bytes in another media type: CSV, EXCEL_CSV, ARROW or PARQUET, or XLSX where there is one."""
        return self._runner.run(self._content_steps(accept, *args, **kwargs))

    def table(self, *args: P.args, **kwargs: P.kwargs) -> Tabular:
        """The answer as a table, fetched as Arrow: `.to_pandas()`, `.to_polars()` or `.to_arrow()`."""
        return self._runner.run(self._table_steps(*args, **kwargs))


class AsyncMethod(BoundMethod[P, T]):
    """An operation of an awaiting client."""

    def __init__(self, operation: CallableOperation[P, T], exchange: ClientSession, runner: AsyncTransport) -> None:
        super().__init__(operation, exchange)
        self._runner = runner

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.answer(*args, **kwargs)).value

    async def answer(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """The answer with its headers, for its ETag."""
        return await self._runner.run(self._answer_steps(*args, **kwargs))

    async def content(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The answer's bytes in another media type: CSV, EXCEL_CSV, ARROW or PARQUET, or XLSX where there is one."""
        return await self._runner.run(self._content_steps(accept, *args, **kwargs))

    async def table(self, *args: P.args, **kwargs: P.kwargs) -> Tabular:
        """The answer as a table, fetched as Arrow: `.to_pandas()`, `.to_polars()` or `.to_arrow()`."""
        return await self._runner.run(self._table_steps(*args, **kwargs))


def end_tracebacks(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, whose errors show the caller's own lines alone: what is below them is the same for every error."""

    @wraps(call)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except GridloomError as error:
            raise error.with_traceback(None) from None

    return run


def end_awaited_tracebacks(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a coroutine function."""

    @wraps(call)
    async def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return await call(*args, **kwargs)
        except GridloomError as error:
            raise error.with_traceback(None) from None

    return run


@dataclass(frozen=True, slots=True)
class Page(Tabular, Generic[T]):
    """A page of a collection; as a table, its items."""

    items: Rows[T]
    _follow: Callable[[], Page[T]] | None = field(repr=False)

    @property
    def is_last(self) -> bool:
        return self._follow is None

    def next(self) -> Page[T] | None:
        """The page after this one, fetched now; None after the last."""
        return None if self._follow is None else self._follow()

    def _make_table(self) -> pyarrow.Table:
        return self.items._make_table()


@dataclass(frozen=True, slots=True)
class AsyncPage(Tabular, Generic[T]):
    """A page of a collection; as a table, its items."""

    items: Rows[T]
    _follow: Callable[[], Awaitable[AsyncPage[T]]] | None = field(repr=False)

    @property
    def is_last(self) -> bool:
        return self._follow is None

    async def next(self) -> AsyncPage[T] | None:
        """The page after this one, fetched now; None after the last."""
        return None if self._follow is None else await self._follow()

    def _make_table(self) -> pyarrow.Table:
        return self.items._make_table()


class CallableCollection(Protocol[P, T]):
    """The part of a collection that a bound method uses."""

    full_name: str

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request: ...
    def items(self, exchange: ClientSession, request: Request) -> Steps[None]: ...
    def page(self, exchange: ClientSession, request: Request) -> Steps[tuple[Rows[T], Request | None]]: ...
    def name_errors(self, steps: Steps[Any]) -> Steps[Any]: ...


class SyncCollection(Generic[P, T]):
    """A collection of a blocking client: its items are iterated, or fetched a page at a time."""

    def __init__(self, collection: CallableCollection[P, T], exchange: ClientSession, runner: SyncTransport) -> None:
        self._collection, self._exchange, self._runner = collection, exchange, runner
        self.request = collection.request

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ItemIterator[T]:
        collection = self._collection
        steps = collection.name_errors(collection.items(self._exchange, self.request(*args, **kwargs)))
        return ItemIterator(self._runner.iterate(steps), collection.full_name)

    def page(self, *args: P.args, **kwargs: P.kwargs) -> Page[T]:
        """The first page of as many items as `page_size` says; its `next()` is the one after."""
        return self._fetch_page(self.request(*args, **kwargs))

    def _fetch_page(self, request: Request) -> Page[T]:
        steps = self._collection.name_errors(self._collection.page(self._exchange, request))
        items, following = self._runner.run(steps)
        return Page(items, None if following is None else partial(self._fetch_page, following))


class AsyncCollection(Generic[P, T]):
    """A collection of an awaiting client: its items are iterated, or fetched a page at a time."""

    def __init__(self, collection: CallableCollection[P, T], exchange: ClientSession, runner: AsyncTransport) -> None:
        self._collection, self._exchange, self._runner = collection, exchange, runner
        self.request = collection.request

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> AsyncItemIterator[T]:
        collection = self._collection
        steps = collection.name_errors(collection.items(self._exchange, self.request(*args, **kwargs)))
        return AsyncItemIterator(self._runner.iterate(steps), collection.full_name)

    async def page(self, *args: P.args, **kwargs: P.kwargs) -> AsyncPage[T]:
        """The first page of as many items as `page_size` says; its `next()` is the one after."""
        return await self._fetch_page(self.request(*args, **kwargs))

    async def _fetch_page(self, request: Request) -> AsyncPage[T]:
        steps = self._collection.name_errors(self._collection.page(self._exchange, request))
        items, following = await self._runner.run(steps)
        return AsyncPage(items, None if following is None else partial(self._fetch_page, following))


class ItemIterator(Iterator[T], Tabular):
    """Items as they are fetched; as a table, all that are left."""

    def __init__(self, items: Iterator[T], name: str = "") -> None:
        self._items, self._name = items, name

    def __repr__(self) -> str:
        return f"<items of {self._name}: iterate, or .rows(), .to_pandas(), .to_polars()>"

    def _repr_html_(self) -> str:
        return f"<p>Items of <code>{self._name}</code>: iterate, or <code>.rows()</code> for all.</p>"

    def __next__(self) -> T:
        try:
            return next(self._items)
        except GridloomError as error:
            raise error.with_traceback(None) from None

    def close(self) -> None:
        """Stop here: a stream's connection is given back."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()

    def rows(self) -> Rows[T]:
        """All that are left."""
        return Rows(self)

    def _make_table(self) -> pyarrow.Table:
        return self.rows()._make_table()


class AsyncItemIterator(AsyncIterator[T]):
    """Items as they are fetched; as a table, all that are left."""

    def __init__(self, items: Any, name: str = "") -> None:
        self._items, self._name = items, name

    def __repr__(self) -> str:
        return f"<items of {self._name}: iterate, or await .rows(), .to_pandas(), .to_polars()>"

    async def __anext__(self) -> T:
        try:
            item: T = await anext(self._items)
        except GridloomError as error:
            raise error.with_traceback(None) from None
        return item

    async def aclose(self) -> None:
        """Stop here: a stream's connection is given back."""
        await self._items.aclose()

    async def rows(self) -> Rows[T]:
        """All that are left."""
        return Rows([item async for item in self])

    async def to_arrow(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> pyarrow.Table:
        return (await self.rows()).to_arrow(zone, shape)

    async def to_pandas(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> pandas.DataFrame:
        return (await self.rows()).to_pandas(zone, shape)

    async def to_polars(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> polars.DataFrame:
        return (await self.rows()).to_polars(zone, shape)
