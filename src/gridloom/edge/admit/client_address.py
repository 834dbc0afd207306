"""The address a request comes from: the connection's, or what a trusted proxy in front of it tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gridloom.edge.asgi import Scope
from gridloom.kernel.networks import Network, is_within, parse_address

_HEADER: Final = b"x-forwarded-for"
_MAX_HOPS: Final = 32


class TrustedProxies:
    """Whose `X-Forwarded-For` is believed: of the addresses it lists, the rightmost that is no trusted proxy counts."""

    def __init__(self, networks: Sequence[Network] = (), *, trusts_any: bool = False) -> None:
        """trusts_any: the last address of the header counts, whatever sent it (`GRIDLOOM_TRUST_PROXY`)."""
        self._networks = tuple(networks)
        self._trusts_any = trusts_any

    def find_client(self, scope: Scope) -> str:
        client = scope.get("client")
        peer = str(client[0]) if client else "unknown"
        if not self._networks:
            return self._find_last_hop(scope, peer) if self._trusts_any else peer
        if not is_within(peer, self._networks):
            return peer
        address = peer
        for hop in reversed(_read_hops(scope)[-_MAX_HOPS:]):
            parsed = parse_address(hop)
            if parsed is None:  # what a trusted proxy did not write as an address says nothing about what lies beyond
                return address
            address = str(parsed)
            if not is_within(address, self._networks):
                return address
        return address

    def _find_last_hop(self, scope: Scope, peer: str) -> str:
        hops = _read_hops(scope)
        return hops[-1] if hops else peer


def _read_hops(scope: Scope) -> list[str]:
    """The addresses in the order in which proxies have added them; several headers are one list."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == _HEADER]
    return [hop.strip() for hop in ",".join(values).split(",") if hop.strip()]
