"""Rules of issuing, and how amounts become lines and corrections; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import Conflict
from gridloom.revenue.statement.model import Cents, LineType, Party
from gridloom.statements.model import LineKey, LineSums, Month, PartyEntry, is_zero

_OUTSIDERS: Final = frozenset(Party)


class MonthNotOver(Conflict, title="The month is not over"):
    """The month has not ended on the platform's clock, in market time. PRELIMINARY statements show it so far."""


class AlreadyIssued(Conflict, title="The month is issued already"):
    """The month is issued, or lies before the first one that was. What changes afterwards is a CORRECTION of the
    earliest open month."""


class EarlierMonthOpen(Conflict, title="An earlier month is open"):
    """Months are issued in order, and one before this is not issued yet. `openMonth` is the next in turn."""


class BeingIssued(Conflict, title="A month is being issued"):
    """A run is under way; `runID` names it. Wait for it to end."""


class FactsMissing(Conflict, title="Facts of the month are missing"):
    """Facts of the month are not there yet; `missing` lists every gap.

    Record them, or send `allowMissing: true`: what comes later is then corrected by a later statement.
    """


def check_month(month: Month, issued: Sequence[Month], now: datetime) -> None:
    """Whether the month is the next to be issued; `issued` in order."""
    if month.window.end > now:
        raise MonthNotOver(f"{month} ends at {format_instant(month.window.end)}.")
    if not issued:
        return
    if month <= issued[-1]:
        detail = (
            f"{month} lies before {issued[0]}, the first month issued." if month < issued[0] else f"{month} is issued."
        )
        raise AlreadyIssued(detail)
    if month != issued[-1].following:
        following = issued[-1].following
        raise EarlierMonthOpen(f"{following} has to be issued before {month}.", openMonth=str(following))


def sum_by_organisation(entries: Iterable[PartyEntry]) -> dict[UUID, dict[LineKey, Cents]]:
    """Entries of one month, those of the same line and counterparty as one; what is zero on every day is left out."""
    sums: dict[UUID, dict[LineKey, Cents]] = {}
    for entry in entries:
        own = sums.setdefault(entry.organisation_id, {})
        key = entry.line, entry.counterparty
        own[key] = own[key] + entry.cents if key in own else entry.cents
    return _without_zeros(sums)


def subtract_entries(now: Iterable[PartyEntry], accounted: Iterable[PartyEntry]) -> dict[UUID, dict[LineKey, Cents]]:
    """The difference of one month's facts from what was accounted, by organisation: its corrections."""
    negated = [PartyEntry(one.organisation_id, one.line, one.counterparty, -one.cents) for one in accounted]
    return sum_by_organisation([*now, *negated])


def _without_zeros(sums: Mapping[UUID, LineSums]) -> dict[UUID, dict[LineKey, Cents]]:
    left = {
        organisation_id: {key: cents for key, cents in own.items() if not is_zero(cents)}
        for organisation_id, own in sums.items()
    }
    return {organisation_id: own for organisation_id, own in left.items() if own}


def in_order(sums: LineSums) -> list[LineKey]:
    """As statements show them: by line, then counterparty."""
    order = {line: index for index, line in enumerate(LineType)}
    return sorted(sums, key=lambda key: (order[key[0]], key[1]))


def total_cents(own: LineSums, corrections: Mapping[Month, LineSums]) -> int:
    return sum(int(np.sum(cents)) for sums in (own, *corrections.values()) for cents in sums.values())


PartyAmounts = dict[tuple[str, str], Decimal]
"""EUR by line and party."""


def sum_parties(lines: Iterable[tuple[UUID, str, str, Decimal]]) -> PartyAmounts:
    """From lines of all organisations (organisation, line, counterparty, amount), each also from the side of a
    counterparty that has no statement: the market, grid operators and outside parties."""
    sums: PartyAmounts = {}
    for organisation_id, line, counterparty, amount in lines:
        own = line, str(organisation_id)
        sums[own] = sums.get(own, Decimal(0)) + amount
        if counterparty in _OUTSIDERS:
            sums[line, counterparty] = sums.get((line, counterparty), Decimal(0)) - amount
    return {key: sums[key] for key in sorted(sums) if sums[key]}


def sum_over_parties(sums: PartyAmounts) -> dict[str, Decimal]:
    totals: dict[str, Decimal] = {}
    for (line, _), amount in sums.items():
        totals[line] = totals.get(line, Decimal(0)) + amount
    return totals
