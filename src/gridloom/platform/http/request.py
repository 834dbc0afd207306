"""One request: its caller, its parameters and the transaction that it runs in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import asyncpg

from gridloom.kernel.problem import PreconditionFailed, PreconditionRequired
from gridloom.platform.database.commit import (
    begin_deferring,
    discard_callbacks,
    discard_deferred,
    flush_deferred,
    run_callbacks,
    underlying_connection,
)
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.database.pool import Database, acquire
from gridloom.platform.database.pool import release as give_back
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.idempotency import IdempotencyScope
from gridloom.platform.http.operation import Operation
from gridloom.platform.http.shares import Shares

if TYPE_CHECKING:
    from asyncpg.transaction import Transaction


R = TypeVar("R")

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

MAX_WAIT_S: Final = 5
"""For a connection to the database."""

AuditHook = Callable[["Database", "Request", int], Awaitable[None]]
"""Called in the transaction of every audited change, with the status it will answer."""


class AppState:
    """Objects that live as long as the process (hasher, listeners …), found by their type."""

    def __init__(self) -> None:
        self._by_type: dict[type, object] = {}

    def add(self, resource: object) -> None:
        self._by_type[type(resource)] = resource

    def __getitem__(self, kind: type[R]) -> R:
        return cast(R, self._by_type[kind])


@dataclass(slots=True, eq=False, kw_only=True)
class Request:
    """The request as a handler gets it."""

    operation: Operation
    headers: Mapping[bytes, bytes]
    path: str
    target: str
    """Path and query as they were asked for."""
    address: str
    request_id: str
    pool: asyncpg.Pool
    resources: AppState
    shares: Shares
    stopping: asyncio.Event
    """Set when the service is about to stop: long streams end then."""
    audit: AuditHook
    accepts: str
    """The media type negotiated for the response."""
    content_type: str = ""
    path_values: dict[str, Any] = field(default_factory=dict)
    audit_details: dict[str, Any] = field(default_factory=dict)
    """Details that the audit log stores of this change besides caller, operation and time."""
    retry: IdempotencyScope | None = None
    receive: Receive | None = None
    """The server's messages after the body: that the client has disconnected."""
    caller_if_known: Caller | None = None
    holder: Hashable | None = None
    """The holder that the use of limited resources counts for: its organisation, None where it is exempt."""
    places: AsyncExitStack | None = None
    """Limited resources that the request holds until its response is sent."""
    _verify: Callable[[], Awaitable[Caller]] | None = None
    _condition_is_checked: bool = False
    _connection: Any = None
    _transaction: Transaction | None = None
    _commit_by_s: float | None = None
    _has_begun: bool = False
    """Whether there was a transaction since the connection was acquired."""

    @property
    def caller(self) -> Caller:
        assert self.caller_if_known is not None, "a public operation has no caller"
        return self.caller_if_known

    def set_caller(self, caller: Caller, verify: Callable[[], Awaitable[Caller]] | None = None) -> None:
        self.caller_if_known = caller
        self._verify = verify
        self.holder = self.shares.holder_of(caller)

    async def hold(self, place: AbstractAsyncContextManager[Any]) -> None:
        """Enter a place that the request leaves once its response is sent."""
        assert self.places is not None, "a request within another holds no place of its own"
        await self.places.enter_async_context(place)

    async def reauthenticate(self) -> Caller:
        """The caller with the rights it has now, for answers that go on for long; 401 once its token has ended."""
        assert self._verify is not None, "a public operation has no caller"
        self.caller_if_known = await self._verify()
        return self.caller

    async def wait_for_disconnect(self) -> None:
        """Returns when the client has disconnected, so that its work can be cancelled."""
        assert self.receive is not None, "the body is still being read"
        await await_disconnect(self.receive)

    @property
    def db(self) -> Database:
        """The pool on a read; on a change the one connection in the one transaction of this request."""
        if self._connection is not None:
            return cast(Database, self._connection)
        assert not self.operation.changes_state, "request.begin() comes before request.db in a deferred transaction"
        return self.pool

    async def begin(self) -> Database:
        """Start the transaction; the edge commits it when the handler has returned."""
        if self._transaction is None:
            self._commit_by_s = None
            if self._connection is None:
                self._connection = await acquire(self.pool, longest_wait_s=MAX_WAIT_S)
            self._has_begun = True
            self._transaction = self._connection.transaction()
            await self._transaction.start()
            begin_deferring(self._connection)
            if self.retry is not None:
                await self.retry.begin(self.db)
        return self.db

    async def replay_if_stored(self) -> None:
        """Raise the stored response of an earlier attempt under the same Idempotency-Key. For a handler that refuses
        what was used up, or counts an attempt, before it begins its transaction."""
        if self.retry is not None:
            await self.begin()
            await self.release()

    def set_commit_deadline(self, seconds: float) -> None:
        """Have the transaction undone unless it is committed so soon: for those who wait for it, but not for ever."""
        self._commit_by_s = time.monotonic() + seconds

    @property
    def in_transaction(self) -> bool:
        """Whether there is something to commit."""
        return self._transaction is not None

    async def commit(self) -> None:
        if self._transaction is not None:
            await flush_deferred(self._connection)
            if self._commit_by_s is not None and time.monotonic() > self._commit_by_s:
                raise TimeoutError("the change exceeded its commit deadline")
            transaction, self._transaction = self._transaction, None
            physical = underlying_connection(self._connection)
            await transaction.commit()
            run_callbacks(physical)

    def abandon_connection(self) -> None:
        """Discard this connection: the driver has lost its protocol state."""
        physical: Any = underlying_connection(self._connection)
        if physical is not None:
            physical.terminate()

    async def release(self) -> None:
        """Roll back what was not committed and give the connection back."""
        connection, self._connection = self._connection, None
        transaction, self._transaction = self._transaction, None
        if connection is None:
            return
        physical: Any = underlying_connection(connection)
        if self._has_begun:
            self._has_begun = False
            discard_callbacks(physical)
            discard_deferred(physical)
        try:
            if transaction is not None and physical is not None and not physical.is_closed():
                await transaction.rollback()
        except DATABASE_ERRORS:
            physical.terminate()
        finally:
            with suppress(*DATABASE_ERRORS):  # what is released may be dead; the answer is known by now
                await give_back(self.pool, connection)

    def header(self, name: str) -> str | None:
        value = self.headers.get(encode_header_name(name))
        return None if value is None else value.decode("latin-1")

    def check_if_match(self, etag: str, *, required: bool = False) -> None:
        """Refuse a change made against another version of the resource than the present one."""
        self._condition_is_checked = True
        wanted = self.header("if-match")
        if wanted is None:
            if required:
                raise PreconditionRequired("This change needs If-Match with the ETag that was read.")
            return
        tags = [tag.strip() for tag in wanted.split(",")]
        if "*" not in tags and quoted(etag) not in tags:
            raise PreconditionFailed(f"The resource has changed: its ETag is {quoted(etag)} now.")

    def reject_unchecked_if_match(self) -> None:
        """A resource without an ETag matches no tag, so a change of it on that condition does not happen."""
        wanted = self.header("if-match")
        if self._condition_is_checked or self.operation.method == "POST" or wanted is None or wanted.strip() == "*":
            return
        raise PreconditionFailed("The resource carries no ETag, so none can match.")


async def await_disconnect(receive: Receive) -> None:
    """Returns when the client has disconnected. ASGI allows one reader of `receive()`, once the body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


@lru_cache(maxsize=256)
def encode_header_name(name: str) -> bytes:
    """As it goes over the wire; the few there are are asked for with every request."""
    return name.lower().encode("latin-1")


def quoted(etag: str) -> str:
    return etag if etag.startswith('"') else f'"{etag}"'
