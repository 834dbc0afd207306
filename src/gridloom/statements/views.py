"""Statements as they are answered."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, field

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


class AssetMonthView(ResponseBody):
    """What a battery, or a virtual battery, of the organisation's did in the month.

    A battery by its dispatch, as measured where it was, else as dispatched; a virtual one by its schedule after cuts.
    """

    asset_id: UUID
    kind: Literal["PHYSICAL", "VIRTUAL"]
    name: str
    delivery_zone: str
    rated_power: Annotated[float, Meta(description="MW, the mean of charging and discharging")]
    days: Annotated[int, Meta(description="Market days of the month that count")]
    charged_energy: Annotated[float, Meta(description="MWh")]
    discharged_energy: Annotated[float, Meta(description="MWh")]
    cycles: Annotated[float, Meta(description="Full cycles: energy discharged ÷ energy capacity")]
    cycle_limit: Annotated[float, Meta(description="The daily limits of those days, together")] | UnsetType = UNSET
    availability_delivered: (
        Annotated[
            float,
            Meta(description="0 to 1: of a battery delivered ÷ asked energy, of a virtual one available ÷ rated"),
        ]
        | UnsetType
    ) = UNSET
    measured_share: (
        Annotated[float, Meta(description="Of a battery: the part of the asked energy that was measured, 0 to 1")]
        | UnsetType
    ) = UNSET
    earned: Annotated[float, Meta(description="EUR, of a virtual battery: trading and balancing")] | UnsetType = UNSET
    earned_per_mw: Annotated[float, Meta(description="EUR per MW")] | UnsetType = field(
        default=UNSET, name="earnedPerMW"
    )


class StatementFigures(ResponseBody):
    """What an investor asks of the month. None of it is part of an amount."""

    assets: Annotated[list[AssetMonthView], Meta(description="Batteries, then virtual ones, by name")]
    rated_power: Annotated[
        float, Meta(description="MW, time-weighted: of its virtual assets and of its batteries not behind them")
    ]
    earned_per_mw: (
        Annotated[float, Meta(description="EUR per MW: the month's lines without corrections ÷ `ratedPower`")]
        | UnsetType
    ) = field(default=UNSET, name="earnedPerMW")
    availability_delivered: (
        Annotated[float, Meta(description="Of all its batteries: delivered ÷ asked energy, 0 to 1")] | UnsetType
    ) = UNSET
    measured_share: (
        Annotated[float, Meta(description="Of all its batteries: the part of the asked energy that was measured")]
        | UnsetType
    ) = UNSET


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
    figures: (
        Annotated[
            StatementFigures, Meta(description="In a statement by itself; issued ones of earlier releases have none")
        ]
        | UnsetType
    ) = UNSET


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
