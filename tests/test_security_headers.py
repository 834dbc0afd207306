"""What browsers and finders of vulnerabilities are told: transport security, content policy, a contact."""

from __future__ import annotations

import re
from dataclasses import replace

import httpx2
import pytest
from tests.conftest import migrated_database, running_edge

from gridloom.app import create_app
from gridloom.platform.http.application import Application
from gridloom.settings import Settings


def client_of_app(application: object) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=application, client=("203.0.113.1", 1))  # type: ignore[arg-type]
    return httpx2.AsyncClient(transport=transport, base_url="https://grid.example")


class TestStrictTransportSecurity:
    @pytest.mark.parametrize(
        ("environment", "base_url", "is_visible_to"),
        [
            ("production", "https://grid.example", True),
            ("production", "http://grid.example", False),
            ("sandbox", "https://grid.example", False),
        ],
    )
    async def test_is_sent_by_a_production_behind_tls_on_every_answer(
        self, settings, environment, base_url, is_visible_to
    ):
        async with migrated_database() as url:
            more = {"environment": environment, "base_url": base_url, "database_url": url}
            application = create_app(replace(settings, **more))
            application.replicas = None  # what the fixture asks of a service
            async with running_edge(application), client_of_app(application) as client:
                for path in ("/auth/me", "/health/live", "/console/", "/nowhere", "/docs"):
                    answer = await client.get(path)
                    assert ("strict-transport-security" in answer.headers) is is_visible_to, path


class TestTheReference:
    @pytest.mark.parametrize("path", ["/docs", "/docs/problems", "/docs/problems/not-found"])
    async def test_runs_and_styles_nothing_inline_that_is_not_its_own(self, anonymous: httpx2.AsyncClient, path: str):
        answer = await anonymous.get(path)
        policy = answer.headers["content-security-policy"]
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy
        assert " style=" not in answer.text
        assert not re.search(r"\son[a-z]+=", answer.text)


class TestTheSecurityContact:
    async def test_is_published_as_rfc_9116_says(
        self, app: Application, anonymous: httpx2.AsyncClient, settings: Settings
    ):
        answer = await anonymous.get("/.well-known/security.txt")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
        assert fields["Contact"] == settings.security_contact
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fields["Expires"])
        assert fields["Canonical"].endswith("/.well-known/security.txt")
