"""Which connections are in use, as the reaper of idle ones reads it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gridloom.platform.http.application import ServedConnections

pytestmark = pytest.mark.pure


class TestAConnection:
    def test_is_in_use_until_the_last_of_its_requests_is_answered(self):
        served = ServedConnections()
        peer = served.begin(("198.51.100.7", "5000"))
        assert served.begin(("198.51.100.7", 5000)) == peer
        served.end(peer)
        assert (served.in_progress, served.answered_at) == ({("198.51.100.7", 5000): 1}, {})
        served.end(peer)
        assert served.in_progress == {}
        assert list(served.answered_at) == [("198.51.100.7", 5000)]

    def test_was_answered_last_when_its_last_answer_was_sent(self, monkeypatch: pytest.MonkeyPatch):
        now = [100.0]
        monkeypatch.setattr("gridloom.platform.http.application.time", SimpleNamespace(monotonic=lambda: now[0]))
        served = ServedConnections()
        for _ in range(2):
            now[0] += 5
            served.end(served.begin(("198.51.100.7", 5000)))
        assert served.answered_at == {("198.51.100.7", 5000): 110.0}

    def test_is_one_however_its_address_is_written(self):
        served = ServedConnections()
        assert served.begin(("2001:DB8:0::7%eth0", 1)) == served.begin(("2001:db8::7", "1")) == ("2001:db8::7", 1)

    def test_without_an_address_is_not_counted(self):
        served = ServedConnections()
        served.end(served.begin(None))
        assert (served.in_progress, served.answered_at) == ({}, {})
