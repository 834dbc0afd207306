"""The judge of statements itself: what it refuses, and what it lets pass."""

from __future__ import annotations

import asyncpg
import pytest
from tests.platform.database.citus_rules import Judge
from tests.platform.database.citus_tables import Catalogue, read_catalogue


@pytest.fixture
async def catalogue(database_url: str) -> Catalogue:
    connection = await asyncpg.connect(database_url)
    try:
        return await read_catalogue(connection)
    finally:
        await connection.close()


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
    (
        "where they lie",
        """select v.asset_key from physical_asset p join virtual_asset v on v.asset_key = p.asset_key
           join virtual_block b on b.asset_key = p.asset_key where p.delivery_zone = $1""",
    ),
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
    ("DEFAULT", "update organisation set updated_at = default where id = $1"),
    (
        "DEFAULT",
        """insert into asset_grant (asset_key, organisation_id) values ($1, $2)
           on conflict (asset_key, organisation_id) do update set updated_at = default""",
    ),
    ("volatile", "with t as (select clock_timestamp() as at) update organisation set updated_at = t.at from t"),
    (
        "sub-query in INSERT … VALUES",
        "insert into job (kind, key) values ($1, (select max(sequence)::text from event))",
    ),
    (
        "sub-query in INSERT … VALUES",
        "insert into fleet (id, name) values ($1, $2), ($3, (array(select name from fleet))[1])",
    ),
    (
        "sub-query in INSERT … RETURNING",
        "insert into fleet (id, name) values ($1, $2) returning (select name from organisation where id = $3)",
    ),
    (
        "sub-query in ON CONFLICT",
        """insert into fleet as f (id, name) values ($1, $2) on conflict (id) do update set name = excluded.name
           where f.name < (select max(name) from fleet)""",
    ),
    ("an INSERT without asset_key", "insert into virtual_asset (name) values ($1)"),
    ("by which", "update virtual_asset set (asset_key, name) = ($2, $3) where asset_key = $1"),
    (
        "correlated",
        """update virtual_asset v set name = (select a.id::text from asset a where a.key = v.asset_key)
           where v.organisation_id = $1""",
    ),
    (
        "correlated",
        """update organisation o set name = $1
           where exists (select 1 from webhook w where w.organisation_id = o.id)""",
    ),
    (
        "correlated",
        """with known as materialized (select unnest($1::int[]) as asset_key, 1 as place)
           select v.asset_key, (select max(place) from known k where k.asset_key = v.asset_key) from virtual_asset v""",
    ),
    (
        "lateral",
        """with known as materialized (select unnest($1::int[]) as asset_key, 1 as place)
           select v.asset_key, l.place from virtual_asset v cross join lateral (
             select place from known k where k.asset_key = v.asset_key order by place limit 1) l""",
    ),
    (
        "where they lie",
        "update virtual_asset v set name = e.type from event e where e.asset_key = v.asset_key",
    ),
    ("locks over a sub-query", "select 1 from (select * from virtual_asset where organisation_id = $1) v for update"),
    ("several keys", "select 1 from virtual_asset where asset_key in ($1, $2) for share"),
    ("several keys", "select 1 from virtual_asset where asset_key = $1 or asset_key = $2 for update"),
    (
        "several keys",
        """update virtual_asset set name = $1 where asset_key = any(array(
             select asset_key from virtual_asset where organisation_id = $2 for update skip locked))""",
    ),
    (
        "on a worker",
        "select pg_advisory_xact_lock(k) from (select asset_key as k from virtual_asset where asset_key = $1) v",
    ),
    (
        "on a worker",
        """with v as (select asset_key from virtual_asset where asset_key = $1)
           select pg_notify('x', asset_key::text) from v""",
    ),
    ("on a worker", "select pg_advisory_xact_lock($1), (select name from virtual_asset where asset_key = $1)"),
    ("that a worker may run", "insert into fleet (id, name) values ($1, $2) returning platform_now()"),
    ("that a worker may run", "select 1 from platform_now() n join virtual_asset v on v.end_at < n"),
    ("record", "select row(v.asset_key, v.name) from virtual_asset v where v.asset_key = $1"),
    ("record", "select e from event e where e.organisation_id = $1"),
    ("record", "select array_agg((v.asset_key, v.name)) from virtual_asset v"),
    ("record", "delete from virtual_asset v where v.asset_key = $1 returning v"),
    (
        "for several of its keys",
        """update telemetry_head h set latest = given.latest from unnest($1::int[], $2::bytea[]) as given (key, latest)
           where h.asset_key = given.key""",
    ),
    ("for several of its keys", "delete from capacity_holding where asset_key = any($1::int[]) and holder_id = $2"),
    ("for several of its keys", "delete from capacity_holding where asset_key in ($1, $2)"),
    (
        "for several of its keys",
        """update ancillary_bid set status = $1
           where asset_key in (select asset_key from physical_asset where fleet_id = $2)""",
    ),
)
TAKEN = (
    """select v.asset_key from physical_asset p join virtual_asset v on v.asset_key = p.asset_key
       join virtual_block b on b.asset_key = v.asset_key where p.delivery_zone = $1""",
    "select * from event where organisation_id = $1 order by sequence limit 10",
    "select a.id, (select max(position) from auction_bid b where b.auction_id = $1) from auction a where a.id = $1",
    "select o.id from organisation o where exists (select 1 from member m where m.organisation_id = o.id)",
    "update job set due = clock_timestamp() where kind = $1",
    "insert into virtual_asset (asset_key, created_at) values ($1, platform_now())",
    "update organisation set updated_at = statement_timestamp() where id = $1",
    "select distinct on (asset_key) * from settled_day where asset_key = any($1) order by asset_key, day desc",
    "select asset_key from virtual_asset where asset_key = $1 for update",
    "with gone as (delete from virtual_block where asset_key = $1 returning id) select count(*) from gone",
    "delete from event where sequenced_at < $1",
    """update ancillary_bid b set status = given.status from unnest($2::uuid[], $3::text[]) as given (id, status)
       where b.asset_key = $1 and b.id = given.id""",
    "select pg_advisory_xact_lock($1)",
    "select a.id from asset a left join lateral (select * from fleet f where f.id = a.id limit 1) f on true",
    "select asked from unnest($1::uuid[]) asked where not exists (select 1 from organisation o where o.id = asked)",
    "select to_jsonb(v) from virtual_asset v where v.asset_key = $1",
    "insert into job (kind, key) select $1, sequence::text from event where organisation_id = $2",
    "insert into fleet (id, name) select $1, (select max(name) from fleet)",
    "update virtual_asset v set name = $1 where exists (select 1 from virtual_block b where b.asset_key = v.asset_key)",
    """with known as materialized (select unnest($1::int[]) as asset_key)
       select v.asset_key from virtual_asset v where exists (select 1 from known k where k.asset_key = v.asset_key)""",
)


class TestTheJudge:
    @pytest.mark.parametrize(("error", "sql"), REFUSED)
    def test_refuses_what_a_distributed_database_refuses(self, catalogue: Catalogue, error: str, sql: str) -> None:
        assert error in "; ".join(Judge(sql, catalogue).faults)

    @pytest.mark.parametrize("sql", TAKEN)
    def test_takes_what_it_takes(self, catalogue: Catalogue, sql: str) -> None:
        assert Judge(sql, catalogue).faults == []
