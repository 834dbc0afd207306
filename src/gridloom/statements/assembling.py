"""A statement put together from sums by line and counterparty, as it is answered and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import UUID

import numpy as np
from msgspec import UNSET, UnsetType

from gridloom.kernel.market_time import market_day_window
from gridloom.statements.figures import AssetMonth
from gridloom.statements.model import CORRECTION, IssuedReference, LineSums, Month, statement_id
from gridloom.statements.rules import in_order, total_cents
from gridloom.statements.store import Letterhead
from gridloom.statements.views import CorrectedLine, CorrectedStatement, IssuedLine, IssuedStatement, StatementFigures

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Amounts:
    """Of an organisation: a month's own lines, and corrections of earlier months."""

    organisation_id: UUID
    month: Month
    own: LineSums
    corrections: Mapping[Month, LineSums]
    months: Mapping[int, AssetMonth] = field(default_factory=dict)
    """By key, those of the organisation that were dispatched."""
    to_date_cents: int | None = None
    """Of a month that is not over, what of the total has been until now."""

    @property
    def is_empty(self) -> bool:
        return not self.own and not self.corrections

    @property
    def total_cents(self) -> int:
        return total_cents(self.own, self.corrections)


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of others in a statement."""

    letterheads: Mapping[UUID, Letterhead]
    references: Mapping[tuple[UUID, Month], IssuedReference]

    def issuer(self) -> Letterhead | None:
        """The platform's operator."""
        return next((one for one in self.letterheads.values() if one.is_operator), None)


@dataclass(frozen=True, slots=True)
class Issue:
    """The fields of an ISSUED statement."""

    number: str
    issued_at: datetime
    as_of: datetime


def show_euros(cents: int) -> Decimal:
    return Decimal(cents) * _CENT


def assemble(
    amounts: Amounts,
    naming: Naming,
    issue: Issue | None,
    figures: StatementFigures | UnsetType = UNSET,
    *,
    by_day: bool = True,
) -> IssuedStatement:
    """by_day: lines by market day, else summed over the month."""
    month, organisation_id = amounts.month, amounts.organisation_id
    lines = _list_lines(amounts.own, month, naming, None, by_day=by_day)
    corrected = []
    for original in sorted(amounts.corrections):
        sums = amounts.corrections[original]
        reference = naming.references.get((organisation_id, original))
        lines += _list_lines(sums, original, naming, reference, by_day=by_day, is_correction=True)
        corrected.append(
            CorrectedStatement(
                month=str(original),
                amount=show_euros(total_cents(sums, {})),
                statement_id=UNSET if reference is None else reference.id,
                number=UNSET if reference is None else reference.number,
            )
        )
    addressee, issuer = naming.letterheads.get(organisation_id), naming.issuer()
    status: Literal["PRELIMINARY", "ISSUED"] = "PRELIMINARY" if issue is None else "ISSUED"
    return IssuedStatement(
        id=statement_id(organisation_id, month),
        organisation_id=organisation_id,
        organisation_name=addressee.name if addressee else "",
        month=str(month),
        status=status,
        start=month.window.start,
        end=month.window.end,
        lines=lines,
        total=show_euros(amounts.total_cents),
        corrects=corrected,
        to_date=UNSET if issue or amounts.to_date_cents is None else show_euros(amounts.to_date_cents),
        number=UNSET if issue is None else issue.number,
        issued_at=UNSET if issue is None else issue.issued_at,
        as_of=UNSET if issue is None else issue.as_of,
        address=(addressee.address if addressee else "") or UNSET,
        issuer_name=issuer.name if issuer else UNSET,
        issuer_address=(issuer.address if issuer else "") or UNSET,
        figures=figures,
    )


def _list_lines(
    sums: LineSums,
    month: Month,
    naming: Naming,
    reference: IssuedReference | None,
    *,
    by_day: bool,
    is_correction: bool = False,
) -> list[IssuedLine]:
    keys = in_order(sums)
    days = (
        [month.first_day + timedelta(days=index) for index in range(month.day_count)] if by_day else [month.first_day]
    )
    lines = []
    for index, day in enumerate(days):
        for line, counterparty in keys:
            cents = sums[line, counterparty]
            amount = int(cents[index]) if by_day else int(np.sum(cents))
            if not amount:
                continue
            corrects = CorrectedLine(
                month=str(month),
                line=line,
                statement_id=UNSET if reference is None else reference.id,
                number=UNSET if reference is None else reference.number,
            )
            lines.append(
                IssuedLine(
                    time=market_day_window(day).start,
                    day=day,
                    line=CORRECTION if is_correction else line,
                    amount=show_euros(amount),
                    counterparty=counterparty,
                    counterparty_name=_name_party(counterparty, naming),
                    corrects=corrects if is_correction else UNSET,
                )
            )
    return lines


def _name_party(counterparty: str, naming: Naming) -> str | UnsetType:
    known = naming.letterheads.get(UUID(counterparty)) if len(counterparty) == 36 else None
    return UNSET if known is None else known.name
