"""One schema and one set of statements, for a single PostgreSQL and for a distributed one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pglast
import pytest
from tests.database.citus_rules import Catalogue, Judge, read_catalogue
from tests.database.composed_statements import COMPOSED, gather_all
from tests.database.statements import find_queries, gather

from gridloom.database.distribution import FUNCTIONS_ON_WORKERS, PLACEMENT_OF, PLACEMENTS, Kind


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
        assert faults == {}

    async def test_that_reads_more_than_local_tables_stands_in_no_function_of_plain_sql(
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
    (
        "cannot be pushed down",  # what is known of the outer key does not choose the inner one's worker
        """select a.id, (select max(position) from auction_bid b where b.auction_id = a.id)
           from auction a where a.id = $1""",
    ),
    (
        "lateral",
        """select b.* from auction_participant p cross join lateral (select * from auction_bid o
             where o.auction_id = p.auction_id order by o.position limit 1) b where p.auction_id = $1""",
    ),
    ("a local table in a change", "update webhook set position = (select max(last_sequence) from event_head)"),
    ("by which", "update virtual_asset set asset_key = $2 where asset_key = $1"),
    (
        "by which",
        """insert into telemetry_head (asset_key) values ($1)
           on conflict (asset_key) do update set asset_key = excluded.asset_key""",
    ),
    (
        "let it be a CTE too",
        """with a as (insert into fleet (id, organisation_id, name) values ($1, $2, $3))
           update organisation set name = $4 where id = $2""",
    ),
    (
        "as an earlier part has left it",
        """with gone as (delete from virtual_block where asset_key = $1)
           select count(*) from virtual_block where asset_key = $1""",
    ),
    ("on a worker", "select pg_advisory_xact_lock(key) from asset where id = $1"),
    ("on a worker", "select pg_notify('x', id::text) from virtual_block where asset_key = $1"),
    ("one worker's own", "delete from event where ctid = any(array(select ctid from event limit 10))"),
    (
        "FULL JOIN by USING",
        "select day from settled_day full join settled_periods using (asset_key, day) where day > $1",
    ),
    ("in the LIMIT", "select asset_key from virtual_asset order by 1 limit (select $1::int)"),
    ("MERGE", "merge into net_off t using pg_temp.s on t.asset_key = s.asset_key when matched then delete"),
)
TAKEN = (
    "select * from event where organisation_id = $1 order by sequence limit 10",
    "select a.id, (select max(position) from auction_bid b where b.auction_id = $1) from auction a where a.id = $1",
    "select o.id from organisation o where exists (select 1 from member m where m.organisation_id = o.id)",
    "update job set due = clock_timestamp() where kind = $1",
    "insert into virtual_asset (asset_key, created_at) values ($1, platform_now())",
    "update organisation set updated_at = statement_timestamp() where id = $1",
    "select distinct on (asset_key) * from settled_day where asset_key = any($1) order by asset_key, day desc",
    "select asset_key from virtual_asset where asset_key = $1 for update",
    "with gone as (delete from virtual_block where asset_key = $1 returning id) select count(*) from gone",
    "select pg_advisory_xact_lock($1)",
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
            if PLACEMENT_OF[row["table"]].kind is not Kind.LOCAL and row["function"] not in FUNCTIONS_ON_WORKERS
        }
        assert wrong == set()

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
