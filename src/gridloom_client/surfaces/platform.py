"""Whether the service is alive and ready."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from gridloom_client.answers import Record
from gridloom_client.operations import M, Surface, operation


class Platform(Surface[M]):
    """The service itself."""

    @operation("GET", "/health/live")
    def live(self) -> Record: ...

    @operation("GET", "/health/ready")
    def ready(self) -> Record:
        """Raises UnavailableError until database, migrations and jobs are in order."""
