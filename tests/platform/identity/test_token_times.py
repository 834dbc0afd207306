"""Tokens are issued and judged by one clock, the database's, whatever a replica's own clock shows."""

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.conftest import migrated_database

from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity import signing_key_cache
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.signing_key_cache import SigningKeyCache, rotate_signing_key
from gridloom.platform.identity.tokens import new_seed, signing_key


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
    def worker(self, monkeypatch):
        """A worker, the keys in the database, and the seconds that have passed; `read` is how often it has asked."""
        start = datetime(2026, 3, 1, 12, tzinfo=UTC)
        state = SimpleNamespace(keys=[], passed_s=0.0, read=0, start=start)

        async def list_signing_keys(*_):
            state.read += 1
            return list(state.keys)

        async def real_now(_):
            return start + timedelta(seconds=state.passed_s)

        monkeypatch.setattr(signing_key_cache, "store", SimpleNamespace(list_signing_keys=list_signing_keys))
        monkeypatch.setattr(signing_key_cache, "real_now", real_now)
        monkeypatch.setattr(signing_key_cache, "time", SimpleNamespace(monotonic=lambda: 500 + state.passed_s))
        state.keyring = SigningKeyCache(cast(Any, None), Seal(None, "signing-key"))
        return state

    async def test_sign_from_their_time_on_and_verify_until_their_end(self, worker):
        start = worker.start
        old = signing_key(*new_seed(), start - timedelta(days=9), start + timedelta(seconds=50))
        new = signing_key(*new_seed(), start + timedelta(seconds=30), None)
        worker.keys = [new, old]
        for passed_s, signing, verifies in ((0, old, True), (29.9, old, True), (30, new, True), (50, new, False)):
            worker.passed_s = passed_s
            assert await worker.keyring.for_signing() is signing
            assert (await worker.keyring.for_verifying(old.kid) is not None) is verifies
            assert await worker.keyring.for_verifying(new.kid) is not None

    async def test_sign_with_the_oldest_where_the_time_of_none_has_come(self, worker):
        keys = [signing_key(*new_seed(), worker.start + timedelta(days=days), None) for days in (3, 2, 1)]
        worker.keys = keys
        assert await worker.keyring.for_signing() is keys[-1]


class TestAReplacedSigningKey:
    async def test_verifies_no_longer_than_the_tokens_it_signed_though_a_worker_still_holds_it(self, monkeypatch):
        seal = Seal(None, "signing-key")
        async with migrated_database() as url, await create_pool(url, size=2) as pool:
            keyring = SigningKeyCache(pool, seal)
            former = (await keyring.for_signing()).kid  # made as it is asked for
            await rotate_signing_key(pool, seal)
            keyring.evict()
            assert await keyring.for_verifying(former) is not None
            until = await pool.fetchval("select verifies_until from signing_key where kid = $1", former)
            left_s = (until - await real_now(pool)).total_seconds()
            ahead_s = left_s - 5
            # Of this module alone: the event loop's timers go by the true clock.
            clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s)
            monkeypatch.setattr(signing_key_cache, "time", clock)
            assert await keyring.for_verifying(former) is not None
            ahead_s = left_s + 1
            assert await keyring.for_verifying(former) is None
            monkeypatch.undo()
            trusted = await rotate_signing_key(pool, seal, distrust=True)
            await pool.execute("select pg_sleep(0.002)")  # the end is rounded to a millisecond, which may be the next
            keyring.evict()
            assert [key.kid for key in await keyring.all()] == [trusted], "nor do those that were replaced before"
