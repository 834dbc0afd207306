"""Identifiers are UUIDs of version 7 that sort as they were made."""

import itertools
import os
import threading
import time
from uuid import RFC_4122, UUID

import pytest
from tests.stand_ins import replace_for

from gridloom.kernel import ids
from gridloom.kernel.ids import uuid7

pytestmark = pytest.mark.pure


class TestUuid7:
    def test_carries_its_version_and_variant(self):
        assert uuid7().version == 7
        assert uuid7().variant == RFC_4122

    def test_starts_with_the_milliseconds_since_1970(self):
        before = time.time_ns() // 1_000_000
        made = uuid7().int >> 80
        assert before <= made <= time.time_ns() // 1_000_000 + 1

    def test_is_greater_than_all_made_before(self):
        made = [uuid7() for _ in range(50_000)]
        assert all(one < next_one for one, next_one in itertools.pairwise(made))

    def test_is_greater_than_those_before_even_when_the_clock_is_set_back(self, monkeypatch: pytest.MonkeyPatch):
        first = uuid7()
        monkeypatch.setattr(time, "time_ns", lambda: 0)
        assert uuid7() > first

    def test_borrows_from_the_next_millisecond_when_one_is_full(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(time, "time_ns", lambda: 5_000_000)
        sequence = ids._Sequence()
        sequence.milliseconds, sequence.tail = 5, (1 << 74) - 1
        assert sequence.step()[0] == 6

    def test_is_unique_among_threads(self):
        made: list[UUID] = []

        def make() -> None:
            made.extend([uuid7() for _ in range(5_000)])

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(made)) == 20_000

    @pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="the system has no fork")
    def test_starts_a_sequence_of_its_own_in_a_forked_process(self):
        before = ids._sequence
        try:
            ids._reset_after_fork()
            assert ids._sequence is not before
        finally:
            ids._sequence = before

    @pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="the system has no fork")
    def test_is_another_one_in_a_forked_process_within_the_same_millisecond(self, monkeypatch: pytest.MonkeyPatch):
        now = time.time_ns() + 10**9
        replace_for(monkeypatch, ids, "time", time_ns=lambda: now)
        uuid7()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, uuid7().bytes)
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        made = os.read(reading, 16)
        os.close(reading)
        assert UUID(bytes=made) != uuid7()
