"""Statements as they are answered."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, UnsetType, field

from gridloom.platform.http import RequestBody, ResponseBody, pattern_meta

MonthText = Annotated[str, pattern_meta(r"^[0-9]{4}-(0[1-9]|1[0-2])(?!\n)$", "a month, such as 2026-09")]


class NewStatementRun(RequestBody, kw_only=True):
    month: MonthText
    allow_missing: bool | None = None


class StatementRunView(ResponseBody):
    id: UUID
    month: MonthText
    status: Literal["RUNNING", "DONE", "FAILED"]
    progress: float
    as_of: datetime | UnsetType = UNSET
    fault: str | UnsetType = UNSET


class CorrectedLine(ResponseBody):
    """The line that a CORRECTION corrects."""

    month: MonthText
    line: str
    statement_id: UUID | UnsetType = UNSET
    number: str | UnsetType = UNSET


class IssuedLine(ResponseBody):
    time: datetime
    day: date
    line: str
    amount: Decimal
    counterparty: str
    counterparty_name: str | UnsetType = UNSET
    corrects: CorrectedLine | UnsetType = UNSET


class CorrectedStatement(ResponseBody):
    month: MonthText
    amount: Decimal
    statement_id: UUID | UnsetType = UNSET
    number: str | UnsetType = UNSET


class AssetMonthView(ResponseBody):
    """The month of a battery, or a virtual battery, of the organisation.

    What a battery charged and discharged is as measured where it was, else as dispatched, reserves included; beside it
    stand dispatched, measured and reserve energy by themselves. A virtual one is by its schedule after cuts.
    """

    asset_id: UUID
    kind: Literal["PHYSICAL", "VIRTUAL"]
    name: str
    delivery_zone: str
    rated_power: float
    days: int
    charged_energy: float
    discharged_energy: float
    cycles: float
    cycle_limit: float | UnsetType = UNSET
    dispatched_charge: float | UnsetType = UNSET
    dispatched_discharge: float | UnsetType = UNSET
    measured_charge: float | UnsetType = UNSET
    measured_discharge: float | UnsetType = UNSET
    reserve_charge: float | UnsetType = UNSET
    reserve_discharge: float | UnsetType = UNSET
    technical_availability: float | UnsetType = UNSET
    availability_delivered: float | UnsetType = UNSET
    measured_share: float | UnsetType = UNSET
    earned: float | UnsetType = UNSET
    earned_per_mw: float | UnsetType = field(default=UNSET, name="earnedPerMW")
    foresight: float | UnsetType = UNSET
    foresight_share: float | UnsetType = UNSET


class StatementFigures(ResponseBody):
    """The figures of the month for an investor. None of it is part of an amount."""

    assets: list[AssetMonthView]
    rated_power: float
    earned: float | UnsetType = UNSET
    net_per_mw: float | UnsetType = field(default=UNSET, name="netPerMW")
    earned_per_mw: float | UnsetType = field(default=UNSET, name="earnedPerMW")
    availability_delivered: float | UnsetType = UNSET
    measured_share: float | UnsetType = UNSET
    foresight: float | UnsetType = UNSET
    foresight_share: float | UnsetType = UNSET


class IssuedStatement(ResponseBody):
    """A month of an organisation. ISSUED never changes; PRELIMINARY is what facts say now."""

    id: UUID
    organisation_id: UUID
    organisation_name: str
    month: MonthText
    status: Literal["PRELIMINARY", "ISSUED"]
    start: datetime
    end: datetime
    lines: list[IssuedLine]
    total: Decimal
    corrects: list[CorrectedStatement]
    to_date: Decimal | UnsetType = UNSET
    number: str | UnsetType = UNSET
    issued_at: datetime | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    address: str | UnsetType = UNSET
    issuer_name: str | UnsetType = UNSET
    issuer_address: str | UnsetType = UNSET
    figures: StatementFigures | UnsetType = UNSET


class PartyLine(ResponseBody):
    line: str
    party: str
    amount: Decimal
    party_name: str | UnsetType = UNSET


class LineTotal(ResponseBody):
    line: str
    amount: Decimal


class StatementSummary(ResponseBody):
    """The sums of issued statements by line and party, and that each line adds up to zero over all parties."""

    months: list[MonthText]
    lines: list[PartyLine]
    totals: list[LineTotal]
    balanced: bool
