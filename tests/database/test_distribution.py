"""One schema and one set of statements, for a single PostgreSQL and for a distributed one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import asyncpg
import pglast
import pytest
from tests.database.citus_rules import Catalogue, Judge
from tests.database.statements import Statement, gather

from gridloom.audit import store as audit
from gridloom.database import last_rows
from gridloom.database.distribution import PLACEMENT_OF, PLACEMENTS, Kind
from gridloom.edge import idempotency
from gridloom.events import store as events
from gridloom.settlements import statements as settlements
from gridloom.settlements.measures import KEPT_SOURCES
from gridloom.settlements.model import KIND_OF, FactKind
from gridloom.virtual_assets.schedule import store as schedule_store

LAST_ROWS = (audit._ENTRIES, events._OUTBOX_ROWS, idempotency._ANSWERS)
FACT_KINDS: tuple[FactKind, ...] = tuple(dict.fromkeys(KIND_OF.values()))


@pytest.fixture
async def db(database_url: str) -> Any:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def catalogue(db: asyncpg.Connection[asyncpg.Record]) -> Catalogue:
    volatility = await db.fetch(
        "select proname, max(position(provolatile::text in 'isv')) as worst from pg_proc group by proname"
    )
    own = await db.fetch(
        """
        select proname from pg_proc p where pronamespace = 'public'::regnamespace
          and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
        """
    )
    views: dict[str, set[str]] = {}
    for view, table in await db.fetch(
        "select view_name, table_name from information_schema.view_table_usage where view_schema = 'public'"
    ):
        views.setdefault(view, set()).add(table)
    return Catalogue(
        {row["proname"]: "isv"[row["worst"] - 1] for row in volatility},
        frozenset(row["proname"] for row in own),
        {view: frozenset(tables) for view, tables in views.items()},
    )


COMPOSED = {
    "settlements/statements.py:merge_statement": lambda: [settlements.merge_statement(kind) for kind in FACT_KINDS],
    "settlements/statements.py:summary_statement": lambda: [
        settlements.summary_statement(source, as_of=as_of) for source in KEPT_SOURCES for as_of in (False, True)
    ],
    "settlements/statements.py:starts_statement": lambda: [
        settlements.starts_statement(source, as_of=as_of) for source in KEPT_SOURCES for as_of in (False, True)
    ],
    "settlements/statements.py:keep_sheets_statement": lambda: [
        settlements.keep_sheets_statement(source) for source in KEPT_SOURCES
    ],
    "settlements/statements.py:keep_sums_statement": lambda: [
        settlements.keep_sums_statement(source) for source in KEPT_SOURCES
    ],
    "settlements/statements.py:list_statement": lambda: [
        settlements.list_statement(kind, of_assets=of, all_versions=every, as_of=as_of, goes_on=goes_on)
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
    "database/last_rows.py:insert": lambda: [target.insert(1, 0) for target in LAST_ROWS],
    "database/last_rows.py:_compose_statement": lambda: [
        last_rows._compose_statement(tuple((target, 2) for target in targets))
        for count in (2, 3)
        for targets in permutations(LAST_ROWS, count)
    ],
    "database/last_rows.py:_add_parts": lambda: [
        last_rows._add_parts(schedule_store._WRITE_VERSION, tuple((target, 1) for target in targets))
        for count in (1, 2)
        for targets in permutations(LAST_ROWS, count)
    ],
    "webhooks/store.py:read": lambda: [
        f"select * from webhook where organisation_id = $1 and id = $2 {lock}" for lock in ("", "for update")
    ],
}
"""What functions put together, each with all that it can become."""


class TestAStatement:
    def test_is_known_here_whatever_function_composes_it(self) -> None:
        _, composed = gather()
        assert {one.place for one in composed} == set(COMPOSED)

    def test_is_one_that_a_distributed_database_takes(self, catalogue: Catalogue) -> None:
        found, _ = gather()
        texts = [*found, *(Statement(place, sql) for place, make in COMPOSED.items() for sql in make())]
        assert len(texts) > 400
        faults = {text.place: judge.faults for text in texts if (judge := Judge(text.sql, catalogue)).faults}
        assert faults == {}

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


def find_queries(node: Any) -> Iterator[str]:
    """The statements of a function in PL/pgSQL; its bare expressions read no table."""
    if isinstance(node, list):
        for part in node:
            yield from find_queries(part)
    elif isinstance(node, dict):
        expression = node.get("PLpgSQL_expr")
        if expression is not None and expression.get("parseMode", 0) == 0:
            yield expression["query"]
        for part in node.values():
            yield from find_queries(part)


def find_variables(node: Any) -> Iterator[str]:
    for text in (part for part in json.dumps(node).split('"refname": "')[1:]):
        yield text.partition('"')[0]


REFUSED = (
    ("volatile", "update organisation set updated_at = clock_timestamp() where id = $1"),
    ("volatile", "update virtual_asset set end_at = platform_now() where asset_key = $1"),
    ("volatile", "delete from event where sequenced_at < clock_timestamp()"),
    (
        "not immutable",
        """insert into asset_grant (asset_key, organisation_id) values ($1, $2)
           on conflict (asset_key, organisation_id) do update set updated_at = now()""",
    ),
    (
        "sub-query in INSERT",
        "insert into webhook (organisation_id, position) values ($1, (select max(sequence) from event))",
    ),
    (
        "locks over a join",
        """select v.asset_key from virtual_asset v join asset a on a.key = v.asset_key
           where a.id = $1 for no key update of v""",
    ),
    ("several keys", "select asset_key from virtual_asset where asset_key = any($1) for update"),
    (
        "correlated",
        "select p.id, array(select asset_key from virtual_asset v where v.portfolio_id = p.id) from portfolio p",
    ),
    (
        "correlated",
        """select v.asset_key, (select a.id from asset a where a.key = v.asset_key) from virtual_asset v
           where v.organisation_id = $1""",
    ),
    (
        "lateral",
        """select a.id, b.position from auction a left join lateral (
             select * from auction_bid b where b.auction_id = a.id order by b.position limit 1) b on true""",
    ),
    (
        "lateral",
        """select a.id from asset a left join lateral (
             select * from settled_day d where d.asset_key = a.key limit 1) d on true""",
    ),
    (
        "event_is_open",
        "select event_is_open(organisation_id, origin_id, asset_key, permission) from event where organisation_id = $1",
    ),
    ("without columns", "select exists (select from webhook w join event_head h using (organisation_id))"),
    ("record", "select e from event e"),
    ("where they lie", "select v.asset_key from virtual_asset v join event e on e.asset_key = v.asset_key"),
    ("ordered array_agg", "select array_agg(day order by day) from settled_day"),
    ("which is local", "update job set due = $1 from virtual_asset v where v.asset_key = $2"),
    (
        "along with others",
        """with part as (insert into audit_log (organisation_id, id) values ($1, $2))
           insert into idempotency (caller_key) values ($3)""",
    ),
    ("MERGE", "merge into net_off t using pg_temp.s on t.asset_key = s.asset_key when matched then delete"),
)
TAKEN = (
    "select * from event where organisation_id = $1 order by sequence limit 10",
    "select a.id, (select max(position) from auction_bid b where b.auction_id = a.id) from auction a where a.id = $1",
    "select o.id from organisation o where exists (select 1 from member m where m.organisation_id = o.id)",
    "update job set due = clock_timestamp() where kind = $1",
    "insert into virtual_asset (asset_key, created_at) values ($1, platform_now())",
    "update organisation set updated_at = statement_timestamp() where id = $1",
    "select distinct on (asset_key) * from settled_day where asset_key = any($1) order by asset_key, day desc",
    "select asset_key from virtual_asset where asset_key = $1 for update",
)


class TestTheJudge:
    @pytest.mark.parametrize(("fault", "sql"), REFUSED)
    def test_refuses_what_a_distributed_database_refuses(self, catalogue: Catalogue, fault: str, sql: str) -> None:
        assert fault in "; ".join(Judge(sql, catalogue).faults)

    @pytest.mark.parametrize("sql", TAKEN)
    def test_takes_what_it_takes(self, catalogue: Catalogue, sql: str) -> None:
        assert Judge(sql, catalogue).faults == []


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
            if (placement := PLACEMENT_OF[row["table"]]).kind is Kind.DISTRIBUTED
            and placement.column not in row["columns"]
        ]
        assert wrong == []

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
        assert [row["conname"] for row in rows if not may_point(row)] == []

    async def test_has_no_trigger_on_what_is_not_local(self, db: asyncpg.Connection[asyncpg.Record]) -> None:
        rows = await db.fetch("select tgrelid::regclass::text as table from pg_trigger where not tgisinternal")
        assert [row["table"] for row in rows if PLACEMENT_OF[row["table"]].kind is not Kind.LOCAL] == []

    def test_is_placed_in_an_order_in_which_each_table_comes_after_what_it_points_to(self) -> None:
        kinds = [placement.kind for placement in PLACEMENTS]
        assert kinds == sorted(kinds, key=[Kind.REFERENCE, Kind.DISTRIBUTED, Kind.LOCAL].index)


def may_point(row: asyncpg.Record) -> bool:
    source, target = PLACEMENT_OF[row["source"]], PLACEMENT_OF[row["target"]]
    if target.kind is Kind.REFERENCE:
        return source.kind is not Kind.LOCAL
    if source.kind is Kind.LOCAL:
        return target.kind is Kind.LOCAL
    if source.group is None or source.group != target.group:
        return False
    return (source.column, target.column) in set(zip(row["columns"], row["targets"], strict=True))
