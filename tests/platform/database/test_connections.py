"""Which connections of a pool are at rest, dead or to be made anew; without a server."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from gridloom.platform.database import pool
from gridloom.platform.database.pool import acquire, discard_hung_up

pytestmark = pytest.mark.pure


class Holder:
    """A place for a connection in a pool."""

    def __init__(self, *, is_connected: bool = True, hung_up: bool = False, fails: BaseException | None = None) -> None:
        self._is_connected = is_connected
        self._fails = fails
        self._timeout: float | None = 7.0
        self._con = SimpleNamespace(hung_up=hung_up, terminate=self._terminate)

    def is_connected(self) -> bool:
        return self._is_connected

    def _terminate(self) -> None:
        self._is_connected = False

    async def acquire(self) -> str:
        if self._fails is not None:
            raise self._fails
        return "a connection"


class Pool:
    def __init__(self, *holders: Holder, is_closing: bool = False) -> None:
        self._queue: Any = asyncio.LifoQueue()
        for holder in holders:
            self._queue.put_nowait(holder)
        self._closing = is_closing
        self.done: list[Any] = []

    def _schedule_min_size_maintenance(self) -> None:
        self.done.append("maintenance")

    async def acquire(self, *, timeout: float | None = None) -> str:
        self.done.append(timeout)
        return "one that was waited for"


@pytest.fixture
def hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_has_hung_up", lambda connection: connection.hung_up)


@pytest.mark.usefixtures("hung_up")
class TestAPool:
    async def test_lets_go_of_all_to_be_used_next_whose_server_has_hung_up(self) -> None:
        sound, dead, empty = Holder(), [Holder(hung_up=True) for _ in range(3)], Holder(is_connected=False)
        own: Any = Pool(Holder(hung_up=True), sound, dead[0], empty, dead[1], dead[2])
        discard_hung_up(own)
        assert [holder.is_connected() for holder in own._queue._queue] == [True, True, False, False, False, False]
        own._queue = None
        discard_hung_up(own)

    @pytest.mark.parametrize("failure", [asyncpg.ConnectionDoesNotExistError("gone"), asyncio.CancelledError()])
    async def test_loses_no_place_where_a_connection_fails(self, failure: BaseException) -> None:
        own: Any = Pool(Holder(fails=failure))
        with pytest.raises(type(failure)):
            await acquire(own, longest_wait_s=5)
        assert (own._queue.qsize(), own.done) == (1, ["maintenance"])
