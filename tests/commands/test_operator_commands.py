"""What an operator's commands do on the service's machine, beside a service that runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.database_server import migrated_database

from gridloom.commands import cli
from gridloom.commands.errors import exit_on_known_errors

Command = Callable[..., Any]


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The database of the commands that follow."""
    monkeypatch.setenv("COLUMNS", "200")
    return lambda url: monkeypatch.setenv("GRIDLOOM_DATABASE_URL", url)


@pytest.fixture
def commanded(database: Callable[[str], None], settings: Any, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command on the database of the service under test; what it printed, or its refusal."""
    database(settings.database_url)

    async def run(command: Command, *of: Any, **options: Any) -> str:
        def call() -> None:
            with exit_on_known_errors():
                command(*of, **options)

        try:
            await asyncio.to_thread(call)
        except SystemExit:
            return capsys.readouterr().err
        return capsys.readouterr().out

    return run


async def find_entry(operator: Any, action: str) -> Any:
    entries = (await operator.get("/audit-log", params={"limit": 5})).json()
    [found] = [entry for entry in entries if entry["action"] == action][:1]
    assert (found["actorKind"], found["actorName"]) == ("SYSTEM", "command line")
    return found


class TestAPersonWhoIsLetIn:
    async def test_joins_with_the_token_alone_on_a_line_and_is_recorded(
        self, commanded: Command, operator: Any, anonymous: Any
    ) -> None:
        said = await commanded(cli.let_in, "ada@example.org", role="VIEWER")
        [token] = [line for line in said.splitlines() if line.startswith("gl")]
        person = {
            "token": token,
            "username": f"ada-{uuid4().hex}",
            "displayName": "Ada",
            "password": f"a long secret {uuid4()}",
        }
        answer = await anonymous.post("/auth/public/invitations/accept", json=person)
        assert answer.status_code == 201, answer.text
        entry = await find_entry(operator, "inviteFromCommandLine")
        me = (await operator.get("/auth/me")).json()
        assert entry["resource"] == f"organisations/{me['organisationID']}/invitations"
        assert entry["details"]["role"] == "VIEWER"
        assert token not in str(entry)

    async def test_joins_an_organisation_that_there_is(self, commanded: Command) -> None:
        assert "no such organisation" in await commanded(cli.let_in, "ada@example.org", organisation=uuid4())


class TestASigningKey:
    async def test_that_is_replaced_is_published_and_recorded(
        self, commanded: Command, operator: Any, anonymous: Any
    ) -> None:
        said = await commanded(cli.rotate_signing_key)
        entry = await find_entry(operator, "rotateSigningKey")
        assert f"The new key is {entry['details']['kid']}." in said
        published = (await anonymous.get("/auth/public/jwks")).json()["keys"]
        assert entry["details"]["kid"] in [key["kid"] for key in published]


class TestJobs:
    async def test_that_need_attention_are_listed_and_revived(self, commanded: Command, app: Any) -> None:
        assert "No job clear 9 has failed." in await commanded(cli.jobs, revive=("clear", "9"))
        key = str(uuid4())
        await app.pool.execute(
            """insert into job (kind, key, clock, due, state, attempts, failed_at, last_error)
               values ('test.none', $1, 'real', now(), 'DEAD', 5, now(), 'it broke')""",
            key,
        )
        listed = await commanded(cli.jobs)
        assert key in listed
        assert "it broke" in listed
        assert key not in await commanded(cli.jobs, revive=("test.none", key))
        await app.pool.execute("delete from job where key = $1", key)


class TestADatabase:
    async def test_that_is_up_to_date_is_left_as_it_is(self, commanded: Command) -> None:
        assert await commanded(cli.migrate) == "The database is up to date.\n"

    async def test_without_a_cluster_is_spread_over_none(
        self, commanded: Command, database: Callable[[str], None]
    ) -> None:
        async with migrated_database() as url:
            database(url)
            assert "Citus" in await commanded(cli.distribute)

    async def test_whose_revenue_agrees_with_its_facts_is_well(self, commanded: Command) -> None:
        assert "; 0 differ.\n" in await commanded(cli.revenue, check=True)
        assert "There is no asset" in await commanded(cli.revenue, asset=[uuid4()])


class TestABackupThatGoesOn:
    async def test_is_of_the_embedded_server_and_not_verified_meanwhile(
        self, commanded: Command, tmp_path: Path
    ) -> None:
        assert "pg_basebackup" in await commanded(cli.backup, tmp_path / "daily", continuous=True)
        assert "--at" in await commanded(cli.backup, tmp_path / "daily", continuous=True, verify=True)
