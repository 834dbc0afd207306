"""Bids that wait for their result, unavailabilities, and what they cost as assets and bids grow.

The ceiling of a read is its SELECT. The ceiling of creating an unavailability is its job without the product: the
asset found by its id, the same lock and the same four rows (unavailability, logbook, event, audit) in one transaction,
unchecked, for anybody. Its events go into a copy of the outbox, so that the product does not spend its own rounds on
putting them in order.
"""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from bench.ceiling import Bare
from bench.harness import NUMBER, Harness, Organisation, Request
from gridloom.ancillary.products import PRODUCTS
from gridloom.ancillary.store import PENDING
from gridloom.kernel.ids import uuid7

CEILING = Bare()
FIRST_DAY = date(2030, 1, 1)
PARAMETERS = {
    "ratedChargePower": 100_000,
    "ratedDischargePower": 100_000,
    "energyCapacity": 200_000,
    "chargeEfficiency": 0.95,
    "dischargeEfficiency": 0.95,
}


@CEILING.on("GET", "/waiting")
async def waiting(pool: Any, last: str, body: bytes) -> Any:
    """`<asset key>:<product keys>`, all of it believed."""
    asset_key, _, keys = last.partition(":")
    asked = [key.partition("_")[::2] for key in keys.split(",")]
    rows = await pool.fetch(
        PENDING, int(asset_key), [date.fromisoformat(day) for day, _ in asked], [product for _, product in asked]
    )
    found = {(str(row["delivery_day"]), row["product"]): row for row in rows}
    return [
        {
            "deliveryDay": day,
            "product": product,
            "productDateCode": f"{day}_{product}",
            "bids": [_bid(found[day, product])] if (day, product) in found else [],
        }
        for day, product in asked
    ]


def _bid(row: Any) -> dict[str, Any]:
    return {
        "id": row["id"],
        "capacityPrice": float(row["capacity_price_eur"]),
        "offeredCapacity": row["offered_capacity_kw"],
        "energyPrice": float(row["energy_price_eur"]),
        "status": "OFFERED",
    }


@CEILING.on("POST", "/unavailability", status=201)
async def create_unavailability(pool: Any, last: str, body: bytes) -> Any:
    """`<asset id>`, for anybody."""
    asked = orjson.loads(body)
    power, unavailability_id = asked["volume"]["powerCapacity"], uuid7()
    start, end = datetime.fromisoformat(asked["start"]), datetime.fromisoformat(asked["end"])
    async with pool.acquire() as connection, connection.transaction():
        asset = await connection.fetchrow("select key, organisation_id from asset where id = $1", UUID(last))
        asset_key = asset["key"]
        await connection.execute("select pg_advisory_xact_lock(hashtext('physical_asset'), $1)", asset_key)
        await connection.execute(
            """
            insert into unavailability (asset_key, id, description, type, starts_at, ends_at, energy_kwh,
              charge_power_kw, discharge_power_kw, created_by)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $2)
            """,
            asset_key,
            unavailability_id,
            asked["description"],
            asked["type"],
            start,
            end,
            asked["volume"]["energyCapacity"],
            power["charge"],
            power["discharge"],
        )
        await connection.execute(
            """
            insert into logbook_entry
              (asset_key, id, title, description, type, impact, starts_at, ends_at, tags, source)
            values ($1, $2, $3, $4, 'UNAVAILABILITY', 'NEGATIVE', $5, $6, $7, 'SYSTEM')
            """,
            asset_key,
            uuid7(),
            f"Unavailability created: {asked['type']}",
            asked["description"],
            start,
            end,
            ["unavailability", str(unavailability_id)],
        )
        await connection.execute(
            """
            insert into bench_outbox (event_id, type, time, organisation_id, subject, permission, asset_key, data)
            values ($1, 'unavailability.created', platform_now(), $2, $3, 'Read:physical-assets', $4, $5)
            """,
            uuid7(),
            asset["organisation_id"],
            f"physical-assets/{last}",
            asset_key,
            {"unavailabilityID": str(unavailability_id), "start": asked["start"], "end": asked["end"]},
        )
        await connection.execute(
            """
            insert into audit_log (organisation_id, id, actor_kind, action, method, resource, status)
            values ($1, $1, 'SYSTEM', 'createUnavailability', 'POST', $2, 201)
            """,
            unavailability_id,
            last,
        )
    return {"id": str(unavailability_id), **asked}


