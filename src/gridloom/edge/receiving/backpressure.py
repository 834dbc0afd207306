"""How many bytes of request bodies a process holds at once: beyond that, callers are asked to come back."""

from __future__ import annotations

from types import TracebackType

from gridloom.kernel.problem import TooManyRequests

MEBIBYTE = 1024 * 1024
BODIES_AT_ONCE_BYTES = 128 * MEBIBYTE
RETRY_AFTER_S = 1
SMALL_BYTES = 64 * 1024
"""Bodies up to this size are always let in, so that nobody's large ones keep others from logging in or bidding."""


class BodyBudget:
    """Memory for bodies that are being received or worked on. Asking for too much is refused, never queued."""

    def __init__(self, most_bytes: int = BODIES_AT_ONCE_BYTES) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0

    def hold(self) -> HeldBody:
        return HeldBody(self)


class HeldBody:
    """One request's share, given back when the request is over."""

    __slots__ = ("_budget", "_bytes")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._bytes = 0

    def foresee(self, size_bytes: int) -> None:
        """Refuse a body for which there would be no room now.

        Nothing is set aside: announcing costs the caller nothing, so it may not take anything from others either.
        """
        others_bytes = self._budget.held_bytes - self._bytes
        # A single body is always let in, however small the budget is.
        if size_bytes > SMALL_BYTES and others_bytes > 0 and others_bytes + size_bytes > self._budget.most_bytes:
            raise TooManyRequests(
                "Too many large bodies are being worked on. Send this one again in a moment.", RETRY_AFTER_S
            )

    def reach(self, size_bytes: int) -> None:
        """Have room for what has come of a body so far, or refuse it."""
        if size_bytes > max(self._bytes, SMALL_BYTES):
            self.foresee(size_bytes)
            self._budget.held_bytes += size_bytes - self._bytes
            self._bytes = size_bytes

    def __enter__(self) -> HeldBody:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._budget.held_bytes -= self._bytes
        self._bytes = 0
