"""When to send a request again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from gridloom_client.errors import TransportError
from gridloom_client.wire import RawResponse, Request

_REFUSED_FOR_NOW = frozenset({429, 503})  # said before anything was done
_LOST_ON_THE_WAY = frozenset({502, 504})  # a proxy's: the service may have done it
_STILL_RUNNING = b"/docs/problems/idempotency-in-progress"


@dataclass(frozen=True)
class RetryPolicy:
    """Bounded, with doubling pauses of which a random part is waited, never less than the service asks for."""

    attempts: int = 4
    first_pause_s: float = 0.2
    longest_pause_s: float = 20.0
    resume_for_s: float = 900.0
    """For how long a stream that was lost is tried to be taken up again."""
    random: Callable[[], float] = field(default=random.random, repr=False)

    def after_reply(self, request: Request, reply: RawResponse, attempt: int) -> float | None:
        """Seconds until the next attempt; None when the reply is the answer. The first attempt is number 1."""
        if attempt >= self.attempts or not self._may_repeat(request, reply):
            return None
        asked_s = reply.retry_after_s or 0.0
        if asked_s > self.longest_pause_s:
            return None
        return max(asked_s, self.pause_s(attempt))

    def after_loss(self, request: Request, loss: TransportError, attempt: int) -> float | None:
        """Seconds until the next attempt; None when the loss is final, or repeating might do it twice."""
        if attempt >= self.attempts or (loss.is_sent and not request.is_repeatable):
            return None
        return self.pause_s(attempt)

    def pause_s(self, attempt: int) -> float:
        return min(self.longest_pause_s, self.first_pause_s * 2.0 ** (attempt - 1)) * (0.5 + 0.5 * self.random())

    @staticmethod
    def _may_repeat(request: Request, reply: RawResponse) -> bool:
        if reply.status in _REFUSED_FOR_NOW:
            return True
        if reply.status in _LOST_ON_THE_WAY:
            return request.is_repeatable
        return reply.status == 409 and request.method == "POST" and _STILL_RUNNING in reply.content


NEVER = RetryPolicy(attempts=1, resume_for_s=0.0)
