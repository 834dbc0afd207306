"""Who asks, whether it may, and whether it asks too often."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Protocol

from gridloom.edge.admit.rate_limiter import RateLimiter, RequestBuckets, network_of
from gridloom.edge.asgi import Scope
from gridloom.edge.caller import Caller
from gridloom.edge.operation import PUBLIC, SIGNED_IN
from gridloom.edge.request import Request
from gridloom.kernel.problem import Forbidden, Unauthenticated

TOKEN_SOURCE = "gridloom.token-source"  # noqa: S105 — a key of the scope
"""Where in a scope something in front of the service, in the same process, says whose call it passes on: a function
that gives the token of this moment. No server puts it there, so nobody can send it."""


class TokenSource(Protocol):
    async def __call__(self, *, counts_as_use: bool = True) -> str:
        """The token of this moment. counts_as_use: False for a look at an answer that goes on for long."""


class NetworkNotAllowed(Forbidden):
    """The caller's organisation, or its API key, is used from certain networks only, and the request comes from
    elsewhere.

    An ADMIN sees the networks with the organisation and changes them there; the platform's operator may clear them.
    """

    status = 403
    title = "The request comes from a network that is not allowed"


class SecondFactorEnrolmentRequired(Forbidden):
    """The organisation demands a second factor and the caller has none.

    Until `POST` and `PUT /auth/totp` have set one up, the token reaches only `/auth/totp`, `/auth/me` and
    `/auth/logout`.
    """

    status = 403
    title = "A second factor has to be set up first"


class OutsideKeyAssets(Forbidden):
    """The API key was made for certain physical assets, and the request concerns something else."""

    status = 403
    title = "The API key does not reach this"


class Authenticator(Protocol):
    """Turns a Bearer token into a caller, or refuses it with a 401."""

    def known(self, token: str) -> Caller | None:
        """The caller of a token that was verified before and still holds; no waiting."""

    async def authenticate(self, token: str) -> Caller: ...


class RejectAllAuthenticator:
    """Refuses every token: what stands there until identity has moved in."""

    def known(self, token: str) -> Caller | None:
        return None

    async def authenticate(self, token: str) -> Caller:
        raise Unauthenticated("Authentication is not available yet.")


async def admit(
    request: Request,
    scope: Scope,
    authenticator: Authenticator,
    limiter: RateLimiter,
    buckets: RequestBuckets,
    answer_headers: dict[str, str],
) -> None:
    """Let a call in, as whoever sent it, or refuse it."""
    access, limit = request.operation.access, request.operation.rate_limit
    if access == PUBLIC:
        if limit is not None:
            await limiter.take(request.pool, limit, network_of(request.address), answer_headers)
        return
    assert limit is not None, "only what is public may be without a limit"
    source: TokenSource | None = scope.get(TOKEN_SOURCE)
    if source is None:
        token = _read_bearer(request)
        caller = authenticator.known(token) or await authenticator.authenticate(token)
        request.set_caller(caller, partial(_verify_again, authenticator, token, request.address))
    else:
        caller = await _verify_token(authenticator, await source())
        request.set_caller(caller, partial(_verify_lent_again, authenticator, source, request.address))
    holder = request.shares.holder_of(caller)
    if holder is not None:
        await buckets.take(request.pool, holder, answer_headers)
    if caller.allowed_networks:
        reject_foreign_network(caller, request.address)
    if caller.must_enrol and not request.operation.open_before_enrolment:
        raise SecondFactorEnrolmentRequired("Your organisation demands a second factor: set one up at /auth/totp.")
    if access != SIGNED_IN and access not in caller.permissions:
        raise Forbidden(f"The operation requires the permission {access}; the role {caller.role} does not have it.")


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


async def _verify_token(authenticator: Authenticator, token: str) -> Caller:
    return authenticator.known(token) or await authenticator.authenticate(token)


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


async def _verify_again(authenticator: Authenticator, token: str, address: str) -> Caller:
    caller = await _verify_shared(authenticator, token)
    reject_foreign_network(caller, address)
    return caller


async def _verify_lent_again(authenticator: Authenticator, source: TokenSource, address: str) -> Caller:
    """The lender keeps its token fresh: what runs for long outlives one."""
    return await _verify_again(authenticator, await source(counts_as_use=False), address)


def _read_bearer(request: Request) -> str:
    header = request.header("authorization")
    if header is None:
        raise Unauthenticated("Send a token: Authorization: Bearer <ACCESS_TOKEN>.")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("The Authorization header has the form: Bearer <ACCESS_TOKEN>.")
    return token.strip()
