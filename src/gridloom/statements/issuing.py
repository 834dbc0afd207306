"""Issuing a month: what was measured becomes facts, every asset is computed as of one instant, and all statements are
written in one transaction.

A run goes in steps, each a transaction that adds drafts, so that progress shows and a crash costs one step. Nothing is
issued and no number is used before the last step commits.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from msgspec import structs

from gridloom.delivery.performance import store as measured_store
from gridloom.delivery.performance.recording import record_measured_days
from gridloom.kernel.market_time import market_day_of
from gridloom.kernel.permission import Permission
from gridloom.kernel.window import Window
from gridloom.markets.benchmark.monthly import load_foresight
from gridloom.platform.database.clock import platform_now_to_the_ms, real_now
from gridloom.platform.database.pool import Database
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.platform.http.fields import to_json
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.revenue.statement.model import Cents
from gridloom.statements import ledger_store, store
from gridloom.statements.assembling import Amounts, Issue, Naming, assemble, show_euros
from gridloom.statements.computing import LATE, load_figures, load_naming
from gridloom.statements.entries import EMPTY, load_accounts, pack_entries, unpack_all
from gridloom.statements.figures import AssetMonth, add_battery_lines, sum_battery_lines
from gridloom.statements.model import (
    IssuedMonth,
    LineKey,
    Month,
    NewStatement,
    RunStatus,
    StatementRun,
    number_of,
    statement_id,
)
from gridloom.statements.rules import subtract_entries, sum_by_organisation
from gridloom.statements.views import StatementFigures

KIND: Final = "statements.issue"
ASSETS_AT_ONCE: Final = 25
MAX_ATTEMPTS: Final = 3


@job(KIND, limit=timedelta(minutes=5), bulk=True)
async def issue_month(run: JobRun) -> None:
    """The next step of one run; it queues itself again until all statements are written."""
    found = await store.read_run(run.db, UUID(run.key))
    if found is None or found.status is not RunStatus.RUNNING:
        return
    if run.attempt > MAX_ATTEMPTS:
        fault = f"A step failed {MAX_ATTEMPTS} times; the service's log says why."
        await store.end_run(run.db, found.id, RunStatus.FAILED, await platform_now_to_the_ms(run.db), fault)
        return
    step = int(run.payload.get("step", 0))
    if found.as_of is None:
        await _measure_batteries(run.db, found, step)
    elif waiting := await store.list_waiting(run.db, found.id, ASSETS_AT_ONCE):
        await _compute_some(run.db, found, found.as_of, waiting)
    else:
        await _issue_all(run.db, found, found.as_of)
        return
    await enqueue(run.db, KIND, key=run.key, due=await real_now(run.db), payload={"step": step + 1})


async def _measure_batteries(db: Database, run: StatementRun, step: int) -> None:
    """Record what telemetry says of days without a record, some batteries at a time; then the instant is set."""
    issued = await store.list_months(db)
    first = issued[0].month if issued else run.month
    assets = await ledger_store.list_assets(db, None, run.month.window)
    batteries = [asset for asset in assets if not asset.is_virtual]
    last_day = run.month.following.first_day - timedelta(days=1)
    for battery in batteries[step * ASSETS_AT_ONCE : (step + 1) * ASSETS_AT_ONCE]:
        days = await measured_store.read_unrecorded_days(db, battery.key, first.first_day, last_day)
        await record_measured_days(db, battery.key, days, await platform_now_to_the_ms(db))
    if (step + 1) * ASSETS_AT_ONCE < len(batteries):
        return
    wanted = {(asset.key, run.month) for asset in assets} | await _find_corrected(db, issued)
    as_of = await platform_now_to_the_ms(db)
    await store.start_computing(db, run.id, as_of, sorted(wanted, key=lambda one: (one[1], one[0])))


async def _find_corrected(db: Database, issued: Sequence[IssuedMonth]) -> set[ledger_store.AssetMonth]:
    """Assets and issued months of which something was recorded since the last run."""
    if not issued:
        return set()
    whole = Window(issued[0].month.window.start, issued[-1].month.window.end)
    keys = [asset.key for asset in await ledger_store.list_assets(db, None, whole)]
    return await ledger_store.find_changed(db, keys, [one.month for one in issued], issued[-1].as_of - LATE)


async def _compute_some(
    db: Database, run: StatementRun, as_of: datetime, waiting: Sequence[ledger_store.AssetMonth]
) -> None:
    for month, keys in ledger_store.by_month(waiting).items():
        assets = await ledger_store.list_assets(db, keys, month.window)
        accounts = await load_accounts(db, assets, month, as_of)
        bodies = {key: pack_entries(accounts.entries.get(key, ())) for key in keys}
        months = await _add_foresight(db, assets, accounts.months, month) if month == run.month else {}
        figures = {key: msgspec.msgpack.encode(one) for key, one in months.items()}
        await store.write_drafts(db, run.id, month, bodies, figures)


async def _add_foresight(
    db: Database, assets: Sequence[ledger_store.AssetOwner], months: Mapping[int, AssetMonth], month: Month
) -> dict[int, AssetMonth]:
    """The same, each with what the best day-ahead schedules of the month would have earned."""
    is_virtual = {asset.key: asset.is_virtual for asset in assets}
    physical = [key for key in months if not is_virtual[key]]
    virtual = [key for key in months if is_virtual[key]]
    foresight_eur = await load_foresight(db, physical, virtual, month.window)
    return {key: structs.replace(one, foresight_eur=foresight_eur.get(key)) for key, one in months.items()}


# --- the last step ----------------------------------------------------------------------------------------------------


async def _issue_all(db: Database, run: StatementRun, as_of: datetime) -> None:
    """All statements of the month, their numbers, accounts and events, in the transaction of `db`."""
    now = await platform_now_to_the_ms(db)
    drafts = await store.read_drafts(db, run.id)
    earlier = {month: bodies for month, bodies in drafts.items() if month != run.month}
    accounted = {month: await ledger_store.read_accounts(db, month, list(bodies)) for month, bodies in earlier.items()}
    amounts = await _add_months(db, run, await asyncio.to_thread(_sum_amounts, run.month, drafts, accounted))
    organisations = [one.organisation_id for one in amounts]
    naming = await load_naming(db, organisations, list(earlier))
    year = market_day_of(now).year
    numbers = await store.read_last_numbers(db, organisations, year)
    digests = await store.read_last_digests(db, organisations)
    issue = _Issuing(now, as_of, year, naming, await load_figures(db, amounts))
    statements = await asyncio.to_thread(_write_statements, amounts, issue, numbers, digests)
    await store.add_month(db, run.month, run.id, as_of, now)
    rows = [
        (key, month, body)
        for month, bodies in drafts.items()
        for key, body in bodies.items()
        if body != EMPTY or key in accounted.get(month, {})
    ]
    await ledger_store.add_accounts(db, as_of, rows)
    await store.add_statements(db, statements)
    await store.end_run(db, run.id, RunStatus.DONE, now)
    await record_events(db, [_make_event(statement) for statement in statements])


@dataclass(frozen=True, slots=True)
class _Issuing:
    now: datetime
    as_of: datetime
    year: int
    naming: Naming
    figures: Mapping[UUID, StatementFigures]


async def _add_months(db: Database, run: StatementRun, amounts: Sequence[Amounts]) -> list[Amounts]:
    """The same, each with what the organisation's batteries did."""
    drafted = await store.read_drafted_figures(db, run.id, run.month)
    owners = await ledger_store.list_assets(db, list(drafted), run.month.window)
    by_owner: dict[UUID, dict[int, AssetMonth]] = {}
    for owner in owners:
        month = msgspec.msgpack.decode(drafted[owner.key], type=AssetMonth)
        by_owner.setdefault(owner.organisation_id, {})[owner.key] = month
    battery_eur = sum_battery_lines(month for months in by_owner.values() for month in months.values())
    return [
        replace(one, months=add_battery_lines(by_owner.get(one.organisation_id, {}), battery_eur)) for one in amounts
    ]


