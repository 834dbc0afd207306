"""Statements: a month of all that an organisation earned and paid, issued once and never changed."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from gridloom_client.answers import IssuedStatement, MissingFact, StatementRun, StatementSummary
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import Window
from gridloom_client.wire import ID

PDF = "application/pdf"


class Statements(Resource[M]):
    """EUR; positive is paid to the organisation."""

    @operation("POST", "/statements")
    def issue(
        self, month: str, *, allow_missing: bool | None = None, idempotency_key: str | None = None
    ) -> StatementRun:
        """The operator: issue a month (`2026-09`) for all organisations. Ask `run` until `status` is DONE."""

    @operation("GET", "/statements/missing")
    def missing(self, month: str) -> Sequence[MissingFact]:
        """The operator: the facts that a month (`2026-09`) lacks before it can be issued."""

    @operation("GET", "/statements/runs/{runID}")
    def run(self, run_id: ID) -> StatementRun: ...

    @operation("GET", "/statements/summary")
    def summary(self, **window: Unpack[Window]) -> StatementSummary:
        """The operator: sums by line and party, each line adding up to zero."""

    @collection("/organisations/{organisationID}/statements")
    def list(
        self,
        organisation_id: ID,
        *,
        month: str | None = None,
        status: Literal["PRELIMINARY", "ISSUED"] | None = None,
        page_size: int | None = None,
    ) -> IssuedStatement:
        """The newest month first, with lines summed over the month."""

    @operation("GET", "/organisations/{organisationID}/statements/{statementID}")
    def get(self, organisation_id: ID, statement_id: ID) -> IssuedStatement:
        """With lines by day."""

    def download(self, organisation_id: ID, statement_id: ID, media_type: str = PDF) -> Any:
        """A statement as a document, unless another media type is asked for.

        Parameters
        ----------
        organisation_id : ID
            The organisation's id.
        statement_id : ID
            The statement's id.
        media_type : str, optional
            `PDF`, `CSV`, `EXCEL_CSV`, `XLSX` or `JSON`: `application/pdf` when left out.

        Returns
        -------
        bytes
            An `AsyncClient` awaits them.

        Example
        -------
        Path("statement.pdf").write_bytes(client.statements.download(organisation_id, statement_id))
        """
        fetch: Any = self.get
        return fetch.content(media_type, organisation_id, statement_id)
