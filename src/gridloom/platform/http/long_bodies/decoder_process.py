"""Long bodies in processes of their own: a decoder holds the interpreter lock, and all other requests wait.

Each worker has a process that does nothing but fork. A fork reads one body, hands back what it found and
ends: its memory goes with it, a crash of a library in it is one refused request, and it runs behind the workers where
there are more processes than cores. Its address space and its processor time are limited, so that no body need be
trusted to unpack to what it says. Without such a process (in tools and tests) a thread does the reading.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, Concatenate, Final, NoReturn, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import structlog

from gridloom.kernel.fair_queue import FairQueue
from gridloom.kernel.problem import PayloadTooLarge
from gridloom.kernel.shares import KIBIBYTE, MEBIBYTE, Share
from gridloom.platform.database.server.processes import end_with_parent

log = structlog.get_logger("gridloom.platform.http")

P = ParamSpec("P")
R = TypeVar("R")
Part = TypeVar("Part", bytes, bytearray)

READER_SLOTS: Final = 3
"""A worker; unpacked, a body takes several times its size."""
MAX_WAITING_BODIES: Final = 1000
MAX_READERS: Final = 2
"""Of one organisation at a time, so that a slot is left to the others."""
MAX_LONG_READERS: Final = 1
"""Of those, beyond `SHORT_BYTES`: each may take `MAX_MEMORY_BYTES`."""
INLINE_MAX_BYTES: Final = 32 * KIBIBYTE
"""Longer bodies are decoded off the event loop, so that it stays free."""
SUBPROCESS_MIN_BYTES: Final = MEBIBYTE
"""A shorter body is decoded in a thread sooner than a process has started."""
MAX_CPU_S: Final = 60
MAX_MEMORY_BYTES: Final = 512 * MEBIBYTE
"""For reading one body, beside the body itself; 320 MiB do for the longest lawful ones."""
SHORT_BYTES: Final = 4 * MEBIBYTE
"""Longer bodies are read after shorter ones, and behind them."""
_NICENESS: Final = 5
_BEHIND_SHORT_BODIES: Final = 14
_LENGTH: Final = struct.Struct("<Q")


class DecoderProcessDied(Exception):
    """The process that was to read a body ended without a word."""


class ForkServer:
    """The end of the wire to the process that forks."""

    def __init__(self, control: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._control = control
        self.process = process
        """Where it was spawned, not forked."""
        self._sending = threading.Lock()

    def begin(self) -> socket.socket:
        """A connection to a new process."""
        here, there = socket.socketpair()
        with there, self._sending:
            socket.send_fds(self._control, [b"\0"], [there.fileno()])
        return here

    def close(self) -> None:
        """It ends once its forks have."""
        self._control.close()


_forker: ForkServer | None = None


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("The service does without pandas.", name=fullname)


def leave_pandas_out() -> None:
    """Where pandas is installed, pyarrow loads it with its first array: seconds and 40 MB that nothing here needs."""
    if not any(isinstance(finder, _WithoutPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WithoutPandas())


def start_fork_server() -> int:
    """Start the process that forks, from one that has no threads yet; its number."""
    global _forker
    here, there = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        here.close()
        _fork_for_ever(there, parent)
    there.close()
    _forker = ForkServer(here)
    return pid


def spawn_fork_server(preloaded: str) -> ForkServer:
    """Start the process that forks, from one that has threads; it loads a module of the service anew."""
    here, there = socket.socketpair()
    with there:
        command = [sys.executable, "-c", _FORK_SERVER, str(there.fileno()), preloaded]
        process = subprocess.Popen(command, pass_fds=[there.fileno()])  # noqa: S603 — all of it is ours
    return ForkServer(here, process)


_FORK_SERVER: Final = f"""
import importlib, os, socket, sys
from {__name__} import _fork_for_ever
importlib.import_module(sys.argv[2])
_fork_for_ever(socket.socket(fileno=int(sys.argv[1])), os.getppid())
"""


async def run_in_subprocess(
    holder: Hashable | None, work: Callable[Concatenate[bytes, P], R], body: bytes, *args: P.args, **kwargs: P.kwargs
) -> R:
    """The result of `work` on a body, computed in another process; its exception is raised here.

    `work` and its arguments travel by name and by value, as pickle has them. Organisations take turns: `holder` is the
    one that the body counts for.
    """
    loop = asyncio.get_running_loop()
    async with _find_queue(loop).slot(holder, is_long=len(body) > SHORT_BYTES):
        reading = loop.run_in_executor(_make_readers(), lambda: _read_body(work, body, args, kwargs))
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            with suppress(Exception):  # the thread cannot be stopped, and holds its slot until it is done
                await reading
            raise


async def compute_apart(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The work's result, made in a process of its own behind all requests: in a thread, a long computation in Python
    would keep the interpreter from them."""
    try:
        return await asyncio.to_thread(_read_body, _compute_result, b"", (work, args, kwargs), {})
    except PayloadTooLarge as error:
        raise RuntimeError("The computation took more processor time or memory than it may have.") from error


def _compute_result(_body: bytes, work: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    return work(*args, **kwargs)


@cache
def _make_readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(READER_SLOTS, thread_name_prefix="long bodies")


_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, FairQueue] = WeakKeyDictionary()


