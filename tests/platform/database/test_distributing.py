"""`gridloom distribute`: with stand-ins for the extension's functions, which note what is asked of them.

The extension itself is in none of the registries that these tests are run from. The stand-ins refuse what it refuses
when a table is placed: a foreign key to a table that has no place yet, or lies elsewhere; and an identity column in one
that it has begun to manage where it lies, as it does (unless told not to) with all that points to a reference table.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.platform.database.citus import (
    FUNCTIONS_OF_A_SHARD,
    KEYS_TO_MEMBERS,
    ONE_PHASE_TABLES,
    PLACEMENTS,
    TWO_PHASE_TRIGGER,
    DistributionRefused,
    TableKind,
    distribute,
    spread_tables,
)
from gridloom.platform.identity.store.members import delete_member

STAND_INS = """
create table pg_dist_node (groupid int not null);
create table pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char", lies_with text);
create function refuse_missing_target(asked regclass) returns void language plpgsql as $$
declare target regclass;
begin
  select k.confrelid into target from pg_constraint k
  where k.contype = 'f' and k.conrelid = asked and k.confrelid <> asked
    and not exists (select from pg_dist_partition p where p.logicalrelid = k.confrelid);
  if found then
    raise exception '% points to %, which is local', asked, target;
  end if;
end $$;
create function manage_pointing_tables(asked regclass) returns void language sql as $$
  insert into pg_dist_partition
  select distinct k.conrelid::regclass, 'n'::"char", 's'::"char", null from pg_constraint k
  where k.contype = 'f' and k.confrelid = asked and k.conrelid <> asked
    and current_setting('citus.enable_local_reference_table_foreign_keys', true) is distinct from 'off'
  on conflict do nothing
$$;
create function refuse_managed_identity(asked regclass) returns void language plpgsql as $$
begin
  perform from pg_dist_partition p join pg_attribute a on a.attrelid = p.logicalrelid and a.attidentity <> ''
  where p.logicalrelid = asked and p.partmethod = 'n' and p.repmodel = 's';
  if found then
    raise exception 'cannot complete operation on a table with identity column';
  end if;
  delete from pg_dist_partition where logicalrelid = asked;
end $$;
create function create_reference_table(asked regclass) returns void language plpgsql as $$
begin
  perform refuse_missing_target(asked);
  delete from pg_dist_partition where logicalrelid = asked;
  insert into pg_dist_partition values (asked, 'n', 't', null);
  perform manage_pointing_tables(asked);
end $$;
create function create_distributed_table(asked regclass, by text, colocate_with text) returns void
language plpgsql as $$
begin
  perform refuse_missing_target(asked);
  perform refuse_managed_identity(asked);
  perform from pg_attribute where attrelid = asked and attname = by;
  if not found then
    raise exception '% has no column %', asked, by;
  end if;
  if colocate_with <> 'none' then
    perform from pg_dist_partition where logicalrelid = colocate_with::regclass;
    if not found then
      raise exception '% is not distributed', colocate_with;
    end if;
  end if;
  insert into pg_dist_partition values (asked, 'h', 's', colocate_with);
end $$;
create function undistribute_table(asked regclass, cascade_via_foreign_keys boolean) returns void language sql as $$
  with recursive tied as (
    select asked as one
    union
    select case when k.conrelid = t.one then k.confrelid else k.conrelid end::regclass
    from tied t join pg_constraint k on k.contype = 'f' and t.one in (k.conrelid, k.confrelid)
  )
  delete from pg_dist_partition where logicalrelid in (select one from tied)
$$;
create function citus_add_local_table_to_metadata(asked regclass) returns void language sql as
  $$ insert into pg_dist_partition values (asked, 'n', 's', null) $$;
create table delegated (function regprocedure, argument text, beside text, forced boolean);
create function create_distributed_function(
  asked regprocedure, argument text default null, colocate_with text default null, force_delegation bool default null
) returns void language sql as $$
  insert into delegated select asked, argument, colocate_with, force_delegation where argument is not null
