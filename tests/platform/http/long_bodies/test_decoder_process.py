"""Long bodies are read in processes of their own, and callers see no difference."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.decoder_processes import forking

from gridloom.kernel.problem import BadRequest, FieldError, PayloadTooLarge
from gridloom.monitoring.ingest.parsing import parse
from gridloom.platform.http.decode.json_decoder import Decoder
from gridloom.platform.http.long_bodies import decoder_process
from gridloom.platform.http.long_bodies.decoder_process import (
    MAX_MEMORY_BYTES,
    compute_apart,
    run_in_subprocess,
)
from gridloom.platform.http.long_bodies.slices import SLICE_BYTES
from gridloom.platform.http.responses import JSON
from gridloom.settlements.model import NET_OFFS
from gridloom.settlements.rules import read_columns

FORKING_WORKER = """
import asyncio, sys
from pathlib import Path
from gridloom.platform.http.long_bodies.decoder_process import run_in_subprocess, start_fork_server

def list_files(body):
    return [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]

with open(sys.argv[1], "w") as held:
    start_fork_server()
    print(held.name in asyncio.run(run_in_subprocess(None, list_files, b"")))
"""
"""Asks one of its forks whether it has a file that it holds itself."""
ASSET = "0197a5c0-0000-7000-8000-000000000001"


@pytest.fixture(scope="module")
def forker() -> Iterator[int]:
    with forking() as pid:
        yield pid


def tell_process(body: bytes) -> tuple[int, int, int]:
    return os.getpid(), os.getppid(), os.nice(0)


def count_bytes(body: bytes, *, times: int) -> Any:
    return np.frombuffer(body, np.uint8).astype(np.int64) * times


def refuse(body: bytes) -> None:
    raise BadRequest("No.", errors=[FieldError("/0", "is wrong")])


def fail(body: bytes) -> None:
    raise ZeroDivisionError("a bug")


def crash(body: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def run_out_of_memory(body: bytes) -> None:
    raise MemoryError


def take_much_memory(body: bytes) -> int:
    return len(bytes(2 * MAX_MEMORY_BYTES))


def take_some_memory(body: bytes) -> int:
    return len(bytes(MAX_MEMORY_BYTES // 2))


class TestALongBody:
    async def test_is_read_in_another_process_that_yields_to_the_workers(self, forker: int) -> None:
        pid, parent, niceness = await run_in_subprocess(None, tell_process, b"")
        assert (parent, niceness) == (forker, min(19, os.nice(0) + 5))
        assert pid not in (forker, os.getpid())
        assert (await run_in_subprocess(None, tell_process, b""))[0] != pid, "each has a process to itself"

    async def test_is_refused_in_the_words_of_its_reader(self, forker: int) -> None:
        with pytest.raises(BadRequest, match=r"^No") as refused:
            await run_in_subprocess(None, refuse, b"")
        assert refused.value.errors == (FieldError("/0", "is wrong"),)

    @pytest.mark.parametrize("end", [crash, run_out_of_memory, take_much_memory])
    async def test_that_brings_its_reader_down_is_refused_and_the_next_is_read(self, forker: int, end: Any) -> None:
        with pytest.raises(PayloadTooLarge):
            await run_in_subprocess(None, end, b"x" * 1_000_000)
        assert len(await run_in_subprocess(None, count_bytes, b"abc", times=1)) == 3

    def test_is_read_without_the_files_and_sockets_of_the_worker(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", FORKING_WORKER, str(tmp_path / "held")]
        assert subprocess.check_output(command, text=True, timeout=60) == "False\n"

    async def test_may_take_several_times_its_size(self, forker: int) -> None:
        assert await run_in_subprocess(None, take_some_memory, b"x" * 60_000_000) == MAX_MEMORY_BYTES // 2

    async def test_is_read_by_another_fork_server_once_the_first_is_gone(self) -> None:
        with forking() as pid:
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            _, first_parent, _ = await run_in_subprocess(None, tell_process, b"")
            _, parent, _ = await run_in_subprocess(None, tell_process, b"")
            assert first_parent == parent not in (pid, os.getpid())

    async def test_is_one_of_several_that_find_the_fork_server_gone_and_start_one(self) -> None:
        with forking() as pid:
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            told = await asyncio.gather(*(run_in_subprocess(None, tell_process, b"") for _ in range(6)))
            assert len({parent for _, parent, _ in told}) == 1

    async def test_of_points_and_settlements_says_the_same_as_here(self, forker: int) -> None:
        points = json.dumps([{"signal": "p", "time": "2026-01-05T10:00:00Z", "value": n} for n in range(9)]).encode()
        here = parse(points, JSON, many=False, latest_us=2**60)
        there = await run_in_subprocess(None, parse, points, JSON, many=False, latest_us=2**60)
        assert there.points[None].values.tolist() == here.points[None].values.tolist()
        rows = json.dumps([{"assetID": ASSET, "time": "2026-01-05T10:00:00Z", "volume": 1.5}]).encode()
        assert repr(await run_in_subprocess(None, read_columns, rows, NET_OFFS, JSON)) == repr(
            read_columns(rows, NET_OFFS, JSON)
        )


class Row(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    value: float


class Rows(msgspec.Struct, forbid_unknown_fields=True):
    rows: list[Row]


class TestASoundBody:
    @pytest.mark.parametrize("name", ["plain", "}, {", "],[", '"]}', "\\"])
    def test_of_rows_reads_the_same_slice_by_slice(self, name: str) -> None:
        rows = [{"name": f"{name}{number}", "value": number} for number in range(3 * SLICE_BYTES // 20)]
        for type, body in ((list[Row], json.dumps(rows)), (Rows, json.dumps({"rows": rows}, indent=1))):
            decoder: Any = Decoder(type)
            assert decoder.decode_trusted(body.encode()) == decoder(body.encode())

    def test_that_gives_its_list_twice_means_what_it_means_in_one_piece(self) -> None:
        body = b'{"rows": [{"name": "a", "value": 1}], "rows": [{"name": "b", "value": 2}]}'
        assert Decoder(Rows).decode_trusted(body) == Decoder(Rows)(body)


def tell_niceness(times: int) -> tuple[int, int]:
    return os.getpid(), times * os.nice(0)


class TestAComputation:
    async def test_is_made_in_another_process_behind_all_others(self, forker: int) -> None:
        pid, niceness = await compute_apart(tell_niceness, times=1)
        assert pid not in (forker, os.getpid())
        assert niceness == min(19, os.nice(0) + 19)


class TestABodyWithoutAForkServer:
    """As in tools: a thread of this process reads it."""

    @pytest.fixture(autouse=True)
    def without(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(decoder_process, "_forker", None)

    async def test_is_read_here(self) -> None:
        assert (await run_in_subprocess(None, tell_process, b""))[0] == os.getpid()
        assert await compute_apart(tell_niceness, 2) == (os.getpid(), 2 * os.nice(0))

    async def test_keeps_its_slot_until_it_is_read_though_its_request_has_ended(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, may_end, left = threading.Event(), threading.Event(), list[bool]()

        class Queue:
            @asynccontextmanager
            async def slot(self, holder: Any, *, is_long: bool) -> AsyncIterator[None]:
                try:
                    yield
                finally:
                    left.append(may_end.is_set())

        def read(body: bytes) -> None:
            begun.set()
            may_end.wait(120)

        monkeypatch.setattr(decoder_process, "_find_queue", lambda loop: Queue())
        reading = asyncio.create_task(run_in_subprocess(None, read, b""))
        await asyncio.to_thread(begun.wait, 120)
        reading.cancel()
        await asyncio.sleep(0.01)
        assert left == []
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert left == [True]

    async def test_that_is_too_much_to_compute_is_our_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> None:
            raise PayloadTooLarge("more than it may have")

        monkeypatch.setattr(decoder_process, "_read_body", fail)
        with pytest.raises(RuntimeError, match="processor time or memory"):
            await compute_apart(tell_niceness, 1)