def run(harness: Harness) -> None:
    owner = harness.new_organisation()
    asset_id = _register(owner)
    asset_key = asyncio.run(_fill(harness, asset_id, 5_000 if harness.options.quick else 100_000))
    keys = _some_keys(200)
    harness.compare(
        "bids-without-result, 200 keys over 100,000 bids",
        Request(
            "GET",
            f"/physical-assets/{asset_id}/ancillary/bids-without-result?product-keys={','.join(keys)}",
            token=owner.admin.token,
        ),
        Request("GET", f"/waiting/{asset_key}:{','.join(keys)}"),
    )
    took = asyncio.run(_time_lookup(harness, asset_key, keys))
    harness.report("bids-without-result at the database", {"ms": round(took, 2)}, target="< 20 ms", met=took < 20)
    _compare_creation(harness, owner)
    _compare_growth(harness)


def _compare_creation(harness: Harness, owner: Organisation) -> None:
    """On many assets, since changes of one follow each other by design."""
    assets = [_register(owner) for _ in range(4 if harness.options.quick else 32)]
    body = {
        "description": f"Bench {NUMBER}",
        "type": "MAINTENANCE",
        "start": "2040-05-01T10:00:00+00:00",
        "end": "2040-05-01T11:00:00+00:00",
        "volume": {"energyCapacity": 1, "powerCapacity": {"charge": 1, "discharge": 1}},
    }
    token = owner.admin.token
    harness.compare(
        "POST unavailability",
        [Request("POST", f"/physical-assets/{each}/unavailability", token=token, json=body) for each in assets],
        [Request("POST", f"/unavailability/{each}", json=body) for each in assets],
    )


def _compare_growth(harness: Harness) -> None:
    """The same requests, each alone, with few and with many assets on the platform."""
    owner = harness.new_organisation()
    one = f"/physical-assets/{_register(owner)}"
    paths = {
        "the asset": one,
        "parameters": f"{one}/parameters",
        "availability": f"{one}/availability",
        "health": f"{one}/health",
        "list": "/physical-assets",
    }

    def usual_ms(path: str) -> float:
        """One after the other, the best of several rounds: the two states cannot alternate, and a crowd of callers
        would measure how they get in each other's way."""
        request = Request("GET", path, token=owner.admin.token)
        seconds = harness.options.seconds / 2
        rounds = [harness.load(request, connections=1, seconds=seconds).result() for _ in range(harness.options.rounds)]
        return min(measured.latencies_ms["p50"] for measured in rounds)

    few_ms = {name: usual_ms(path) for name, path in paths.items()}
    count = 200 if harness.options.quick else 10_000
    asyncio.run(_add_assets(harness, count))
    many_ms = {name: usual_ms(path) for name, path in paths.items()}
    for name in paths:
        ratio = many_ms[name] / few_ms[name]
        figures = {"few_ms": round(few_ms[name], 3), "many_ms": round(many_ms[name], 3), "ratio": round(ratio, 3)}
        harness.report(
            f"{name}, with {count:,} more assets on the platform", figures, target="<= 1.1", met=ratio <= 1.1
        )


def _register(owner: Organisation) -> str:
    body = {"name": "Bench", "organisationID": owner.id, "deliveryZone": "TenneT", "parameters": PARAMETERS}
    registered: str = owner.admin.post("/physical-assets", body)["id"]
    return registered


def _products(day: date) -> list[str]:
    return [code for code, product in PRODUCTS.items() if product.is_traded_on(day)]


