"""Statements as they are answered."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import RequestBody, ResponseBody

MonthText = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])(?!\n)$", description="A month of market days", examples=["2026-09"])
]


class NewStatementRun(RequestBody, kw_only=True):
    month: MonthText
    allow_missing: Annotated[
        bool | None, Meta(description="Issue although facts are missing; what comes later is corrected later")
    ] = None


class StatementRunView(ResponseBody):
    id: UUID
    month: MonthText
    status: Literal["RUNNING", "DONE", "FAILED"]
    progress: Annotated[float, Meta(description="0 to 1")]
    as_of: Annotated[datetime, Meta(description="Facts count as of this moment")] | UnsetType = UNSET
    fault: Annotated[str, Meta(description="Why it failed")] | UnsetType = UNSET


class CorrectedLine(ResponseBody):
    """What a CORRECTION corrects."""

    month: MonthText
    line: Annotated[str, Meta(description="The line as it was issued")]
    statement_id: Annotated[UUID, Meta(description="Of that month, if there was one")] | UnsetType = UNSET
    number: Annotated[str, Meta(examples=["2026-0008"])] | UnsetType = UNSET


class IssuedLine(ResponseBody):
    time: Annotated[datetime, Meta(description="Where the market day starts; in a list, the month")]
    day: Annotated[date, Meta(description="The market day; in a list, the first of the month")]
    line: Annotated[str, Meta(description="What is paid for", examples=["TRADING", "AUCTION", "CORRECTION"])]
    amount: Annotated[Decimal, Meta(description="EUR; positive comes in, negative is paid")]
    counterparty: Annotated[
        str, Meta(description="The other side: an organisation's id, or MARKET, GRID_OPERATOR or OUTSIDE")
    ]
    counterparty_name: Annotated[str, Meta(description="Where it is an organisation")] | UnsetType = UNSET
    corrects: Annotated[CorrectedLine, Meta(description="Of a CORRECTION: what it corrects")] | UnsetType = UNSET


class CorrectedStatement(ResponseBody):
    month: MonthText
    amount: Annotated[Decimal, Meta(description="EUR, all corrections of that month together")]
    statement_id: Annotated[UUID, Meta(description="Of that month, if there was one")] | UnsetType = UNSET
    number: Annotated[str, Meta(examples=["2026-0008"])] | UnsetType = UNSET


class IssuedStatement(ResponseBody):
    """A month of an organisation. ISSUED never changes; PRELIMINARY is what facts say now."""

    id: UUID
    organisation_id: UUID
    organisation_name: str
    month: MonthText
    status: Literal["PRELIMINARY", "ISSUED"]
    start: datetime
    end: datetime
    lines: Annotated[list[IssuedLine], Meta(description="By day, line and counterparty, then corrections; no zeros")]
    total: Annotated[Decimal, Meta(description="EUR, the sum of all lines")]
    corrects: Annotated[list[CorrectedStatement], Meta(description="Earlier months that are corrected here")]
    number: Annotated[str, Meta(description="Without gaps per organisation and year", examples=["2026-0009"])] | (
        UnsetType
    ) = UNSET
    issued_at: Annotated[datetime, Meta(description="When it was issued")] | UnsetType = UNSET
    as_of: Annotated[datetime, Meta(description="Facts count as of this moment")] | UnsetType = UNSET
    address: Annotated[str, Meta(description="The organisation's, at issue")] | UnsetType = UNSET
    issuer_name: Annotated[str, Meta(description="The platform's operator")] | UnsetType = UNSET
    issuer_address: Annotated[str, Meta(description="The operator's, at issue")] | UnsetType = UNSET


class PartyLine(ResponseBody):
    line: Annotated[str, Meta(description="What is paid for")]
    party: Annotated[str, Meta(description="An organisation's id, or MARKET, GRID_OPERATOR or OUTSIDE")]
    amount: Annotated[Decimal, Meta(description="EUR; positive comes in")]
    party_name: Annotated[str, Meta(description="Of an organisation")] | UnsetType = UNSET


class LineTotal(ResponseBody):
    line: Annotated[str, Meta(description="What is paid for")]
    amount: Annotated[Decimal, Meta(description="EUR over all parties, the market and the grid operators among them")]


class StatementSummary(ResponseBody):
    """What issued statements come to by line and party, and that each line adds up to zero over all parties."""

    months: Annotated[list[MonthText], Meta(description="The issued months that start in the window")]
    lines: Annotated[list[PartyLine], Meta(description="By line and party; no zeros")]
    totals: Annotated[list[LineTotal], Meta(description="Each is zero")]
    balanced: Annotated[bool, Meta(description="Whether each line adds up to zero")]
