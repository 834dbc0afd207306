"""Tokens are issued and judged by one clock, the database's, whatever a replica's own clock shows."""

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.conftest import migrated_database
from tests.people import client_of

from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity import signing_key_cache
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.signing_key_cache import SigningKeyCache, rotate_signing_key
from gridloom.platform.identity.tokens import kid_of, new_seed, read_access_token, sign_access_token, signing_key


async def reissued(app, person, *, later):
    """The person's token as it would be had it been issued so much later."""
    token, keyring = person.tokens.access, SigningKeyCache(app.pool, Seal(None, "signing-key"))
    key = await keyring.for_verifying(kid_of(token))
    assert key is not None
    claims = read_access_token(token, key)
    return sign_access_token(
        await keyring.for_signing(),
        user_id=claims.user_id,
        session_id=claims.session_id,
        organisation_id=person.tokens.caller.organisation_id,
        issued_at=await real_now(app.pool) + later,
    )


class TestAToken:
    @pytest.mark.parametrize(
        ("later", "status"),
        [
            (timedelta(0), 200),
            (-timedelta(minutes=14, seconds=30), 200),
            (-timedelta(minutes=15, seconds=2), 401),
            (timedelta(seconds=10), 401),
            (timedelta(days=300), 401),
        ],
    )
    async def test_works_from_its_issue_to_its_end_by_the_databases_clock(self, app, new_organisation, later, status):
        person = (await new_organisation()).people[Role.VIEWER]
        async with client_of(app, await reissued(app, person, later=later)) as client:
            assert (await client.get("/auth/me")).status_code == status

    @pytest.mark.parametrize("off_by_s", [-7200, 7200])
    async def test_works_where_a_replicas_clock_is_hours_off(self, app, new_organisation, monkeypatch, off_by_s):
        true_time = time.time
        monkeypatch.setattr(time, "time", lambda: true_time() + off_by_s)
        person = (await new_organisation()).people[Role.VIEWER]
        for _ in range(2):  # verified, then remembered
            assert (await person.client.get("/auth/me")).status_code == 200
        async with client_of(app, await reissued(app, person, later=-timedelta(minutes=16))) as late:
            assert (await late.get("/auth/me")).status_code == 401


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


def a_clock_ahead_by(seconds: float) -> SimpleNamespace:
    """In place of the module of that name, and of one module alone: the event loop's timers go by the true one."""
    return SimpleNamespace(monotonic=lambda: time.monotonic() + seconds)


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

    async def test_are_read_once_a_minute_and_for_an_unknown_one_once_a_second(self, worker):
        key, later = (signing_key(*new_seed(), worker.start, None) for _ in range(2))
        worker.keys = [key]
        for passed_s, read in ((0, 1), (59.9, 1), (60, 2), (60.5, 2)):
            worker.passed_s = passed_s
            assert (await worker.keyring.for_signing(), worker.read) == (key, read)
            assert (await worker.keyring.all(), worker.read) == ((key,), read)
        worker.keys = [later, key]
        for passed_s, found, read in ((60.9, None, 2), (61, later.public, 3), (61.1, later.public, 3)):
            worker.passed_s = passed_s
            assert (await worker.keyring.for_verifying(later.kid), worker.read) == (found, read)
            assert await worker.keyring.for_verifying("forged") is None
        worker.keyring.evict()
        assert await worker.keyring.for_verifying(key.kid) == key.public
        assert worker.read == 4

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
            monkeypatch.setattr(signing_key_cache, "time", a_clock_ahead_by(left_s - 5))
            assert await keyring.for_verifying(former) is not None
            monkeypatch.setattr(signing_key_cache, "time", a_clock_ahead_by(left_s + 1))
            assert await keyring.for_verifying(former) is None
            monkeypatch.undo()
            trusted = await rotate_signing_key(pool, seal, distrust=True)
            await pool.execute("select pg_sleep(0.002)")  # the end is rounded to a millisecond, which may be the next
            keyring.evict()
            assert [key.kid for key in await keyring.all()] == [trusted], "nor do those that were replaced before"
