"""Revocation reaches every replica within a second, and a replica that cannot hear believes nothing it remembers."""

import asyncio

import pytest
from tests.conftest import running
from tests.people import client_of, wait_for_status

from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity.lifespan import LISTENER_NAME
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.signing_key_cache import rotate_signing_key


@pytest.fixture
async def replica(settings, app):
    """A second service on the same database."""
    async with running(settings) as edge:
        yield edge


async def hear(edge):
    async with asyncio.timeout(120):
        while not edge.authenticator.is_listening:
            await asyncio.sleep(0.01)


class TestRevocation:
    async def test_of_a_session_reaches_the_other_replica(self, replica, new_organisation):
        await hear(replica)
        person = (await new_organisation()).people[Role.VIEWER]
        async with client_of(replica, person.tokens.access) as elsewhere:
            assert (await elsewhere.get("/auth/me")).status_code == 200
            assert replica.authenticator.known(person.tokens.access) is not None
            await person.client.post("/auth/logout")
            await wait_for_status(elsewhere, 401)

    async def test_of_an_api_key_reaches_the_other_replica(self, replica, new_organisation):
        await hear(replica)
        organisation = await new_organisation()
        made = await organisation.admin.post("/auth/api-keys", json={"name": "x", "permissions": ["Read:monitoring"]})
        async with client_of(replica, made.json()["secret"]) as elsewhere:
            assert (await elsewhere.get("/auth/me")).status_code == 200
            await organisation.admin.delete(f"/auth/api-keys/{made.json()['id']}")
            await wait_for_status(elsewhere, 401)

    async def test_is_heard_by_a_connection_that_says_what_this_release_reads(self, app):
        """A replica that says less reads no sealed keys, so they stay as they are while one runs."""
        await hear(app)
        named = "select count(*) from pg_stat_activity where datname = current_database() and application_name = $1"
        assert await app.pool.fetchval(named, LISTENER_NAME) >= 1

    async def test_reaches_whatever_rests_on_a_login_or_key_its_member_or_their_organisation(
        self, app, new_organisation
    ):
        await hear(app)
        organisation = await new_organisation()
        person = organisation.people[Role.ADMIN]
        made = await organisation.admin.post("/auth/api-keys", json={"name": "x", "permissions": ["Read:monitoring"]})
        whose = {f"member:{person.id}", f"organisation:{organisation.id}"}
        for token, own in (
            (person.tokens.access, f"session:{person.tokens.caller.session_id}"),
            (made.json()["secret"], f"api-key:{made.json()['id']}"),
        ):
            async with client_of(app, token) as client:
                assert (await client.get("/auth/me")).status_code == 200
            assert app.authenticator._cache._by_token[token].subjects == {own, *whose}

    async def test_costs_the_first_request_only(self, app, new_organisation):
        await hear(app)
        person = (await new_organisation()).people[Role.VIEWER]
        assert app.authenticator.known(person.tokens.access) is None
        await person.client.get("/auth/me")
        assert app.authenticator.known(person.tokens.access) is not None

    async def test_that_cannot_be_heard_makes_memory_worthless(self, replica, new_organisation):
        await hear(replica)
        person = (await new_organisation()).people[Role.VIEWER]
        async with client_of(replica, person.tokens.access) as elsewhere:
            await elsewhere.get("/auth/me")
            assert replica.authenticator.known(person.tokens.access) is not None
            await replica.authenticator.stop()
            assert replica.authenticator.known(person.tokens.access) is None
            await person.client.post("/auth/logout")
            assert (await elsewhere.get("/auth/me")).status_code == 401

    async def test_missed_while_the_connection_was_cut_is_not_overlooked(self, replica, new_organisation):
        await hear(replica)
        person = (await new_organisation()).people[Role.VIEWER]
        async with client_of(replica, person.tokens.access) as elsewhere:
            await elsewhere.get("/auth/me")
            await replica.pool.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name like 'gridloom revocations%' and datname = current_database()"
            )
            await person.client.post("/auth/logout")
            await wait_for_status(elsewhere, 401)
        await hear(replica)


class TestSigningKey:
    async def test_that_became_known_ends_every_access_token_but_no_login(self, fresh_app):
        from tests.people import People

        edge = await fresh_app()
        async with People(edge) as people:
            operator = await people.operator()
            assert (await operator.client.get("/auth/me")).status_code == 200
            async with edge.pool.acquire() as connection, connection.transaction():
                await rotate_signing_key(connection, Seal(None, "signing-key"), distrust=True)
            await wait_for_status(operator.client, 401)
            renewed = await operator.client.post(
                "/auth/public/refresh", json={"refresh_token": operator.tokens.refresh}
            )
            assert renewed.status_code == 200
            async with client_of(edge, renewed.json()["access_token"]) as client:
                assert (await client.get("/auth/me")).status_code == 200
