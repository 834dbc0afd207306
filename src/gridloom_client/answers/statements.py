"""Issued and preliminary statements."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar
from uuid import UUID

from gridloom_client.answers.answered import Answered, Listed


class StatementRun(Answered):
    id: UUID
    month: str
    status: str
    progress: float
    as_of: datetime | None = None
    fault: str | None = None


class CorrectedLine(Answered):
    """The line of an earlier month that a CORRECTION corrects."""

    month: str
    line: str
    statement_id: UUID | None = None
    number: str | None = None


class IssuedLine(Answered):
    """EUR; positive comes in. `counterparty` is an organisation's id, or MARKET, GRID_OPERATOR or OUTSIDE."""

    time: datetime
    day: date
    line: str
    amount: Decimal
    counterparty: str
    counterparty_name: str | None = None
    corrects: CorrectedLine | None = None


class CorrectedStatement(Answered):
    month: str
    amount: Decimal
    statement_id: UUID | None = None
    number: str | None = None


class IssuedStatement(Answered, Listed):
    """A month of an organisation: ISSUED, which never changes, or PRELIMINARY."""

    listed_in: ClassVar = "lines"

    id: UUID
    organisation_id: UUID
    organisation_name: str
    month: str
    status: str
    start: datetime
    end: datetime
    lines: tuple[IssuedLine, ...]
    total: Decimal
    corrects: tuple[CorrectedStatement, ...]
    number: str | None = None
    issued_at: datetime | None = None
    as_of: datetime | None = None
    address: str | None = None
    issuer_name: str | None = None
    issuer_address: str | None = None


class PartyLine(Answered):
    line: str
    party: str
    amount: Decimal
    party_name: str | None = None


class LineTotal(Answered):
    line: str
    amount: Decimal


class StatementSummary(Answered, Listed):
    listed_in: ClassVar = "lines"

    months: tuple[str, ...]
    lines: tuple[PartyLine, ...]
    totals: tuple[LineTotal, ...]
    balanced: bool
