"""Pages by which the interface explains itself, each by itself."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.kernel.problem import Conflict, NotFound
from gridloom.platform.guide import openapi_pages as pages
from gridloom.settings import Settings

pytestmark = pytest.mark.pure


def asking(settings: Settings) -> Any:
    return SimpleNamespace(resources={Settings: settings}, pool="pool")


class TestTheInterface:
    @pytest.mark.parametrize(
        ("ours", "sandbox", "servers"),
        [
            ("https://a.example", "https://a.example", [("https://a.example", "This service")]),
            (
                "https://a.example",
                "https://b.example",
                [("https://a.example", "Production"), ("https://b.example", "Sandbox")],
            ),
        ],
    )
    def test_names_where_it_is_served(
        self, monkeypatch: pytest.MonkeyPatch, ours: str, sandbox: str, servers: list[tuple[str, str]]
    ) -> None:
        described: list[Any] = []

        def describe(operations: Any, vocabulary: Any, *, servers: Any) -> dict[str, Any]:
            described.append((operations, servers))
            return {"steps": ["describe"]}

        monkeypatch.setattr(pages, "describe", describe)
        for name in ("add_events", "add_descriptions", "share_parameters", "drop_unused"):
            monkeypatch.setattr(pages, name, lambda document, *_, name=name: document["steps"].append(name))
        edge: Any = SimpleNamespace(operations="operations")
        document = pages.OpenApiDocument(edge, Settings(base_url=ours, sandbox_base_url=sandbox))
        steps = ["describe", "add_events", "add_descriptions", "share_parameters", "drop_unused"]
        assert document.document["steps"] == steps
        assert document.document is document.document, "it is made once"
        assert described == [("operations", servers)]


class TestTheContactForVulnerabilities:
    @pytest.mark.parametrize(
        ("environment", "address"), [("production", "https://grid.example"), ("sandbox", "https://try.example")]
    )
    async def test_is_told_for_half_a_year(
        self, monkeypatch: pytest.MonkeyPatch, environment: Any, address: str
    ) -> None:
        async def real_now(db: Any) -> datetime:
            assert db == "pool"
            return datetime(2026, 3, 29, 23, 59, tzinfo=UTC)

        monkeypatch.setattr(pages, "real_now", real_now)
        settings = Settings(
            environment=environment,
            base_url="https://grid.example",
            sandbox_base_url="https://try.example",
            security_contact="mailto:ada@grid.example",
        )
        told = await pages.read_security_contact(asking(settings))
        assert told.body.decode().splitlines() == [
            "Contact: mailto:ada@grid.example",
            "Expires: 2026-09-25T00:00:00Z",
            "Preferred-Languages: en, de",
            f"Canonical: {address}/.well-known/security.txt",
        ]
        assert told.headers["Cache-Control"] == "public, max-age=86400"


class TestTheFrontPage:
    async def test_leads_on(self) -> None:
        index = await pages.show_front_page(asking(Settings(environment="production")))
        assert (index.name, index.environment, index.version[0].isdigit()) == ("Gridloom", "production", True)
        assert (index.documentation, index.interface, index.console, index.health) == (
            "/docs",
            "/openapi.json",
            "/console/",
            "/health/ready",
        )


class TestPagesOfProblems:
    async def test_list_every_type_with_its_page(self) -> None:
        page = (await pages.list_problem_types(asking(Settings()))).body.decode()
        assert '<td class="status">404</td><td><a href="/docs/problems/not-found">' in page

    async def test_explain_the_one_that_is_asked_for(self) -> None:
        for name, status, title in (("not-found", 404, NotFound.title), ("conflict", 409, Conflict.title)):
            page = (await pages.explain_problem_type(asking(Settings()), name)).body.decode()
            assert f'<p class="status">{status}</p>' in page
            assert title in page.partition("</h1>")[0]
        for name in ("found", "", "docs/problems/not-found"):
            with pytest.raises(NotFound):
                await pages.explain_problem_type(asking(Settings()), name)

    def test_show_words_as_they_are(self) -> None:
        assert pages._render_prose("a `b<c` & `d`") == "a <code>b&lt;c</code> &amp; <code>d</code>"
        page = pages._make_page("a <b>", "<p>body</p>", "<style></style>")
        assert b"<title>a &lt;b&gt;</title>" in page.body
        assert b"<p>body</p>" in page.body
        assert page.media_type == "text/html; charset=utf-8"
        assert set(page.headers) == {"Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options"}


class TestAFileOfTheDocumentation:
    async def test_is_one_of_those_that_the_page_loads(self) -> None:
        for name, media_type in (("swagger-ui.css", "text/css"), ("favicon-32x32.png", "image/png")):
            found = await pages.read_documentation_asset(asking(Settings()), name)
            assert (found.media_type, len(found.body) > 100) == (media_type, True)
            assert found.headers["Cache-Control"] == "public, max-age=86400"
        with pytest.raises(NotFound, match=r"no file index\.html"):
            await pages.read_documentation_asset(asking(Settings()), "index.html")