def _find_queue(loop: asyncio.AbstractEventLoop) -> FairQueue:
    """One for each event loop; bodies that wait are bounded by their bytes."""
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = FairQueue(
            Share.BODY_BYTES,
            slots=READER_SLOTS,
            max_running=MAX_READERS,
            max_waiting=MAX_WAITING_BODIES,
            max_long=MAX_LONG_READERS,
        )
    return queue


_replacing = threading.Lock()


def _replace_fork_server(lost: ForkServer, preloaded: str) -> ForkServer:
    """Another one, or the one that another thread has started in its place."""
    global _forker
    with _replacing:
        if _forker is None or _forker is lost:
            log.error("decoder.fork_server_lost", action="another one is started")
            _forker = spawn_fork_server(preloaded)
        return _forker


def _read_body(work: Callable[..., R], body: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    forker = _forker
    if forker is None:
        return work(body, *args, **kwargs)
    try:
        connection = forker.begin()
    except OSError:
        connection = _replace_fork_server(forker, work.__module__).begin()
    with connection:
        try:
            _send_parts(connection, pickle.dumps((work, args, kwargs)), body)
            packed, *buffers = _receive_parts(connection, _receive_exactly)
        except (OSError, DecoderProcessDied):
            log.error("decoder.process_died", work=work.__qualname__, body_bytes=len(body))
            raise PayloadTooLarge("The body takes more time or memory to read than a request may have.") from None
    has_failed, outcome = pickle.loads(packed, buffers=buffers)  # noqa: S301 — from a fork of ours
    if has_failed:
        raise outcome
    result: R = outcome
    return result


# --- the wire ------------------------------------------------------------------------------------------------------


def _send_parts(connection: socket.socket, *parts: Any) -> None:
    connection.sendall(_LENGTH.pack(len(parts)) + b"".join(_LENGTH.pack(memoryview(part).nbytes) for part in parts))
    for part in parts:
        connection.sendall(part)


def _receive_parts(connection: socket.socket, receive: Callable[[socket.socket, int], Part]) -> list[Part]:
    (count,) = _LENGTH.unpack(_receive_whole(connection, _LENGTH.size))
    lengths = [_LENGTH.unpack(_receive_whole(connection, _LENGTH.size))[0] for _ in range(count)]
    return [receive(connection, length) for length in lengths]


def _receive_whole(connection: socket.socket, size_bytes: int) -> bytes:
    """Read only: into memory that is not cleared or copied first."""
    part = connection.recv(size_bytes, socket.MSG_WAITALL)
    while len(part) < size_bytes:
        more = connection.recv(size_bytes - len(part), socket.MSG_WAITALL)
        if not more:
            raise DecoderProcessDied
        part += more
    return part


def _receive_exactly(connection: socket.socket, size_bytes: int) -> bytearray:
    """A mutable buffer, such as the numbers of an array."""
    part = bytearray(size_bytes)
    view, place = memoryview(part), 0
    while place < size_bytes:
        received = connection.recv_into(view[place:])
        if received == 0:
            raise DecoderProcessDied
        place += received
    return part


# --- in the process that forks, and in its forks -------------------------------------------------------------------


def _fork_for_ever(control: socket.socket, parent: int) -> NoReturn:
    try:
        end_with_parent(parent, signal.SIGKILL)
        _close_all_but(control.fileno())
        leave_pandas_out()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # exit states of forks are not collected
        own = os.getpid()
        while True:
            word, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not word:
                break
            with socket.socket(fileno=descriptors[0]) as connection:
                if os.fork() == 0:
                    end_with_parent(own, signal.SIGKILL)
                    control.close()
                    _serve_worker(connection)
    finally:
        os._exit(0)


def _serve_worker(connection: socket.socket) -> NoReturn:
    try:
        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
        with suppress(OSError):  # if memory runs out, this is what goes
            Path("/proc/self/oom_score_adj").write_text("1000")
        order, body = _receive_parts(connection, _receive_whole)
        work, args, kwargs = pickle.loads(order)  # noqa: S301 — from the worker
        if len(body) > SHORT_BYTES or work is _compute_result:
            os.nice(_BEHIND_SHORT_BODIES)
        if work is not _compute_result:
            _limit_memory()
        buffers: list[pickle.PickleBuffer] = []
        outcome = _work_out(work, body, args, kwargs)
        packed = pickle.dumps(outcome, protocol=5, buffer_callback=buffers.append)
        _send_parts(connection, packed, *(buffer.raw() for buffer in buffers))
    except OSError:
        pass  # the request has ended
    except Exception:  # noqa: BLE001  # what cannot be sent cannot be reported otherwise
        traceback.print_exc()
    finally:
        os._exit(0)


def _limit_memory() -> None:
    with suppress(OSError, ValueError):  # where the system does not say, or allows less
        mapped_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + MAX_MEMORY_BYTES,) * 2)


def _work_out(work: Callable[..., Any], body: bytes, args: Any, kwargs: Any) -> tuple[bool, Any]:
    try:
        return False, work(body, *args, **kwargs)
    except MemoryError:
        return True, PayloadTooLarge("The body takes more memory to read than a request may have.")
    except Exception as error:  # noqa: BLE001  # the worker raises it
        error.add_note(traceback.format_exc())
        return True, error


def _close_all_but(kept: int) -> None:
    """Above all the sockets on which the worker listens."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
