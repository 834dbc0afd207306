"""The second factor, over HTTP on the real database."""

import asyncio
import base64
import time
from dataclasses import replace
from types import SimpleNamespace

import pyotp
import pytest
from tests.conftest import running
from tests.people import NOTICE_TIMEOUT_S, PASSWORD, Person, client_of, wait_for_status

from gridloom.platform.database.commit import transaction
from gridloom.platform.identity.login.throttling import buckets_of, user_bucket
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.second_factor import verification
from gridloom.platform.identity.second_factor.verification import attempts_bucket
from gridloom.platform.identity.store.login_throttle import count_attempt
from gridloom.platform.identity.store.members import find_account


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


class Device:
    """What makes the codes of one person."""

    def __init__(self, person: Person, secret: str, recovery_codes: list[str]) -> None:
        self.person = person
        self.recovery_codes = recovery_codes
        self._totp = pyotp.TOTP(secret)

    def code(self, steps: int = 0) -> str:
        return self._totp.at(int(time.time()) + 30 * steps)

    def wrong_code(self) -> str:
        near = {self.code(steps) for steps in range(-3, 4)}
        return next(code for code in (f"{number:06}" for number in range(100)) if code not in near)


async def enrol(app, person) -> Device:
    begun = await person.client.post("/auth/totp")
    assert begun.status_code == 200, begun.text
    secret = begun.json()["secret"]
    confirmed = await person.client.put("/auth/totp", json={"code": pyotp.TOTP(secret).now()})
    assert confirmed.status_code == 200, confirmed.text
    # The code that confirmed it is spent; tests go on without waiting half a minute.
    await app.pool.execute("update second_factor set last_step = 0 where member_id = $1", person.id)
    return Device(person, secret, confirmed.json()["recoveryCodes"])


async def challenge(client, person):
    answer = await client.post("/auth/public/authenticate", json={"username": person.username, "password": PASSWORD})
    assert answer.status_code == 401, answer.text
    assert answer.json()["type"].endswith("/second-factor-required")
    return answer.json()["challenge"]


async def complete(client, text, code):
    return await client.post("/auth/public/second-factor", json={"challenge": text, "code": code})


