"""What functions of the stores put together, each with all that it can become; and all statements, these included."""

from __future__ import annotations

from itertools import permutations

from tests.platform.database.statements import Statement, gather

from gridloom.platform.audit import recording as audit
from gridloom.platform.database import commit
from gridloom.platform.events import outbox as events
from gridloom.platform.http import idempotency
from gridloom.platform.identity.store import organisations
from gridloom.settlements import sql as settlements
from gridloom.settlements.measures import AGGREGATED_SOURCES
from gridloom.settlements.model import KIND_OF, FactKind

LAST_ROWS = (audit.ENTRIES, events.OUTBOX_ROWS, idempotency.ANSWERS)
AT_ONCE = (organisations.ORGANISATIONS, audit.ENTRIES, idempotency.ANSWERS)
FACT_KINDS: tuple[FactKind, ...] = tuple(dict.fromkeys(KIND_OF.values()))

COMPOSED = {
    "settlements/sql.py:merge_statement": lambda: [settlements.merge_statement(kind) for kind in FACT_KINDS],
    "settlements/sql.py:summary_statement": lambda: [
        settlements.summary_statement(source, as_of=as_of) for source in AGGREGATED_SOURCES for as_of in (False, True)
    ],
    "settlements/sql.py:starts_statement": lambda: [
        settlements.starts_statement(source, as_of=as_of) for source in AGGREGATED_SOURCES for as_of in (False, True)
    ],
    "settlements/sql.py:store_period_aggregates_statement": lambda: [
        settlements.store_period_aggregates_statement(source) for source in AGGREGATED_SOURCES
    ],
    "settlements/sql.py:store_daily_sums_statement": lambda: [
        settlements.store_daily_sums_statement(source).text for source in AGGREGATED_SOURCES
    ],
    "settlements/sql.py:list_statement": lambda: [
        settlements.list_statement(kind, of_assets=of, all_versions=every, as_of=as_of, goes_on=goes_on).text
        for kind in FACT_KINDS
        for of in (False, True)
        for every in (False, True)
        for as_of in (False, True)
        for goes_on in (False, True)
    ],
    "revenue/store.py:read_days": lambda: [
        "select asset_key, day - $2::date, fcr from settled_periods"
        " where asset_key = any($1::int[]) and day between $2 and $3 order by asset_key, day"
    ],
    "platform/database/commit.py:insert": lambda: [target.insert(1, 0) for target in {*LAST_ROWS, *AT_ONCE}],
    "platform/database/commit.py:compose_statement": lambda: [
        commit.compose_statement(tuple((target, 2) for target in targets))
        for count in (2, 3)
        for targets in (*permutations(LAST_ROWS, count), AT_ONCE[:count])
    ],
}


def gather_all() -> list[Statement]:
    found, _ = gather()
    return [*found, *(Statement(place, sql) for place, make in COMPOSED.items() for sql in make())]
