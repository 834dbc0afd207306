"""The first stage of a request: from which address and as which caller it comes, and whether it is admitted."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from gridloom.kernel.networks import Network, is_within, network_of, parse_address
from gridloom.kernel.problem import Forbidden, Unauthenticated
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.request import Request, Scope
from gridloom.platform.http.shares import TokenBuckets

TOKEN_SOURCE = "gridloom.token-source"  # noqa: S105 — a key of the scope
"""The key of a scope under which middleware in this process passes a function that gives the current token. No server
sets it, so no client can send it."""


class TokenSource(Protocol):
    async def __call__(self, *, counts_as_use: bool = True) -> str:
        """The current token. counts_as_use: False for the check of a response that takes long."""


class NetworkNotAllowed(Forbidden, title="The request comes from a network that is not allowed"):
    """The caller's organisation, or its API key, is used from certain networks only, and the request comes from
    elsewhere.

    An ADMIN sees the networks with the organisation and changes them there; the platform's operator may clear them.
    """


class SecondFactorEnrolmentRequired(Forbidden, title="A second factor has to be set up first"):
    """The organisation demands a second factor and the caller has none.

    Until `POST` and `PUT /auth/totp` have set one up, the token reaches only `/auth/totp`, `/auth/me` and
    `/auth/logout`.
    """


class OutsideKeyAssets(Forbidden, title="The API key does not reach this"):
    """The API key was made for certain physical assets, and the request concerns something else."""


class Authenticator(Protocol):
    """Turns a Bearer token into a caller, or refuses it with a 401."""

    def known(self, token: str) -> Caller | None:
        """The caller of a token that was verified before and still holds; no waiting."""

    async def authenticate(self, token: str) -> Caller: ...


class RejectAllAuthenticator:
    """Rejects every token, until identity has set its own."""

    def known(self, token: str) -> Caller | None:
        return None

    async def authenticate(self, token: str) -> Caller:
        raise Unauthenticated("Authentication is not available yet.")


async def admit(
    request: Request,
    scope: Scope,
    authenticator: Authenticator,
    by_network: TokenBuckets,
    by_organisation: TokenBuckets,
    response_headers: dict[str, str],
) -> None:
    """Set the request's caller, or reject the request: by token, rate limit, network and permission."""
    access = request.operation.access
    if access.is_public:
        if access.is_limited:
            await by_network.take(request.pool, network_of(request.address), response_headers)
        return
    source: TokenSource | None = scope.get(TOKEN_SOURCE)
    token = _read_bearer(request) if source is None else await source()
    caller = authenticator.known(token) or await authenticator.authenticate(token)
    request.set_caller(caller, partial(_verify_again, authenticator, token, source, request.address))
    if request.holder is not None:
        await by_organisation.take(request.pool, request.holder, response_headers)
    if caller.allowed_networks:
        reject_foreign_network(caller, request.address)
    if caller.must_enrol and not access.is_open_before_enrolment:
        raise SecondFactorEnrolmentRequired("Your organisation demands a second factor: set one up at /auth/totp.")
    permission = access.permission
    if permission is not None and permission not in caller.permissions:
        needed = f"The operation requires the permission {permission}"
        raise Forbidden(f"{needed}; the {caller.bearer_name} does not have it.")


def reject_foreign_network(caller: Caller, address: str) -> None:
    if not caller.is_allowed_from(address):
        raise NetworkNotAllowed(f"Calls from {address} are not allowed.")


def reject_outside_key_assets(request: Request) -> None:
    """An API key that was made for certain assets reaches these, lists of them, and what concerns no asset."""
    reached = request.caller.physical_asset_ids
    if reached is None or request.operation.asset_scope is not None:
        return
    named = request.path_values.get("physical_asset_id")
    if named is None:
        raise OutsideKeyAssets("The API key was made for certain physical assets only.")
    if named not in reached:
        raise OutsideKeyAssets(f"The API key was not made for the physical asset {named}.")


_verifying: dict[tuple[int, str], asyncio.Future[Caller]] = {}


async def _verify_shared(authenticator: Authenticator, token: str) -> Caller:
    """The caller as it is now, for a request that was admitted before: many streams of one token verify it once.

    Never for admission: a request that follows a revocation may not be admitted by what was read before it.
    """
    known = authenticator.known(token)
    if known is not None:
        return known
    key = (id(authenticator), token)
    verifying = _verifying.get(key)
    if verifying is None:
        verifying = _verifying[key] = asyncio.ensure_future(authenticator.authenticate(token))
        verifying.add_done_callback(lambda _: _verifying.pop(key, None))
    return await asyncio.shield(verifying)


async def _verify_again(authenticator: Authenticator, token: str, source: TokenSource | None, address: str) -> Caller:
    """A source keeps its token fresh: a response that takes long outlives one."""
    current = token if source is None else await source(counts_as_use=False)
    caller = await _verify_shared(authenticator, current)
    reject_foreign_network(caller, address)
    return caller


def _read_bearer(request: Request) -> str:
    header = request.header("authorization")
    if header is None:
        raise Unauthenticated("Send a token: Authorization: Bearer <ACCESS_TOKEN>.")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("The Authorization header has the form: Bearer <ACCESS_TOKEN>.")
    return token.strip()


# --- the client's address ------------------------------------------------------------------------------------------

_FORWARDED_FOR: Final = b"x-forwarded-for"
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
            hops = _read_hops(scope) if self._trusts_any else []
            return hops[-1] if hops else peer
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


def _read_hops(scope: Scope) -> list[str]:
    """The addresses in the order in which proxies have added them; several headers are one list."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == _FORWARDED_FOR]
    return [hop.strip() for hop in ",".join(values).split(",") if hop.strip()]


# --- connections, by the caller's address and port ----------------------------------------------------------------

Peer = tuple[str, int]


def peer_of(address: Sequence[str | int]) -> Peer:
    """Address and port in one spelling: servers write ports as numbers or as texts, and IPv6 in more ways than one."""
    host, port = str(address[0]), int(address[1])
    if ":" in host:
        host = str(ipaddress.ip_address(host.partition("%")[0]))
    return host, port


class ServedConnections:
    """Which connections have requests in progress, and when each had its last response."""

    def __init__(self) -> None:
        self.in_progress: dict[Peer, int] = {}
        self.answered_at: dict[Peer, float] = {}
        self.evicted: set[Peer] = set()
        """Of readers that were too slow: what they have not fetched is dropped."""

    def begin(self, client: Sequence[str | int] | None) -> Peer | None:
        """A complete request has come over this connection; `client` is as the server's scope has it."""
        if not client:
            return None
        peer = peer_of(client)
        self.in_progress[peer] = self.in_progress.get(peer, 0) + 1
        return peer

    def evict(self, client: Sequence[str | int] | None) -> None:
        if client:
            self.evicted.add(peer_of(client))

    def end(self, peer: Peer | None) -> None:
        """Its response has been handed to the server; `peer` is what `begin` gave."""
        if peer is None:
            return
        left = self.in_progress[peer] - 1
        if left > 0:
            self.in_progress[peer] = left
            return
        del self.in_progress[peer]
        self.answered_at[peer] = time.monotonic()