$$;
set citus.multi_shard_modify_mode = '';
"""


@pytest.fixture
async def cluster_url() -> AsyncIterator[str]:
    async with migrated_database() as url:
        yield url


@pytest.fixture
async def cluster(cluster_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(cluster_url)
    await connection.execute(STAND_INS)
    yield connection
    await connection.close()


class TestDistributing:
    async def test_says_in_a_sentence_that_the_extension_is_missing(self, database_url: str) -> None:
        connection = await asyncpg.connect(database_url)
        try:
            with pytest.raises(DistributionRefused, match="This database has no Citus"):
                await distribute(connection)
        finally:
            await connection.close()

    async def test_asks_for_the_coordinators_address_first(self, cluster: Any) -> None:
        with pytest.raises(DistributionRefused, match="citus_set_coordinator_host"):
            await spread_tables(cluster)

    async def test_places_every_table_after_what_it_points_to(self, cluster: Any) -> None:
        await cluster.execute("insert into pg_dist_node values (0), (1), (2)")
        done = await spread_tables(cluster)
        here = {row[0] for row in await cluster.fetch("select relname::text from pg_class where relkind = 'r'")}
        assert done == [one.table for one in PLACEMENTS if one.kind is not TableKind.LOCAL and one.table in here]

    async def test_has_functions_of_a_shard_run_there_within_transactions_too(self, cluster: Any) -> None:
        await cluster.execute("insert into pg_dist_node values (0)")
        await spread_tables(cluster)
        rows = await cluster.fetch(
            "select p.proname, argument, beside from delegated d join pg_proc p on p.oid = d.function where forced"
        )
        assert {row["proname"]: (row["argument"], row["beside"]) for row in rows} == FUNCTIONS_OF_A_SHARD

    async def test_may_be_run_again_and_goes_on_where_it_was_cut_off(self, cluster: Any) -> None:
        await cluster.execute("insert into pg_dist_node values (0)")
        done = await spread_tables(cluster)
        assert await spread_tables(cluster) == []
        await cluster.execute(
            "delete from pg_dist_partition where logicalrelid = any($1::text[]::regclass[])", done[-5:]
        )
        assert await spread_tables(cluster) == done[-5:]

    async def test_does_not_move_a_table_that_was_placed_otherwise(self, cluster: Any) -> None:
        await cluster.execute("insert into pg_dist_node values (0)")
        await cluster.execute("select create_distributed_table('organisation', 'id', 'none')")
        with pytest.raises(DistributionRefused, match="undistribute_table"):
            await spread_tables(cluster)

    async def test_brings_back_to_the_coordinator_what_an_earlier_release_had_on_every_node(self, cluster: Any) -> None:
        await cluster.execute("insert into pg_dist_node values (0)")
        earlier = ("organisation", "member", "login_throttle", "session", "refresh_token", "console_session")
        for table in earlier:
            await cluster.execute("select create_reference_table($1::text::regclass)", table)
        await spread_tables(cluster)
        placed = {row[0] for row in await cluster.fetch("select logicalrelid::text from pg_dist_partition")}
        assert {table for table in earlier if table in placed} == {"organisation", "member"}

    async def test_leaves_no_session_of_a_removed_member_where_no_foreign_key_does(self, cluster: Any) -> None:
        await cluster.execute("insert into pg_dist_node values (0)")
        await spread_tables(cluster)
        organisation_id, member_id = uuid4(), uuid4()
        await cluster.execute(
            "insert into organisation (id, name, kind) values ($1, 'Owner', 'PARTICIPANT')", organisation_id
        )
        await cluster.execute(
            """
            insert into member (id, organisation_id, username, display_name, role, password_hash)
            values ($1, $2, 'ana', 'Ana', 'ADMIN', '')
            """,
            member_id,
            organisation_id,
        )
        await cluster.execute("insert into session (id, member_id, expires_at) values ($1, $1, now())", member_id)
        await cluster.execute("insert into sign_in_network values ($1, '10.0.0.0/24', now())", member_id)
        await delete_member(cluster, member_id)
        for table in KEYS_TO_MEMBERS.values():
            assert await cluster.fetchval(f"select count(*) from {table}") == 0

    async def test_has_rows_of_the_coordinator_and_of_workers_committed_together(self, cluster: Any) -> None:
        """By triggers of the coordinator's tables; what loses nothing by it, such as a counter, is left out."""
        await cluster.execute("insert into pg_dist_node values (0)")
        for _ in range(2):
            await spread_tables(cluster)
        rows = await cluster.fetch(
            "select tgrelid::regclass::text from pg_trigger where tgname = $1", TWO_PHASE_TRIGGER
        )
        having = {row[0] for row in rows}
        local = {one.table for one in PLACEMENTS if one.kind is TableKind.LOCAL}
        assert {"event_outbox", "event_head", "idempotency", "job", "delivery_run"} <= having
        assert local - having == ONE_PHASE_TABLES
        await cluster.execute("insert into two_phase_commit values (1)")
        await cluster.execute("delete from job")
        assert await cluster.fetchval("select count(*) from two_phase_commit") == 0
