"""The heap of a worker, seen by the pages that the kernel has to give it."""

import subprocess
import sys

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
