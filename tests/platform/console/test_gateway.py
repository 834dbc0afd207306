"""`/console/api/<path>`: the operation at `/<path>` for the session's person, for pages of this origin only."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import cast

import pytest
from tests.assets import register_asset
from tests.platform.console.browsing import A_CHANGE, ORIGIN, SAME_ORIGIN, browser, sign_in
from tests.platform.events.happening import happen, number_in
from tests.platform.events.sse import Reader

from gridloom.kernel.problem import PayloadTooLarge
from gridloom.platform.console import sessions as console_sessions
from gridloom.platform.console.application import ConsoleMiddleware
from gridloom.platform.console.batch import Batch, answer_batch, read_batch
from gridloom.platform.console.gateway import rewrite_headers
from gridloom.platform.console.sessions import ConsoleSessions
from gridloom.platform.events import stream as event_stream
from gridloom.platform.http.application import Application
from gridloom.platform.identity import tokens
from gridloom.platform.identity.permissions import Role


@asynccontextmanager
async def signed_in(app, organisation, role=Role.ADMIN):
    async with browser(app) as tab:
        assert (await sign_in(tab, organisation.people[role])).status_code == 204
        yield tab


class TestABatch:
    async def test_is_measured_as_a_whole_however_it_arrives(self):
        sent = iter([{"body": b'{"paths": ["/' + b"x" * 30_000, "more_body": True}] * 3)

        async def receive():
            return next(sent)

        with pytest.raises(PayloadTooLarge, match="at most 65536 bytes"):
            await read_batch(receive)

    async def test_may_be_as_long_as_is_allowed(self):
        body = b'{"paths": ["/auth/me"]}'
        sent = iter([{"body": body + b" " * (65536 - len(body))}])

        async def receive():
            return next(sent)

        assert await read_batch(receive) == Batch(["/auth/me"])

    async def test_may_arrive_in_pieces(self):
        sent = iter([{"body": b'{"paths": ["/a', "more_body": True}, {"body": b'uth/me"]}'}])

        async def receive():
            return next(sent)

        assert await read_batch(receive) == Batch(["/auth/me"])

    async def test_answers_each_read_as_if_it_had_been_asked_alone(self, app, new_organisation):
        ours, others = await new_organisation(), await new_organisation()
        mine, _, foreign = [await register_asset(owner) for owner in (ours, ours, others)]
        paths = [
            f"/physical-assets/{mine.id}",
            f"/physical-assets/{foreign.id}",
            "/physical-assets?limit=1",
            "/events",
            "/no-such-thing",
        ]
        async with signed_in(app, ours, Role.VIEWER) as tab:
            answer = await tab.post("/console/api/batch", json={"paths": paths}, headers=A_CHANGE)
            alone = await tab.get(f"/console/api{paths[0]}", headers=SAME_ORIGIN)
        assert answer.status_code == 200, answer.text
        one, refused, listed, stream, unknown = answer.json()
        assert (one["status"], one["body"], one["etag"]) == (200, alone.json(), alone.headers["etag"])
        assert (refused["status"], refused["body"]["status"]) == (403, 403)
        assert [each["id"] for each in listed["body"]] == [str(mine.id)]
        assert listed["link"].startswith("</console/api/physical-assets?"), "where the list goes on"
        assert (stream["status"], unknown["status"]) == (406, 404)

    async def test_leads_nowhere_else_and_changes_nothing(self, app, new_organisation):
        ours = await new_organisation()
        async with signed_in(app, ours) as tab:
            answers = [
                await tab.post("/console/api/batch", json={"paths": paths}, headers=A_CHANGE)
                for paths in (
                    *(["/console/session"], ["//auth/me"], ["/auth/me#x"], ["/auth/mé"], ["/auth/me\x7f"], []),
                    ["/auth/me"] * 101,
                )
            ]
            foreign = await tab.post("/console/api/batch", json={"paths": ["/auth/me"]}, headers=SAME_ORIGIN)
            read = await tab.get("/console/api/batch", headers=SAME_ORIGIN)
            tokens = await tab.post(
                "/console/api/batch", json={"paths": ["/auth/public/authenticate"]}, headers=A_CHANGE
            )
        assert [answer.status_code for answer in answers] == [404, 404, 400, 400, 400, 400, 400]
        assert (foreign.status_code, read.status_code, tokens.status_code) == (403, 404, 404)

    async def test_needs_a_session(self, app):
        async with browser(app) as tab:
            answer = await tab.post("/console/api/batch", json={"paths": ["/auth/me"]}, headers=A_CHANGE)
        assert answer.status_code == 401


class TestTheReadsOfABatch:
    async def ask(self, paths, headers=()):
        """What each is passed on as, and how many were under way at most."""
        asked, under_way, most = [], 0, 0

        async def call(scope, receive, send):
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            assert await receive() == {"type": "http.request", "body": b"", "more_body": False}
            for _ in range(3):
                await asyncio.sleep(0)
            asked.append(scope)
            under_way -= 1
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
            await send({"type": "http.response.body", "body": scope["path"].encode()})

        scope = {"method": "POST", "query_string": b"x=1", "headers": list(headers)}
        return await answer_batch(scope, Batch(paths), lambda path: f"/inner{path}", call), asked, most

    async def test_are_made_few_at_a_time(self):
        answers, asked, most = await self.ask([f"/{number}" for number in range(9)])
        assert (len(answers), len(asked), most) == (9, 9, 4)
        assert {bytes(answer.body) for answer in answers} == {b"null"}, "what is not JSON is left out"

    async def test_are_each_a_read_with_its_own_query_and_none_of_the_batch_s_content(self):
        kept = [(b"accept-language", b"de"), (b"user-agent", b"Browser/7")]
        left = [
            *((b"content-type", b"application/json"), (b"content-length", b"9"), (b"accept", b"text/html")),
            *((b"accept-encoding", b"gzip"), (b"idempotency-key", b"k"), (b"range", b"bytes=0-1")),
        ]
        _, (one, other), _ = await self.ask(["/a?limit=2&x=y", "/b"], [*left, *kept])
        assert (one["method"], one["path"], one["raw_path"]) == ("GET", "/inner/a", b"/inner/a")
        assert (one["query_string"], other["query_string"]) == (b"limit=2&x=y", b"")
        assert one["headers"] == [*kept, (b"accept", b"application/json")]


class TestAPassedOnCall:
    async def test_is_the_operation_for_the_sessions_person(self, app, new_organisation):
        ours = await new_organisation()
        async with signed_in(app, ours, Role.TRADER) as tab:
            me = await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)
        assert me.json()["username"] == ours.people[Role.TRADER].username
        assert me.headers["cache-control"] == "no-store"

    async def test_may_what_its_person_may_and_no_more(self, app, new_organisation):
        ours, others = await new_organisation(), await new_organisation()
        asset = await register_asset(others)
        async with signed_in(app, ours, Role.VIEWER) as tab:
            foreign = await tab.get(f"/console/api/physical-assets/{asset.id}", headers=SAME_ORIGIN)
            beyond = await tab.post("/console/api/physical-assets", json={}, headers=A_CHANGE)
        assert (foreign.status_code, beyond.status_code) == (403, 403)
        assert foreign.json()["type"] != beyond.json()["type"] or "permission" in beyond.json()["detail"]

    async def test_changes_things_with_the_consoles_mark(self, app, new_organisation):
        ours = await new_organisation()
        async with signed_in(app, ours) as tab:
            made = await tab.post(
                f"/console/api/organisations/{ours.id}/portfolios", json={"name": "Nord"}, headers=A_CHANGE
            )
            webhook = {"url": "http://127.0.0.1:9/", "types": []}
            placed = await tab.post("/console/api/webhooks", json=webhook, headers=A_CHANGE)
        assert made.status_code == 201
        assert placed.headers["location"] == f"/console/api/webhooks/{placed.json()['id']}", "where it can be read here"

    async def test_leads_to_the_next_page_through_the_gateway(self, app, new_organisation):
        ours = await new_organisation()
        for _ in range(3):
            await register_asset(ours)
        async with signed_in(app, ours) as tab:
            first = await tab.get("/console/api/physical-assets?limit=2", headers=SAME_ORIGIN)
            target = first.headers["link"].split(">")[0].lstrip("<")
            assert target.startswith("/console/api/physical-assets?")
            second = await tab.get(target, headers=SAME_ORIGIN)
        assert (len(first.json()), len(second.json())) == (2, 1)

    async def test_counts_against_the_limits_of_its_person(self, app, new_organisation):
        ours = await new_organisation()

        def left(answer):
            return int(answer.headers["ratelimit"].split("r=")[1].split(";")[0])

        async with signed_in(app, ours, Role.TRADER) as tab:
            before = left(await ours.trader.get("/auth/me"))
            through = left(await tab.get("/console/api/auth/me", headers=SAME_ORIGIN))
            after = left(await ours.trader.get("/auth/me"))
        assert before > through > after

    async def test_takes_nobody_elses_token_along(self, app, new_organisation):
        ours, others = await new_organisation(), await new_organisation()
        token = others.people[Role.ADMIN].tokens.access
        async with signed_in(app, ours, Role.VIEWER) as tab:
            headers = {**SAME_ORIGIN, "Authorization": f"Bearer {token}"}
            me = await tab.get("/console/api/auth/me", headers=headers)
        async with browser(app) as stranger:
            without_cookie = await stranger.get("/console/api/auth/me", headers=headers)
        assert me.json()["username"] == ours.people[Role.VIEWER].username
        assert without_cookie.status_code == 401

    async def test_outlives_a_token_and_two_tabs_spend_nothing(self, app, new_organisation, monkeypatch):
        ours = await new_organisation()
        monkeypatch.setattr(console_sessions, "RENEWED_BEFORE_S", tokens.ACCESS_LIFETIME.total_seconds() + 1)
        async with signed_in(app, ours) as tab, browser(app) as other:
            other.cookies = tab.cookies
            answers = await asyncio.gather(
                *(one.get("/console/api/auth/me", headers=SAME_ORIGIN) for one in (tab, other) * 10)
            )
        assert {answer.status_code for answer in answers} == {200}


class TestTheHeadersOfAnAnswer:
    def test_keep_it_out_of_the_browser_unless_it_says_how_long_it_lasts(self):
        kept = dict(rewrite_headers([(b"content-type", b"text/csv"), (b"cache-control", b"max-age=60")]))
        assert kept[b"cache-control"] == b"max-age=60"
        assert dict(rewrite_headers([(b"content-type", b"text/csv")]))[b"cache-control"] == b"no-store"

    def test_lead_back_into_the_gateway_and_carry_no_credentials(self):
        given = [
            (b"link", b'</auctions?after=x>; rel="next", <https://elsewhere.example/x>; rel="help"'),
            (b"location", b"/webhooks/1"),
            *((b"set-cookie", b"a=b"), (b"www-authenticate", b"Bearer")),
        ]
        found = dict(rewrite_headers(given))
        assert found[b"link"] == (
            b'</console/api/auctions?after=x>; rel="next", <https://elsewhere.example/x>; rel="help"'
        )
        assert found[b"location"] == b"/console/api/webhooks/1"
        assert not {b"set-cookie", b"www-authenticate"} & found.keys()
        assert found[b"x-content-type-options"] == b"nosniff"
        assert found[b"content-security-policy"] == b"default-src 'none'; frame-ancestors 'none'; sandbox"
        assert dict(rewrite_headers([(b"location", b"https://elsewhere.example/")]))[b"location"].startswith(b"https")


class TestAnotherSite:
    READS: tuple[dict[str, str], ...] = (
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://gridloom.test.evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    )
    CHANGES = (
        *READS,
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin", "X-Gridloom-Console": "1"},
        {"Origin": ORIGIN},
        {"Sec-Fetch-Site": "same-origin", "Origin": ORIGIN, "X-Gridloom-Console": "0"},
        {"Sec-Fetch-Site": "cross-site", "Origin": ORIGIN, "X-Gridloom-Console": "1"},
    )

    @pytest.mark.parametrize("headers", READS, ids=str)
    async def test_reads_nothing(self, app, new_organisation, headers):
        async with signed_in(app, await new_organisation()) as tab:
            answer = await tab.get("/console/api/auth/me", headers=headers)
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"

    @pytest.mark.parametrize("headers", CHANGES, ids=str)
    async def test_changes_nothing(self, app, new_organisation, headers):
        ours = await new_organisation()
        async with signed_in(app, ours) as tab:
            path = f"/console/api/organisations/{ours.id}/portfolios"
            answer = await tab.post(path, json={"name": "Nord"}, headers=headers)
            kept = await tab.get(path, headers=SAME_ORIGIN)
        assert answer.status_code == 403
        assert kept.json() == []

    async def test_may_read_from_a_browser_that_names_the_origin_only(self, app, new_organisation):
        async with signed_in(app, await new_organisation()) as tab:
            answer = await tab.get("/console/api/auth/me", headers={"Origin": ORIGIN})
        assert answer.status_code == 200


class TestTheInterfaceItself:
    async def test_takes_no_cookie(self, app, new_organisation):
        async with signed_in(app, await new_organisation()) as tab:
            cookie = f"gridloom_session={tab.cookies['gridloom_session']}"
            headers = {**A_CHANGE, "Cookie": cookie}
            read = await tab.get("/auth/me", headers=headers)
            as_token = await tab.get("/auth/me", headers={"Authorization": f"Bearer {tab.cookies['gridloom_session']}"})
        assert (read.status_code, as_token.status_code) == (401, 401)
        assert read.headers["www-authenticate"] == "Bearer"


class TestATrickyPath:
    @pytest.mark.parametrize(
        "path",
        [
            "/console/api",
            "/console/api/",
            "/console/api//auth/me",
            "/console/api/auth//me",
            "/console/api/%2e/auth/me",
            "/console/api/%2e%2e/console/session",
            "/console/api/%2e%2e/%2e%2e/auth/me",
            "/console/api/..%2fapi%2fauth/me",
            "/console/api/%5cauth/me",
            "/console/api/console/session",
            "/console/api/console/api/auth/me",
            "/console/apiauth/me",
            "/console/api/auth/public/refresh",
            "/console/api/auth/public/authenticate",
            "/console/api/http://evil.example/",
        ],
    )
    async def test_leads_nowhere(self, app, new_organisation, path):
        async with signed_in(app, await new_organisation()) as tab:
            answer = await tab.get(path, headers=SAME_ORIGIN)
        assert answer.status_code in (404, 503) or b"<!doctype html>" in answer.content.lower()
        assert b"username" not in answer.content

    @pytest.mark.parametrize("path", ["authenticate", "refresh", "second-factor", "sso/token"])
    async def test_hands_no_token_to_a_script(self, app, new_organisation, path):
        async with signed_in(app, await new_organisation()) as tab:
            answer = await tab.post(f"/console/api/auth/public/{path}", json={}, headers=A_CHANGE)
        assert answer.status_code == 404


class TestALiveStream:
    def reader(self, app, cookie):
        reader = Reader(cast(Application, ConsoleMiddleware(app)), "none", "/console/api/events")
        reader.scope["headers"] = [
            (b"accept", b"text/event-stream"),
            (b"sec-fetch-site", b"same-origin"),
            (b"cookie", f"gridloom_session={cookie}".encode()),
        ]
        return reader

    async def test_passes_through(self, app, new_organisation):
        ours = await new_organisation()
        async with signed_in(app, ours) as tab, self.reader(app, tab.cookies["gridloom_session"]) as stream:
            assert stream.status == 200
            await happen(app.pool, ours.id, 5)
            told = await stream.next()
        assert number_in(told.data) == 5

    async def test_outlives_a_token(self, app, new_organisation, monkeypatch):
        """Each token ends after five seconds and is renewed after one; the stream lasts as long as the session."""
        ours = await new_organisation()
        monkeypatch.setattr(tokens, "ACCESS_LIFETIME", timedelta(seconds=5))
        monkeypatch.setattr(console_sessions, "ACCESS_LIFETIME", timedelta(seconds=5))
        monkeypatch.setattr(console_sessions, "RENEWED_BEFORE_S", 4.0)
        async with signed_in(app, ours) as tab, self.reader(app, tab.cookies["gridloom_session"]) as stream:
            for number in (1, 2, 3):
                await asyncio.sleep(1.8)
                await happen(app.pool, ours.id, number)
                told = await stream.next()
                assert told is not None, "the stream ended with a token"
                assert number_in(told.data) == number

    async def test_ends_with_its_session(self, app, new_organisation, monkeypatch):
        monkeypatch.setattr(event_stream, "HEARTBEAT_S", 0.2)
        ours = await new_organisation()
        async with signed_in(app, ours) as tab, self.reader(app, tab.cookies["gridloom_session"]) as stream:
            await tab.delete("/console/session", headers=A_CHANGE)
            await happen(app.pool, ours.id, 1)
            assert await stream.next(20) is None


class TestTheKeptTokens:
    async def test_stay_few_however_many_sign_in(self, app, new_organisation, monkeypatch):
        monkeypatch.setattr(console_sessions, "MAX_TOKENS", 2)
        ours, cookies = await new_organisation(), []
        for role in Role:
            async with signed_in(app, ours, role) as tab:
                assert (await tab.get("/console/api/auth/me", headers=SAME_ORIGIN)).status_code == 200
                cookies.append(tab.cookies["gridloom_session"])
        kept = app.resources[ConsoleSessions]._tokens
        assert list(kept) == [tokens.hash_of(cookie) for cookie in cookies[-2:]], "those of the latest"
        left_s = [token.good_until - time.monotonic() for token in kept.values()]
        assert max(left_s) <= tokens.ACCESS_LIFETIME.total_seconds() - 120, "none is used in its last two minutes"
