"""Small authenticated reads against the same SELECT without authentication."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bench.ceiling import Bare
from bench.harness import Harness, Request

CEILING = Bare()


@CEILING.on("GET", "/members")
async def read_member(pool: Any, last: str, body: bytes) -> Any:
    row = await pool.fetchrow(
        "select id, username, display_name, organisation_id, role from member where id = $1", UUID(last)
    )
    return dict(row)


@CEILING.on("GET", "/organisations")
async def read_organisation(pool: Any, last: str, body: bytes) -> Any:
    row = await pool.fetchrow("select id, name, kind, created_at from organisation where id = $1", UUID(last))
    return dict(row)


def run(harness: Harness) -> None:
    operator = harness.operator
    me = operator.get("/auth/me")
    harness.compare(
        "GET /auth/me",
        Request("GET", "/auth/me", token=operator.token),
        Request("GET", f"/members/{me['id']}"),
    )
    path = f"/organisations/{me['organisationID']}"
    harness.compare("GET /organisations/{id}", Request("GET", path, token=operator.token), Request("GET", path))
