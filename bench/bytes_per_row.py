"""How many bytes a fact takes in the database, its indexes included: what docs/scaling.md counts with."""

from __future__ import annotations

import asyncio

import asyncpg

from bench.harness import Harness

ROWS = 50_000

FACTS = {
    "event": """
        insert into event (organisation_id, sequence, id, type, time, origin_id, subject, permission, asset_key, data)
        select o, n, gen_random_uuid(), 'bid.placed', now(), o, '/auctions/' || gen_random_uuid(), 'Read:bids', null,
          jsonb_build_object('auctionID', gen_random_uuid(), 'bidID', gen_random_uuid(), 'price', 1250.5)
        from generate_series(1, $1) n, (select gen_random_uuid() as o) one""",
    "audit_log": """
        insert into audit_log (organisation_id, id, actor_id, actor_kind, actor_name, action, method, resource, status,
                               address, request_id)
        select o, gen_random_uuid(), gen_random_uuid(), 'USER', 'Ada Lovelace', 'placeBid', 'POST',
          '/auctions/' || gen_random_uuid() || '/bids', 201, '10.1.2.3', md5(n::text)
        from generate_series(1, $1) n, (select gen_random_uuid() as o) one""",
    "auction_bid": """
        with sold as (
          insert into auction (id, opens_at, closes_at, item_id, delivery_start, delivery_end, delivery_zone,
            rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency,
            discharge_efficiency, initial_soc, last_soc_target, final_soc_tolerance)
          values (gen_random_uuid(), now(), now() + '1 h', gen_random_uuid(), now(), now() + '1 d', 'TenneT', 1, 1, 1,
            0.9, 0.9, 0.5, 0.5, 0.01) returning id)
        insert into auction_bid (auction_id, position, id, organisation_id, sequence, price_eur, placed_at, placed_by)
        select sold.id, n, gen_random_uuid(), gen_random_uuid(), n, 1250.5, now(), gen_random_uuid()
        from generate_series(1, $1) n, sold""",
    "wholesale_trade": """
        insert into wholesale_trade (asset_key, trade_id, period, side, volume_mwh, price_eur_mwh, market, executed_at,
                                     recorded_at, recorded_by)
        select 1, 'EPEX-' || n, timestamptz '2026-01-01' + n * interval '15 min', 'SELL', 0.25, 71.5, 'DAY_AHEAD',
          now(), now(), gen_random_uuid()
        from generate_series(1, $1) n""",
    "settled_day": """
        insert into settled_day (asset_key, day, buy_volume_mwh) select n % 500, date '2026-01-01' + n / 500, 1.5
        from generate_series(1, $1) n""",
    "idempotency": """
        insert into idempotency (caller_key, key_digest, fingerprint, status, headers, body)
        select gen_random_uuid()::text, sha256(n::text::bytea), sha256(n::text::bytea), 201,
          '{"Content-Type": "application/json"}', repeat('x', 250)::bytea
        from generate_series(1, $1) n""",
}


def run(harness: Harness) -> None:
    rows = 2_000 if harness.options.quick else ROWS
    asyncio.run(_weigh(harness, rows))


async def _weigh(harness: Harness, rows: int) -> None:
    connection = await asyncpg.connect(harness.database_url)
    try:
        for table, statement in FACTS.items():
            before = await connection.fetchval("select pg_total_relation_size($1::text::regclass)", table)
            await connection.execute(statement, rows)
            after = await connection.fetchval("select pg_total_relation_size($1::text::regclass)", table)
            harness.report(table, {"rows": rows, "bytes_a_row": round((after - before) / rows, 1)})
    finally:
        await connection.close()