def _sum_amounts(
    month: Month, drafts: Mapping[Month, Mapping[int, bytes]], accounted: Mapping[Month, Mapping[int, bytes]]
) -> list[Amounts]:
    """By organisation, of those that have lines."""
    own = sum_by_organisation(unpack_all(drafts.get(month, {})))
    corrections: dict[UUID, dict[Month, dict[LineKey, Cents]]] = {}
    for original, known in accounted.items():
        for organisation_id, sums in subtract_entries(unpack_all(drafts[original]), unpack_all(known)).items():
            corrections.setdefault(organisation_id, {})[original] = sums
    return [
        Amounts(organisation_id, month, own.get(organisation_id, {}), corrections.get(organisation_id, {}))
        for organisation_id in sorted({*own, *corrections})
    ]


def _write_statements(
    amounts: Sequence[Amounts], issuing: _Issuing, numbers: Mapping[UUID, int], digests: Mapping[UUID, bytes]
) -> list[NewStatement]:
    statements = []
    for one in amounts:
        number = numbers.get(one.organisation_id, 0) + 1
        issue = Issue(number_of(issuing.year, number), issuing.now, issuing.as_of)
        body = to_json(assemble(one, issuing.naming, issue, issuing.figures[one.organisation_id]))
        before = digests.get(one.organisation_id, b"")
        statements.append(
            NewStatement(
                organisation_id=one.organisation_id,
                id=statement_id(one.organisation_id, one.month),
                month=one.month,
                year=issuing.year,
                number=number,
                issued_at=issuing.now,
                total_cents=one.total_cents,
                body=body,
                summary=to_json(assemble(one, issuing.naming, issue, by_day=False)),
                digest=hashlib.sha256(before + body).digest(),
            )
        )
    return statements


def _make_event(statement: NewStatement) -> NewEvent:
    return NewEvent(
        type="statement.issued",
        organisation_id=statement.organisation_id,
        subject=f"organisations/{statement.organisation_id}/statements/{statement.id}",
        permission=Permission.READ_REVENUE,
        data={
            "statementID": statement.id,
            "number": number_of(statement.year, statement.number),
            "month": str(statement.month),
            "total": float(show_euros(statement.total_cents)),
        },
    )
