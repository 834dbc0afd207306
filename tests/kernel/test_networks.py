"""Addresses and the networks that they lie in, however they are written."""

from __future__ import annotations

import pytest

from gridloom.kernel.networks import is_within, network_of, parse_network

pytestmark = pytest.mark.pure


class TestAnAddress:
    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
            ("2001:DB8:0:1::9", "2001:db8:0:1::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("unknown", "unknown"),
        ],
    )
    def test_counts_with_its_network(self, address: str, network: str) -> None:
        assert network_of(address) == network

    @pytest.mark.parametrize(
        ("address", "is_inside"),
        [
            ("10.0.0.0", True),
            ("10.255.255.255", True),
            ("11.0.0.0", False),
            ("::ffff:10.1.2.3", True),
            ("2001:db8::", True),
            ("2001:db8:0:ffff:ffff:ffff:ffff:ffff", True),
            ("2001:db8:1::", False),
            ("192.0.2.1", True),
            ("192.0.2.2", False),
            ("2001:db8::1%eth0", True),
            ("unknown", False),
        ],
    )
    def test_lies_in_one_of_several_networks(self, address: str, is_inside: bool) -> None:
        networks = [parse_network(text) for text in ("10.0.0.0/8", "2001:db8::/48", "192.0.2.1")]
        assert is_within(address, networks) == is_inside
        assert not is_within(address, [])

    def test_with_host_bits_is_no_network(self) -> None:
        with pytest.raises(ValueError, match="host bits"):
            parse_network("10.0.0.1/8")
