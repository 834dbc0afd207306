"""Networks in CIDR notation, and whether an address lies in one."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Network = IPv4Network | IPv6Network


def parse_network(text: str) -> Network:
    """`10.0.0.0/8`, `2001:db8::/32`, or a single address; ValueError for anything else, host bits included."""
    return ipaddress.ip_network(text, strict=True)


@lru_cache(maxsize=4096)
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address; an IPv4 one for its IPv6 form, None for what is no address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_within(address: str, networks: Iterable[Network]) -> bool:
    """Whether an address lies in one of the networks; what is no address lies in none."""
    parsed = parse_address(address)
    if parsed is None:
        return False
    return any(parsed.version == network.version and parsed in network for network in networks)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """The network that limits count by: one IPv6 host owns a whole /64; the address itself otherwise."""
    parsed = parse_address(address)
    if isinstance(parsed, IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address if parsed is None else str(parsed)
