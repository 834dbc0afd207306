"""Who asks, whether it may, and whether it asks too often."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from gridloom.edge.asgi import Scope
from gridloom.edge.call import Call
from gridloom.edge.caller import Caller
from gridloom.edge.guarding.rate_limit import RateLimiter, RequestBuckets, network_of
from gridloom.edge.operation import PUBLIC, SIGNED_IN
from gridloom.kernel.problem import Forbidden, Unauthenticated

TOKEN_SOURCE = "gridloom.token-source"  # noqa: S105 — a key of the scope
"""Where in a scope something in front of the service, in the same process, says whose call it passes on: a function
that gives the token of this moment. No server puts it there, so nobody can send it."""

TokenSource = Callable[[], Awaitable[str]]


class Authenticator(Protocol):
    """Turns a Bearer token into a caller, or refuses it with a 401."""

    def known(self, token: str) -> Caller | None:
        """The caller of a token that was verified before and still holds; no waiting."""

    async def authenticate(self, token: str) -> Caller: ...


class NobodyKnown:
    """Refuses every token: what stands there until identity has moved in."""

    def known(self, token: str) -> Caller | None:
        return None

    async def authenticate(self, token: str) -> Caller:
        raise Unauthenticated("No token is known here.")


async def admit(
    call: Call,
    scope: Scope,
    authenticator: Authenticator,
    limiter: RateLimiter,
    buckets: RequestBuckets,
    answer_headers: dict[str, str],
) -> None:
    """Let a call in, as whoever sent it, or refuse it."""
    access, limit = call.operation.access, call.operation.rate_limit
    if access == PUBLIC:
        if limit is not None:
            await limiter.take(call.pool, limit, network_of(call.address), answer_headers)
        return
    assert limit is not None, "only what is public may be without a limit"
    source: TokenSource | None = scope.get(TOKEN_SOURCE)
    if source is None:
        token = _read_bearer(call)
        caller = authenticator.known(token) or await authenticator.authenticate(token)
        call.signed_in_as(caller, partial(_verify_token, authenticator, token))
    else:
        caller = await _verify_lent_token(authenticator, source)
        call.signed_in_as(caller, partial(_verify_lent_token, authenticator, source))
    holder = call.shares.holder_of(caller)
    if holder is not None:
        await buckets.take(call.pool, holder, answer_headers)
    if access != SIGNED_IN and access not in caller.permissions:
        raise Forbidden(f"This needs the permission {access}, which {caller.role} does not hold.")


async def _verify_token(authenticator: Authenticator, token: str) -> Caller:
    return authenticator.known(token) or await authenticator.authenticate(token)


async def _verify_lent_token(authenticator: Authenticator, source: TokenSource) -> Caller:
    """Whoever lends its token keeps it fresh: what runs for long outlives one."""
    return await _verify_token(authenticator, await source())


def _read_bearer(call: Call) -> str:
    header = call.header("authorization")
    if header is None:
        raise Unauthenticated("Send a token: Authorization: Bearer <ACCESS_TOKEN>.")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("The Authorization header has the form: Bearer <ACCESS_TOKEN>.")
    return token.strip()
