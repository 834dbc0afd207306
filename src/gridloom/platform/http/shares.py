"""Limits of organisations: which one a request counts for, the use of each share, and requests per minute."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from gridloom.kernel.problem import TooManyRequests
from gridloom.kernel.shares import Share, ShareExceeded, ShareLimits
from gridloom.platform.database.pool import Database
from gridloom.platform.http.caller import Caller

MINUTE_S: Final = 60
LEASES_PER_BURST: Final = 20
LEASE_DURATION_S: Final = 60.0
MAX_LEASE: Final = 500
"""Requests that a worker which is killed takes along."""
MAX_LEASES: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareUse:
    """How much of a share is used: of `limit` (None where there is none), and what waits besides.

    `per_minute` is how much comes back in a minute, `per_user` what one member may have of it.
    """

    used: int
    limit: int | None
    per_minute: int | None = None
    per_user: int | None = None
    waiting: int | None = None
    max_waiting: int | None = None
    as_of: datetime | None = None
    """When it was counted, where that is not now."""


Meter = Callable[[Database, UUID], Awaitable[ShareUse]]
"""Reads an organisation's use of one share."""


class Shares:
    """The limits of this service, the callers that are exempt from them, and a meter for each share."""

    def __init__(
        self, limits: ShareLimits | None = None, *, replica: str = "", exempt_usernames: frozenset[str] = frozenset()
    ) -> None:
        self.limits = limits or ShareLimits()
        self.replica = replica
        """Names the replica that requests are counted by: its workers count together."""
        self._exempt_usernames = exempt_usernames
        self._meters: dict[Share, Meter] = {}

    def holder_of(self, caller: Caller) -> Hashable | None:
        """The holder that a caller's use counts for: its organisation, or None for a caller that is exempt."""
        return None if caller.username in self._exempt_usernames else caller.organisation_id

    def add_meter(self, share: Share, meter: Meter) -> None:
        self._meters[share] = meter

    @property
    def meters(self) -> Mapping[Share, Meter]:
        return {share: self._meters[share] for share in Share if share in self._meters}


@dataclass(slots=True)
class _Lease:
    """Requests this worker may still admit; `in_bucket` is what the bucket had besides when they were leased."""

    left: int
    in_bucket: float
    ends: float
    ask_again_at: float


class TokenBuckets:
    """A token bucket per holder in PostgreSQL: `burst` requests at once, refilled by `per_minute`.

    A worker leases tokens and spends them without asking again. What is leased counts as spent, so that all workers
    that lease under one key stay within its bucket.
    """

    def __init__(self, name: str, *, per_minute: int, burst: int, scope: str = "") -> None:
        """scope: whose buckets these are; workers with the same one share them."""
        self._scope = scope
        self._per_minute = per_minute
        self._burst = burst
        self._lease = max(1, min(burst // LEASES_PER_BURST, MAX_LEASE))
        self._name = name
        self._policy = f'"{name}";q={per_minute};w={MINUTE_S}'
        self._leases: OrderedDict[Hashable, _Lease] = OrderedDict()

    async def take(self, db: Database, holder: Hashable, headers: dict[str, str]) -> None:
        """Count one request and add the headers that say what is left; raise when nothing is."""
        now = time.monotonic()
        lease = self._leases.get(holder)
        if lease is None or lease.ends <= now or (lease.left == 0 and lease.ask_again_at <= now):
            lease = await self._take_lease(db, holder, now)
        left = max(0, lease.left - 1) + int(lease.in_bucket)
        headers["RateLimit-Policy"] = self._policy
        headers["RateLimit"] = f'"{self._name}";r={left};t={self._seconds_until(self._burst - left)}'
        if lease.left == 0:
            wait_s = self._seconds_until(self._lease)
            headers["RateLimit"] = f'"{self._name}";r={left};t={wait_s}'  # not beyond Retry-After
            raise self._exceeded_problem(wait_s)
        lease.left -= 1

    def _exceeded_problem(self, retry_after_s: int) -> TooManyRequests:
        detail = f"has sent {self._burst} requests at once, or more than {self._per_minute} a minute."
        if self._name == Share.REQUESTS:
            return ShareExceeded(Share.REQUESTS, self._per_minute, f"Your organisation {detail}", retry_after_s)
        return TooManyRequests(f"Your network {detail} Wait {retry_after_s} s.", retry_after_s=retry_after_s)

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        left = await db.fetchval(
            """
            select least($2, tokens + $3 * extract(epoch from clock_timestamp() - refilled_at))::float8
            from request_bucket where key = $1
            """,
            f"{self._scope}|{organisation_id}", float(self._burst), self._per_minute / MINUTE_S,
        )  # fmt: skip
        used = 0 if left is None else self._burst - int(left)
        return ShareUse(used=used, limit=self._burst, per_minute=self._per_minute)

    def _seconds_until(self, tokens: int) -> int:
        """How long the bucket takes for so many, rounded up."""
        return max(1, -(-tokens * MINUTE_S // self._per_minute))

    async def _take_lease(self, db: Database, holder: Hashable, now: float) -> _Lease:
        row = await db.fetchrow(
            "select granted, tokens_left from lease_requests($1, $2, $3, $4)",
            f"{self._scope}|{holder}", self._lease, self._per_minute / MINUTE_S, self._burst,
        )  # fmt: skip
        assert row is not None
        ask_again_at = now + (1 - row["tokens_left"]) * MINUTE_S / self._per_minute
        lease = _Lease(row["granted"], row["tokens_left"], now + LEASE_DURATION_S, ask_again_at)
        current = self._leases.get(holder)
        if current is not None and current.ends > now:  # requests that came together asked together: keep them all
            lease.left += current.left
        self._leases[holder] = lease
        self._leases.move_to_end(holder)
        if len(self._leases) > MAX_LEASES:
            self._leases.popitem(last=False)
        return lease


async def delete_full_buckets(db: Database) -> None:
    await db.execute("delete from request_bucket where refilled_at < clock_timestamp() - interval '1 hour'")
    # Counted by replicas of release 0.2 that run beside this one during an upgrade.
    await db.execute("delete from rate_limit where window_start < clock_timestamp() - interval '5 minutes'")
