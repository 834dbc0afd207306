"""Rate limits: PostgreSQL counts, and each worker spends small leases without asking.

Calls without a token are counted by network in fixed windows, over all replicas. Calls with one are counted by
organisation in a token bucket, replica by replica.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.edge.shares import Shares, ShareUse
from gridloom.kernel.problem import TooManyRequests
from gridloom.kernel.shares import Share, ShareExceeded

WINDOW_S = 60
LEASES_PER_WINDOW = 50
MAX_LEASE = 500  # what a worker that is killed takes along
MAX_LEASES = 20_000


@dataclass(slots=True)
class _Lease:
    """Requests this worker may still let through before it has to ask the database again."""

    left: int
    unleased: int
    """What the whole platform has left in this window besides."""
    ends: float


class RateLimiter:
    """A fixed window per caller and class. A lease counts as spent when it is taken, so the sum over the replicas
    never exceeds the limit; at most two percent a worker go unused."""

    def __init__(self, limits_per_minute: dict[str, int]) -> None:
        self._limits = limits_per_minute
        self._policies = {name: f'"{name}";q={limit};w={WINDOW_S}' for name, limit in limits_per_minute.items()}
        self._leases: OrderedDict[str, _Lease] = OrderedDict()

    async def take(self, db: Database, name: str, caller_key: str, headers: dict[str, str]) -> None:
        """Count one request and add the headers that say what is left; raise when nothing is."""
        key = f"{name}|{caller_key}"
        now = time.monotonic()
        lease = self._leases.get(key)
        if lease is None or lease.ends <= now or (lease.left == 0 and lease.unleased > 0):
            lease = await self._take_lease(db, key, self._limits[name], now)
        reset_s = max(1, int(lease.ends - now + 0.999))
        headers["RateLimit-Policy"] = self._policies[name]
        headers["RateLimit"] = f'"{name}";r={max(0, lease.left - 1) + lease.unleased};t={reset_s}'
        if lease.left == 0:
            raise TooManyRequests(
                f"More than {self._limits[name]} requests in {WINDOW_S} seconds. Wait {reset_s} s.",
                retry_after_s=reset_s,
            )
        lease.left -= 1

    async def _take_lease(self, db: Database, key: str, limit: int, now: float) -> _Lease:
        size = max(1, min(limit // LEASES_PER_WINDOW, MAX_LEASE))
        row = await db.fetchrow(
            "select granted, used, window_left_s from rate_limit_lease($1, $2, $3)", key, size, limit
        )
        assert row is not None
        lease = _Lease(row["granted"], limit - row["used"], now + row["window_left_s"])
        current = self._leases.get(key)
        if (
            current is not None and abs(current.ends - lease.ends) < 1
        ):  # requests that came together asked together: keep them all
            lease.left += current.left
        self._leases[key] = lease
        self._leases.move_to_end(key)
        if len(self._leases) > MAX_LEASES:
            self._leases.popitem(last=False)
        return lease


LEASES_PER_BURST = 20
LEASE_DURATION_S = 60.0


@dataclass(slots=True)
class _Tokens:
    """Requests this worker may still admit; `in_bucket` is what the replica had besides when they were leased."""

    left: int
    in_bucket: float
    ends: float
    ask_again_at: float


class RequestBuckets:
    """A token bucket per organisation: `request_burst` at once, refilled by `requests_per_minute`.

    The workers of one replica lease from the same bucket, so that it holds whichever of them a connection reaches.
    """

    def __init__(self, shares: Shares) -> None:
        self._replica = shares.replica
        self._per_minute = shares.limits.requests_per_minute
        self._burst = shares.limits.request_burst
        self._lease = max(1, self._burst // LEASES_PER_BURST)
        self._policy = f'"{Share.REQUESTS}";q={self._per_minute};w={WINDOW_S}'
        self._tokens: OrderedDict[Hashable, _Tokens] = OrderedDict()

    async def take(self, db: Database, holder: Hashable, headers: dict[str, str]) -> None:
        """Count one request and add the headers that say what is left; raise when nothing is."""
        now = time.monotonic()
        tokens = self._tokens.get(holder)
        if tokens is None or tokens.ends <= now or (tokens.left == 0 and tokens.ask_again_at <= now):
            tokens = await self._lease_tokens(db, holder, now)
        left = max(0, tokens.left - 1) + int(tokens.in_bucket)
        headers["RateLimit-Policy"] = self._policy
        headers["RateLimit"] = f'"{Share.REQUESTS}";r={left};t={self._seconds_until(self._burst - left)}'
        if tokens.left == 0:
            raise ShareExceeded(
                Share.REQUESTS,
                self._per_minute,
                f"Your organisation has sent {self._burst} requests at once, or more than {self._per_minute} a minute.",
                self._seconds_until(self._lease),
            )
        tokens.left -= 1

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        left = await db.fetchval(
            """
            select least($2, tokens + $3 * extract(epoch from clock_timestamp() - refilled_at))::float8
            from request_bucket where key = $1
            """,
            f"{self._replica}|{organisation_id}", float(self._burst), self._per_minute / WINDOW_S,
        )  # fmt: skip
        used = 0 if left is None else self._burst - int(left)
        return ShareUse(used=used, limit=self._burst, per_minute=self._per_minute)

    def _seconds_until(self, tokens: int) -> int:
        """How long the bucket takes for so many, rounded up."""
        return max(1, -(-tokens * WINDOW_S // self._per_minute))

    async def _lease_tokens(self, db: Database, holder: Hashable, now: float) -> _Tokens:
        row = await db.fetchrow(
            "select granted, tokens_left from lease_requests($1, $2, $3, $4)",
            f"{self._replica}|{holder}", self._lease, self._per_minute / WINDOW_S, self._burst,
        )  # fmt: skip
        assert row is not None
        ask_again_at = now + (1 - row["tokens_left"]) * WINDOW_S / self._per_minute
        tokens = _Tokens(row["granted"], row["tokens_left"], now + LEASE_DURATION_S, ask_again_at)
        current = self._tokens.get(holder)
        if current is not None and current.ends > now:  # requests that came together asked together: keep them all
            tokens.left += current.left
        self._tokens[holder] = tokens
        self._tokens.move_to_end(holder)
        if len(self._tokens) > MAX_LEASES:
            self._tokens.popitem(last=False)
        return tokens


async def delete_expired_windows(db: Database) -> None:
    await db.execute("delete from rate_limit where window_start < clock_timestamp() - interval '5 minutes'")
    await db.execute("delete from request_bucket where refilled_at < clock_timestamp() - interval '1 hour'")


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """One IPv6 host owns a whole /64; counting single addresses would count nothing."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
