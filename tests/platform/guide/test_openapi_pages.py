"""Pages by which the interface explains itself."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.app import create_edge
from gridloom.platform.guide.openapi_pages import OpenApiDocument
from gridloom.settings import Settings

OURS, SANDBOX = "https://a.example", "https://b.example"


class TestTheInterface:
    @pytest.mark.parametrize(
        ("sandbox", "servers"),
        [
            (OURS, [{"url": OURS, "description": "This service"}]),
            (SANDBOX, [{"url": OURS, "description": "Production"}, {"url": SANDBOX, "description": "Sandbox"}]),
        ],
    )
    def test_names_where_it_is_served(self, sandbox: str, servers: list[Any]) -> None:
        without_database = Settings(base_url=OURS, sandbox_base_url=sandbox)
        assert OpenApiDocument(create_edge(without_database), without_database).document["servers"] == servers


class TestAPage:
    @pytest.mark.parametrize(
        ("path", "media_type", "words"),
        [
            ("/", "application/json", '"console":"/console/"'),
            (
                "/docs/problems",
                "text/html; charset=utf-8",
                '<td class="status">404</td><td><a href="/docs/problems/not',
            ),
            ("/docs/problems/not-found", "text/html; charset=utf-8", '<p class="status">404</p>'),
            ("/docs/problems/conflict", "text/html; charset=utf-8", '<p class="status">409</p>'),
            ("/docs/assets/swagger-ui.css", "text/css", ".swagger-ui"),
            ("/docs/problems/found", "application/problem+json", "not-found"),
            ("/docs/assets/index.html", "application/problem+json", "no file index.html"),
        ],
    )
    async def test_is_there_for_anybody(self, anonymous: Any, path: str, media_type: str, words: str) -> None:
        answer = await anonymous.get(path)
        assert (answer.headers["content-type"], answer.status_code) == (
            media_type,
            404 if "problem+" in media_type else 200,
        )
        assert words in answer.text
