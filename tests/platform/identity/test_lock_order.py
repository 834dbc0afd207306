"""The organisation's row is the first lock of a change to several reference tables: on a distributed database two
changes that lock their shards in opposite orders would wait for each other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.assets import PARAMETERS, register_asset

from gridloom.platform.identity.permissions import Role

WRITING = ("RowShareLock", "RowExclusiveLock", "ShareLock", "ShareRowExclusiveLock", "ExclusiveLock")


class TestAChange:
    @pytest.fixture
    async def requests(self, new_organisation: Any) -> Any:
        ours = await new_organisation()
        asset = await register_asset(ours)
        fleet = {"name": "North", "organisationID": str(ours.id), "physicalAssetIDs": [asset.id]}
        path = f"/fleets/{(await ours.engineer.post('/fleets', json=fleet)).json()['id']}"
        member = f"/organisations/{ours.id}/members/{ours.people[Role.VIEWER].id}"
        new_asset = {
            "name": "Elbe",
            "organisationID": str(ours.id),
            "deliveryZone": "TenneT",
            "parameters": PARAMETERS,
        }
        key = {"name": "k", "permissions": ["Read:revenue"]}
        invitation = {"email": "ada@example.org", "role": "VIEWER"}
        return ours, {
            "create a fleet": lambda: ours.engineer.post("/fleets", json=fleet),
            "change a fleet": lambda: ours.engineer.change(path, json={"physicalAssetIDs": []}),
            "delete a fleet": lambda: ours.engineer.delete(path),
            "register an asset": lambda: ours.engineer.post("/physical-assets", json=new_asset),
            "make a key": lambda: ours.admin.post("/auth/api-keys", json=key),
            "invite": lambda: ours.admin.post(f"/organisations/{ours.id}/invitations", json=invitation),
            "change a role": lambda: ours.admin.change(member, json={"role": "TRADER"}),
            "remove a member": lambda: ours.admin.delete(member),
        }

    async def test_has_locked_nothing_else_when_it_waits_for_the_organisation(self, app: Any, requests: Any) -> None:
        ours, changes = requests
        for name, change in changes.items():
            async with app.pool.acquire() as db, db.transaction():
                await db.execute("select from organisation where id = $1 for no key update", ours.id)
                asking = asyncio.ensure_future(change())
                pid = await self.find_waiting(db)
                rows = await db.fetch(
                    """select relation::regclass::text as name from pg_locks l join pg_class c on c.oid = l.relation
                           where pid = $1 and granted and mode = any($2::text[]) and relkind in ('r', 'p')""",
                    pid,
                    WRITING,
                )
                assert {row["name"] for row in rows} <= {"organisation"}, name
            assert (await asking).status_code < 300, name

    async def find_waiting(self, db: Any) -> int:
        """The backend that waits for this one."""
        async with asyncio.timeout(20):
            while True:
                pid = await db.fetchval(
                    "select pid from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid)) limit 1"
                )
                if pid is not None:
                    return int(pid)
                await asyncio.sleep(0.02)
