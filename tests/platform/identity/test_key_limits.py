"""How far an API key reaches: how long, from where, which assets; over HTTP on the real database."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from tests.assets import register_asset
from tests.people import NOTICE_TIMEOUT_S, PASSWORD, client_of, wait_for_status
from tests.platform.events.sse import Reader

from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.api_keys import claim_expiring_keys
from gridloom.platform.jobs import JobRun
from gridloom.platform.upkeep.key_expiry import notify_expiring_keys


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


async def make(client, permissions=("Read:physical-assets", "Read:monitoring", "Create:monitoring"), **more):
    return await client.post("/auth/api-keys", json={"name": "Gateway", "permissions": list(permissions), **more})


async def wait_until_known(app, client, token):
    """Until the service keeps the caller of a token, which it does while it hears what ends a caller's rights."""
    async with asyncio.timeout(NOTICE_TIMEOUT_S):
        while app.authenticator.known(token) is None:
            assert (await client.get("/auth/me")).status_code == 200


class TestTheLifeOfAKey:
    async def test_is_no_longer_than_the_organisation_allows(self, organisation):
        path = f"/organisations/{organisation.id}"
        assert (await organisation.admin.change(path, json={"maxKeyAgeDays": 30})).json()["maxKeyAgeDays"] == 30
        for minutes, status in ((4, 201), (6, 422)):  # five minutes are tolerated: a caller has a clock of its own
            end = datetime.now(UTC) + timedelta(days=30, minutes=minutes)
            made = await make(organisation.admin, expiresAt=end.isoformat())
            assert made.status_code == status, made.text
        assert made.json()["errors"][0]["pointer"] == "/expiresAt"
        lasts = datetime.fromisoformat((await make(organisation.admin)).json()["expiresAt"]) - datetime.now(UTC)
        assert lasts <= timedelta(days=30, milliseconds=1)
        for wrong in (0, 3651, 1.5, "30"):
            assert (await organisation.admin.change(path, json={"maxKeyAgeDays": wrong})).status_code == 400

    async def test_that_ends_soon_is_notified_once(self, app, organisation):
        soon = datetime.now(UTC) + timedelta(days=13, hours=23)  # two weeks before is soon
        made = (await make(organisation.admin, expiresAt=soon.isoformat())).json()
        await make(organisation.admin, expiresAt=(soon + timedelta(hours=2)).isoformat())
        ended = (await make(organisation.admin, expiresAt=soon.isoformat())).json()
        await app.pool.execute(
            "update api_key set expires_at = clock_timestamp() - interval '1 second' where id = $1", ended["id"]
        )
        for _ in range(2):
            async with app.pool.acquire() as connection, connection.transaction():
                run = JobRun(db=connection, kind="x", key="x", payload={}, due=soon, attempt=1)
                await notify_expiring_keys(run)
        async with asyncio.timeout(120):
            while not (told := await self.read_told(app, organisation.id)):
                await asyncio.sleep(0.05)
        assert [one["data"]["apiKeyID"] for one in told] == [made["id"]]

    async def test_is_notified_the_sooner_the_sooner_it_ends(self, app, organisation):
        now, ids = datetime.now(UTC), {}
        for days in (3, 1, 2):
            made = await make(organisation.admin, expiresAt=(now + timedelta(days=days)).isoformat())
            ids[days] = UUID(made.json()["id"])
        async with app.pool.acquire() as db:
            await (undone := db.transaction()).start()
            await db.execute("update api_key set expiry_notified_at = now() where not id = any($1)", [*ids.values()])
            claimed = [await claim_expiring_keys(db, now + timedelta(days=3), most) for most in (1, 2, 1)]
            await undone.rollback()
        assert [[one.id for one in some] for some in claimed] == [[ids[1]], [ids[2], ids[3]], []]

    async def read_told(self, app, organisation_id):
        return await app.pool.fetch(
            "select data from event where organisation_id = $1 and type = 'api-key.expiring'", organisation_id
        )


