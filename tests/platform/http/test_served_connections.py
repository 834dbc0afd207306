"""Which connections are in use, as the reaper of idle ones reads it."""

from __future__ import annotations

import pytest

from gridloom.platform.http.admit import ServedConnections

pytestmark = pytest.mark.pure


class TestAConnection:
    def test_is_one_however_its_address_is_written(self):
        served = ServedConnections()
        assert served.begin(("2001:DB8:0::7%eth0", 1)) == served.begin(("2001:db8::7", "1")) == ("2001:db8::7", 1)
