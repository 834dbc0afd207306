"""One schema and one set of statements, for a single PostgreSQL and for a distributed one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pglast
import pytest
from tests.platform.database.citus_rules import Judge
from tests.platform.database.citus_tables import Catalogue, read_catalogue
from tests.platform.database.composed_statements import COMPOSED, gather_all
from tests.platform.database.parse_trees import ast, find_all, name_function
from tests.platform.database.statements import find_queries, gather, gather_module

from gridloom.platform.database.citus import (
    FUNCTIONS_OF_A_SHARD,
    FUNCTIONS_ON_WORKERS,
    KEYS_TO_MEMBERS,
    PLACEMENT_OF,
    PLACEMENTS,
    TableKind,
)

OF_MANY_KEYS = {
    "platform/events/store.py:delete_events_before": "a job's",
    "platform/webhooks/delivery_store.py:delete_deliveries_before": "a job's",
    "settlements/sql.py:merge_statement": "facts of many assets in one request, thousands of rows",
    "virtual_assets/portfolio_store.py:set_portfolio_assets": "all assets of a portfolio, now and then",
}
"""Changes that mean several keys at once: on a distributed database they ask all shards."""
CRASH_RUNS = ("bench.crash", "bench.events_crash", "bench.auctions_crash")


@pytest.fixture
async def db(database_url: str) -> Any:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def catalogue(db: asyncpg.Connection[asyncpg.Record]) -> Catalogue:
    return await read_catalogue(db)


class TestAStatement:
    def test_is_known_here_whatever_function_composes_it(self) -> None:
        _, composed = gather()
        assert {one.place for one in composed} == set(COMPOSED)

    def test_is_one_that_a_distributed_database_takes(self, catalogue: Catalogue) -> None:
        texts = gather_all()
        assert len(texts) > 400
        faults = {text.place: judge.faults for text in texts if (judge := Judge(text.sql, catalogue)).faults}
        for place in OF_MANY_KEYS:
            [fault] = faults.pop(place)
            assert "for several of its keys" in fault
        assert faults == {}

    def test_of_a_crash_run_is_one_too(self, catalogue: Catalogue) -> None:
        """So that the same run passes on a distributed database."""
        for module in CRASH_RUNS:
            texts, composed = gather_module(module, module)
            assert composed == []
            faults = {text.place: judge.faults for text in texts if (judge := Judge(text.sql, catalogue)).faults}
            assert faults == {}

    async def test_that_reads_more_than_local_tables_is_in_no_function_of_plain_sql(
        self, db: asyncpg.Connection[asyncpg.Record], catalogue: Catalogue
    ) -> None:
        """There its parameters are not known when it is planned."""
        rows = await db.fetch(
            """
            select p.proname, p.prosrc from pg_proc p join pg_language l on l.oid = p.prolang
            where p.pronamespace = 'public'::regnamespace and l.lanname = 'sql' and p.prosqlbody is null
              and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
            """
        )
        assert [row["proname"] for row in rows if Judge(row["prosrc"], catalogue).tables] == []

    async def test_within_a_function_of_the_database_is_one_too(
        self, db: asyncpg.Connection[asyncpg.Record], catalogue: Catalogue
    ) -> None:
        functions = await db.fetch(
            """
            select p.proname, l.lanname, p.prosrc, pg_get_functiondef(p.oid) as text,
              coalesce(p.proargnames, '{}') as names
            from pg_proc p join pg_language l on l.oid = p.prolang
            where p.pronamespace = 'public'::regnamespace and p.prosqlbody is null
              and p.prorettype <> 'trigger'::regtype
              and l.lanname in ('sql', 'plpgsql')
              and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
            """
        )
        assert {"sequence_events", "place_auction_bid", "login_wait_s"} <= {row["proname"] for row in functions}
        faults = {}
        for row in functions:
            parsed = pglast.parse_plpgsql(row["text"]) if row["lanname"] == "plpgsql" else None
            texts = [row["prosrc"]] if parsed is None else list(find_queries(parsed))
            names = frozenset(row["names"]) | frozenset(() if parsed is None else find_variables(parsed))
            for text in texts:
                if found := Judge(text, catalogue, names).faults:
                    faults[f"{row['proname']}: {text}"] = found
        assert faults == {}

    async def test_behind_a_view_is_one_too(self, db: asyncpg.Connection[asyncpg.Record], catalogue: Catalogue) -> None:
        for view in catalogue.views:
            judge = Judge(await db.fetchval("select pg_get_viewdef($1::text::regclass)", view), catalogue)
            assert judge.tables == set(catalogue.views[view])
            assert judge.faults == [], view

    async def test_calls_of_ours_on_workers_only_what_needs_no_table_and_nothing_else_of_ours(
        self, db: asyncpg.Connection[asyncpg.Record], catalogue: Catalogue
    ) -> None:
        rows = await db.fetch(
            "select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace and proname = any($1)",
            list(FUNCTIONS_ON_WORKERS),
        )
        assert {row["proname"] for row in rows} == FUNCTIONS_ON_WORKERS
        for row in rows:
            body = [raw.stmt for raw in pglast.parse_sql(row["prosrc"])]
            assert find_all(body, ast.RangeVar) == []
            called = {name_function(call) for call in find_all(body, ast.FuncCall)}
            assert called & catalogue.own_functions <= FUNCTIONS_ON_WORKERS

    async def test_of_a_function_of_a_shard_touches_rows_of_its_key_alone(
        self, db: asyncpg.Connection[asyncpg.Record], catalogue: Catalogue
    ) -> None:
        for name, (argument, table) in FUNCTIONS_OF_A_SHARD.items():
            text = await db.fetchval("select pg_get_functiondef($1::text::regproc)", name)
            parsed = pglast.parse_plpgsql(text)
            names = frozenset(find_variables(parsed))
            touching = [query for query in find_queries(parsed) if Judge(query, catalogue, names).tables]
            assert touching
            for query in touching:
                groups = {PLACEMENT_OF[touched].group for touched in Judge(query, catalogue, names).tables}
                assert groups == {PLACEMENT_OF[table].group}
                assert f"asset_key = {argument}" in query or f"values ({argument}," in query


def find_variables(node: Any) -> Iterator[str]:
    for text in (part for part in json.dumps(node).split('"refname": "')[1:]):
        yield text.partition('"')[0]


class TestTheSchema:
    async def test_places_every_table_and_no_other(self, db: asyncpg.Connection[asyncpg.Record]) -> None:
        rows = await db.fetch(
            "select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace"
        )
        assert {row["relname"] for row in rows} == set(PLACEMENT_OF)
        assert len(PLACEMENTS) == len(PLACEMENT_OF)

    async def test_has_the_distribution_column_in_every_key(self, db: asyncpg.Connection[asyncpg.Record]) -> None:
        """Of unique and exclusion constraints and unique indexes alike."""
        rows = await db.fetch(
            """
            select c.relname as table, i.relname as index, array(
              select a.attname::text from unnest(x.indkey[0:x.indnkeyatts - 1]) k join pg_attribute a
                on a.attrelid = c.oid and a.attnum = k) as columns
            from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
            where c.relnamespace = 'public'::regnamespace and (x.indisunique or x.indisexclusion)
            """
        )
        wrong = [
            row["index"]
            for row in rows
            if (placement := PLACEMENT_OF[row["table"]]).kind is TableKind.DISTRIBUTED
            and placement.column not in row["columns"]
        ]
        assert wrong == []

    async def test_compares_by_equality_what_a_table_is_spread_by_where_ranges_exclude_each_other(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        rows = await db.fetch(
            """
            select k.conname, c.relname as table, array(
              select a.attname::text from unnest(k.conkey, k.conexclop) u(n, operator)
                join pg_attribute a on a.attrelid = c.oid and a.attnum = u.n
                join pg_operator o on o.oid = u.operator and o.oprname = '=') as equal
            from pg_constraint k join pg_class c on c.oid = k.conrelid
            where k.contype = 'x' and k.connamespace = 'public'::regnamespace
            """
        )
        assert rows
        assert [row["conname"] for row in rows if PLACEMENT_OF[row["table"]].column not in row["equal"]] == []

    async def test_spreads_tables_that_lie_together_by_columns_of_one_type_that_are_never_null(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        rows = await db.fetch(
            """
            select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
              a.attnotnull and a.attgenerated = '' as is_fit
            from pg_class c join pg_attribute a on a.attrelid = c.oid
            where c.relnamespace = 'public'::regnamespace and a.attnum > 0
            """
        )
        columns = {(row["table"], row["column"]): row for row in rows}
        spread = [one for one in PLACEMENTS if one.kind is TableKind.DISTRIBUTED]
        assert [one.table for one in spread if not columns[one.table, one.column]["is_fit"]] == []
        types = {(one.group, columns[one.table, one.column]["type"]) for one in spread}
        assert types == {("asset", "integer"), ("organisation", "uuid"), ("auction", "uuid")}

    async def test_numbers_the_rows_of_no_further_table_that_is_spread(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """A migration's table that points to a reference table is managed by the extension at once, and from there a
        table with an identity column cannot be spread. Those of the first release are, as plain tables."""
        rows = await db.fetch(
            """
            select c.relname as table from pg_attribute a join pg_class c on c.oid = a.attrelid
            where a.attidentity <> '' and c.relnamespace = 'public'::regnamespace
            """
        )
        numbered = {row["table"] for row in rows if PLACEMENT_OF[row["table"]].kind is TableKind.DISTRIBUTED}
        assert numbered == {"audit_log", "logbook_entry", "ancillary_bid"}

    async def test_points_only_to_what_lies_together_or_everywhere(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        rows = await db.fetch(
            """
            select k.conname, s.relname as source, t.relname as target,
              array(select a.attname::text from unnest(k.conkey) with ordinality u(n, place)
                    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by place) as columns,
              array(select a.attname::text from unnest(k.confkey) with ordinality u(n, place)
                    join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by place) as targets
            from pg_constraint k join pg_class s on s.oid = k.conrelid join pg_class t on t.oid = k.confrelid
            where k.contype = 'f' and k.connamespace = 'public'::regnamespace
            """
        )
        assert len(rows) > 30
        assert {row["conname"] for row in rows if not may_point(row)} == set(KEYS_TO_MEMBERS), "dropped by `distribute`"

    async def test_forgets_by_a_reference_nothing_by_which_a_table_is_spread(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """ON DELETE SET NULL or DEFAULT of that column, or ON UPDATE of it, would move a row to another worker."""
        rows = await db.fetch(
            """
            select k.conname, k.confupdtype::text as on_update, s.relname as source,
              array(select a.attname::text from pg_attribute a
                    where a.attrelid = k.conrelid and k.confdeltype in ('n', 'd')
                      and a.attnum = any(coalesce(nullif(k.confdelsetcols, '{}'), k.conkey))) as forgotten,
              array(select a.attname::text from pg_attribute a
                    where a.attrelid = k.conrelid and a.attnum = any(k.conkey)) as columns
            from pg_constraint k join pg_class s on s.oid = k.conrelid
            where k.contype = 'f' and k.connamespace = 'public'::regnamespace
            """
        )
        columns = {row["conname"]: PLACEMENT_OF[row["source"]].column for row in rows}
        assert [row["conname"] for row in rows if columns[row["conname"]] in row["forgotten"]] == []
        moving = [row for row in rows if row["on_update"] not in ("a", "r")]
        assert [row["conname"] for row in moving if columns[row["conname"]] in row["columns"]] == []

    async def test_computes_no_value_or_check_by_a_function_that_workers_lack(
        self, db: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """Defaults, checks, generated columns and indexes go to the workers along with their table."""
        rows = await db.fetch(
            """
            select distinct t.relname as table, p.proname as function from pg_depend d
              join pg_proc p on p.oid = d.refobjid and d.refclassid = 'pg_proc'::regclass
              left join pg_attrdef a on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
              left join pg_constraint c on d.classid = 'pg_constraint'::regclass and c.oid = d.objid
              left join pg_index i on d.classid = 'pg_class'::regclass and i.indexrelid = d.objid
              join pg_class t on t.oid = coalesce(a.adrelid, c.conrelid, i.indrelid)
            where p.pronamespace = 'public'::regnamespace
              and not exists (select from pg_depend e where e.objid = p.oid and e.deptype = 'e')
            """
        )
        wrong = {
            (row["table"], row["function"])
            for row in rows
            if PLACEMENT_OF[row["table"]].kind is not TableKind.LOCAL and row["function"] not in FUNCTIONS_ON_WORKERS
        }
        assert wrong == set()

    async def test_has_no_trigger_on_what_is_not_local(self, db: asyncpg.Connection[asyncpg.Record]) -> None:
        rows = await db.fetch("select tgrelid::regclass::text as table from pg_trigger where not tgisinternal")
        assert [row["table"] for row in rows if PLACEMENT_OF[row["table"]].kind is not TableKind.LOCAL] == []

    def test_is_placed_in_an_order_in_which_each_table_comes_after_what_it_points_to(self) -> None:
        kinds = [placement.kind for placement in PLACEMENTS]
        assert kinds == sorted(kinds, key=[TableKind.REFERENCE, TableKind.DISTRIBUTED, TableKind.LOCAL].index)


def may_point(row: asyncpg.Record) -> bool:
    source, target = PLACEMENT_OF[row["source"]], PLACEMENT_OF[row["target"]]
    if target.kind is TableKind.REFERENCE:
        return source.kind is not TableKind.LOCAL
    if source.kind is TableKind.LOCAL:
        return target.kind is TableKind.LOCAL
    if source.group is None or source.group != target.group:
        return False
    return (source.column, target.column) in set(zip(row["columns"], row["targets"], strict=True))
