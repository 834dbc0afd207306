"""Secrets in the database: sealed by a command, readable in both forms until then."""

import asyncio
import json
from dataclasses import replace

import asyncpg
import pyotp
import pytest
from tests.concurrency import await_blocked
from tests.conftest import migrated_database, running
from tests.people import PASSWORD, People, client_of

from gridloom.commands.accounts import reset_second_factor, rotate_secrets
from gridloom.commands.serving.serve import StartupError, prepare
from gridloom.platform.database.sealing import Seal, Sealing
from gridloom.platform.database.service_database import CommandError
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.signing_key_cache import rotate_signing_key
from gridloom.platform.identity.single_sign_on.model import IdentityProvider
from gridloom.platform.identity.store.identity_providers import put_provider, reseal_providers
from gridloom.platform.identity.store.second_factors import reseal_second_factors

KEY, NEW_KEY = "the first key of this test", "the second key of this test"


@pytest.fixture
async def platform(settings):
    """A database whose secrets lie open, as an earlier release left them, with a member who has some of each kind."""
    async with migrated_database() as url:
        without = replace(settings, database_url=url, secrets_key=None)
        async with running(without) as edge, People(edge) as people:
            ours = await people.new_organisation()
            secret = (await ours.viewer.post("/auth/totp")).json()["secret"]
            await ours.viewer.put("/auth/totp", json={"code": pyotp.TOTP(secret).now()})
            made = await ours.admin.post("/webhooks", json={"url": "http://127.0.0.1:9/x", "types": []})
            assert made.status_code == 201, made.text
            sealed = Sealing(None).identity_providers.close(b"the client's")
            provider = IdentityProvider(
                ours.id, "https://issuer.example", "us", sealed, ("x.example",), False, None, None
            )
            await put_provider(edge.pool, provider)
        yield without, ours


async def read_forms(url):
    connection = await asyncpg.connect(url)
    try:
        seeds = await connection.fetch("select private_seed from signing_key")
        return {
            "signing keys": {len(row["private_seed"]) > 32 for row in seeds},
            "webhooks": {row["secret"][:1] for row in await connection.fetch("select secret from webhook")},
            "factors": {
                row["f"] for row in await connection.fetch("select substr(sealed_secret, 1, 1) f from second_factor")
            },
            "providers": {
                row["sealed_client_secret"][:1]
                for row in await connection.fetch("select sealed_client_secret from identity_provider")
            },
        }
    finally:
        await connection.close()


