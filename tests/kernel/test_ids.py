"""Identifiers are UUIDs of version 7 that sort as they were made."""

import itertools
import time
from uuid import RFC_4122

import pytest

from gridloom.kernel import ids
from gridloom.kernel.ids import uuid7

pytestmark = pytest.mark.pure


class TestUuid7:
    def test_carries_its_version_and_variant(self):
        assert uuid7().version == 7
        assert uuid7().variant == RFC_4122

    def test_is_greater_than_all_made_before(self):
        made = [uuid7() for _ in range(50_000)]
        assert all(one < next_one for one, next_one in itertools.pairwise(made))

    def test_borrows_from_the_next_millisecond_when_one_is_full(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(time, "time_ns", lambda: 5_000_000)
        sequence = ids.IdentifierSequence()
        sequence.milliseconds, sequence.tail = 5, (1 << 74) - 1
        assert sequence.step()[0] == 6
