"""Which organisation a request's use counts for, and what shows the use of each share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.edge.caller import Caller
from gridloom.kernel.shares import Share, ShareLimits


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
        """What a caller's use counts for: its organisation, or None for a caller that is exempt."""
        return None if caller.username in self._exempt_usernames else caller.organisation_id

    def add_meter(self, share: Share, meter: Meter) -> None:
        self._meters[share] = meter

    @property
    def meters(self) -> Mapping[Share, Meter]:
        return {share: self._meters[share] for share in Share if share in self._meters}
