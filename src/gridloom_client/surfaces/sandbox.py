"""The sandbox's clock."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from datetime import datetime

from gridloom_client.answers.sandbox import Clock
from gridloom_client.operations import M, Surface, operation


class Sandbox(Surface[M]):
    """There only in the sandbox: elsewhere these raise NotFoundError."""

    @operation("GET", "/sandbox/clock")
    def clock(self) -> Clock: ...

    @operation("PUT", "/sandbox/clock")
    def set_clock(self, *, now: datetime | None = None, advance: str | None = None) -> Clock:
        """Forward to a time, or by an ISO 8601 duration such as `PT1H`; what falls due meanwhile happens in order."""

    @operation("POST", "/sandbox/reset")
    def reset(self) -> None:
        """Empty it."""