class TestSettingUp:
    async def test_lets_no_code_be_spent_before_it_is_confirmed(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        secret = (await person.client.post("/auth/totp")).json()["secret"]
        request = SimpleNamespace(resources=app.resources)
        async with transaction(app.pool) as db:
            assert not await verification.spend_code(request, db, person.id, pyotp.TOTP(secret).now())  # type: ignore[arg-type]

    async def test_refuses_a_wrong_code(self, organisation):
        assert (await organisation.viewer.put("/auth/totp", json={"code": "123456"})).status_code == 409
        await organisation.viewer.post("/auth/totp")
        refused = await organisation.viewer.put("/auth/totp", json={"code": "12345"})
        assert refused.status_code == 400
        assert (await organisation.viewer.put("/auth/totp", json={"code": "000000"})).status_code in (422, 200)

    async def test_happens_once(self, app, organisation):
        device = await enrol(app, organisation.people[Role.VIEWER])
        assert len(device.recovery_codes) == 10
        assert (await organisation.viewer.post("/auth/totp")).status_code == 409
        again = await organisation.viewer.put("/auth/totp", json={"code": device.code()})
        assert again.status_code == 409
        async with asyncio.timeout(NOTICE_TIMEOUT_S):
            while not (await organisation.viewer.get("/auth/me")).json()["hasSecondFactor"]:
                await asyncio.sleep(0.02)

    async def test_is_of_the_newest_secret_and_spends_the_code_that_confirms_it(self, organisation, anonymous):
        """Whoever looked over a shoulder cannot sign in with it within the same half minute."""
        person = organisation.people[Role.VIEWER]
        for _ in range(2):  # the page was loaded again: the first picture is gone
            secret = (await person.client.post("/auth/totp")).json()["secret"]
        code = pyotp.TOTP(secret).now()
        assert (await person.client.put("/auth/totp", json={"code": code})).status_code == 200
        refused = await complete(anonymous, await challenge(anonymous, person), code)
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (401, "wrong-second-factor")

    async def test_leaves_the_secret_in_no_table_in_the_clear_where_there_is_a_key(self, settings, app, organisation):
        person = organisation.people[Role.ENGINEER]
        with_key = replace(settings, secrets_key="a key for this test")
        async with running(with_key) as sealed, client_of(sealed, person.tokens.access) as client:
            secret = (await client.post("/auth/totp")).json()["secret"]
            stored = await app.pool.fetchval("select sealed_secret from second_factor where member_id = $1", person.id)
            assert base64.b32decode(secret) not in stored
            assert (await client.put("/auth/totp", json={"code": pyotp.TOTP(secret).now()})).status_code == 200


class TestSigningIn:
    async def test_takes_password_and_code(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        text = await challenge(anonymous, person)
        code = device.code()
        answer = await complete(anonymous, text, f"{code[:3]} {code[3:]}")
        assert answer.status_code == 200, answer.text
        async with client_of(app, answer.json()["access_token"]) as client:
            assert (await client.get("/auth/me")).json()["username"] == person.username
        counted = "select level from login_throttle where subject = $1"
        assert await app.pool.fetchval(counted, attempts_bucket(person.id).subject) == 0, "a right code is no attempt"
        used = await complete(anonymous, text, device.code(1))
        assert (used.status_code, used.json()["type"].rsplit("/", 1)[1]) == (401, "challenge-expired")

    async def test_takes_a_code_once(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        code = device.code()
        assert (await complete(anonymous, await challenge(anonymous, person), code)).status_code == 200
        refused = await complete(anonymous, await challenge(anonymous, person), code)
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (401, "wrong-second-factor")
        # Nor one of an earlier step.
        assert (await complete(anonymous, await challenge(anonymous, person), device.code(-1))).status_code == 401

    async def test_takes_a_code_once_when_two_come_at_the_same_time_to_two_replicas(self, settings, app, organisation):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        async with running(settings) as replica, client_of(app) as here, client_of(replica) as there:
            for turn in range(4):
                await app.pool.execute("update second_factor set last_step = 0 where member_id = $1", person.id)
                code = device.code() if turn % 2 else device.recovery_codes[turn]
                texts = [await challenge(client, person) for client in (here, there)]
                answers = await asyncio.gather(complete(here, texts[0], code), complete(there, texts[1], code))
                assert sorted(answer.status_code for answer in answers) == [200, 401]

    async def test_takes_one_challenge_once_when_two_come_at_the_same_time(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        text = await challenge(anonymous, person)
        answers = await asyncio.gather(*(complete(anonymous, text, code) for code in device.recovery_codes[:3]))
        assert sorted(answer.status_code for answer in answers) == [200, 401, 401]

    async def test_takes_each_recovery_code_once_however_it_is_typed(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        code = device.recovery_codes[0]
        typed = code.lower().replace("-", " ")
        assert (await complete(anonymous, await challenge(anonymous, person), typed)).status_code == 200
        assert (await complete(anonymous, await challenge(anonymous, person), code)).status_code == 401

    async def test_counts_wrong_codes_per_user_over_all_challenges_and_replicas(self, settings, app, organisation):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        async with running(settings) as replica, client_of(app) as here, client_of(replica) as there:
            for turn in range(5):
                client = (here, there)[turn % 2]
                assert (await complete(client, await challenge(client, person), device.wrong_code())).status_code == 401
            async with client_of(replica) as elsewhere:
                throttled = await complete(elsewhere, await challenge(elsewhere, person), device.code())
            assert throttled.status_code == 429
            assert 1 <= int(throttled.headers["retry-after"]) <= 30

    async def test_with_a_wrong_code_is_in_the_audit_log_under_the_name_of_its_user(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        assert (await complete(anonymous, await challenge(anonymous, person), device.wrong_code())).status_code == 401
        [entry] = (await organisation.admin.get("/audit-log?action=completeLogin")).json()
        assert (entry["actorID"], entry["actorName"], entry["status"]) == (str(person.id), person.username, 401)
        assert entry["details"]["reason"] == "wrong code of the second factor"

    async def test_gives_the_attempt_with_the_password_back_only_with_the_code(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        async with client_of(app) as one_address:
            for _ in range(5):
                text = await challenge(one_address, person)
            body = {"username": person.username, "password": PASSWORD}
            assert (await one_address.post("/auth/public/authenticate", json=body)).status_code == 429
            assert (await complete(one_address, text, device.code())).status_code == 200
            await asyncio.sleep(1.1)  # for so long a worker does not ask again
            await challenge(one_address, person)

    async def test_counts_the_attempt_for_the_user_and_the_address_until_then(self, app, organisation):
        person, address = organisation.people[Role.VIEWER], "198.51.100.31"
        await enrol(app, person)
        async with client_of(app, address=address) as client:
            await challenge(client, person)
        counted = await app.pool.fetchval(
            "select throttle_subjects from sign_in_challenge where member_id = $1", person.id
        )
        buckets = buckets_of(person.username, address, is_known_address=False)
        assert counted == [bucket.subject for bucket in buckets]
        assert len(counted) == 3

    async def test_ends_with_the_password(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        text = await challenge(anonymous, person)
        body = {"currentPassword": PASSWORD, "newPassword": "quiet-lantern-forge-88"}
        assert (await person.client.post("/auth/password", json=body)).status_code == 204
        assert (await complete(anonymous, text, device.code())).status_code == 401

    async def test_takes_no_code_from_where_or_from_whom_the_organisation_takes_no_password(self, app, organisation):
        """That may have changed since the password: what is refused is no attempt, and spends neither."""
        person, outside = organisation.people[Role.VIEWER], "198.51.100.41"
        device = await enrol(app, person)
        async with client_of(app, address="203.0.113.41") as inside, client_of(app, address=outside) as elsewhere:
            text = await challenge(inside, person)
            await app.pool.execute(
                "update organisation set allowed_networks = '{203.0.113.0/24}' where id = $1", organisation.id
            )
            refused = await complete(elsewhere, text, device.code())
            assert (refused.status_code, refused.json()["detail"]) == (
                403,
                f"Signing in from {outside} is not allowed.",
            )
            await app.pool.execute(
                """
                insert into identity_provider (organisation_id, issuer, client_id, sealed_client_secret, domains,
                                               required)
                values ($1, 'https://example.org', 'gridloom', '', '{example.org}', true)
                """,
                organisation.id,
            )
            refused = await complete(inside, text, device.code())
            assert refused.status_code == 403
            assert refused.json()["type"].endswith("/single-sign-on-required")
            body = {"username": person.username, "password": PASSWORD}
            refused = await inside.post("/auth/public/authenticate", json=body)
            assert (refused.status_code, refused.json()["detail"]) == (
                403,
                "Your organisation signs in by single sign-on.",
            ), "not asked for a code at all"
            counted = "select level from login_throttle where subject = $1"
            assert await app.pool.fetchval(counted, attempts_bucket(person.id).subject) == 0
            await app.pool.execute("delete from identity_provider where organisation_id = $1", organisation.id)
            assert (await complete(inside, text, device.code())).status_code == 200

    async def test_ends_with_the_other_sessions_where_it_is_under_way(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        text = await challenge(anonymous, person)
        assert (await person.client.delete("/auth/sessions")).status_code == 204
        assert (await complete(anonymous, text, device.code())).status_code == 401

    async def test_makes_the_address_one_of_the_users_that_guesses_from_elsewhere_do_not_shut_out(
        self, app, organisation
    ):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        everywhere = user_bucket(person.username)
        async with client_of(app, address="198.51.100.21") as known, client_of(app, address="198.51.100.22") as other:
            text = await challenge(known, person)
            assert (await complete(known, text, device.code())).status_code == 200
            for _ in range(everywhere.capacity):
                await count_attempt(app.pool, [everywhere])
            await challenge(known, person)
            body = {"username": person.username, "password": PASSWORD}
            assert (await other.post("/auth/public/authenticate", json=body)).status_code == 429

    async def test_says_after_how_many_whole_seconds_there_is_room_for_another_code(
        self, app, organisation, anonymous, monkeypatch
    ):
        async def wait(*_):
            return 2.2

        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        text = await challenge(anonymous, person)
        monkeypatch.setattr(verification, "count_attempt", wait)
        refused = await complete(anonymous, text, device.code())
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
        monkeypatch.undo()
        assert (await complete(anonymous, text, device.code())).status_code == 200

    async def test_waits_five_minutes_for_the_code(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        text = await challenge(anonymous, person)
        await app.pool.execute(
            "update sign_in_challenge set expires_at = now() - interval '1 ms' where member_id = $1", person.id
        )
        assert (await complete(anonymous, text, device.code())).status_code == 401

    async def test_says_nothing_about_a_second_factor_before_the_password_is_right(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        await enrol(app, person)
        body = {"username": person.username, "password": "not the password"}
        answer = await anonymous.post("/auth/public/authenticate", json=body)
        assert answer.json()["type"].endswith("/wrong-credentials")
        assert "challenge" not in answer.json()

    async def test_is_not_asked_of_api_keys(self, app, organisation):
        made = await organisation.viewer.post("/auth/api-keys", json={"name": "x", "permissions": ["Read:monitoring"]})
        await enrol(app, organisation.people[Role.VIEWER])
        async with client_of(app, made.json()["secret"]) as machine:
            assert (await machine.get("/auth/me")).status_code == 200

    async def test_in_the_console_takes_the_challenge_and_the_code(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        device = await enrol(app, person)
        body = {"username": person.username, "password": PASSWORD}
        refused = await anonymous.post("/console/session", json=body)
        assert refused.status_code == 401
        spent = {"challenge": refused.json()["challenge"], "code": device.code()}
        signed_in = await anonymous.post("/console/session", json=spent)
        assert signed_in.status_code == 204, signed_in.text
        assert "gridloom_session=gls_" in signed_in.headers["set-cookie"]
        for faulty in ({}, {"username": "x"}, {"challenge": "x"}, {**body, **spent}):
            assert (await anonymous.post("/console/session", json=faulty)).status_code == 400


class TestAnOrganisationThatRequiresASecondFactor:
    async def test_lets_one_whose_second_factor_was_reset_do_nothing_else_either(self, app, organisation):
        """At once, though it was known a moment ago that there is one."""
        person, admin = organisation.people[Role.VIEWER], organisation.people[Role.ADMIN]
        for one in (person, admin):
            await enrol(app, one)
        await app.pool.execute("update organisation set require_second_factor = true where id = $1", organisation.id)
        assert (await person.client.get("/physical-assets")).status_code == 200
        reset = f"/organisations/{organisation.id}/members/{person.id}/second-factor"
        assert (await admin.client.delete(reset)).status_code == 204
        await wait_for_status(person.client, 403, "/physical-assets")
        assert (await admin.client.get("/physical-assets")).status_code == 200


class TestRemoving:
    async def test_takes_a_code_and_the_password_where_it_is_sent(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        assert (await self.remove(person, "123456")).status_code == 409
        device = await enrol(app, person)
        assert (await self.remove(person, device.wrong_code())).status_code == 422
        assert (await self.remove(person, device.code(), password="wrong")).status_code == 422
        assert (await self.remove(person, device.code(), password=PASSWORD)).status_code == 204
        level = await app.pool.fetchval(
            "select level from login_throttle where subject = $1", attempts_bucket(person.id).subject
        )
        assert level == pytest.approx(1, abs=0.5), "the wrong code alone counts"
        assert (await person.client.get("/auth/me")).json()["hasSecondFactor"] in (True, False)
        account = await find_account(app.pool, person.username)
        assert account is not None
        assert not account.member.has_second_factor

    async def remove(self, person, code, **more):
        return await person.client.request("DELETE", "/auth/totp", json={"code": code, **more})

    async def test_by_an_admin_lets_a_member_in_who_has_lost_everything(self, app, organisation, anonymous):
        person = organisation.people[Role.VIEWER]
        path = f"/organisations/{organisation.id}/members/{person.id}/second-factor"
        assert (await organisation.admin.delete(path)).status_code == 409
        await enrol(app, person)
        assert (await organisation.trader.delete(path)).status_code == 403
        listed = (await organisation.admin.get(f"/organisations/{organisation.id}/members")).json()
        assert [one["hasSecondFactor"] for one in listed if one["id"] == str(person.id)] == [True]
        assert (await organisation.admin.delete(path)).status_code == 204
        body = {"username": person.username, "password": PASSWORD}
        assert (await anonymous.post("/auth/public/authenticate", json=body)).status_code == 200

    async def test_of_ones_own_is_not_a_reset(self, app, organisation):
        person = organisation.people[Role.ADMIN]
        await enrol(app, person)
        path = f"/organisations/{organisation.id}/members/{person.id}/second-factor"
        assert (await person.client.delete(path)).status_code == 403
