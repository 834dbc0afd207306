"""`/console/session`: a cookie for a password, and nothing else of the login leaves the service."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, timedelta
from http.cookies import SimpleCookie

import pytest
from tests.concurrency import answer_after_change
from tests.conftest import migrated_database, running
from tests.people import PASSWORD, People, client_of, wait_for_status
from tests.platform.console.browsing import A_CHANGE, ORIGIN, SAME_ORIGIN, browser, sign_in
from tests.stand_ins import replace_for

from gridloom.platform.console import sessions as console_sessions
from gridloom.platform.console.sessions import ConsoleSessions
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.tokens import hash_of


class TestSigningIn:
    async def test_answers_nothing_but_a_cookie_that_scripts_and_other_sites_never_get(self, app, new_organisation):
        ours = await new_organisation()
        async with browser(app) as tab:
            answer = await sign_in(tab, ours.people[Role.TRADER])
        assert (answer.status_code, answer.content) == (204, b"")
        assert "token" not in str(answer.headers).lower()
        cookie = SimpleCookie(answer.headers["set-cookie"])["gridloom_session"]
        assert (cookie["path"], cookie["samesite"]) == ("/console", "Strict")
        assert cookie["httponly"]
        assert not cookie["secure"]

    async def test_marks_the_cookie_secure_in_production(self, settings):
        async with migrated_database() as url:
            production = replace(settings, environment="production", database_url=url, base_url="https://grid.example")
            async with running(production) as edge, People(edge) as people, browser(edge) as tab:
                ours = await people.new_organisation()
                answer = await tab.post(
                    "/console/session",
                    json={"username": ours.people[Role.TRADER].username, "password": PASSWORD},
                    headers={**A_CHANGE, "Origin": "https://grid.example"},
                )
                elsewhere = await tab.get("/console/api/auth/me", headers={"Origin": ORIGIN})
                cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
                session = await tab.get("/console/session", headers={**SAME_ORIGIN, **cookie})
        assert answer.status_code == 204
        assert answer.headers["set-cookie"].startswith("__Secure-gridloom_session=")
        assert "; Secure" in answer.headers["set-cookie"]
        assert elsewhere.status_code == 403, "in production only the base address is home"
        assert session.json()["environment"] == "production"

    async def test_refuses_a_wrong_password_and_an_unknown_user_alike(self, app, new_organisation):
        ours = await new_organisation()
        async with browser(app) as tab:
            wrong = await sign_in(tab, ours.people[Role.TRADER], "not-the-password")
            unknown = await tab.post(
                "/console/session", json={"username": "nobody-here", "password": PASSWORD}, headers=A_CHANGE
            )
        assert (wrong.status_code, unknown.status_code) == (401, 401)
        assert wrong.json()["detail"] == unknown.json()["detail"]
        assert "set-cookie" not in wrong.headers

    async def test_meets_the_throttle_that_authenticate_meets(self, app, new_organisation):
        ours = await new_organisation()
        person = ours.people[Role.TRADER]
        async with browser(app) as tab:
            statuses = [(await sign_in(tab, person, f"wrong-{number}")).status_code for number in range(7)]
        async with client_of(app, address="10.9.8.7") as program:
            credentials = {"username": person.username, "password": PASSWORD}
            elsewhere = await program.post("/auth/public/authenticate", json=credentials)
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert elsewhere.status_code == 429

    async def test_takes_one_pair_of_credentials_and_a_whole_one(self, app):
        async with browser(app) as tab:
            for body, pointer in (
                ({}, "/username"),
                ({"username": "ada"}, "/password"),
                ({"password": "x"}, "/username"),
                ({"challenge": "x"}, "/code"),
                ({"code": "1"}, "/challenge"),
                ({"username": "ada", "password": "x", "challenge": "x", "code": "1"}, "/challenge"),
                ({"password": "x", "challenge": "x", "code": "1"}, "/challenge"),
            ):
                refused = await tab.post("/console/session", json=body, headers=A_CHANGE)
                assert refused.status_code == 400, body
                assert [one["pointer"] for one in refused.json()["errors"]] == [pointer], body

    @pytest.mark.parametrize(
        "headers",
        [
            {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
            {"Origin": "https://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "same-site", "Origin": "http://other.gridloom.test"},
            {"Origin": "null"},
        ],
        ids=str,
    )
    async def test_is_nothing_that_another_site_can_do(self, app, new_organisation, headers):
        ours = await new_organisation()
        async with browser(app) as tab:
            answer = await tab.post(
                "/console/session",
                json={"username": ours.people[Role.TRADER].username, "password": PASSWORD},
                headers=headers,
            )
        assert answer.status_code == 403


class TestTheAuditLog:
    async def test_names_who_signed_in_and_out_and_the_account_that_was_tried(self, app, new_organisation):
        ours = await new_organisation()
        person = ours.people[Role.TRADER]
        async with browser(app) as tab:
            await sign_in(tab, person, "not-the-password")
            await sign_in(tab, person)
            assert (await tab.delete("/console/session", headers=A_CHANGE)).status_code == 204
        entries = (await ours.admin.get("/audit-log")).json()
        assert [
            (one["action"], one["status"], one["actorKind"], one["actorID"])
            for one in entries
            if one["action"] in ("beginConsoleSession", "endConsoleSession")
        ] == [
            ("endConsoleSession", 204, "USER", str(person.id)),
            ("beginConsoleSession", 204, "USER", str(person.id)),
            ("beginConsoleSession", 401, "USER", str(person.id)),
        ]


class TestASession:
    async def test_says_whose_it_is(self, app, new_organisation):
        ours = await new_organisation("Nordlicht")
        async with browser(app) as tab:
            await sign_in(tab, ours.people[Role.TRADER])
            answer = await tab.get("/console/session", headers=SAME_ORIGIN)
            cookie = tab.cookies["gridloom_session"]
        session = answer.json()
        again = f"gridloom_session={cookie}; Max-Age=43200; Path=/console; HttpOnly; SameSite=Strict"
        assert answer.headers["set-cookie"] == again, "the browser keeps it for as long again"
        assert session["user"]["username"] == ours.people[Role.TRADER].username
        assert (session["organisationName"], session["organisationKind"]) == ("Nordlicht", "PARTICIPANT")
        assert session["environment"] == "sandbox"
        assert "Create:bids" in session["user"]["permissions"]

    async def test_says_what_is_so_before_the_worker_has_heard_of_a_change(self, app, new_organisation):
        """Who removes a second factor is asked for none by the next screen."""
        trader = (await new_organisation()).people[Role.TRADER]
        confirmed = "insert into second_factor (member_id, sealed_secret, confirmed_at) values ($1, '', now())"
        async with browser(app) as tab:
            await sign_in(tab, trader)
            said = []
            for statement in ("select $1::uuid", confirmed, "delete from second_factor where member_id = $1"):
                await app.pool.execute(statement, trader.id)  # without a word to the workers
                session = (await tab.get("/console/session", headers=SAME_ORIGIN)).json()
                said.append(session["user"]["hasSecondFactor"])
        assert said == [False, True, False]

    async def test_is_nobodys_without_a_cookie_or_with_a_made_up_one(self, app):
        async with browser(app) as tab:
            without = await tab.get("/console/session", headers=SAME_ORIGIN)
            made_up = await tab.get(
                "/console/session", headers={**SAME_ORIGIN, "Cookie": f"gridloom_session=gls_{'a' * 43}"}
            )
            noise = await tab.get(
                "/console/session",
                headers=[(b"Sec-Fetch-Site", b"same-origin"), (b"Cookie", b"gridloom_session=\xf6;;=\x01")],
            )
        assert [one.status_code for one in (without, made_up, noise)] == [401, 401, 401]

    async def test_ends_by_signing_out_for_every_tab_and_replica(self, app, settings, new_organisation):
        ours = await new_organisation()
        async with running(settings) as replica, browser(app) as tab, browser(replica) as other:
            await sign_in(tab, ours.people[Role.TRADER])
            other.cookies = tab.cookies
            assert (await other.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 200
            cookie = dict(tab.cookies)
            left = await tab.delete("/console/session", headers=A_CHANGE)
            assert left.status_code == 204
            assert "Max-Age=0" in left.headers["set-cookie"]
            tab.cookies.clear()
            for name, value in cookie.items():
                tab.cookies.set(name, value)
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 401
            await wait_for_status(other, 401, "/console/api/auth/me", SAME_ORIGIN)

    async def test_ends_with_a_change_of_password_elsewhere(self, app, new_organisation):
        ours = await new_organisation()
        person = ours.people[Role.TRADER]
        async with browser(app) as tab:
            await sign_in(tab, person)
            change = {"currentPassword": PASSWORD, "newPassword": "granite-lantern-sable-09"}
            assert (await person.client.post("/auth/password", json=change)).status_code == 204
            await wait_for_status(tab, 401, "/console/api/auth/me", SAME_ORIGIN)

    async def test_that_ends_while_it_is_looked_up_is_none(self, app, new_organisation):
        """Its row says that it runs, and waits for the transaction that ends it: the refusal is that of the console,
        and nothing is kept of the session."""
        ours = await new_organisation()
        ended = """update session set ended_at = clock_timestamp(), ended_because = 'LOGOUT'
                   where id = (select session_id from console_session where cookie_hash = $1)"""
        async with browser(app) as tab:
            await sign_in(tab, ours.people[Role.TRADER])
            cookie_hash = hash_of(tab.cookies["gridloom_session"])
            asked = tab.get("/console/api/auth/me", headers=SAME_ORIGIN)
            refused = await answer_after_change(app, asked, ended, cookie_hash)
        assert (refused.status_code, refused.json()["type"]) == (401, "/docs/problems/no-console-session")
        assert cookie_hash not in app.resources[ConsoleSessions]._tokens


class TestItsEnd:
    async def age(self, app, tab, **columns):
        """As if the session were so much older."""
        (session_id,) = [
            row["session_id"]
            for row in await app.pool.fetch(
                "select c.session_id from console_session c where c.cookie_hash = $1",
                hash_of(tab.cookies["gridloom_session"]),
            )
        ]
        for column, by in columns.items():
            statement = f"update session set {column} = {column} - $2::interval where id = $1"
            await app.pool.execute(statement, session_id, by)
        app.resources[ConsoleSessions].evict(tab.cookies["gridloom_session"])
        app.authenticator._cache.clear()

    async def test_comes_after_two_idle_hours_and_not_before(self, app, new_organisation):
        ours = await new_organisation()
        async with browser(app) as tab:
            await sign_in(tab, ours.people[Role.TRADER])
            await self.age(app, tab, expires_at=timedelta(minutes=119))
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 200
            await self.age(app, tab, expires_at=timedelta(minutes=119))
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 200
            await self.age(app, tab, expires_at=timedelta(minutes=121))
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 401

    async def test_comes_two_hours_after_signing_in_where_nothing_is_asked_for(self, app, new_organisation):
        ours = await new_organisation()
        async with browser(app) as tab:
            await sign_in(tab, ours.people[Role.TRADER])
            await self.age(app, tab, expires_at=timedelta(minutes=121))
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 401
            assert (await tab.get("/console/session", headers=SAME_ORIGIN)).status_code == 401

    async def test_comes_after_twelve_hours_whatever_happens(self, app, new_organisation):
        ours = await new_organisation()
        async with browser(app) as tab:
            await sign_in(tab, ours.people[Role.TRADER])
            await self.age(app, tab, created_at=timedelta(hours=11, minutes=30))
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 200
            lasts = await app.pool.fetchval(
                """select s.expires_at - s.created_at from session s join console_session c on c.session_id = s.id
                   where c.cookie_hash = $1""",
                hash_of(tab.cookies["gridloom_session"]),
            )
            assert lasts == timedelta(hours=12)
            await self.age(app, tab, created_at=timedelta(minutes=31), expires_at=timedelta(minutes=31))
            assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 401

    async def test_is_not_put_off_by_a_stream_that_is_merely_open(self, app, new_organisation):
        ours = await new_organisation()
        async with browser(app) as tab:
            await sign_in(tab, ours.people[Role.TRADER])
            cookie = tab.cookies["gridloom_session"]
            await self.age(app, tab, expires_at=timedelta(minutes=60))
            asked = """select s.expires_at from session s join console_session c on c.session_id = s.id
                       where c.cookie_hash = $1"""
            before = await app.pool.fetchval(asked, hash_of(cookie))
            await app.resources[ConsoleSessions].token_of(cookie, counts_as_use=False)
            assert await app.pool.fetchval(asked, hash_of(cookie)) == before
            await app.resources[ConsoleSessions].token_of(cookie)
            assert await app.pool.fetchval(asked, hash_of(cookie)) > before

    async def test_is_put_off_by_a_use_once_a_minute(self, app, new_organisation, monkeypatch):
        """And the token behind the cookie is another two minutes before its own end, after fifteen."""
        asked = """select s.expires_at from session s join console_session c on c.session_id = s.id
                   where c.cookie_hash = $1"""
        sessions, began_at = app.resources[ConsoleSessions], time.monotonic()
        person = (await new_organisation()).people[Role.TRADER]
        async with browser(app) as tab:
            await sign_in(tab, person)
            cookie = tab.cookies["gridloom_session"]
        ends, texts = [], []
        for after_s in (0, 59, 61, 62, 779, 781):
            replace_for(monkeypatch, console_sessions, "time", monotonic=lambda at_s=began_at + after_s: at_s)
            before = await app.pool.fetchval(
                """update session set expires_at = expires_at - interval '1 minute' where id =
                   (select session_id from console_session where cookie_hash = $1) returning expires_at""",
                hash_of(cookie),
            )
            texts.append(await sessions.token_of(cookie))
            ends.append(await app.pool.fetchval(asked, hash_of(cookie)) > before)
        sessions.evict(cookie)
        assert ends == [True, False, True, False, True, True]
        assert [text == texts[0] for text in texts] == [True, True, True, True, True, False]

    async def test_shows_among_ones_sessions(self, app, new_organisation):
        ours = await new_organisation()
        person = ours.people[Role.TRADER]
        async with browser(app) as tab:
            await sign_in(tab, person)
            await self.age(app, tab, created_at=timedelta(minutes=4), last_used_at=timedelta(minutes=4))
            listed = (await tab.get("/console/api/auth/sessions", headers=SAME_ORIGIN)).json()
            assert [(one["kind"], one["current"]) for one in listed] == [("TOKEN", False), ("CONSOLE", True)]
            began, used = (datetime.fromisoformat(listed[1][name]) for name in ("createdAt", "lastUsedAt"))
            assert used - began >= timedelta(minutes=4), "it is used now"
            (other,) = [one for one in (await person.client.get("/auth/sessions")).json() if not one["current"]]
            assert (await person.client.delete(f"/auth/sessions/{other['id']}")).status_code == 204
            await wait_for_status(tab, 401, "/console/api/auth/me", SAME_ORIGIN)
