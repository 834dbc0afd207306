"""The heap of a worker, seen by the pages that the kernel has to give it."""

import asyncio
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gridloom.platform.worker import malloc

REQUESTS = """
import resource, sys, threading
import numpy as np
from gridloom.platform.worker.malloc import configure_malloc

if sys.argv[1] == "kept":
    configure_malloc()

def work():
    for _ in range(50):
        arrays = [np.ones(20_000) for _ in range(30)]
        del arrays

def faults_of(worker):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    worker.start()
    worker.join()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults_of(threading.Thread(target=work))
print(faults_of(threading.Thread(target=work)))
"""


def page_faults(heap: str) -> int:
    done = subprocess.run([sys.executable, "-c", REQUESTS, heap], capture_output=True, text=True, check=True)
    return int(done.stdout)


class TestAWorkersHeap:
    def test_takes_pages_from_the_kernel_once(self) -> None:
        assert page_faults("kept") < page_faults("as it comes") / 3


HEAVY = """
from gridloom.platform.worker.malloc import trim_heap, configure_malloc, resident_bytes
configure_malloc()
before = resident_bytes()
held = [bytes(100_000) for _ in range(4000)]
pins = held[::400]
del held
kept = resident_bytes() - before
trim_heap()
print(kept >> 20, (resident_bytes() - before) >> 20)
"""


IN_A_THREAD = """
import threading
import numpy as np
from gridloom.platform.worker.malloc import trim_heap, configure_malloc, resident_bytes
configure_malloc()

def work():
    [np.ones(1_000_000) for _ in range(6)]

before = resident_bytes()
thread = threading.Thread(target=work)
thread.start()
thread.join()
trim_heap()
print((resident_bytes() - before) >> 20)
"""


class TestAWorker:
    @pytest.mark.parametrize(
        ("polled_mib", "trimmed_at"),
        [
            pytest.param([150, 190, 200], [], id="small"),
            pytest.param([300, 120, 110, 300, 120], [0, 2], id="grows and shrinks"),
            pytest.param([300, 250, *[250] * 14], [0, 1, 3, 7], id="needs much"),
            pytest.param([300, 290, 290, 345, 180], [0, 2], id="grows on what it needs"),
            pytest.param([600, 590, 590, 590, 210], [0, 2], id="was trimmed while a request held it"),
        ],
    )
    async def test_is_trimmed_when_it_has_grown_and_ever_more_seldom_while_that_gives_nothing(
        self, monkeypatch: pytest.MonkeyPatch, polled_mib: list[int], trimmed_at: list[int]
    ) -> None:
        """What is polled is followed by what a trim has left, where there was one."""
        polls, reads, trimmed = 0, iter(polled_mib), []

        async def count_poll(seconds: float) -> None:
            nonlocal polls
            polls += 1

        apart = SimpleNamespace(sleep=count_poll, to_thread=asyncio.to_thread)  # others go on sleeping
        monkeypatch.setattr(malloc, "asyncio", apart)
        monkeypatch.setattr(malloc, "resident_bytes", lambda: next(reads) * 1024 * 1024)
        monkeypatch.setattr(malloc, "trim_heap", lambda: trimmed.append(polls - 1))
        with pytest.raises(RuntimeError, match="StopIteration"):
            await malloc.give_memory_back_for_ever()
        assert trimmed == trimmed_at


class TestATrim:
    @pytest.mark.parametrize("has_arrow", [True, False])
    def test_is_of_objects_and_buffers_and_the_heap_as_far_as_there_are_some(
        self, monkeypatch: pytest.MonkeyPatch, has_arrow: bool
    ) -> None:
        """Elsewhere than on glibc the last has no such function."""
        done: list[str] = []
        buffers = SimpleNamespace(release_unused=lambda: done.append("buffers"))
        library = SimpleNamespace(malloc_trim=lambda kept: done.append(f"heap {kept}"))
        arrow = SimpleNamespace(default_memory_pool=lambda: buffers) if has_arrow else None
        monkeypatch.setattr(malloc, "sys", SimpleNamespace(modules={"pyarrow": arrow}))
        monkeypatch.setattr(malloc, "gc", SimpleNamespace(collect=lambda: done.append("objects")))
        for heap in (library, SimpleNamespace()):
            monkeypatch.setattr(malloc, "ctypes", SimpleNamespace(CDLL=lambda _, heap=heap: heap))
            malloc.trim_heap()
        expected = ["objects", *["buffers"] * has_arrow]
        assert done == [*expected, "heap 0", *expected]

    def test_and_the_set_up_of_a_heap_are_left_out_where_there_is_no_such_library(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given: list[tuple[int, int]] = []

        def find_none(_: None) -> None:
            raise OSError("no library")

        for found in (find_none, lambda _: SimpleNamespace()):
            monkeypatch.setattr(malloc, "ctypes", SimpleNamespace(CDLL=found))
            malloc.configure_malloc()
            malloc.trim_heap()
        library = SimpleNamespace(mallopt=lambda *of: given.append(of))
        monkeypatch.setattr(malloc, "ctypes", SimpleNamespace(CDLL=lambda _: library))
        malloc.configure_malloc()
        assert given == [(-1, 64 << 20), (-3, 16 << 20), (-8, 1)]


class TestAHeavyRequest:
    def test_leaves_its_memory_to_the_kernel_in_the_end(self):
        done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, timeout=60, check=True)
        kept_mib, left_mib = map(int, done.stdout.split())
        assert kept_mib > 200, "freed pages between pinned ones are kept at first"
        assert left_mib < 40

    def test_in_a_thread_leaves_it_too(self):
        done = subprocess.run(
            [sys.executable, "-c", IN_A_THREAD], capture_output=True, text=True, timeout=60, check=True
        )
        assert int(done.stdout) < 4
