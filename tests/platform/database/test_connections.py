"""Which connections of a pool are at rest, dead or to be made anew; without a server."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from gridloom.platform.database import citus, pool
from gridloom.platform.database.citus import Placement, TableKind
from gridloom.platform.database.pool import NoResetConnection, _has_hung_up, acquire, discard_hung_up

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

    async def test_gives_the_last_one_that_is_connected_or_has_its_caller_wait(self) -> None:
        holder = Holder()
        own: Any = Pool(holder)
        given: Any = await acquire(own, longest_wait_s=5)
        assert given == "a connection"
        assert (own.done, own._queue.qsize()) == ([], 0)
        assert holder._timeout is None
        for other in (Pool(Holder(is_connected=False)), Pool(), Pool(Holder(), is_closing=True)):
            waited: Any = other
            given = await acquire(waited, longest_wait_s=5)
            assert (given, waited.done) == ("one that was waited for", [5])

    @pytest.mark.parametrize("failure", [asyncpg.ConnectionDoesNotExistError("gone"), asyncio.CancelledError()])
    async def test_loses_no_place_where_a_connection_fails(self, failure: BaseException) -> None:
        own: Any = Pool(Holder(fails=failure))
        with pytest.raises(type(failure)):
            await acquire(own, longest_wait_s=5)
        assert (own._queue.qsize(), own.done) == (1, ["maintenance"])


class TestAConnection:
    def test_that_is_closing_or_has_no_socket_left_has_hung_up(self) -> None:
        def connection(*, is_closing: bool, descriptor: int) -> Any:
            socket = SimpleNamespace(fileno=lambda: descriptor)
            transport = SimpleNamespace(is_closing=lambda: is_closing, get_extra_info=lambda _: socket)
            return SimpleNamespace(_transport=transport)

        assert _has_hung_up(connection(is_closing=True, descriptor=0))
        assert _has_hung_up(connection(is_closing=False, descriptor=-1))

    def test_is_at_rest_where_nothing_of_its_last_use_is_left(self) -> None:
        rest: dict[str, Any] = {
            "is_in_transaction": lambda: False,
            "_top_xact": None,
            "_protocol": SimpleNamespace(queries_count=5),
            "queries_before_parse": 4,
            "_listeners": {},
            "_log_listeners": set(),
        }

        def is_idle(**other: Any) -> bool:
            connection: Any = SimpleNamespace(**{**rest, **other})
            return NoResetConnection.is_idle(connection)

        assert is_idle()
        assert not is_idle(is_in_transaction=lambda: True)
        assert not is_idle(_top_xact=object())
        assert not is_idle(queries_before_parse=5)
        assert not is_idle(_listeners={"channel": [print]})
        assert not is_idle(_log_listeners={print})


class Cluster:
    """Knows where its tables are, and what it was told."""

    def __init__(self, placed: dict[str, str | None]) -> None:
        self.placed = placed
        self.told: list[Any] = []

    async def fetch(self, statement: str) -> list[dict[str, str | None]]:
        return [{"name": name, "kind": kind} for name, kind in self.placed.items()]

    async def execute(self, statement: str, *arguments: Any) -> None:
        self.told.append((statement.split("(")[0], *arguments))


class TestATable:
    async def test_lies_beside_the_first_of_its_own_group(self) -> None:
        cluster: Any = Cluster({})
        for name in ("physical_asset_parameters", "virtual_asset", "event", "statement", "auction", "auction_bid"):
            await citus._place_table(cluster, citus.PLACEMENT_OF[name])
        await citus._place_table(cluster, Placement("member", TableKind.REFERENCE))
        first = "select create_distributed_table"
        assert cluster.told == [
            (first, "physical_asset_parameters", "asset_key", "none"),
            (first, "virtual_asset", "asset_key", "physical_asset_parameters"),
            (first, "event", "organisation_id", "none"),
            (first, "statement", "organisation_id", "event"),
            (first, "auction", "id", "none"),
            (first, "auction_bid", "auction_id", "auction"),
            ("select create_reference_table", "member"),
        ]

    async def test_comes_back_to_the_coordinator_from_every_node_alone(self) -> None:
        cluster: Any = Cluster({"session": None, "job": "reference", "member": "reference", "event": "distributed"})
        await citus._gather_local_tables(cluster)
        assert cluster.told == [("select undistribute_table", "job")]
