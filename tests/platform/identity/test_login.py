"""Logging in, staying in and leaving, over HTTP on the real database."""

import asyncio
from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from tests.people import PASSWORD, client_of, wait_for_status
from tests.stand_ins import replace_for

from gridloom.platform.identity.login import login, passwords, throttling
from gridloom.platform.identity.login.throttling import REJECTION_CACHE_TTL_S, Bucket, address_bucket, user_bucket
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.login_throttle import count_attempt, give_back_attempt


async def log_in(client, username, password=PASSWORD):
    return await client.post("/auth/public/authenticate", json={"username": username, "password": password})


async def shift_attempts(app, bucket: Bucket, ago: timedelta, *, level: float) -> None:
    """As if the attempts that are counted had been made so long ago, and were so many."""
    statement = """
    update login_throttle set level = $2, measured_at = now() - $3::interval where subject = $1
    """
    await app.pool.execute(statement, bucket.subject, level, ago)


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


class TestLogin:
    async def test_refuses_a_wrong_password_and_an_unknown_user_alike(self, anonymous, organisation):
        wrong = await log_in(anonymous, organisation.people[Role.VIEWER].username, "not-the-password")
        unknown = await log_in(anonymous, f"nobody-{uuid4().hex}", "not-the-password")
        assert wrong.status_code == unknown.status_code == 401
        assert wrong.headers["www-authenticate"] == unknown.headers["www-authenticate"] == "Bearer"
        differing = {"requestId"}
        assert {k: v for k, v in wrong.json().items() if k not in differing} == {
            k: v for k, v in unknown.json().items() if k not in differing
        }

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"username": "a"},
            {"username": "a", "password": None},
            {"username": 1, "password": "x"},
            {"username": "", "password": "x"},
            {"username": "a", "password": "x", "more": 1},
            {"username": "a\0", "password": "x"},
            {"username": "a", "password": "x\0"},
            [],
        ],
    )
    async def test_refuses_a_malformed_body_with_400(self, anonymous, body):
        answer = await anonymous.post("/auth/public/authenticate", json=body)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"

    async def test_is_repeated_with_the_same_tokens_under_the_same_key(self, app, anonymous, organisation):
        body = {"username": organisation.people[Role.VIEWER].username, "password": PASSWORD}
        headers = {"Idempotency-Key": uuid4().hex}
        first = await anonymous.post("/auth/public/authenticate", json=body, headers=headers)
        second = await anonymous.post("/auth/public/authenticate", json=body, headers=headers)
        assert first.json() == second.json()
        assert second.headers["idempotency-replayed"] == "true"
        stored = await app.pool.fetch("select body from idempotency")
        assert not any(first.json()["access_token"].encode() in row["body"] for row in stored)


