"""A small validated, audited write against a bare INSERT."""

from __future__ import annotations

from typing import Any

import orjson

from bench.ceiling import Bare
from bench.harness import NUMBER, Harness, Request
from gridloom.kernel.ids import uuid7

CEILING = Bare()


@CEILING.on("POST", "", status=201)
async def create_organisation(pool: Any, last: str, body: bytes) -> Any:
    asked = orjson.loads(body)
    row = await pool.fetchrow(
        "insert into organisation (id, name, kind) values ($1, $2, $3) returning id, name, kind, created_at",
        uuid7(),
        asked["name"],
        asked["kind"],
    )
    return dict(row)


def run(harness: Harness) -> None:
    operator = harness.operator
    body = {"name": f"Bench {NUMBER}", "kind": "PARTICIPANT"}
    ceiling = Request("POST", "/organisations", json=body)
    harness.compare("POST /organisations", Request("POST", "/organisations", token=operator.token, json=body), ceiling)
    harness.compare(
        "POST /organisations with Idempotency-Key",
        Request("POST", "/organisations", token=operator.token, json=body, headers={"Idempotency-Key": NUMBER}),
        ceiling,
        at_least=0.45,
    )
