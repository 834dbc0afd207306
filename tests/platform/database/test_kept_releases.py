"""A database of every release is kept as its own `gridloom backup` wrote it: restored, upgraded and served, it still
answers all that the release answered."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from bench.harness import PASSWORD as OPERATOR_PASSWORD
from bench.harness import USERNAME as OPERATOR_USERNAME
from tests.conftest import running
from tests.database_server import empty_database
from tests.people import PASSWORD, client_of
from tests.platform.database.keep_release import RELEASES

from gridloom.platform.backups.dump import restore
from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.migrate import migrate, pending_migrations

CHANGELOG = Path(__file__).parents[3] / "CHANGELOG.md"
VERSIONS = re.findall(r"^## (\d+\.\d+\.\d+) - ", CHANGELOG.read_text(), re.M)[:1]
"""A release upgrades from the one before it."""
SIGN_INS = {
    "owner": ("owner", PASSWORD),
    "trader": ("trader", PASSWORD),
    "operator": (OPERATOR_USERNAME, OPERATOR_PASSWORD),
}


def find_losses(before: Any, now: Any, place: str = "") -> list[str]:
    """Where something that was answered before is missing or another now; new fields are none."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            loss
            for name, value in before.items()
            for loss in (
                find_losses(value, now[name], f"{place}/{name}") if name in now else [f"{place}/{name} is missing"]
            )
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        before, now = (sorted(some, key=_read_id) for some in (before, now))  # a release may list in another order
        return [
            loss
            for number, (one, other) in enumerate(zip(before, now, strict=True))
            for loss in find_losses(one, other, f"{place}/{number}")
        ]
    return [] if before == now else [f"{place} was {str(before)[:80]} and is {str(now)[:80]}"]


def _read_id(one: Any) -> str:
    return str(one.get("id", "")) if isinstance(one, dict) else ""


class TestLosses:
    def test_are_found_wherever_they_are(self):
        before = {"a": [{"b": 1}, {"b": 2}], "c": "d"}
        assert find_losses(before, {"a": [{"b": 1, "new": 0}, {"b": 2}], "c": "d", "e": 1}) == []
        assert find_losses(before, {"a": [{"b": 1}, {"b": 3}], "c": "d"}) == ["/a/1/b was 2 and is 3"]
        assert find_losses(before, {"a": [{"b": 1}], "c": "d"})
        assert find_losses(before, {"a": before["a"]}) == ["/c is missing"]


class TestADatabaseOfARelease:
    def test_is_stored_for_the_release_before(self):
        assert sorted(path.stem for path in RELEASES.glob("*.dump")) == sorted(VERSIONS)

    @pytest.mark.parametrize("version", VERSIONS)
    async def test_is_upgraded_and_answers_what_it_answered(self, settings, version):
        async with empty_database() as url:
            await asyncio.to_thread(restore, replace(settings, database_url=url), RELEASES / f"{version}.dump")
            connection = await asyncpg.connect(url)
            assert await migrate(connection)
            assert await pending_migrations(connection) == []
            await establish_environment(connection, "sandbox")
            await connection.close()
            answers = json.loads((RELEASES / f"{version}.json").read_text())
            async with running(replace(settings, database_url=url)) as edge:
                for person, reads in answers.items():
                    await self.see_all(edge, person, reads)

    async def see_all(self, edge, person, reads):
        username, password = SIGN_INS[person]
        async with client_of(edge) as anonymous:
            login = {"username": username, "password": password}
            signed_in = await anonymous.post("/auth/public/authenticate", json=login)
            assert signed_in.status_code == 200, signed_in.text
        async with client_of(edge, signed_in.json()["access_token"]) as client:
            for path, before in reads.items():
                answer = await client.get(path)
                assert answer.status_code == 200, f"{path}: {answer.text}"
                assert find_losses(before, answer.json()) == [], path