class TestAKeyForCertainAssets:
    async def test_reaches_these_and_no_other(self, app, organisation):
        mine, other = [(await register_asset(organisation)).id for _ in range(2)]
        made = await make(organisation.admin, physicalAssetIDs=[str(mine)])
        assert made.status_code == 201, made.text
        assert made.json()["physicalAssetIDs"] == [str(mine)]
        point = {"activePower": {"time": ["2026-01-01T00:00:00Z"], "value": [1.0]}}
        async with client_of(app, made.json()["secret"]) as machine:
            assert [one["id"] for one in (await machine.get("/physical-assets")).json()] == [str(mine)]
            assert (await machine.get(f"/physical-assets/{mine}")).status_code == 200
            assert (await machine.get(f"/monitoring/{mine}/signals")).status_code == 200
            refused = await machine.get(f"/physical-assets/{other}")
            assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (403, "outside-key-assets")
            assert (await machine.get(f"/physical-assets/{uuid4()}")).status_code == 403
            assert (await machine.post(f"/monitoring/{other}/datapoints", json=point)).status_code == 403
            both = {str(mine): point, str(other): point}
            assert (await machine.post("/monitoring/datapoints", json=both)).status_code == 403
            assert (await machine.get("/auth/me")).status_code == 200

    async def test_reaches_nothing_that_is_no_asset_of_its_own(self, app, organisation):
        mine = (await register_asset(organisation)).id
        permissions = ["Read:physical-assets", "Read:virtual-assets", "Read:auctions", "Manage:organisation"]
        made = (await make(organisation.admin, permissions, physicalAssetIDs=[str(mine)])).json()
        async with client_of(app, made["secret"]) as machine:
            for path in (
                f"/organisations/{organisation.id}/virtual-assets",
                "/auctions",
                "/fleets",
                "/webhooks",
                "/audit-log",
                f"/organisations/{organisation.id}/members",
            ):
                assert (await machine.get(path)).status_code == 403, path

    async def test_gets_only_events_of_its_assets(self, app, organisation):
        mine, other = [(await register_asset(organisation)).id for _ in range(2)]
        made = (await make(organisation.admin, physicalAssetIDs=[str(mine)])).json()
        outage = {
            "description": "",
            "type": "OUTAGE",
            "start": "2030-01-01T00:00:00Z",
            "end": "2030-01-01T01:00:00Z",
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 1, "discharge": 1}},
        }
        async with Reader(app, made["secret"]) as reader:
            for asset in (other, mine):
                posted = await organisation.admin.post(f"/physical-assets/{asset}/unavailability", json=outage)
                assert posted.status_code == 201, posted.text
            told = await reader.next()
        assert told is not None
        assert str(mine) in told.data["subject"]

    async def test_is_not_made_for_assets_out_of_reach(self, app, organisation, new_organisation):
        stranger = await new_organisation()
        theirs = (await register_asset(stranger)).id
        virtual = await app.pool.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, 'VIRTUAL', $2) returning id",
            uuid4(),
            organisation.id,
        )
        refused = await make(organisation.admin, physicalAssetIDs=[str(theirs), str(uuid4()), str(virtual)])
        assert refused.status_code == 422
        assert [one["pointer"] for one in refused.json()["errors"]] == [f"/physicalAssetIDs/{n}" for n in range(3)]
        assert (await make(organisation.admin, physicalAssetIDs=[])).status_code == 400

    async def test_is_made_for_assets_that_were_granted_to_its_organisation_and_to_no_other(
        self, app, organisation, new_organisation
    ):
        owner, third = await new_organisation(), await new_organisation()
        ours, theirs = [(await register_asset(owner)).id for _ in range(2)]
        for asset_id, holder in ((ours, organisation), (theirs, third)):
            await app.pool.execute(
                "insert into asset_grant select key, $2, '{Read:monitoring}', $2 from asset where id = $1",
                *(asset_id, holder.id),
            )
        made = await make(organisation.admin, physicalAssetIDs=[str(ours)])
        assert (made.status_code, made.json()["physicalAssetIDs"]) == (201, [str(ours)])
        refused = await make(organisation.admin, physicalAssetIDs=[str(ours), str(theirs)])
        assert refused.status_code == 422
        assert [one["pointer"] for one in refused.json()["errors"]] == ["/physicalAssetIDs/1"]


