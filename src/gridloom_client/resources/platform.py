"""The service itself: its health, its interface and its pages."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from gridloom_client.operations import M, Resource, operation
from gridloom_client.response_types import Record


class Platform(Resource[M]):
    """The service itself."""

    @operation("GET", "/health/live")
    def live(self) -> Record: ...

    @operation("GET", "/health/ready")
    def ready(self) -> Record:
        """Raises UnavailableError until database, migrations and jobs are in order."""

    @operation("GET", "/metrics")
    def metrics(self) -> bytes:
        """In Prometheus's text format, where the service shows them to the caller."""

    @operation("GET", "/openapi.json")
    def interface(self) -> Record:
        """OpenAPI 3.1."""

    @operation("GET", "/.well-known/security.txt")
    def security_contact(self) -> bytes:
        """Whom to tell about a vulnerability."""

    @operation("GET", "/")
    def home(self) -> Record:
        """Where everything is."""

    @operation("POST", "/console/session")
    def begin_console_session(
        self,
        username: str | None = None,
        password: str | None = None,
        challenge: str | None = None,
        code: str | None = None,
    ) -> None:
        """Signs a browser in to the console: the answer sets a cookie. Programs use tokens or API keys instead."""

    @operation("GET", "/console/session")
    def console_session(self) -> Record:
        """Whose cookie it is."""

    @operation("DELETE", "/console/session")
    def end_console_session(self) -> None: ...

    @operation("GET", "/docs")
    def documentation(self) -> bytes: ...

    @operation("GET", "/docs/assets/{assetName}")
    def documentation_asset(self, asset_name: str) -> bytes: ...

    @operation("GET", "/docs/problems")
    def problems(self) -> bytes:
        """What every problem type means."""

    @operation("GET", "/docs/problems/{problemName}")
    def problem(self, problem_name: str) -> bytes: ...
