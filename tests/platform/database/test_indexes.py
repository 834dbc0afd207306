"""Every statement finds its rows by an index, but for those known to read a table whole.

Planned on an empty database with sequential scans as the last resort: a scan without a condition on an index is one
that no index can serve. A migration that forgets the index of its queries, or drops one, shows here.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from tests.conftest import migrated_database
from tests.platform.database.composed_statements import gather_all

WHOLE_READS = {
    "afrr_activation": 2,
    "afrr_activation_superseded": 1,
    "afrr_capacity_award": 3,
    "afrr_capacity_award_superseded": 1,
    "ancillary_result": 1,
    "asset": 5,
    "auction": 2,
    "auction_bid": 1,
    "audit_log": 1,
    "backtest": 1,
    "delivery_quarters": 1,
    "delivery_run": 2,
    "delivery_zone": 4,
    "environment": 2,
    "event": 1,
    "event_outbox": 1,
    "exchange_notification": 1,
    "exchange_notification_version": 1,
    "external_identity": 1,
    "failures_settled": 1,
    "fcr_award": 3,
    "fcr_award_superseded": 1,
    "feed": 1,
    "feed_topic": 1,
    "fleet": 2,
    "idempotency": 1,
    "invitation": 1,
    "identity_provider": 3,
    "job": 9,
    "market_order": 2,
    "member": 2,
    "net_off": 1,
    "net_off_superseded": 1,
    "organisation": 12,
    "physical_asset": 4,
    "portfolio": 1,
    "rate_limit": 1,
    "request_bucket": 1,
    "sandbox_clock": 9,
    "sandbox_simulator": 15,
    "sandbox_walk": 4,
    "schema_migration": 1,
    "second_factor": 2,
    "session": 4,
    "settled_day": 1,
    "sign_in_network": 1,
    "signing_key": 7,
    "single_sign_on_attempt": 1,
    "statement": 1,
    "statement_month": 1,
    "statement_run": 1,
    "stream_lease": 2,
    "telemetry_block": 2,
    "telemetry_segment": 3,
    "telemetry_usage": 2,
    "tolling_contract": 1,
    "tolling_contract_superseded": 1,
    "unavailability": 1,
    "virtual_asset": 5,
    "webhook": 6,
    "webhook_delivery": 5,
    "wholesale_trade": 2,
    "wholesale_trade_superseded": 1,
}
"""How many functions read each table whole, exactly: small ones, jobs that go through everything, lists in order of a
key, and the status of all zones, which on an empty database is joined by reading both sides. Of invitations a partial
index is as cheap as the key while there are none."""
NOT_PLANNED_HERE = ("pg_dist_", "create_", "undistribute_", "citus_", "run_command_on_workers", "pg_temp.")
"""In statements on what only a distributed database has, or on a table made just before."""
PLAN_OF = """
create function pg_temp.plan_of(statement text) returns json language plpgsql as $$
declare plan json;
begin
  execute 'explain (generic_plan, format json) ' || statement into plan;
  return plan;
end $$
"""
"""Parameters have no values here, which the protocol for statements with parameters does not let through."""


@pytest.fixture
async def db() -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Of an empty database of its own: rows and their statistics would change plans."""
    async with migrated_database() as url:
        connection = await asyncpg.connect(url)
        await connection.execute("set enable_seqscan = off")
        await connection.execute(PLAN_OF)
        yield connection
        await connection.close()


def find_whole_reads(plan: dict[str, Any], first_columns: dict[str, str]) -> Iterator[str]:
    """Tables of which the plan reads every row, or every first value of an index: a condition on a later column alone
    leaves all of it to be walked through."""
    kind = plan["Node Type"]
    if kind == "Seq Scan":
        yield plan["Relation Name"]
    elif kind in ("Index Scan", "Index Only Scan"):
        if not _is_bounded(plan, first_columns):
            yield plan["Relation Name"]
    elif kind == "Bitmap Heap Scan" and not any(_is_bounded(part, first_columns) for part in _find_bitmaps(plan)):
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from find_whole_reads(part, first_columns)


def _is_bounded(scan: dict[str, Any], first_columns: dict[str, str]) -> bool:
    """Whether a condition names the index's first column itself: `id` is no part of `organisation_id` here."""
    column = re.escape(first_columns[scan["Index Name"]])
    return re.search(rf"(?<![\w.]){column}(?!\w)", scan.get("Index Cond", "")) is not None


def _find_bitmaps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in plan.get("Plans", ()):
        if part["Node Type"] == "Bitmap Index Scan":
            yield part
        yield from _find_bitmaps(part)


async def read_first_columns(db: asyncpg.Connection[asyncpg.Record]) -> dict[str, str]:
    """By index; an expression as it is written."""
    rows = await db.fetch(
        "select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid, 1, true) as first from pg_index"
    )
    return {row["name"].split(".")[-1]: row["first"].strip('"()') for row in rows}


async def whole_reads_of(db: asyncpg.Connection[asyncpg.Record], sql: str) -> set[str]:
    if any(name in sql for name in NOT_PLANNED_HERE):
        return set()
    explained = await db.fetchval("select pg_temp.plan_of($1)", sql)
    return set(find_whole_reads(json.loads(explained)[0]["Plan"], await read_first_columns(db)))


class TestAStatement:
    async def test_finds_its_rows_by_an_index_or_is_known_to_read_a_table_whole(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        places: dict[str, set[str]] = {}
        for statement in gather_all():
            for table in await whole_reads_of(db, statement.sql):
                places.setdefault(table, set()).add(statement.place)
        other = {table: found for table, found in places.items() if len(found) != WHOLE_READS.get(table, 0)}
        assert other == {}, "no index serves one of these, or fewer read the table whole than are allowed to"
        assert places.keys() == WHOLE_READS.keys()

    async def test_without_an_index_would_be_seen(self, db: asyncpg.Connection[asyncpg.Record]) -> None:
        asked = "select name from portfolio where organisation_id = $1"
        assert await whole_reads_of(db, asked) == set()
        await db.execute("create temporary table portfolio (organisation_id uuid, name text)")
        assert await whole_reads_of(db, asked) == {"portfolio"}
        await db.execute("create index by_id on pg_temp.portfolio (name, organisation_id)")
        assert await whole_reads_of(db, asked) == {"portfolio"}, "by a later column of an index all of it is walked"
        await db.execute("alter table pg_temp.portfolio add column id uuid")
        await db.execute("create index by_part on pg_temp.portfolio (id, organisation_id)")
        assert await whole_reads_of(db, asked) == {"portfolio"}, "and id is no part of organisation_id"