def _some_keys(count: int) -> list[str]:
    dice = random.Random(7)
    keys: set[str] = set()
    while len(keys) < count:
        day = FIRST_DAY + timedelta(days=dice.randrange(400))
        keys.add(f"{day}_{dice.choice(_products(day))}")
    return sorted(keys)


async def _fill(harness: Harness, asset_id: str, count: int) -> int:
    """Bids of every product day after day, half of them waiting."""
    rows: list[tuple[date, str]] = []
    day = FIRST_DAY
    while len(rows) < count:
        rows += [(day, code) for code in _products(day)]
        day += timedelta(days=1)
    connection = await asyncpg.connect(harness.database_url)
    try:
        key: int = await connection.fetchval("select key from asset where id = $1", UUID(asset_id))
        await connection.execute(
            """
            insert into ancillary_bid (asset_key, id, delivery_day, product, delivery_start, delivery_end,
              capacity_price_eur, offered_capacity_kw, energy_price_eur, status, placed_at, placed_by)
            select $1, gen_random_uuid(), day, product, day, day + 1, 1, 1000, 1,
                   case when n % 2 = 0 then 'OFFERED' else 'ACCEPTED' end, now(), gen_random_uuid()
            from unnest($2::date[], $3::text[]) with ordinality as given (day, product, n)
            """,
            key,
            [row[0] for row in rows],
            [row[1] for row in rows],
        )
        await connection.execute("vacuum analyze ancillary_bid")
        await connection.execute("create table bench_outbox (like event_outbox including all)")
        return key
    finally:
        await connection.close()


async def _time_lookup(harness: Harness, asset_key: int, keys: list[str]) -> float:
    """The statement alone, in milliseconds: the middle of 51 runs on one connection."""
    asked = [key.partition("_")[::2] for key in keys]
    days, products = [date.fromisoformat(day) for day, _ in asked], [product for _, product in asked]
    connection = await asyncpg.connect(harness.database_url)
    try:
        statement = await connection.prepare(PENDING)
        took = []
        for _ in range(51):
            began = time.perf_counter()
            await statement.fetch(asset_key, days, products)
            took.append(1000 * (time.perf_counter() - began))
        return sorted(took)[25]
    finally:
        await connection.close()


async def _add_assets(harness: Harness, count: int) -> None:
    """Straight into the tables, for an organisation of their own."""
    connection = await asyncpg.connect(harness.database_url)
    try:
        async with connection.transaction():
            organisation_id = uuid7()
            await connection.execute(
                "insert into organisation (id, name, kind) values ($1, 'Crowd', 'PARTICIPANT')", organisation_id
            )
            keys = [
                row["key"]
                for row in await connection.fetch(
                    """
                    insert into asset (id, kind, organisation_id)
                    select id, 'PHYSICAL', $1 from unnest($2::uuid[]) as given (id) returning key
                    """,
                    organisation_id,
                    [uuid7() for _ in range(count)],
                )
            ]
            await connection.execute(
                """
                insert into physical_asset (asset_key, name, delivery_zone, control_area)
                select key, 'Crowd', 'TenneT', 'TenneT' from unnest($1::int[]) as given (key)
                """,
                keys,
            )
            await connection.execute(
                """
                insert into physical_asset_parameters (asset_key, version, valid_from, rated_charge_power_kw,
                  rated_discharge_power_kw, energy_capacity_kwh, min_state_of_charge, max_state_of_charge,
                  charge_efficiency, discharge_efficiency, fcr_limit_ratio, recorded_by)
                select key, 1, $2, 1000, 1000, 2000, 0, 1, 0.9, 0.9, 0.8, $3 from unnest($1::int[]) as given (key)
                """,
                keys,
                datetime(2020, 1, 1, tzinfo=UTC),
                organisation_id,
            )
        await connection.execute("vacuum analyze")  # by itself it would come in the middle of what follows
        await connection.execute("checkpoint")
    finally:
        await connection.close()
