"""Statements: a month of all that an organisation earned and paid, issued once and never changed."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from datetime import datetime
from typing import Any

from gridloom_client.answers import IssuedStatement, StatementRun, StatementSummary
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.wire import ID

PDF = "application/pdf"


class Statements(Resource[M]):
    """EUR; positive is paid to the organisation."""

    @operation("POST", "/statements")
    def issue(
        self, month: str, *, allow_missing: bool | None = None, idempotency_key: str | None = None
    ) -> StatementRun:
        """The operator: issue a month (`2026-09`) for all organisations. Ask `run` until `status` is DONE."""

    @operation("GET", "/statements/runs/{runID}")
    def run(self, run_id: ID) -> StatementRun: ...

    @operation("GET", "/statements/summary")
    def summary(self, *, start: datetime | None = None, end: datetime | None = None) -> StatementSummary:
        """The operator: sums by line and party, each line adding up to zero."""

    @collection("/organisations/{organisationID}/statements")
    def list(self, organisation_id: ID, *, page_size: int | None = None) -> IssuedStatement:
        """The newest month first, with lines summed over the month."""

    @operation("GET", "/organisations/{organisationID}/statements/{statementID}")
    def get(self, organisation_id: ID, statement_id: ID) -> IssuedStatement:
        """With lines by day."""

    def download(self, organisation_id: ID, statement_id: ID, media_type: str = PDF) -> Any:
        """The bytes, PDF unless `text/csv` or `application/json` is asked for; an `AsyncClient` awaits them."""
        fetch: Any = self.get
        return fetch.content(media_type, organisation_id, statement_id)