class TestThrottle:
    async def test_refuses_even_the_right_password_after_repeated_failures(self, app, anonymous, organisation):
        username = organisation.people[Role.VIEWER].username
        statuses = [(await log_in(anonymous, username, "not-the-password")).status_code for _ in range(6)]
        assert statuses == [401] * 5 + [429]
        refused = await log_in(anonymous, username)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 30

    async def test_holds_for_unknown_users_alike(self, anonymous):
        username = f"nobody-{uuid4().hex}"
        statuses = [(await log_in(anonymous, username, "not-the-password")).status_code for _ in range(6)]
        assert statuses == [401] * 5 + [429]

    async def test_counts_every_spelling_of_a_user_name_as_one(self, anonymous, organisation):
        username = organisation.people[Role.VIEWER].username
        wide = "".join(chr(ord(letter) + 0xFEE0) for letter in username)
        for spelling in (username, username.upper(), username.title(), username.swapcase(), wide):
            assert (await log_in(anonymous, spelling, "not-the-password")).status_code == 401
        assert (await log_in(anonymous, username.upper())).status_code == 429

    async def test_says_the_same_again_for_a_second_without_asking(self, app, anonymous, organisation, monkeypatch):
        monkeypatch.setattr(throttling, "REJECTION_CACHE_TTL_S", 60.0)
        username = organisation.people[Role.VIEWER].username
        for _ in range(6):
            refused = await log_in(anonymous, username, "not-the-password")
        await app.pool.execute("delete from login_throttle")
        again = await log_in(anonymous, username)
        assert again.status_code == 429
        assert int(again.headers["retry-after"]) <= int(refused.headers["retry-after"])
        assert (await log_in(anonymous, organisation.people[Role.TRADER].username)).status_code == 200

    async def test_says_after_how_many_whole_seconds_there_is_room(self, anonymous, organisation, monkeypatch):
        async def wait(*_):
            return 2.2

        monkeypatch.setattr(login, "count_attempt", wait)
        refused = await log_in(anonymous, organisation.people[Role.VIEWER].username)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")

    async def test_counts_no_password_that_was_not_looked_at(self, app, anonymous, organisation, monkeypatch):
        username = organisation.people[Role.VIEWER].username
        monkeypatch.setattr(app.resources[passwords.PasswordHasher], "_most_waiting", 0)
        for _ in range(6):
            busy = await log_in(anonymous, username)
            assert (busy.status_code, busy.json()["type"]) == (429, "/docs/problems/logins-busy")
            assert busy.headers["retry-after"] == "2"
        monkeypatch.undo()
        assert (await log_in(anonymous, username)).status_code == 200

    def test_asks_again_when_the_second_is_over_or_the_wait(self, monkeypatch):
        now = 100.0
        replace_for(monkeypatch, throttling, "time", monotonic=lambda: now)
        refusals = throttling.ThrottleCache()
        refusals.keep("ada", "192.0.2.1", 30.0)
        refusals.keep("bob", "192.0.2.1", 0.5)
        now = 100.6
        assert refusals.find_wait("ada", "192.0.2.1") == pytest.approx(29.4)
        assert refusals.find_wait("bob", "192.0.2.1") == refusals.find_wait("ada", "192.0.2.2") == 0.0
        now = 101.1
        assert refusals.find_wait("ada", "192.0.2.1") == 0.0

    def test_remembers_the_latest_of_many_that_were_refused(self, monkeypatch):
        monkeypatch.setattr(throttling, "MAX_REFUSALS", 2)
        refusals = throttling.ThrottleCache()
        for number in range(3):
            refusals.keep(f"ada-{number}", "203.0.113.7", 30)
        waits = [refusals.find_wait(f"ada-{number}", "203.0.113.7") for number in range(3)]
        assert [wait_s > 0 for wait_s in waits] == [False, True, True]
        assert refusals.find_wait("ada-2", "198.51.100.7") == 0, "another client was not refused"

    async def test_gives_back_no_more_than_was_taken(self, app):
        bucket = address_bucket(f"c-{uuid4().hex}")
        await count_attempt(app.pool, [bucket])
        for _ in range(3):
            await give_back_attempt(app.pool, [bucket])
        counted = [await count_attempt(app.pool, [bucket]) > 0 for _ in range(bucket.capacity + 1)]
        assert counted == [False] * bucket.capacity + [True]

    async def test_leaves_other_users_alone(self, anonymous, organisation):
        for _ in range(5):
            await log_in(anonymous, organisation.people[Role.VIEWER].username, "not-the-password")
        assert (await log_in(anonymous, organisation.people[Role.TRADER].username)).status_code == 200

    async def test_counts_no_success(self, anonymous, organisation):
        username = organisation.people[Role.VIEWER].username
        for _ in range(4):
            assert (await log_in(anonymous, username, "not-the-password")).status_code == 401
        for _ in range(8):
            assert (await log_in(anonymous, username)).status_code == 200
        assert (await log_in(anonymous, username, "not-the-password")).status_code == 401
        assert (await log_in(anonymous, username)).status_code == 429

    async def test_looks_at_no_more_passwords_when_they_come_at_once(self, app, anonymous, people, organisation):
        """Of sixty guesses with the right one among them, five are looked at, whichever they are."""
        for _ in range(3):
            username = (await people.add_member(organisation.id, Role.VIEWER)).username
            guesses = [f"guess-number-{n}" for n in range(60)]
            guesses.insert(40, PASSWORD)
            answers = await asyncio.gather(*(log_in(anonymous, username, guess) for guess in guesses))
            statuses = Counter(answer.status_code for answer in answers)
            # A success gives its place to one more.
            assert statuses[401] + statuses[200] <= 5 + statuses[200]
            assert statuses[429] >= 55

    async def test_answers_an_unread_right_password_as_it_answers_a_wrong_one(self, anonymous, organisation):
        username = organisation.people[Role.VIEWER].username
        for _ in range(5):
            await log_in(anonymous, username, "not-the-password")
        right, wrong = await log_in(anonymous, username), await log_in(anonymous, username, "not-the-password")
        told = [{**answer.json(), "requestId": ""} for answer in (right, wrong)]
        assert told[0] == told[1]

    async def test_never_shuts_out_an_address_of_the_user_because_of_others(self, app, organisation):
        username = organisation.people[Role.VIEWER].username
        async with client_of(app, address="198.51.100.7") as owner, client_of(app, address="203.0.113.9") as attacker:
            assert (await log_in(owner, username)).status_code == 200
            for _ in range(8):
                await log_in(attacker, username, "not-the-password")
            elsewhere = user_bucket(username)
            for _ in range(elsewhere.capacity):
                await count_attempt(app.pool, [elsewhere])
            assert (await log_in(attacker, username)).status_code == 429
            assert (await log_in(owner, username)).status_code == 200

    async def test_leaves_other_addresses_to_the_user_while_one_address_guesses(self, app, organisation):
        username = organisation.people[Role.VIEWER].username
        async with client_of(app, address="203.0.113.10") as attacker:
            for _ in range(12):
                await log_in(attacker, username, "not-the-password")
        async with client_of(app, address="198.51.100.8") as owner:
            assert (await log_in(owner, username)).status_code == 200

    async def test_bounds_guesses_for_one_user_from_many_addresses(self, app, organisation):
        username = organisation.people[Role.VIEWER].username
        everywhere = user_bucket(username)
        for _ in range(100):
            assert await count_attempt(app.pool, [everywhere]) == 0
        async with client_of(app, address="198.51.100.9") as client:
            assert (await log_in(client, username)).status_code == 429

    async def test_forgets_an_address_after_thirty_days(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        async with client_of(app, address="198.51.100.11") as owner:
            assert (await log_in(owner, person.username)).status_code == 200
            await app.pool.execute("update sign_in_network set last_at = last_at - interval '30 days'")
            everywhere = user_bucket(person.username)
            for _ in range(everywhere.capacity):
                await count_attempt(app.pool, [everywhere])
            assert (await log_in(owner, person.username)).status_code == 429

    async def test_counts_attempts_of_one_address_over_all_user_names(self, app, organisation):
        async with client_of(app, address="2001:db8::1") as client, client_of(app, address="2001:db8::2") as neighbour:
            subject = address_bucket("2001:db8::3")
            await count_attempt(app.pool, [subject])
            await shift_attempts(app, subject, timedelta(0), level=subject.capacity + 60)
            assert (await log_in(client, organisation.people[Role.VIEWER].username)).status_code == 429
            assert (await log_in(neighbour, f"unknown-{uuid4().hex}")).status_code == 429
            await shift_attempts(app, subject, timedelta(seconds=62), level=subject.capacity)
            await asyncio.sleep(REJECTION_CACHE_TTL_S + 0.1)  # for so long a worker does not ask the database again
            assert (await log_in(client, organisation.people[Role.VIEWER].username)).status_code == 200

    async def test_counts_in_every_bucket_or_in_none(self, app):
        full, empty = address_bucket(f"a-{uuid4().hex}"), address_bucket(f"b-{uuid4().hex}")
        for _ in range(full.capacity):
            await count_attempt(app.pool, [full])
        assert await count_attempt(app.pool, [full, empty]) > 0
        known = await app.pool.fetchval("select level from login_throttle where subject = $1", empty.subject)
        assert not known


class TestRefresh:
    async def refresh(self, client, token):
        return await client.post("/auth/public/refresh", json={"refresh_token": token})

    async def test_gives_a_new_pair_of_the_same_login(self, app, anonymous, organisation):
        first = organisation.people[Role.VIEWER].tokens
        answer = await self.refresh(anonymous, first.refresh)
        assert answer.status_code == 200
        assert answer.json()["refresh_token"] != first.refresh
        async with client_of(app, answer.json()["access_token"]) as client:
            assert (await client.get("/auth/me")).status_code == 200

    async def test_of_a_spent_token_ends_the_whole_login(self, app, anonymous, organisation):
        person = organisation.people[Role.VIEWER]
        second = (await self.refresh(anonymous, person.tokens.refresh)).json()
        assert (await self.refresh(anonymous, person.tokens.refresh)).status_code == 401
        assert (await self.refresh(anonymous, second["refresh_token"])).status_code == 401
        async with client_of(app, second["access_token"]) as client:
            await wait_for_status(client, 401)
        assert (await person.client.get("/auth/me")).status_code == 401
        session_id = person.tokens.caller.session_id
        cause = await app.pool.fetchval("select ended_because from session where id = $1", session_id)
        assert cause == "REFRESH_REUSED"
        (denied, _) = (await organisation.admin.get("/audit-log?action=refreshTokens")).json()
        assert (denied["actorName"], denied["details"]) == (
            person.username,
            {"reason": "refresh token reused", "sessionID": str(session_id)},
        )

    async def test_is_won_by_exactly_one_of_many_at_once(self, anonymous, people, organisation):
        for _ in range(5):
            person = await people.add_member(organisation.id, Role.VIEWER)
            answers = await asyncio.gather(*(self.refresh(anonymous, person.tokens.refresh) for _ in range(8)))
            assert sorted(answer.status_code for answer in answers) == [200] + [401] * 7

    async def test_refuses_what_it_never_gave_out(self, anonymous):
        assert (await self.refresh(anonymous, "glr_never-given-out")).status_code == 401

    async def test_refuses_an_expired_token(self, app, anonymous, organisation):
        person = organisation.people[Role.VIEWER]
        await app.pool.execute(
            "update refresh_token set expires_at = clock_timestamp() - interval '1 ms' where session_id = $1",
            person.tokens.caller.session_id,
        )
        assert (await self.refresh(anonymous, person.tokens.refresh)).status_code == 401

    async def test_keeps_no_token_in_the_clear(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        rows = await app.pool.fetch(
            "select token_hash from refresh_token where session_id = $1", person.tokens.caller.session_id
        )
        assert all(person.tokens.refresh.encode() not in row["token_hash"] for row in rows)


class TestLogout:
    async def test_ends_the_access_and_the_refresh_token(self, anonymous, organisation):
        person = organisation.people[Role.VIEWER]
        assert (await person.client.get("/auth/me")).status_code == 200
        assert (await person.client.post("/auth/logout")).status_code == 204
        await wait_for_status(person.client, 401)
        refused = await anonymous.post("/auth/public/refresh", json={"refresh_token": person.tokens.refresh})
        assert refused.status_code == 401

    async def test_leaves_other_logins_of_the_same_user_alone(self, app, anonymous, organisation):
        person = organisation.people[Role.VIEWER]
        token = (await log_in(anonymous, person.username)).json()["access_token"]
        await person.client.post("/auth/logout")
        async with client_of(app, token) as client:
            assert (await client.get("/auth/me")).status_code == 200


class TestPassword:
    NEW = "entirely-new-lantern-44"

    async def change(self, person, current=PASSWORD, new=NEW):
        return await person.client.post("/auth/password", json={"currentPassword": current, "newPassword": new})

    async def test_change_ends_other_logins_and_keeps_this_one(self, app, anonymous, organisation):
        person = organisation.people[Role.VIEWER]
        other = (await log_in(anonymous, person.username)).json()
        assert (await self.change(person)).status_code == 204
        async with client_of(app, other["access_token"]) as client:
            await wait_for_status(client, 401)
        assert (await person.client.get("/auth/me")).status_code == 200
        assert (await log_in(anonymous, person.username)).status_code == 401
        assert (await log_in(anonymous, person.username, self.NEW)).status_code == 200

    async def test_change_needs_the_current_password(self, organisation):
        refused = await self.change(organisation.people[Role.VIEWER], current="not-the-password")
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == "/currentPassword"

    async def test_change_is_throttled_like_a_login(self, organisation):
        statuses = [
            (await self.change(organisation.people[Role.VIEWER], current="not-the-password")).status_code
            for _ in range(6)
        ]
        assert statuses == [422] * 5 + [429]

    @pytest.mark.parametrize(("new", "status"), [("short", 400), ("password1234", 422), (PASSWORD, 422)])
    async def test_change_refuses_weak_passwords(self, organisation, new, status):
        assert (await self.change(organisation.people[Role.VIEWER], new=new)).status_code == status

    async def test_is_not_the_users_display_name_with_little_around_it(self, anonymous, organisation):
        weak = "is little more than the user name"
        refused = await self.change(organisation.people[Role.VIEWER], new="kJ8#Viewer Under Test")
        assert [(one["pointer"], one["detail"]) for one in refused.json()["errors"]] == [("/newPassword", weak)]
        path, invitation = f"/organisations/{organisation.id}/invitations", {"email": "a@x.org", "role": "VIEWER"}
        token = (await organisation.admin.post(path, json=invitation)).json()["token"]
        body = {"token": token, "username": "grace", "password": "kJ8#Ada Lovelace", "displayName": "Ada Lovelace"}
        refused = await anonymous.post("/auth/public/invitations/accept", json=body)
        assert [(one["pointer"], one["detail"]) for one in refused.json()["errors"]] == [("/password", weak)]

    async def test_change_lets_no_login_with_the_old_one_survive(self, app, anonymous, people, organisation):
        person = await people.add_member(organisation.id, Role.VIEWER)
        logins, change = asyncio.gather(*(log_in(anonymous, person.username) for _ in range(4))), self.change(person)
        answers, changed = await asyncio.gather(logins, change)
        assert changed.status_code == 204
        for answer in answers:
            if answer.status_code == 200:
                async with client_of(app, answer.json()["access_token"]) as client:
                    await wait_for_status(client, 401)


class TestKeySet:
    async def test_lets_anybody_verify_a_token(self, anonymous, organisation):
        import jwt

        answer = await anonymous.get("/auth/public/jwks")
        assert answer.status_code == 200
        assert "max-age" in answer.headers["cache-control"]
        token = organisation.people[Role.VIEWER].tokens.access
        kid = jwt.get_unverified_header(token)["kid"]
        key = next(key for key in jwt.PyJWKSet.from_dict(answer.json()).keys if key.key_id == kid)
        claims = jwt.decode(token, key, algorithms=["EdDSA"], issuer="gridloom")
        assert claims["sub"] == str(organisation.people[Role.VIEWER].id)
        assert claims["exp"] - claims["iat"] == 900

    async def test_holds_no_private_half(self, anonymous):
        assert all("d" not in key for key in (await anonymous.get("/auth/public/jwks")).json()["keys"])
