"""Where each table lives on a distributed database (Citus): the one place that says so.

`DISTRIBUTED` tables are spread over the workers by a column, and tables of one group lie together. `REFERENCE` ones are
small and whole on every node. `LOCAL` ones stay on the coordinator: queues, counters, and what decides an order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

import asyncpg


class TableKind(Enum):
    DISTRIBUTED = "distributed"
    REFERENCE = "reference"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Placement:
    table: str
    kind: TableKind
    column: str | None = None
    group: str | None = None  # the table beside which the rows lie; of a distributed table only


def _spread_tables(group: str, column: str, *tables: str) -> tuple[Placement, ...]:
    return tuple(Placement(table, TableKind.DISTRIBUTED, column, group) for table in tables)


_FACTS: Final = (
    "wholesale_trade",
    "fcr_award",
    "afrr_capacity_award",
    "afrr_activation",
    "net_off",
    "tolling_contract",
)

# Each table after those that it points to, here and within a group.
_REFERENCE_TABLES: Final = """
organisation member api_key invitation signing_key second_factor recovery_code sign_in_challenge identity_provider
external_identity single_sign_on_attempt single_sign_on_code asset asset_grant fleet physical_asset portfolio
reference_price reference_price_superseded price_forecast auction_allocation computed_forecast
"""
_LOCAL_TABLES: Final = """
schema_migration environment sandbox_clock sandbox_walk sandbox_simulator write_probe idempotency session refresh_token
console_session sign_in_network two_phase_commit version_start statement_run statement_draft statement_month rate_limit
request_bucket login_throttle job job_turn stream_lease telemetry_usage event_outbox event_head delivery_zone
delivery_run delivery_netting delivery_quarters delivery_zone_drift delivery_plan_piece failures_settled
market_order feed feed_topic feed_day feed_value feed_run
space_probe
"""

PLACEMENTS: Final = (
    *(Placement(table, TableKind.REFERENCE) for table in _REFERENCE_TABLES.split()),
    *_spread_tables("asset", "asset_key", "physical_asset_parameters", "physical_asset_metadata", "physical_schedule"),
    *_spread_tables("asset", "asset_key", "physical_schedule_version", "capacity_holding", "dispatch_version"),
    *_spread_tables("asset", "asset_key", "delivery_anchor", "measured_day", "dispatched_day", "delivery_drift"),
    *_spread_tables("asset", "asset_key", "reserve_shortfall", "dispatch_acknowledgement", "battery_failure"),
    *_spread_tables("asset", "asset_key", "statement_account"),
    *_spread_tables("asset", "asset_key", "logbook_entry", "exchange_notification", "exchange_notification_version"),
    *_spread_tables("asset", "asset_key", "unavailability", "unavailability_notification"),
    *_spread_tables("asset", "asset_key", "ancillary_bid", "ancillary_result"),
    *_spread_tables("asset", "asset_key", "virtual_asset", "virtual_backing", "virtual_block", "virtual_schedule"),
    *_spread_tables("asset", "asset_key", "virtual_energy", "virtual_activation"),
    *_spread_tables("asset", "asset_key", "virtual_availability_seal", "virtual_shortfall", "virtual_reach"),
    *_spread_tables("asset", "asset_key", "schedule_version", "schedule_change", "schedule_adjustment"),
    *_spread_tables("asset", "asset_key", "telemetry_head", "telemetry_signal", "telemetry_segment", "telemetry_chunk"),
    *_spread_tables("asset", "asset_key", "telemetry_block"),
    *_spread_tables("asset", "asset_key", "settled_asset", *_FACTS, *(f"{fact}_superseded" for fact in _FACTS)),
    *_spread_tables("asset", "asset_key", "settled_day", "settled_periods"),
    *_spread_tables(
        "organisation", "organisation_id", "event", "webhook", "webhook_delivery", "webhook_attempt", "audit_log"
    ),
    *_spread_tables("organisation", "organisation_id", "optimisation", "backtest", "backtest_day", "statement"),
    *_spread_tables("auction", "id", "auction"),
    *_spread_tables("auction", "auction_id", "auction_order", "auction_participant", "auction_backing", "auction_bid"),
    *(Placement(table, TableKind.LOCAL) for table in _LOCAL_TABLES.split()),
)

PLACEMENT_OF: Final = {placement.table: placement for placement in PLACEMENTS}

ONE_PHASE_TABLES: Final = frozenset(
    {
        *("schema_migration", "environment", "write_probe", "space_probe", "two_phase_commit"),
        *("rate_limit", "request_bucket", "login_throttle", "stream_lease", "telemetry_usage"),
        *("session", "refresh_token", "console_session", "sign_in_network"),
    }
)
"""Tables of the coordinator whose rows need not share the fate of what the same transaction changes on workers."""

KEYS_TO_MEMBERS: Final = {
    "session_member_id_fkey": "session",
    "sign_in_network_member_id_fkey": "sign_in_network",
}
"""Foreign keys that a distributed database has not, by name, with their tables.

