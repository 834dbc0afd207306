"""What a method of a client is once it is bound: a call that blocks or awaits, and items that are iterated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qs

from gridloom_client.effects import Steps
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
    headers: Mapping[str, str]

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
    def pieces(self, *args: P.args, **kwargs: P.kwargs) -> list[Piece]: ...
    def answer_pieces(self, exchange: ClientSession, pieces: Sequence[Piece]) -> Steps[Response[T]]: ...
    def content(self, exchange: ClientSession, request: Request, accept: str) -> Steps[bytes]: ...
    def table(self, exchange: ClientSession, request: Request) -> Steps[Tabular]: ...


class SyncMethod(Generic[P, T]):
    """An operation of a blocking client."""

    def __init__(self, operation: CallableOperation[P, T], exchange: ClientSession, runner: SyncTransport) -> None:
        self._operation, self._exchange, self._runner = operation, exchange, runner
        self.request = operation.request

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.answer(*args, **kwargs).value

    def answer(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """The answer with its headers, for its ETag."""
        return self._runner.run(self._operation.answer_pieces(self._exchange, self._operation.pieces(*args, **kwargs)))

    def content(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The answer's bytes in another media type: CSV, ARROW or PARQUET."""
        return self._runner.run(self._operation.content(self._exchange, self.request(*args, **kwargs), accept))

    def table(self, *args: P.args, **kwargs: P.kwargs) -> Tabular:
        """The answer as a table, fetched as Arrow: `.to_pandas()`, `.to_polars()` or `.to_arrow()`."""
        return self._runner.run(self._operation.table(self._exchange, self.request(*args, **kwargs)))


class AsyncMethod(Generic[P, T]):
    """An operation of an awaiting client."""

    def __init__(self, operation: CallableOperation[P, T], exchange: ClientSession, runner: AsyncTransport) -> None:
        self._operation, self._exchange, self._runner = operation, exchange, runner
        self.request = operation.request

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.answer(*args, **kwargs)).value

    async def answer(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """The answer with its headers, for its ETag."""
        pieces = self._operation.pieces(*args, **kwargs)
        return await self._runner.run(self._operation.answer_pieces(self._exchange, pieces))

    async def content(self, accept: str, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The answer's bytes in another media type: CSV, ARROW or PARQUET."""
        return await self._runner.run(self._operation.content(self._exchange, self.request(*args, **kwargs), accept))

    async def table(self, *args: P.args, **kwargs: P.kwargs) -> Tabular:
        """The answer as a table, fetched as Arrow: `.to_pandas()`, `.to_polars()` or `.to_arrow()`."""
        return await self._runner.run(self._operation.table(self._exchange, self.request(*args, **kwargs)))


class ItemIterator(Iterator[T], Tabular):
    """Items as they are fetched; as a table, all that are left."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """Stop here: a stream's connection is given back."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()

    def rows(self) -> Rows[T]:
        """All that are left."""
        return Rows(self._items)

    def _make_table(self) -> pyarrow.Table:
        return self.rows()._make_table()


class AsyncItemIterator(AsyncIterator[T]):
    """Items as they are fetched; as a table, all that are left."""

    def __init__(self, items: Any) -> None:
        self._items = items

    async def __anext__(self) -> T:
        item: T = await anext(self._items)
        return item

    async def aclose(self) -> None:
        """Stop here: a stream's connection is given back."""
        await self._items.aclose()

    async def rows(self) -> Rows[T]:
        """All that are left."""
        return Rows([item async for item in self._items])

    async def to_arrow(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> pyarrow.Table:
        return (await self.rows()).to_arrow(zone, shape)

    async def to_pandas(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> pandas.DataFrame:
        return (await self.rows()).to_pandas(zone, shape)

    async def to_polars(self, zone: TimeZone = "UTC", shape: Shape | None = None) -> polars.DataFrame:
        return (await self.rows()).to_polars(zone, shape)
