"""The amounts of an organisation's open months by all facts recorded so far, corrections of issued months included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.market_time import period_number
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.revenue.statement.model import Cents
from gridloom.statements import ledger_store, store
from gridloom.statements.assembling import Amounts, Naming, show_euros
from gridloom.statements.entries import load_accounts, unpack_all
from gridloom.statements.figures import add_battery_lines, load_organisation_mw, show_figures
from gridloom.statements.model import IssuedMonth, LineKey, Month
from gridloom.statements.rules import subtract_entries, sum_by_organisation, total_cents
from gridloom.statements.views import StatementFigures

LATE: Final = timedelta(hours=1)
"""Facts recorded so long before a run may have been committed after it, and are read again."""


async def list_open_months(db: Database, organisation_id: UUID, issued: Sequence[IssuedMonth]) -> list[Month]:
    """Those that the organisation may have a preliminary statement of, the newest first."""
    current = Month.of(await platform_now(db))
    if issued:
        month = issued[-1].month.following
    else:
        first = await ledger_store.read_first_day(db, await ledger_store.read_related_keys(db, organisation_id))
        if first is None:
            return []
        month = Month(first.replace(day=1))
    months = []
    while month <= current:
        months.append(month)
        month = month.following
    return months[::-1]


async def compute_amounts(db: Database, organisation_id: UUID, month: Month, issued: Sequence[IssuedMonth]) -> Amounts:
    """Of an open month; the earliest one carries the corrections."""
    keys = await ledger_store.read_related_keys(db, organisation_id)
    assets = await ledger_store.list_assets(db, keys, month.window)
    now = period_number(await platform_now(db))
    first, end = (period_number(edge) for edge in (month.window.start, month.window.end))
    cut_at = now if first < now < end else None
    accounts = await load_accounts(db, assets, month, None, only=organisation_id, cut_at=cut_at)
    own = sum_by_organisation(accounts.all_entries).get(organisation_id, {})
    corrections: dict[Month, dict[LineKey, Cents]] = {}
    if issued and month == issued[-1].month.following:
        corrections = await _compute_corrections(db, organisation_id, keys, issued)
    owned = {asset.key for asset in assets if asset.organisation_id == organisation_id}
    months = {key: one for key, one in accounts.months.items() if key in owned}
    months = add_battery_lines(months, accounts.battery_eur)
    amounts = Amounts(organisation_id, month, own, corrections, months)
    if end <= now:
        return replace(amounts, to_date_cents=amounts.total_cents)
    passed_cents = accounts.passed_cents.get(organisation_id, 0)
    return replace(amounts, to_date_cents=passed_cents + total_cents({}, corrections))


async def _compute_corrections(
    db: Database, organisation_id: UUID, keys: Sequence[int], issued: Sequence[IssuedMonth]
) -> dict[Month, dict[LineKey, Cents]]:
    months = [one.month for one in issued]
    changed = await ledger_store.find_changed(db, keys, months, issued[-1].as_of - LATE)
    found = {}
    for original, own_keys in ledger_store.by_month(changed).items():
        assets = await ledger_store.list_assets(db, own_keys, original.window)
        now = await load_accounts(db, assets, original, None)
        accounted = unpack_all(await ledger_store.read_accounts(db, original, own_keys))
        differences = subtract_entries(now.all_entries, accounted)
        if organisation_id in differences:
            found[original] = differences[organisation_id]
    return found


async def load_figures(db: Database, amounts: Sequence[Amounts]) -> dict[UUID, StatementFigures]:
    """By organisation, of one month."""
    named = await ledger_store.read_named_assets(db, [key for one in amounts for key in one.months])
    found = {}
    for one in amounts:
        assets = [(named[key], month) for key, month in one.months.items()]
        rated_mw = await load_organisation_mw(db, one.organisation_id, one.month)
        found[one.organisation_id] = show_figures(rated_mw, show_euros(total_cents(one.own, {})), assets)
    return found


async def load_naming(db: Database, organisations: Sequence[UUID], months: Sequence[Month]) -> Naming:
    return Naming(await store.read_letterheads(db), await store.read_references(db, organisations, months))