class TestSecrets:
    async def test_are_sealed_by_the_command_and_not_before(self, platform):
        without, ours = platform
        token = ours.people[Role.ADMIN].tokens.access
        with_key = replace(without, secrets_key=KEY)
        async with running(with_key) as edge, client_of(edge, token) as client:
            assert (await client.get("/auth/me")).status_code == 200
            async with edge.pool.acquire() as connection, connection.transaction():
                await rotate_signing_key(connection, Sealing(KEY).signing_keys)
            forms = await read_forms(without.database_url)
            assert forms == {"signing keys": {False}, "webhooks": {b"\0"}, "factors": {b"\0"}, "providers": {b"\0"}}
            done = await asyncio.to_thread(rotate_secrets, with_key)
            assert (done.signing_keys, done.webhooks, done.second_factors, done.identity_providers) == (2, 1, 1, 1)
            forms = await read_forms(without.database_url)
            assert forms == {"signing keys": {True}, "webhooks": {b"\1"}, "factors": {b"\1"}, "providers": {b"\1"}}
            audited = "select details::text from audit_log where action like 'rotateSecrets%'"
            assert json.loads(await edge.pool.fetchval(audited)) == {"signingKeys": 2}
            assert (await client.get("/auth/me")).status_code == 200
        async with running(with_key) as again, client_of(again, token) as client:
            assert (await client.get("/auth/me")).status_code == 200
            async with again.pool.acquire() as connection, connection.transaction():
                await rotate_signing_key(connection, Sealing(KEY).signing_keys)
        assert (await read_forms(without.database_url))["signing keys"] == {True}
        done = await asyncio.to_thread(rotate_secrets, with_key)
        assert (done.signing_keys, done.webhooks, done.second_factors, done.identity_providers) == (0, 0, 0, 0)

    @pytest.mark.parametrize(
        ("table", "column", "reseal"),
        [
            ("second_factor", "sealed_secret", reseal_second_factors),
            ("identity_provider", "sealed_client_secret", reseal_providers),
        ],
    )
    async def test_are_not_put_back_where_they_are_replaced_meanwhile(self, platform, table, column, reseal):
        """The command has read the old secret, and waits for the change of it that has not been committed yet."""
        without, _ = platform
        async with running(replace(without, secrets_key=KEY)) as edge, edge.pool.acquire() as other:
            async with edge.pool.acquire() as connection:
                async with connection.transaction():
                    assert await connection.execute(f"update {table} set {column} = 'new'::bytea") == "UPDATE 1"
                    resealing = asyncio.ensure_future(reseal(other, Seal(KEY, table)))
                    await await_blocked(edge, connection, resealing)
                await resealing
            assert await edge.pool.fetchval(f"select {column} from {table}") == b"new"

    async def test_change_their_key_without_a_pause(self, platform):
        without, ours = platform
        await asyncio.to_thread(rotate_secrets, replace(without, secrets_key=KEY))
        both = replace(without, secrets_key=NEW_KEY, former_secrets_keys=(KEY,))
        token = ours.people[Role.ADMIN].tokens.access
        async with running(both) as edge, client_of(edge, token) as client:
            assert (await client.get("/auth/me")).status_code == 200
            await asyncio.to_thread(rotate_secrets, both)
            assert (await client.get("/auth/me")).status_code == 200
        async with running(replace(without, secrets_key=NEW_KEY)) as edge, client_of(edge, token) as client:
            assert (await client.get("/auth/me")).status_code == 200

    async def test_need_their_key(self, platform):
        without, _ = platform
        with pytest.raises(CommandError, match="GRIDLOOM_SECRETS_KEY"):
            await asyncio.to_thread(rotate_secrets, without)
        await asyncio.to_thread(rotate_secrets, replace(without, secrets_key=KEY))
        with pytest.raises(CommandError, match="another GRIDLOOM_SECRETS_KEY"):
            await asyncio.to_thread(rotate_secrets, replace(without, secrets_key=NEW_KEY))
        for wrong in (without, replace(without, secrets_key=NEW_KEY)):
            with pytest.raises(StartupError, match="GRIDLOOM_SECRETS_KEY"):
                await prepare(wrong)
        await prepare(replace(without, secrets_key=KEY))


class TestTheLastAdministrator:
    async def test_who_has_lost_the_second_factor_is_let_in_by_the_command(self, platform):
        without, ours = platform
        person = ours.people[Role.VIEWER]
        assert await asyncio.to_thread(reset_second_factor, without, person.username.upper()) == person.username
        async with running(without) as edge, client_of(edge) as anonymous:
            body = {"username": person.username, "password": PASSWORD}
            assert (await anonymous.post("/auth/public/authenticate", json=body)).status_code == 200
            [kept] = await edge.pool.fetch(
                "select resource, details from audit_log where action = 'resetSecondFactorFromCommandLine'"
            )
            assert kept["resource"] == f"/users/{person.id}"
            assert kept["details"] == {"username": person.username}
            async with client_of(edge, ours.people[Role.ADMIN].tokens.access) as admin:
                [shown] = (await admin.get("/audit-log", params={"action": "resetSecondFactorFromCommandLine"})).json()
            assert shown == {
                **{"id": shown["id"], "time": shown["time"], "organisationID": None, "organisationName": None},
                **{"actorID": None, "actorKind": "SYSTEM", "actorName": "command line"},
                **{"action": "resetSecondFactorFromCommandLine", "method": "POST", "resource": f"/users/{person.id}"},
                **{"status": 200, "address": None, "requestId": None, "details": {"username": person.username}},
            }
        for username in (person.username, "nobody"):
            with pytest.raises(CommandError):
                await asyncio.to_thread(reset_second_factor, without, username)
