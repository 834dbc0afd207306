"""The console's files: kept for a year by their hash, the page never, and a strict policy on all of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest
from tests.platform.console.browsing import SAME_ORIGIN, browser

from gridloom.platform.console.application import ConsoleMiddleware
from gridloom.platform.console.pages import StaticFiles
from gridloom.platform.console.sign_in_refusal import answer_with_page, render_page

SCRIPT = b"console.log('screen');\n" * 400


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Gridloom</title>")
    (tmp_path / "assets" / "index-Bx3fA91z.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "index-Bx3fA91z.css").write_text("p { color: red }")
    (tmp_path / "assets" / "secret.txt").write_text("not named by a hash")
    (tmp_path / "build.stamp").write_text("0")
    return tmp_path


class TestThePage:
    @pytest.mark.parametrize("path", ["/console/", "/console/auctions", "/console/virtual-assets/1/2026-10-25"])
    async def test_is_the_same_for_every_screen_and_never_kept(self, app, built, path):
        async with browser(app, built) as tab:
            page = await tab.get(path)
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["content-type"] == "text/html; charset=utf-8"

    async def test_lets_no_script_but_its_own_run_and_no_other_site_show_it(self, app, built):
        async with browser(app, built) as tab:
            policy = (await tab.get("/console/")).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy

    async def test_stands_for_no_path_of_the_gateway_however_short(self, app, built):
        async with browser(app, built) as tab:
            answers = [await tab.get(path, headers=SAME_ORIGIN) for path in ("/console/api", "/console/api/")]
            screen = await tab.get("/console/apiary", headers=SAME_ORIGIN)
        assert [(answer.status_code, answer.headers["content-type"]) for answer in answers] == [
            *[(404, "application/problem+json")] * 2
        ]
        assert screen.status_code == 200

    async def test_is_asked_for_without_its_content_too(self, app, built):
        sent = []

        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "HEAD", "path": "/console/", "headers": [], "client": ("10.9.8.7", 1)}
        await ConsoleMiddleware(app, pages=StaticFiles(built))(scope, receive, send)
        length = str((built / "index.html").stat().st_size).encode()
        assert (sent[0]["status"], dict(sent[0]["headers"])[b"content-length"]) == (200, length)
        assert b"".join(message.get("body", b"") for message in sent) == b""

    async def test_is_a_request_of_its_connection_until_it_is_answered(self, app, built):
        peer = ("10.9.8.7", 50_000)
        async with browser(app, built) as tab:
            for path, status in (("/console/", 200), ("/console/assets/unknown", 404)):
                app.connections.answered_at.pop(peer, None)
                assert (await tab.get(path)).status_code == status
                assert peer in app.connections.answered_at
                assert peer not in app.connections.in_progress

    async def test_takes_no_change(self, app, built):
        async with browser(app, built) as tab:
            answer = await tab.post("/console/", json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
        assert (answer.headers["x-request-id"], answer.headers["cache-control"]) == (
            *(answer.json()["requestId"], "no-store"),
        )

    async def test_says_so_where_the_console_was_not_built(self, app, tmp_path):
        async with browser(app, tmp_path) as tab:
            answer = await tab.get("/console/")
        assert answer.status_code == 503
        assert "was not built" in answer.text


class TestTheWayIn:
    @pytest.mark.parametrize(
        ("path", "accept", "location"),
        [
            ("/console", "*/*", "/console/"),
            ("/docs/guide", "*/*", "/docs/guide/"),
            ("/", "text/html,application/json;q=0.9", "/console/"),
        ],
    )
    async def test_leads_a_browser_to_the_page(self, app, built, path, accept, location):
        async with browser(app, built) as tab:
            led = await tab.get(path, headers={"Accept": accept})
        assert (led.status_code, led.headers["location"], led.headers["vary"]) == (302, location, "Accept")

    @pytest.mark.parametrize("accept", ["application/json", "*/*", "text/html;q=0.5, application/json"])
    async def test_leaves_a_program_with_the_interface(self, app, built, accept):
        async with browser(app, built) as tab:
            assert "version" in (await tab.get("/", headers={"Accept": accept})).json()

    async def test_to_the_guide_is_not_the_consoles(self, app, built):
        async with browser(app, built) as tab:
            guide, console = await tab.get("/docs/guide/"), await tab.get("/console/")
        assert guide.headers.get("location") is None
        assert guide.content != console.content


class TestAFile:
    async def test_is_kept_for_a_year_and_compressed(self, app, built):
        async with browser(app, built) as tab:
            answer = await tab.get("/console/assets/index-Bx3fA91z.js", headers={"Accept-Encoding": "gzip"})
            plain = await tab.get("/console/assets/index-Bx3fA91z.js", headers={"Accept-Encoding": "identity"})
            styles = await tab.get("/console/assets/index-Bx3fA91z.css")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert (answer.headers["content-encoding"], plain.headers.get("content-encoding")) == ("gzip", None)
        assert answer.content == plain.content == SCRIPT
        assert int(answer.headers["content-length"]) == len(gzip.compress(SCRIPT, 9, mtime=0))
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert styles.headers["content-type"] == "text/css; charset=utf-8"

    @pytest.mark.parametrize(
        "name",
        [
            "index-Cx3fA91z.js",
            "secret.txt",
            "../build.stamp",
            "..%2f..%2froutes-12345678.py",
            "%2e%2e/build.stamp",
            "x/../../index.html",
        ],
    )
    async def test_that_was_not_built_is_not_there(self, app, built, name):
        async with browser(app, built) as tab:
            answer = await tab.get(f"/console/assets/{name}")
        assert answer.status_code == 404 or answer.headers["content-type"].startswith("text/html")
        assert b"hash" not in answer.content


class TestTheFrontDoor:
    async def test_leads_a_browser_to_the_console(self, app):
        accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        async with browser(app) as tab:
            answer = await tab.get("/", headers={"Accept": accept})
        assert (answer.status_code, answer.headers["location"]) == (302, "/console/")

    @pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html;q=0.5"])
    async def test_tells_programs_where_everything_is(self, app, accept):
        async with browser(app) as tab:
            answer = await tab.get("/", headers={"Accept": accept})
        assert answer.json()["console"] == "/console/"
        assert answer.json()["interface"] == "/openapi.json"

    async def test_stands_before_the_console_without_a_slash_too(self, app):
        async with browser(app) as tab:
            answer = await tab.get("/console")
        assert (answer.status_code, answer.headers["location"]) == (302, "/console/")


NAVIGATION = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class TestSingleSignOnThatIsRefused:
    async def test_is_a_page_with_a_sentence_and_a_way_back_for_a_browser(self, app):
        async with browser(app) as tab:
            headers = {"Accept": NAVIGATION, "Accept-Encoding": "gzip"}
            answer = await tab.get("/auth/public/sso/callback?state=unknown&code=x", headers=headers)
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert "Begin again." in answer.text
        assert 'href="/console/"' in answer.text
        assert answer.headers["x-request-id"] in answer.text
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert int(answer.headers["content-length"]) == len(answer.content)

    async def test_is_one_at_its_start_too_and_repeats_nothing_of_the_address_as_markup(self, app):
        async with browser(app) as tab:
            headers = {"Accept": NAVIGATION}
            answer = await tab.get("/auth/public/sso/start?organisation=x&redirect=<script>", headers=headers)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "<script" not in answer.text

    async def test_is_asked_for_without_compression_and_read_in_pieces(self):
        asked = []

        async def refuse(scope, _receive, send):
            asked.append(scope)
            headers = [(b"content-type", b"application/problem+json"), (b"x-request-id", b"r-1")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": b'{"type": "x", "title": "T",', "more_body": True})
            await send({"type": "http.response.body", "body": b' "requestId": "r-1"}'})

        async def receive():
            return {"type": "http.disconnect"}

        sent = []

        async def send(message):
            sent.append(message)

        given = [(b"accept", b"text/html"), (b"accept-encoding", b"gzip"), (b"cookie", b"a=b")]
        await answer_with_page(refuse, {"type": "http", "headers": given}, receive, send)
        assert asked[0]["headers"] == [(b"accept", b"text/html"), (b"cookie", b"a=b")]
        (start, body), headers = sent, dict(sent[0]["headers"])
        assert (start["status"], headers[b"content-length"]) == (403, str(len(body["body"])).encode())
        assert (headers[b"x-request-id"], b"Request r-1" in body["body"]) == (b"r-1", True)
        assert b'<p role="alert">T.</p>' in body["body"], "where there is no more to say, the title is the sentence"

    @pytest.mark.parametrize(
        ("problem", "advice"),
        [
            ("single-sign-on-refused", "an administrator of your organisation finds the reason in its audit log"),
            ("network-not-allowed", "Your organisation allows sign-in from its own networks only."),
            ("provider-unreachable", "Try again in a few minutes, or sign in with a password."),
            ("bad-request", "<p>Sign in again.</p>"),
        ],
    )
    def test_says_what_may_help(self, problem, advice):
        document = {"type": f"/docs/problems/{problem}", "title": "T", "detail": "<b>", "requestId": "r-1"}
        page = render_page(msgspec.json.encode(document)).decode()
        assert advice in page
        assert '<p role="alert">&lt;b&gt;</p>' in page

    @pytest.mark.parametrize("accept", ["*/*", "application/json, */*;q=0.5"])
    async def test_stays_a_problem_for_programs(self, app, accept):
        async with browser(app) as tab:
            answer = await tab.get("/auth/public/sso/callback?state=unknown&code=x", headers={"Accept": accept})
        assert answer.status_code == 403
        assert answer.json()["type"].endswith("/single-sign-on-refused")
