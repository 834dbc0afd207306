"""Connections that ask for nothing are closed; those that are served never."""

import asyncio
import os
import socket
import time
from contextlib import ExitStack

import pytest
from prometheus_client import REGISTRY
from tests.stand_ins import replace_for

from gridloom.platform.http.admit import ServedConnections
from gridloom.platform.worker import connection_reaper as module
from gridloom.platform.worker.connection_reaper import FIRST_REQUEST_TIMEOUT_S as FIRST
from gridloom.platform.worker.connection_reaper import KEEP_ALIVE_TIMEOUT_S as KEEP_ALIVE
from gridloom.platform.worker.connection_reaper import ConnectionReaper, IdleConnection


class Callers:
    """A listening socket with its clients, accepted as a server would."""

    def __init__(self, stack: ExitStack, family: socket.AddressFamily = socket.AF_INET) -> None:
        self._stack, self._host = stack, "127.0.0.1" if family is socket.AF_INET else "::1"
        self._listening = stack.enter_context(socket.create_server((self._host, 0), family=family))
        self.port = self._listening.getsockname()[1]

    def connect(self):
        """The caller's end, the server's end, and the caller's address."""
        client = self._stack.enter_context(socket.create_connection((self._host, self.port)))
        accepted, peer = self._listening.accept()
        self._stack.enter_context(accepted)
        accepted.setblocking(False)
        return client, accepted, peer


@pytest.fixture
def callers():
    with ExitStack() as stack:
        yield Callers(stack)


def is_ended(accepted):
    """Whether the server's end reads the end of the connection."""
    try:
        return accepted.recv(1000) == b""
    except BlockingIOError:
        return False


class TestADescriptor:
    async def test_that_is_another_connection_now_is_known_anew(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections())
        (_, first, earlier), (_, second, later) = callers.connect(), callers.connect()
        for peer in (earlier, later):
            await open_ones.scan()
            known = open_ones._known[first.fileno()]
            assert isinstance(known, IdleConnection)
            assert known.peer == peer
            os.dup2(second.fileno(), first.fileno())


class TestASilentConnection:
    async def test_is_left_alone_where_its_request_begins_while_others_are_closed(self, callers, monkeypatch):
        """Between the look at a connection and its turn to be closed, its first request may have arrived."""
        open_ones = ConnectionReaper(callers.port, ServedConnections())
        (_, silent, _), (_, served, peer) = callers.connect(), callers.connect()
        await open_ones.scan()
        monkeypatch.setattr(module, "FIRST_REQUEST_TIMEOUT_S", 0.0)
        list_superfluous = open_ones._list_superfluous

        def begin_after_the_look(now):
            found = list(list_superfluous(now))
            open_ones.served.begin(peer)
            return found

        monkeypatch.setattr(open_ones, "_list_superfluous", begin_after_the_look)
        await open_ones.scan()
        assert (is_ended(silent), is_ended(served)) == (True, False)


def closed(reason):
    return REGISTRY.get_sample_value("gridloom_connections_closed_total", {"reason": reason}) or 0


class TestAClosedConnection:
    async def test_of_a_reader_that_gave_way_is_ended_with_what_it_has_not_fetched(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections())
        (_, slow, peer), (_, other, _) = callers.connect(), callers.connect()
        for one in (slow, other):
            one.settimeout(0.1)
            with pytest.raises(TimeoutError):
                one.sendall(bytes(50_000_000))
            one.setblocking(False)
        open_ones.served.evict(peer)
        before = closed("slow reader")
        await open_ones.scan()
        assert closed("slow reader") == before + 1
        assert [is_ended(slow), is_ended(other)] == [True, False]

    async def test_that_has_gone_by_itself_or_is_another_now_is_neither_ended_nor_counted(self, callers, monkeypatch):
        open_ones = ConnectionReaper(callers.port, ServedConnections())
        (_, gone, _), (_, left, _), (_, other, _) = (callers.connect() for _ in range(3))
        await open_ones.scan()
        number = left.fileno()
        there = gone.fileno()
        gone.close()
        os.dup2(other.fileno(), number)
        before = closed("silent")
        open_ones._close_connection(there, "silent")
        open_ones._close_connection(number, "silent")
        assert closed("silent") == before
        assert not is_ended(other)

    async def test_is_forgotten_and_so_is_when_it_was_answered(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections())
        (_, accepted, peer), (_, _, stays) = callers.connect(), callers.connect()
        for one in (peer, stays):
            open_ones.served.begin(one)
            open_ones.served.end(one)
        await open_ones.scan()
        assert len(open_ones.served.answered_at) == 2
        open_ones._known[99_999] = IdleConnection(1, peer, peer[0], time.monotonic())  # no descriptor of this process
        accepted.close()
        await open_ones.scan()
        assert 99_999 not in open_ones._known
        assert list(open_ones.served.answered_at) == [stays]


