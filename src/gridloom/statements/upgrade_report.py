"""Changes of the open months by settling failures: each organisation's lines by the rules of earlier releases, and by
those of this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.physical_assets.availability.changes import ASSESS_FAILURES_JOB
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.statements import ledger_store, store
from gridloom.statements.assembling import show_euros
from gridloom.statements.entries import load_accounts
from gridloom.statements.model import LineSums, Month
from gridloom.statements.rules import sum_by_organisation

NEVER: Final = 2**31 - 1
"""The first period settled by failures, where none is."""


class StillAssessing(Exception):
    """Failures of past periods are not all recorded yet."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line of an organisation in an open month, EUR from its side, over all counterparties."""

    organisation_id: UUID
    organisation_name: str
    month: Month
    line: str
    before: Decimal
    after: Decimal

    @property
    def change(self) -> Decimal:
        return self.after - self.before


async def list_changes(db: Database) -> list[LineChange]:
    """Of all organisations, by name, month and line; only what changes."""
    if await store.is_any_job_waiting(db, ASSESS_FAILURES_JOB):
        raise StillAssessing
    letterheads = await store.read_letterheads(db)
    found = []
    for month in await _list_open_months(db):
        assets = await ledger_store.list_assets(db, None, month.window)
        before, after = [
            sum_by_organisation((await load_accounts(db, assets, month, None, settled_from=first)).all_entries)
            for first in (NEVER, None)
        ]
        for id in sorted({*before, *after}):
            old, new = _sum_lines(before.get(id, {})), _sum_lines(after.get(id, {}))
            name = letterheads[id].name if id in letterheads else ""
            found += [
                LineChange(id, name, month, line, show_euros(old.get(line, 0)), show_euros(new.get(line, 0)))
                for line in sorted({*old, *new})
                if old.get(line, 0) != new.get(line, 0)
            ]
    return sorted(found, key=lambda one: (one.organisation_name, one.organisation_id, one.month, one.line))


async def _list_open_months(db: Database) -> Sequence[Month]:
    issued = await store.list_months(db)
    current = Month.of(await platform_now(db))
    if issued:
        month = issued[-1].month.following
    else:
        keys = [asset.key for asset in await ledger_store.list_assets(db, None, current.window)]
        first = await ledger_store.read_first_day(db, keys)
        month = current if first is None else Month(first.replace(day=1))
    months = []
    while month <= current:
        months.append(month)
        month = month.following
    return months


def _sum_lines(sums: LineSums) -> Mapping[str, int]:
    """Cents by line."""
    found: dict[str, int] = {}
    for (line, _), cents in sums.items():
        found[line] = found.get(line, 0) + int(np.sum(cents))
    return found
