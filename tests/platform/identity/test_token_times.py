"""Tokens are issued and judged by one clock, the database's, whatever a replica's own clock shows."""

import time

import pytest
from tests.conftest import migrated_database
from tests.stand_ins import replace_for

from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity import signing_key_cache
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.signing_key_cache import SigningKeyCache, rotate_signing_key

SEAL = Seal(None, "signing-key")


def set_ahead(monkeypatch, ahead_s):
    """A worker's own clock, for its keys alone: the event loop's timers go by the true one."""
    replace_for(monkeypatch, signing_key_cache, "time", monotonic=lambda: time.monotonic() + ahead_s)


class TestACaller:
    async def test_is_believed_for_a_minute_and_no_longer_than_its_session_or_key_lasts(self, app, new_organisation):
        person = (await new_organisation()).people[Role.TRADER]
        made = await person.client.post("/auth/api-keys", json={"name": "meter", "permissions": ["Read:monitoring"]})
        for ends_s, believed_s in ((600.0, 60), (30.0, 30)):
            for table in ("session", "api_key"):
                ends = f"update {table} set expires_at = clock_timestamp() + make_interval(secs => $2)"
                await app.pool.execute(f"{ends} where member_id = $1", person.id, ends_s)
            by_session = await app.authenticator._verify_jwt(person.tokens.access)
            by_key = await app.authenticator._verify_key(made.json()["secret"])
            for verified in (by_session, by_key):
                assert believed_s - 15 < verified.expires_at - time.monotonic() < believed_s


class TestTheKeysOfAWorker:
    @pytest.fixture
    async def pool(self):
        async with migrated_database() as url, await create_pool(url, size=2) as pool:
            yield pool

    async def test_sign_from_their_time_on_and_verify_until_their_end(self, pool, monkeypatch):
        keyring = SigningKeyCache(pool, SEAL)
        old = (await keyring.for_signing()).kid
        await rotate_signing_key(pool, SEAL)
        await pool.execute(
            """
            update signing_key
            set signs_from = case kid when $1 then signs_from else clock_timestamp() + interval '30 s' end,
              verifies_until = case kid when $1 then clock_timestamp() + interval '50 s' end
            """,
            old,
        )
        keyring.evict()
        [new] = [key.kid for key in await keyring.all() if key.kid != old]
        for passed_s, signing, verifies in ((0, old, True), (28, old, True), (31, new, True), (51, new, False)):
            set_ahead(monkeypatch, passed_s)
            assert (await keyring.for_signing()).kid == signing
            assert (await keyring.for_verifying(old) is not None) is verifies
            assert await keyring.for_verifying(new) is not None

    async def test_sign_with_the_oldest_where_the_time_of_none_has_come(self, pool):
        keyring = SigningKeyCache(pool, SEAL)
        oldest = (await keyring.for_signing()).kid
        for _ in range(2):
            await rotate_signing_key(pool, SEAL)
        await pool.execute("update signing_key set signs_from = signs_from + interval '1 day'")
        keyring.evict()
        assert len(await keyring.all()) == 3
        assert (await keyring.for_signing()).kid == oldest


class TestAReplacedSigningKey:
    async def test_verifies_no_longer_than_the_tokens_it_signed_though_a_worker_still_holds_it(self, monkeypatch):
        async with migrated_database() as url, await create_pool(url, size=2) as pool:
            keyring = SigningKeyCache(pool, SEAL)
            former = (await keyring.for_signing()).kid  # made as it is asked for
            await rotate_signing_key(pool, SEAL)
            keyring.evict()
            assert await keyring.for_verifying(former) is not None
            until = await pool.fetchval("select verifies_until from signing_key where kid = $1", former)
            left_s = (until - await real_now(pool)).total_seconds()
            set_ahead(monkeypatch, left_s - 5)
            assert await keyring.for_verifying(former) is not None
            set_ahead(monkeypatch, left_s + 1)
            assert await keyring.for_verifying(former) is None
            monkeypatch.undo()
            trusted = await rotate_signing_key(pool, SEAL, distrust=True)
            await pool.execute("select pg_sleep(0.002)")  # the end is rounded to a millisecond, which may be the next
            keyring.evict()
            assert [key.kid for key in await keyring.all()] == [trusted], "nor do those that were replaced before"
