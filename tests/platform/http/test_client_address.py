"""The client's address as trusted proxies state it, and no other sender."""

import pytest

from gridloom.kernel.networks import parse_network
from gridloom.platform.http.admit import TrustedProxies

pytestmark = pytest.mark.pure


def find(proxies, peer, *headers):
    return proxies.find_client({"client": (peer, 1), "headers": [(b"x-forwarded-for", h.encode()) for h in headers]})


class TestTheCallersAddress:
    @pytest.mark.parametrize(
        ("peer", "headers", "found"),
        [
            ("10.0.0.1", ("203.0.113.7",), "203.0.113.7"),
            ("10.0.0.1", ("1.2.3.4, 203.0.113.7, 10.0.0.2",), "203.0.113.7"),
            ("10.0.0.1", ("1.2.3.4", "203.0.113.7, 10.0.0.2"), "203.0.113.7"),
            ("10.0.0.1", ("1.2.3.4, 203.0.113.7", "10.0.0.2"), "203.0.113.7"),
            ("10.0.0.1", (", ".join([*["1.2.3.4"] * 40, "203.0.113.7", "10.0.0.2"]),), "203.0.113.7"),
            ("10.0.0.1", ("10.0.0.9, 10.0.0.2",), "10.0.0.9"),
            ("10.0.0.1", (), "10.0.0.1"),
            ("10.0.0.1", ("1.2.3.4, nonsense",), "10.0.0.1"),
            ("10.0.0.1", ("1.2.3.4, nonsense, 10.0.0.2",), "10.0.0.2"),
            ("10.0.0.1", ("::ffff:203.0.113.7",), "203.0.113.7"),
            ("::ffff:10.0.0.1", ("2001:db8::7",), "2001:db8::7"),
            ("198.51.100.1", ("203.0.113.7",), "198.51.100.1"),
        ],
    )
    def test_is_the_rightmost_that_is_no_trusted_proxy(self, peer, headers, found):
        assert find(TrustedProxies([parse_network("10.0.0.0/8")]), peer, *headers) == found

    def test_is_the_connections_where_no_proxy_is_trusted(self):
        assert find(TrustedProxies(), "198.51.100.1", "203.0.113.7") == "198.51.100.1"

    def test_is_the_last_hop_where_any_proxy_is_trusted(self):
        assert find(TrustedProxies(trusts_any=True), "198.51.100.1", "1.2.3.4, 203.0.113.7") == "203.0.113.7"
        assert find(TrustedProxies(trusts_any=True), "198.51.100.1", "203.0.113.7", "1.2.3.4,") == "1.2.3.4"
        assert find(TrustedProxies(trusts_any=True), "198.51.100.1") == "198.51.100.1"