class TestTheLookAround:
    async def test_goes_on_when_there_is_no_descriptor_left_to_look_with(self, monkeypatch):
        looks, enough = [], asyncio.Event()

        async def pause(_):
            await asyncio.sleep(0)

        async def look():
            looks.append(1)
            if len(looks) == 3:
                enough.set()
            raise OSError(24, "Too many open files")

        replace_for(monkeypatch, module, "asyncio", sleep=pause)
        open_ones = ConnectionReaper(1, ServedConnections())
        monkeypatch.setattr(open_ones, "scan", look)
        watching = asyncio.create_task(open_ones.watch())
        async with asyncio.timeout(60):
            await enough.wait()
        watching.cancel()
        await asyncio.wait([watching])


class TestAnAddress:
    async def test_holds_so_many_and_loses_the_oldest_never_the_newest(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections(), max_per_address=3)
        accepted = []
        for _ in range(5):
            accepted.append(callers.connect()[1])
            await open_ones.scan()
        assert [is_ended(one) for one in accepted] == [True, True, False, False, False]

    async def test_may_have_any_number_of_requests_served(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections(), max_per_address=1)
        served = [callers.connect() for _ in range(4)]
        for _, _, peer in served:
            open_ones.served.begin(peer)
        newcomer = callers.connect()[1]
        await open_ones.scan()
        assert not any(is_ended(accepted) for _, accepted, _ in served)
        assert not is_ended(newcomer)

    async def test_is_not_limited_behind_a_proxy(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections(), max_per_address=None)
        accepted = [callers.connect()[1] for _ in range(4)]
        await open_ones.scan()
        assert not any(is_ended(one) for one in accepted)


class TestTheTimeThatAConnectionIsIdle:
    @pytest.mark.parametrize(
        ("found_at", "answered_at", "reason"),
        [
            (1000 - FIRST, None, None),
            (1000 - FIRST - 1, None, "silent"),
            (0, 1000 - KEEP_ALIVE, None),
            (0, 1000 - KEEP_ALIVE - 1, "idle"),
            (1000 - 1, 0, None),
        ],
        ids=["just in time", "never asked", "answered a while ago", "answered long ago", "found after an answer"],
    )
    def test_counts_from_its_last_answer_or_from_when_it_was_found(self, found_at, answered_at, reason):
        reaper = ConnectionReaper(1, ServedConnections())
        peer = ("127.0.0.1", 5)
        reaper._known[7] = IdleConnection(1, peer, "127.0.0.1", float(found_at))
        if answered_at is not None:
            reaper.served.answered_at[peer] = float(answered_at)
        assert [found for _, found in reaper._list_superfluous(1000.0)] == ([] if reason is None else [reason])


class TestTheProcess:
    async def test_holds_so_many_in_all(self, callers):
        open_ones = ConnectionReaper(callers.port, ServedConnections(), max_per_address=None, max_idle=2)
        accepted = []
        for _ in range(4):
            accepted.append(callers.connect()[1])
            await open_ones.scan()
        assert [is_ended(one) for one in accepted] == [True, True, False, False]