Sessions lie on the coordinator, where signing in writes no other node; a plain table cannot point to one that is on
every node. The code that removes a member removes these rows, and to begin a session its member is locked.
"""

TWO_PHASE_TRIGGER: Final = "commits_in_two_phases"

FUNCTIONS_ON_WORKERS: Final = frozenset({"moment_on_wire"})
"""Our functions that statements of distributed tables may call: they read no table, so a worker can have them."""

FUNCTIONS_OF_A_SHARD: Final = {
    "append_events": ("of_organisation", "event"),
    "append_telemetry": ("of_asset", "telemetry_head"),
    "read_battery_capacity": ("battery", "physical_asset_parameters"),
    "read_schedule_shard": ("of_asset", "virtual_asset"),
    "write_schedule_interval": ("of_asset", "virtual_asset"),
}
"""Our functions whose whole work lies on one shard, and which run there, by one command: the argument that says which,
and the table whose shard is meant. Called by themselves, they touch tables of that group alone, by that key."""


class DistributionRefused(Exception):
    """The database cannot be spread over several machines, in a sentence that says why."""


async def distribute(connection: asyncpg.Connection[asyncpg.Record]) -> list[str]:
    """Spread the tables of a migrated database as said above, and name those that were; what already is, stays.

    Each table by itself, so that a run that was cut off is taken up by the next. Rows that are there move along.
    """
    if not await connection.fetchval("select exists (select from pg_extension where extname = 'citus')"):
        raise DistributionRefused(
            "This database has no Citus: the extension has to be installed on all machines, loaded by "
            "shared_preload_libraries, and created in this database (create extension citus)."
        )
    return await spread_tables(connection)


async def spread_tables(connection: asyncpg.Connection[asyncpg.Record]) -> list[str]:
    """The same, where the extension is known to be there."""
    if not await connection.fetchval("select exists (select from pg_dist_node where groupid = 0)"):
        raise DistributionRefused(
            "The cluster does not know its coordinator. Say its address first: "
            "select citus_set_coordinator_host('10.0.0.1')."
        )
    await _set_parameters(connection)
    await _drop_keys_to_members(connection)
    placed = {row["name"]: row["kind"] for row in await connection.fetch(_PLACED)}
    done = []
    await _gather_local_tables(connection)
    await _commit_in_two_phases(connection)
    for placement in PLACEMENTS:
        there = await connection.fetchval("select to_regclass($1) is not null", placement.table)
        if placement.kind is TableKind.LOCAL or not there or _check_placed(placement, placed):
            continue
        await _place_table(connection, placement)
        done.append(placement.table)
    for function in sorted(FUNCTIONS_ON_WORKERS):
        await _distribute_function(connection, function)
    for function, (argument, table) in sorted(FUNCTIONS_OF_A_SHARD.items()):
        await _delegate_function(connection, function, argument, table)
    return done


async def _drop_keys_to_members(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    for key, table in KEYS_TO_MEMBERS.items():
        await connection.execute(f"alter table {table} drop constraint if exists {key}")


async def _gather_local_tables(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """A table of the coordinator's that an earlier release had on every node comes back to it with its rows, and so do
    those that it is tied to by foreign keys, which are all of that kind."""
    for placement in PLACEMENTS:
        if placement.kind is TableKind.LOCAL and await _is_reference_table(connection, placement.table):
            await connection.execute(
                "select undistribute_table($1::text::regclass, cascade_via_foreign_keys => true)", placement.table
            )


async def _is_reference_table(connection: asyncpg.Connection[asyncpg.Record], table: str) -> bool:
    return any(row["name"] == table and row["kind"] == "reference" for row in await connection.fetch(_PLACED))


async def _commit_in_two_phases(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Have what is changed on the coordinator and on a worker committed together: see the migration 0502."""
    if not await connection.fetchval(
        "select exists (select from pg_dist_partition where logicalrelid = 'two_phase_commit'::regclass)"
    ):
        await connection.execute("select citus_add_local_table_to_metadata('two_phase_commit'::regclass)")
    for placement in PLACEMENTS:
        if placement.kind is TableKind.LOCAL and placement.table not in ONE_PHASE_TABLES:
            await connection.execute(
                f"create or replace trigger {TWO_PHASE_TRIGGER} before insert or update or delete "
                f"on {placement.table} for each statement execute function commit_in_two_phases()"
            )


