"""The guide is served as it was built, under a strict policy, and its generated pages say what is so."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import cast

import pytest
from tests.people import client_of

from gridloom.kernel.problem import NotFound
from gridloom.platform.console.application import ConsoleMiddleware
from gridloom.platform.guide.pages import GuidePages
from gridloom.platform.http.application import Application

ROOT = Path(__file__).parents[3]


def load(name):
    spec = importlib.util.spec_from_file_location(f"guide_{name}", ROOT / "guide" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def built(tmp_path):
    (tmp_path / "auctions").mkdir()
    (tmp_path / "index.html").write_text("<p>home")
    (tmp_path / "auctions" / "index.html").write_text("<p>auctions")
    (tmp_path / "policy.txt").write_text("script 'sha256-abc='\n")
    return GuidePages(tmp_path)


class TestAPage:
    async def test_is_found_by_its_folder(self, built):
        assert (await built.read("", None)).body == b"<p>home"
        assert (await built.read("auctions/", None)).body == b"<p>auctions"

    async def test_without_its_slash_is_redirected(self, built):
        answer = await built.read("auctions", None)
        assert (answer.status, answer.headers["Location"]) == (308, "/docs/guide/auctions/")

    @pytest.mark.parametrize("path", ["nothing", "../pages.py", "policy.txt", "auctions/../policy.txt", "/etc/passwd"])
    async def test_that_was_not_built_is_not_found(self, built, path):
        with pytest.raises(NotFound):
            await built.read(path, None)

    async def test_may_run_only_the_scripts_it_was_built_with(self, built):
        policy = (await built.read("", None)).headers["Content-Security-Policy"]
        assert "script-src 'self' 'sha256-abc='" in policy
        assert "unsafe" not in policy

    async def test_that_was_never_built_is_a_problem_that_says_so(self, tmp_path):
        with pytest.raises(NotFound, match="not built"):
            await GuidePages(tmp_path).read("", None)


class TestTheService:
    async def test_leads_to_the_guide_without_a_token(self, app):
        async with client_of(cast(Application, ConsoleMiddleware(app))) as browser:
            answer = await browser.get("/docs/guide")
        assert (answer.status_code, answer.headers["Location"]) == (302, "/docs/guide/")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of docs/ in their order, built without a theme's doing."""
    place = tmp_path_factory.mktemp("site")
    whole = (ROOT / "guide" / "mkdocs.yml").read_text()
    nav = whole.partition("\nnav:\n")[2]
    lines = [
        "site_name: Gridloom",
        f"docs_dir: {ROOT / 'docs'}",
        f"site_dir: {place / 'built'}",
        "theme: {name: null, custom_dir: theme}",
        f"hooks: [{ROOT / 'guide' / 'page_texts.py'}]",
        "plugins: []",
        f"nav:\n{nav}",
    ]
    (place / "theme").mkdir()
    for name in ("main.html", "404.html"):
        (place / "theme" / name).write_text("{{ page.content }}")
    (place / "mkdocs.yml").write_text("\n".join(lines))
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(place / "mkdocs.yml")))
    (place / "built" / "policy.txt").write_text("")
    return GuidePages(place / "built")


class TestThePagesAsText:
    async def test_are_listed_and_each_is_the_markdown_it_was_written_in(self, app, site):
        service = cast(Application, ConsoleMiddleware(app, guide=site))
        async with client_of(service) as reader:
            index = await reader.get("/docs/llms.txt")
            assert (index.status_code, index.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
            assert index.text.startswith("# Gridloom\n\n> ")
            listed = re.findall(r"^- \[[^\]]+\]\(/docs/guide/([^)]+)\)(.*)$", index.text, re.MULTILINE)
            named = re.findall(r"([\w/-]+\.md)$", (ROOT / "guide" / "mkdocs.yml").read_text(), re.MULTILINE)
            assert [path for path, _ in listed] == named
            for path, summary in listed:
                page = await reader.get(f"/docs/guide/{path}")
                assert (page.status_code, page.headers["Content-Type"]) == (200, "text/markdown; charset=utf-8"), path
                assert page.text == (ROOT / "docs" / path).read_text(), path
                assert summary.startswith(": "), path


class TestTheReference:
    def test_has_every_operation_with_its_examples(self):
        document = json.loads((ROOT / "openapi.json").read_text())
        text = "\n".join(load("reference").reference_pages(document).values())
        for path, operations in document["paths"].items():
            for method in set(operations) - {"parameters"}:
                assert f"`{method.upper()} {path}`" in text
        assert text.count("curl -X") == sum(len(set(one) - {"parameters"}) for one in document["paths"].values())

    def test_describes_every_operation(self):
        document = json.loads((ROOT / "openapi.json").read_text())
        bare = [
            one["operationId"]
            for operations in document["paths"].values()
            for method, one in operations.items()
            if method != "parameters" and not one.get("description")
        ]
        assert bare == []


class TestTheMetricsPage:
    def test_lists_the_metrics_that_there_are(self):
        assert (ROOT / "docs" / "metrics.md").read_text() == load("metrics").describe_metrics(), (
            "python guide/metrics.py writes docs/metrics.md anew"
        )


class TestLinks:
    def test_of_the_guide_lead_to_nothing_on_another_machine(self):
        """Links that a reader follows may; what a page loads may not."""
        config = (ROOT / "guide" / "mkdocs.yml").read_text()
        assert "font: false" in config
        assert re.search(r"https?://", config) is None