class TestAllowedNetworks:
    async def test_of_an_organisation_hold_for_all_its_members(self, app, organisation):
        path = f"/organisations/{organisation.id}"
        person = organisation.people[Role.TRADER]
        admin = organisation.people[Role.ADMIN]
        async with client_of(app, admin.tokens.access, address="203.0.113.7") as inside:
            changed = await inside.change(path, json={"allowedNetworks": ["203.0.113.0/24", "2001:db8::/32"]})
            assert changed.status_code == 200, changed.text
        async with client_of(app, person.tokens.access, address="198.51.100.1") as outside:
            await wait_for_status(outside, 403)
        for address, status in (("203.0.113.250", 200), ("2001:db8::1", 200), ("198.51.100.1", 403), ("::1", 403)):
            async with client_of(app, person.tokens.access, address=address) as client:
                answer = await client.get("/auth/me")
                assert answer.status_code == status, address
        assert answer.json()["type"].endswith("/network-not-allowed")
        async with client_of(app, admin.tokens.access, address="203.0.113.7") as inside:
            lifted = await inside.change(path, json={"allowedNetworks": []})
            assert (lifted.status_code, lifted.json()["allowedNetworks"]) == (200, []), lifted.text

    async def test_of_an_organisation_hold_for_a_key_that_was_used_just_before(self, app, organisation, operator):
        """What is known of a key would else be believed for a minute, longer than is waited for here."""
        path = f"/organisations/{organisation.id}"
        secret = (await make(organisation.trader, ["Read:monitoring"])).json()["secret"]
        async with client_of(app, secret, address="198.51.100.1") as machine:
            await wait_until_known(app, machine, secret)
            assert (await operator.change(path, json={"allowedNetworks": ["203.0.113.0/24"]})).status_code == 200
            await wait_for_status(machine, 403)
            async with client_of(app, secret, address="203.0.113.7") as inside:
                await wait_until_known(app, inside, secret)
            assert (await operator.change(path, json={"allowedNetworks": []})).status_code == 200
            await wait_for_status(machine, 200)

    async def test_are_looked_at_after_the_password(self, app, organisation):
        person = organisation.people[Role.TRADER]
        await app.pool.execute(
            "update organisation set allowed_networks = '{203.0.113.0/24,2001:db8::/32}' where id = $1", organisation.id
        )
        for password, address, status in (
            (PASSWORD, "203.0.113.4", 200),
            (PASSWORD, "2001:db8::4", 200),
            (PASSWORD, "198.51.100.4", 403),
            ("wrong", "198.51.100.4", 401),
        ):
            async with client_of(app, address=address) as client:
                body = {"username": person.username, "password": password}
                assert (await client.post("/auth/public/authenticate", json=body)).status_code == status

    async def test_never_exclude_the_caller_that_sets_them(self, organisation, operator):
        path = f"/organisations/{organisation.id}"
        refused = await organisation.admin.change(path, json={"allowedNetworks": ["203.0.113.0/24"]})
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (422, "would-lock-you-out")
        assert (await operator.change(path, json={"allowedNetworks": ["203.0.113.0/24"]})).status_code == 200
        await wait_for_status(organisation.admin, 403)
        assert (await operator.change(path, json={"allowedNetworks": []})).status_code == 200
        await wait_for_status(organisation.admin, 200)

    async def test_are_networks(self, organisation):
        path = f"/organisations/{organisation.id}"
        body = {"allowedNetworks": ["10.0.0.0/8", "10.0.0.1/8", "elsewhere", "10.0.0.0/33"]}
        refused = await organisation.admin.change(path, json=body)
        assert refused.status_code == 400
        pointers = [one["pointer"] for one in refused.json()["errors"]]
        assert pointers == ["/allowedNetworks/1", "/allowedNetworks/2", "/allowedNetworks/3"]

    async def test_of_a_key_narrow_those_of_the_organisation(self, app, organisation):
        made = (await make(organisation.admin, allowedNetworks=["203.0.113.0/28"])).json()
        await app.pool.execute(
            "update organisation set allowed_networks = '{203.0.113.0/24}' where id = $1", organisation.id
        )
        for address, status in (("203.0.113.1", 200), ("203.0.113.99", 403), ("198.51.100.1", 403)):
            async with client_of(app, made["secret"], address=address) as machine:
                assert (await machine.get("/auth/me")).status_code == status

    async def test_end_a_stream_from_elsewhere(self, app, organisation, operator):
        person = organisation.people[Role.ADMIN]
        async with Reader(app, person.tokens.access) as reader:
            path = f"/organisations/{organisation.id}"
            assert (await operator.change(path, json={"allowedNetworks": ["203.0.113.0/24"]})).status_code == 200
            assert await reader.next() is None