_PLACED: Final = """
    select c.relname::text as name,
      case when p.partmethod = 'h' then 'distributed' when p.partmethod = 'n' and p.repmodel = 't' then 'reference' end
        as kind
    from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where c.relnamespace = current_schema()::regnamespace
"""


def _check_placed(placement: Placement, placed: dict[str, str | None]) -> bool:
    """A plain table that the extension has merely noticed, for its foreign keys, is not placed yet."""
    kind = placed.get(placement.table)
    if kind is None:
        return False
    if kind != placement.kind.value:
        raise DistributionRefused(
            f"The table {placement.table} is a {kind} table already, and should be a {placement.kind.value} one. "
            f"Take that back first: select undistribute_table('{placement.table}')."
        )
    return True


async def _place_table(connection: asyncpg.Connection[asyncpg.Record], placement: Placement) -> None:
    if placement.kind is TableKind.REFERENCE:
        await connection.execute("select create_reference_table($1::text::regclass)", placement.table)
        return
    first = next(other for other in PLACEMENTS if other.group == placement.group)
    await connection.execute(
        "select create_distributed_table($1::text::regclass, $2, colocate_with => $3)",
        placement.table,
        placement.column,
        "none" if placement is first else first.table,
    )


_SETTINGS: Final = {
    # A transaction that has spoken to a worker over several connections may no longer write what all tables point to.
    "citus.multi_shard_modify_mode": "sequential",
    # A table that points to one just placed stays a plain one until it is its turn. Else the extension would manage it
    # meanwhile, and from there no table that numbers its rows (by an identity column) can be spread any more. And it
    # would lock `two_phase_commit`, which every change waits for, whenever a temporary table is dropped.
    "citus.enable_local_reference_table_foreign_keys": "off",
}


async def _set_parameters(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """For this session, and for all to come."""
    for name, value in _SETTINGS.items():
        await connection.execute(f"set {name} = '{value}'")
        await connection.execute(
            f"""
            do $$ begin
              execute format('alter database %I set {name} = %L', current_database(), '{value}');
            end $$
            """
        )


async def _distribute_function(connection: asyncpg.Connection[asyncpg.Record], name: str) -> None:
    signature = await connection.fetchval("select $1::text::regproc::regprocedure::text", name)
    await connection.execute("select create_distributed_function($1::text::regprocedure)", signature)


async def _delegate_function(
    connection: asyncpg.Connection[asyncpg.Record], name: str, argument: str, table: str
) -> None:
    """Have it called on the worker, within transactions too, where the change of that worker is then a part of them."""
    signature = await connection.fetchval("select $1::text::regproc::regprocedure::text", name)
    await connection.execute(
        "select create_distributed_function($1::text::regprocedure, $2, colocate_with => $3, force_delegation => true)",
        signature,
        argument,
        table,
    )
