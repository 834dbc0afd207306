"""What statements call, operators and casts included, is what a distributed database lets them call."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import pglast
import pytest
from tests.platform.database.citus_functions import Functions, judge_functions, read_functions
from tests.platform.database.citus_rules import Judge
from tests.platform.database.citus_tables import Catalogue, read_catalogue
from tests.platform.database.composed_statements import FACT_KINDS, gather_all
from tests.platform.database.query_trees import analyse, count_correlated, read_body
from tests.platform.database.statements import find_queries

from gridloom.settlements.sql import stage_statement


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(database_url)
    for kind in FACT_KINDS:
        await connection.execute(stage_statement(kind).replace("on commit drop", ""))
    yield connection
    await connection.close()


@dataclass(frozen=True, slots=True)
class Court:
    db: asyncpg.Connection[asyncpg.Record]
    catalogue: Catalogue
    functions: Functions

    async def judge(self, sql: str) -> list[str]:
        judge = Judge(sql, self.catalogue)
        if not judge.tables:
            return []
        return self.judge_tree(await analyse(self.db, sql), judge)

    def judge_tree(self, tree: Any, judge: Judge) -> list[str]:
        faults = judge_functions(tree, self.functions, spans=judge.spans)
        if judge.spans and count_correlated(tree) > judge.correlated:
            faults.append("a sub-query that speaks of the query around it without naming its table")
        return faults


@pytest.fixture
async def court(db: asyncpg.Connection[asyncpg.Record]) -> Court:
    return Court(db, await read_catalogue(db), await read_functions(db))


REFUSED = (
    ("statement_timestamp(), which is not immutable, in RETURNING",
     "update invitation set expires_at = $2 where id = $1 returning statement_timestamp()"),
    ("timestamptz_pl_interval(), which is not immutable, in RETURNING",
     "delete from net_off where asset_key = $1 returning period + interval '15 minutes'"),
    ("jsonb_build_object(), which is not immutable, in RETURNING",
     "insert into fleet (id, organisation_id, name) values ($1, $2, $3) returning jsonb_build_object('id', id)"),
    ("statement_timestamp(), which is not immutable, within CASE or COALESCE",
     "update webhook set disabled_at = case when enabled then statement_timestamp() end where organisation_id = $1"),
    ("statement_timestamp(), which is not immutable, within CASE or COALESCE",
     "update invitation set accepted_at = coalesce(accepted_at, statement_timestamp()) where id = $1"),
    ("timestamptz_pl_interval(), which is not immutable, of a column",
     "update invitation set expires_at = expires_at + interval '1 day' where id = $1"),
    ("timestamptz_out(), which is not immutable, of a column",
     "delete from invitation where expires_at::text like $1"),
    ("timestamptz_pl_interval(), which is not immutable, in ON CONFLICT",
     """insert into telemetry_head as h (asset_key, watched_until) values ($1, $2)
        on conflict (asset_key) do update set watched_until = h.watched_until + interval '1 minute'"""),
    ("jsonb_to_recordset(), which is not immutable, joined",
     """select v.asset_key from virtual_asset v,
          rows from (jsonb_to_recordset($1) as (asset_key int)) with ordinality g
        where v.asset_key = g.asset_key"""),
    ("without naming its table",
     "select organisation_id, (select id from asset where key = asset_key) from virtual_asset"),
    ("without naming its table",
     """select v.asset_key from virtual_asset v where 0 < (select count(*) from asset a where a.key = v.asset_key
          and exists (select 1 from member v where v.organisation_id = a.organisation_id))"""),
)  # fmt: skip
TAKEN = (
    "update invitation set expires_at = statement_timestamp() + $2::interval where id = $1 returning expires_at",
    "delete from invitation where expires_at < statement_timestamp() - interval '1 day'",
    "insert into invitation (id, organisation_id, expires_at) values ($1, $2, clock_timestamp() + $3::interval)",
    "select period + interval '15 minutes' from net_off where asset_key = any($1::int[])",
    """select v.asset_key from virtual_asset v
       join unnest($1::int[]) with ordinality g(asset_key, place) on v.asset_key = g.asset_key""",
)


async def list_statements_of_functions(db: asyncpg.Connection[asyncpg.Record]) -> list[tuple[str, str, str]]:
    """Each with its function's name and the names and types that it knows: arguments and variables."""
    rows = await db.fetch(
        """
        select p.proname, pg_get_functiondef(p.oid) as text, coalesce(p.proargnames, '{}') as names,
          array(select format_type(t, null) from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]))
                with ordinality u(t, place) order by place) as types
        from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'public'::regnamespace and l.lanname = 'plpgsql' and p.prorettype <> 'trigger'::regtype
        """
    )
    found = []
    for row in rows:
        parsed = pglast.parse_plpgsql(row["text"])
        known = dict(zip(row["names"], row["types"], strict=False))
        for name, kind in (*find_declared(parsed), *find_declared_rows(row["text"])):
            known.setdefault(name, kind)
        arguments = ", ".join(f'"{name}" {kind}' for name, kind in known.items())
        found += [(row["proname"], text, arguments) for text in find_queries(parsed)]
    return found


def find_declared(node: Any) -> Iterator[tuple[str, str]]:
    """The variables of a function in PL/pgSQL that have a type, other than its arguments."""
    if isinstance(node, list):
        for part in node:
            yield from find_declared(part)
    elif isinstance(node, dict):
        variable: dict[str, Any] | None = node.get("PLpgSQL_var")
        if variable is not None and (kind := variable["datatype"]["PLpgSQL_type"]["typname"]) != "UNKNOWN":
            yield variable["refname"], kind
        for part in node.values():
            yield from find_declared(part)


def find_declared_rows(text: str) -> list[tuple[str, str]]:
    """The variables that hold a row of a table, whose type the parser leaves out."""
    declared = re.search(r"\bdeclare\b(.*?)\bbegin\b", text, re.DOTALL | re.IGNORECASE)
    return [] if declared is None else re.findall(r"^\s*(\w+) (\w+);", declared[1], re.MULTILINE)


class TestACall:
    async def test_of_any_statement_is_one_that_a_distributed_database_takes(self, court: Court) -> None:
        found = {text.place: await court.judge(text.sql) for text in gather_all()}
        assert len(found) > 200
        assert {place: faults for place, faults in found.items() if faults} == {}

    async def test_within_a_function_of_the_database_is_one_too(self, court: Court) -> None:
        found = {}
        for name, text, arguments in await list_statements_of_functions(court.db):
            judge = Judge(text, court.catalogue)
            if judge.tables:
                tree = await read_body(court.db, text, arguments)
                found[f"{name}: {text}"] = court.judge_tree(tree, judge)
        assert len(found) > 5
        assert {place: faults for place, faults in found.items() if faults} == {}

    @pytest.mark.parametrize(("error", "sql"), REFUSED)
    async def test_is_refused_where_a_distributed_database_refuses_it(self, court: Court, error: str, sql: str) -> None:
        assert error in "; ".join(await court.judge(sql))

    @pytest.mark.parametrize("sql", TAKEN)
    async def test_is_taken_where_it_takes_it(self, court: Court, sql: str) -> None:
        assert await court.judge(sql) == []
