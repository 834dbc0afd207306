"""Fair shares: how much of each scarce thing one organisation may use at a time, and the refusal beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gridloom.kernel.problem import TooManyRequests

KIBIBYTE: Final = 1024
MEBIBYTE: Final = 1024 * KIBIBYTE


class Share(StrEnum):
    """The name of each share, as responses have it."""

    REQUESTS = "requests"
    BODY_BYTES = "body-bytes"
    COMPUTATIONS = "computations"
    JOBS = "jobs"
    EVENT_STREAMS = "event-streams"
    READS = "reads"
    UNREAD_ANSWERS = "unread-answers"
    INVITATIONS = "invitations"
    API_KEYS = "api-keys"
    STORED_TELEMETRY = "stored-telemetry"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLimits:
    """The limits of one organisation, over all its members and API keys. Each field is a setting."""

    requests_per_minute: int = 60_000
    request_burst: int = 2_000
    body_bytes: int = 64 * MEBIBYTE
    """Half of what one worker process buffers for all organisations."""
    min_body_bytes_per_s: int = 64 * KIBIBYTE
    """A body that arrives more slowly is rejected first where there is no room for another."""
    computations_running: int = 2
    computations_waiting: int = 20
    jobs_running: int = 2
    jobs_queued: int = 20
    event_streams: int = 500
    reads_running: int = 2
    """Reads that cost much, half of the places of one worker process."""
    reads_waiting: int = 20
    unread_bytes: int = 64 * MEBIBYTE
    min_reader_bytes_per_s: int = 64 * KIBIBYTE
    slow_reader_s: int = 30
    """A reader that is slower for so long gives way when others wait."""
    invitations: int = 200
    api_keys: int = 500
    api_keys_per_user: int = 50


class ShareExceeded(TooManyRequests, title="The organisation's share is used up"):
    """Your organisation uses its whole share of something scarce, so that other organisations get theirs.

    `share` names it: `requests`, `body-bytes`, `computations`, `jobs`, `event-streams`, `reads` or
    `unread-answers`; `limit` is how much there is.
    `Retry-After` says in how many seconds a part of it is expected to be free again.
    `GET /organisations/{organisationID}/usage` shows every share and its use.
    """

    def __init__(self, share: Share, limit: int, detail: str, retry_after_s: float = 1) -> None:
        super().__init__(detail, -int(-retry_after_s // 1), share=share.value, limit=limit)
        self.share = share
