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
        """Issue a month.

        One statement for each organisation with lines, all of them or none; a job does it. The operator only. Months
        are issued in order, and the first sets the first month. Facts count as of the instant the run starts; what
        changes afterwards is a CORRECTION of the earliest open month.

        Args:
            month: Month of market days
            allow_missing: Issue although facts are missing; they become corrections of a later month
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Note:
            The operator: issue a month (`2026-09`) for all organisations. Ask `run` until `status` is DONE.

        Example:
            client.statements.issue("2026-09")
        """

    @operation("GET", "/statements/missing")
    def missing(self, month: str) -> Sequence[MissingFact]:
        """List the facts that a month lacks.

        For which issuing it would be refused (409 `facts-missing`); empty where nothing is missing, at most a thousand.
        The operator only.

        Args:
            month: Month to check

        Note:
            The operator: the facts that a month (`2026-09`) lacks before it can be issued.

        Example:
            client.statements.missing("text")
        """

    @operation("GET", "/statements/runs/{runID}")
    def run(self, run_id: ID) -> StatementRun:
        """Read how issuing goes.

        The operator only.

        Args:
            run_id: The run
        """

    @operation("GET", "/statements/summary")
    def summary(self, **window: Unpack[Window]) -> StatementSummary:
        """Sum up issued statements.

        By line and party, with the proof that each line adds up to zero over all parties. The operator only.

        Args:
            start: Only months that start at this instant or later
            end: Only months that start before this instant
        """

    @collection("/organisations/{organisationID}/statements")
    def list(
        self,
        organisation_id: ID,
        *,
        month: str | None = None,
        status: Literal["PRELIMINARY", "ISSUED"] | None = None,
        page_size: int | None = None,
    ) -> IssuedStatement:
        """List an organisation's statements.

        The newest month first: a PRELIMINARY one for each open month with lines, then those that are ISSUED. Here,
        lines are summed over the month; a statement by itself has them by day. An open month is computed when it is
        asked for: name the month, or ask for ISSUED ones only, where no other is needed.

        Args:
            organisation_id: The organisation
            month: Only this month
            status: Only statements of this status
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/organisations/{organisationID}/statements/{statementID}")
    def get(self, organisation_id: ID, statement_id: ID) -> IssuedStatement:
        """Read a statement.

        Once it is ISSUED it never changes, to the byte; its id is that of the PRELIMINARY one before. As
        `application/pdf` it is a document in English and German: totals and the amount to be paid, then lines by day.
        It is a statement, no tax invoice.

        Args:
            organisation_id: The organisation
            statement_id: The statement
        """

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

        Args:
            organisation_id: The organisation
            statement_id: The statement
            media_type: `application/pdf`, `text/csv` or `application/json`

        Example:
            Path("statement.pdf").write_bytes(client.statements.download(organisation_id, statement_id))
        """
        fetch: Any = self.get
        return fetch.content(media_type, organisation_id, statement_id)
