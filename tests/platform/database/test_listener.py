"""The one listening connection of a process: what it hears, and what it says when something may have been missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from tests.stand_ins import replace_for

from gridloom.platform.database import listener as listening
from gridloom.platform.database.listener import Listener


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not is_so():
            await asyncio.sleep(0.005)


class TestAListener:
    async def test_tells_each_channel_its_own_and_all_of_them_when_it_has_connected(self, database_url: str) -> None:
        heard: list[tuple[str, str | None]] = []
        listener = Listener(database_url)
        one, other = f"one_{uuid4().hex}", f"other_{uuid4().hex}"
        for channel, name in ((one, "one"), (one, "one too"), (other, "other")):
            listener.subscribe(channel, lambda payload, name=name: heard.append((name, payload)))  # type: ignore[misc]
        anew: list[tuple[str, str | None]] = [("one", None), ("one too", None), ("other", None)]
        teller = await asyncpg.connect(database_url)
        await listener.start()
        await until(listener.connected.is_set)
        assert heard == anew
        await teller.execute("select pg_notify($1, 'a'), pg_notify($2, 'b')", other, one)
        await until(lambda: len(heard) == 6)
        assert heard[3:] == [("other", "a"), ("one", "b"), ("one too", "b")]
        assert listener._connection is not None
        await teller.execute("select pg_terminate_backend($1)", listener._connection.get_server_pid())
        await until(lambda: len(heard) == 9)
        assert heard[6:] == anew
        await listener.stop()
        assert not listener.connected.is_set()
        await teller.close()

    async def test_tries_again_after_pauses_that_grow_to_a_second(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pauses: list[float] = []

        async def connect(*_: Any, **__: Any) -> None:
            raise OSError("it is away")

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 6:
                raise asyncio.CancelledError

        replace_for(monkeypatch, listening, "asyncpg", connect=connect)
        replace_for(monkeypatch, listening, "asyncio", sleep=sleep)
        with pytest.raises(asyncio.CancelledError):
            await Listener("")._keep_listening()
        assert pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
