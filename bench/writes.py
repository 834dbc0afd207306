"""Five writes that people make, each beside the bare statements for the same rows under the same locks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from bench import auctions, physical_assets
from bench.ceiling import Bare
from bench.harness import NUMBER, Harness, Request
from gridloom.kernel.ids import uuid7

CEILING = Bare()
CEILING.on("POST", "/unavailability", status=201)(physical_assets.create_unavailability)
CEILING.on("POST", "/bids", status=201)(auctions.place_bid)
RATED = {
    "ratedChargePower": 1000,
    "ratedDischargePower": 1000,
    "energyCapacity": 2000,
    "chargeEfficiency": 0.9,
    "dischargeEfficiency": 0.9,
}
ASSETS = 32
"""Changes of one asset follow each other by design."""
BLOCK_KW = 0.01


async def _record_audit(connection: Any, organisation_id: UUID, action: str) -> None:
    await connection.execute(
        """insert into audit_log (organisation_id, id, actor_kind, action, method, resource, status)
           values ($1, $2, 'SYSTEM', $3, 'POST', $3, 201)""",
        *(organisation_id, uuid7(), action),
    )


@CEILING.on("POST", "/batteries", status=201)
async def register_battery(pool: Any, last: str, body: bytes) -> Any:
    """`<organisation id>`: the asset, its master data and its ratings."""
    asked, asset_id, owner = orjson.loads(body), uuid7(), UUID(last)
    async with pool.acquire() as connection, connection.transaction():
        key = await connection.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2) returning key", asset_id, owner
        )
        await connection.execute(
            "insert into physical_asset (asset_key, name, delivery_zone, control_area) values ($1, $2, $3, $3)",
            *(key, asked["name"], asked["deliveryZone"]),
        )
        await connection.execute(
            """insert into physical_asset_parameters (asset_key, version, valid_from, rated_charge_power_kw,
                 rated_discharge_power_kw, energy_capacity_kwh, min_state_of_charge, max_state_of_charge,
                 charge_efficiency, discharge_efficiency, fcr_limit_ratio, recorded_by)
               values ($1, 1, clock_timestamp(), $2, $3, $4, 0, 1, $5, $6, 1, $7)""",
            *(key, *(asked["parameters"][name] for name in RATED), owner),
        )
        await _record_audit(connection, owner, "registerBattery")
    return {"id": asset_id, **asked}


@CEILING.on("POST", "/blocks", status=201)
async def carve_block(pool: Any, last: str, body: bytes) -> Any:
    """`<virtual asset id>`: the rest of the block it is cut from, the new block, and their version."""
    asked, block_id = orjson.loads(body), uuid7()
    async with pool.acquire() as connection, connection.transaction():
        row = await connection.fetchrow("select key, organisation_id from asset where id = $1", UUID(last))
        key = row["key"]
        version = await connection.fetchval(
            "update virtual_asset set version = version + 1 where asset_key = $1 returning version", key
        )
        kept = await connection.fetchrow(
            """update virtual_block set until_version = $2 where asset_key = $1 and lane = 0 and until_version is null
               returning id, first_period, end_period, charge_kw, discharge_kw""",
            *(key, version),
        )
        power_kw = asked["ratedChargePower"]
        for block, lane, less_kw in ((kept["id"], 0, power_kw), (block_id, version, kept["charge_kw"] - power_kw)):
            await connection.execute(
                """insert into virtual_block (asset_key, id, since_version, lane, first_period, end_period, market,
                     charge_kw, discharge_kw) values ($1, $2, $3, $4, $5, $6, 'WHOLESALE', $7, $7)""",
                *(key, block, version, lane, kept["first_period"], kept["end_period"], kept["charge_kw"] - less_kw),
            )
        await connection.execute(
            """insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, block_id)
               values ($1, $2, 'CARVING', clock_timestamp(), 'BENCH', $3)""",
            *(key, version, block_id),
        )
        await _record_audit(connection, row["organisation_id"], "carveBlock")
    return {"id": block_id, **asked}


@CEILING.on("POST", "/users", status=201)
async def invite_user(pool: Any, last: str, body: bytes) -> Any:
    """`<organisation id>`"""
    asked, identifier, owner = orjson.loads(body), uuid7(), UUID(last)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(
            """insert into invitation (id, organisation_id, email, role, token_hash, invited_by, expires_at)
               values ($1, $2, $3, $4, sha256(uuid_send($1)), $1, clock_timestamp() + interval '7 days')""",
            *(identifier, owner, asked["email"], asked["role"]),
        )
        await _record_audit(connection, owner, "inviteUser")
    return {"id": identifier, **asked}


class Scene(auctions.Scene):
    """Batteries of an owner, virtual ones on them, and auctions."""

    def __init__(self, harness: Harness) -> None:
        super().__init__(harness, 4)
        self.tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)

    def new_virtual_assets(self, count: int) -> list[str]:
        return [
            self.operator.post(
                f"/organisations/{self.owner.id}/virtual-assets",
                {
                    "name": "Bench",
                    "start": self.tomorrow.isoformat(),
                    "end": (self.tomorrow + timedelta(days=2)).isoformat(),
                    "deliveryZone": "TenneT",
                    **RATED,
                    "backing": [{"physicalAssetID": self.new_battery(1000), "share": 1}],
                },
            )["id"]
            for _ in range(count)
        ]


async def _create_outbox(harness: Harness) -> None:
    connection = await asyncpg.connect(harness.database_url)
    await connection.execute("create table bench_outbox (like event_outbox including all)")
    await connection.close()


def run(harness: Harness) -> None:
    asyncio.run(_create_outbox(harness))
    scene = Scene(harness)
    owner, count = scene.owner, 4 if harness.options.quick else ASSETS
    token = owner.admin.token
    battery = {"name": f"Bench {NUMBER}", "organisationID": owner.id, "deliveryZone": "TenneT", "parameters": RATED}
    harness.compare(
        "a battery: POST /physical-assets",
        Request("POST", "/physical-assets", token=token, json=battery),
        Request("POST", f"/batteries/{owner.id}", json=battery),
        at_least=None,
    )
    outage = {
        "description": f"Bench {NUMBER}",
        "type": "OUTAGE",
        "start": (scene.tomorrow + timedelta(days=9)).isoformat(),
        "end": (scene.tomorrow + timedelta(days=10)).isoformat(),
        "volume": {"energyCapacity": 1, "powerCapacity": {"charge": 1, "discharge": 1}},
    }
    batteries = [scene.new_battery(1000) for _ in range(count)]
    harness.compare(
        "an outage: POST /physical-assets/{id}/unavailability",
        [Request("POST", f"/physical-assets/{each}/unavailability", token=token, json=outage) for each in batteries],
        [Request("POST", f"/unavailability/{each}", json=outage) for each in batteries],
        at_least=None,
    )
    block = {"market": "WHOLESALE", "ratedChargePower": BLOCK_KW, "ratedDischargePower": BLOCK_KW} | {
        "start": scene.tomorrow.isoformat(),
        "end": (scene.tomorrow + timedelta(days=2)).isoformat(),
    }
    url = f"/organisations/{owner.id}/virtual-assets"
    harness.compare(
        "a block: POST /organisations/{id}/virtual-assets/{id}/blocks",
        [Request("POST", f"{url}/{each}/blocks", token=token, json=block) for each in scene.new_virtual_assets(count)],
        [Request("POST", f"/blocks/{each}", json=block) for each in scene.new_virtual_assets(count)],
        at_least=None,
    )
    harness.compare(
        "a bid: POST /auctions/{id}/bids",
        scene.bids(scene.auctions(count)),
        scene.bare_bids(scene.auctions(count)),
    )
    user = {"email": f"bench-{NUMBER}@example.com", "role": "TRADER"}
    harness.compare(
        "a user: POST /organisations/{id}/invitations",
        Request("POST", f"/organisations/{owner.id}/invitations", token=token, json=user),
        Request("POST", f"/users/{owner.id}", json=user),
        at_least=None,
    )
