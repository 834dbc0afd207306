"""Where the service calls: out into the world, never into a private network. Webhooks and identity providers."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from gridloom.kernel.problem import Unprocessable

IPAddress = IPv4Address | IPv6Address

RESOLVERS = 16

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv6Network("::/96"))
# Registered for special purposes, whatever a release of Python's own table says of them.
_SPECIAL = tuple(
    ipaddress.ip_network(network)
    for network in "192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 3fff::/20 2001::/23 2002::/16 5f00::/16".split()  # noqa: SIM905
)
_UNICAST = ipaddress.IPv6Network("2000::/3")
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")


class AddressNotAllowed(Unprocessable, title="The address is not allowed"):
    """A webhook, or an identity provider, may lead only to a public address over https.

    Loopback, private, link-local, multicast and reserved addresses are refused, in whatever way they are written, and
    so are names that lead to one. In the sandbox, http is allowed too, and so are addresses of this machine while the
    service listens on loopback alone, for trying things out.
    """


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """The sandbox allows plain http and, while nothing else reaches it, this machine: a receiver can be tried out."""

    is_sandbox: bool
    listens_on_loopback: bool = True

    @property
    def allows_loopback(self) -> bool:
        return self.is_sandbox and self.listens_on_loopback

    def check_url(self, url: str) -> None:
        """Refuse an address that could never be called; what a name leads to shows when it is called."""
        if any(ord(character) <= 32 or ord(character) == 127 for character in url):
            raise AddressNotAllowed("The address contains a blank or a control character.")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise AddressNotAllowed("The address is not a URL.") from None
        schemes = ("https", "http") if self.is_sandbox else ("https",)
        if parts.scheme not in schemes:
            raise AddressNotAllowed(f"The address starts with {' or '.join(f'{scheme}://' for scheme in schemes)}.")
        if parts.username is not None or parts.password is not None:
            raise AddressNotAllowed("The address contains a user name or password; the signature authenticates calls.")
        if parts.fragment:
            raise AddressNotAllowed("The address contains a fragment, which is never sent.")
        if not host or port == 0:
            raise AddressNotAllowed("The address names no host.")
        if not url.isascii():
            raise AddressNotAllowed("The address contains characters outside ASCII; write them in Punycode or escaped.")
        literal = literal_address(host.rstrip("."))
        if literal is not None:
            self.check(literal)
        elif _HOST_NAME.fullmatch(host.lower()) is None:
            raise AddressNotAllowed("The address names no host.")
        elif not self.allows_loopback and (host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost")):
            raise AddressNotAllowed("The address leads to this machine.")

    def check(self, address: IPAddress) -> None:
        reached = effective_address(address)
        if reached.is_loopback and self.allows_loopback:
            return
        if isinstance(reached, IPv6Address) and reached not in _UNICAST:
            raise AddressNotAllowed(f"{address} does not lie in the public internet.")
        if any(reached.version == network.version and reached in network for network in _SPECIAL):
            raise AddressNotAllowed(f"{address} does not lie in the public internet.")
        if not reached.is_global or reached.is_multicast or reached.is_reserved:
            raise AddressNotAllowed(f"{address} does not lie in the public internet.")

    async def resolve(self, host: str, port: int) -> IPAddress:
        """The one address to connect to. A name with a single forbidden address is refused as a whole."""
        literal = literal_address(host.rstrip("."))
        if literal is not None:
            self.check(literal)
            return literal
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(_make_resolvers(), resolve_host, host, port)
        addresses = [ipaddress.ip_address(address.partition("%")[0]) for address in found]
        if not addresses:
            raise OSError(f"{host} has no address")
        for address in addresses:
            self.check(address)
        return addresses[0]


@cache
def _make_resolvers() -> ThreadPoolExecutor:
    """Threads of their own: a name server that never answers holds one for half a minute, and the event loop's own few
    serve every large answer."""
    return ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolver")


def resolve_host(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]


def literal_address(host: str) -> IPAddress | None:
    """The address that a host is in itself, in every spelling that a resolver would take: 2130706433, 0x7f.1, ::1."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host)) if re.fullmatch(r"[0-9a-fA-FxX.]+", host) else None
    except (OSError, ValueError):
        return None


def effective_address(address: IPAddress) -> IPAddress:
    """The address that a packet to this one reaches: the IPv4 address embedded in an IPv6 one.

    Obsolete tunnels to IPv4 (6to4, Teredo) reach nothing here.
    """
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None or address.teredo is not None:
        return IPv6Address("::")
    if address in _NAT64:
        return IPv4Address(address.packed[-4:])
    if any(address in network for network in _TRANSLATED) and not address.is_loopback:
        return IPv6Address("::")
    return address


class PinnedAddressBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a name once, checks what it found, and connects to exactly that.

    The check is made where the socket is opened, so no other name, redirect or second answer of a name server can lead
    past it. The certificate is still checked against the name.
    """

    def __init__(self, rules: UrlPolicy) -> None:
        self._rules = rules
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        address = await self._rules.resolve(host, port)
        return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
