"""Small parts below all stores, each without a server: limits of sessions, idle connections, nodes, emptying, files."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from gridloom.platform.database import emptying
from gridloom.platform.database.citus import Placement, TableKind
from gridloom.platform.database.migrate import MigrationError, read_migrations
from gridloom.platform.database.nodes import WorkerNode, read_worker_nodes
from gridloom.platform.database.server import processes
from gridloom.platform.database.server.embedded import dsn_of_running
from gridloom.platform.database.server.processes import EmbeddedPostgresError, server_account
from gridloom.platform.database.server.service_role import service_dsn

pytestmark = pytest.mark.pure


class PlayedCluster:
    """A connection to a server with the extension, which no test has, or to one without."""

    def __init__(self, *, is_distributed: bool) -> None:
        self.is_distributed = is_distributed
        self.done: list[tuple[Any, ...]] = []

    async def fetchval(self, statement: str) -> bool:
        return self.is_distributed

    async def fetch(self, statement: str, *arguments: Any) -> list[dict[str, Any]]:
        self.done.append(arguments)
        if "run_command_on_workers" in statement:
            return [{"address": "b:1", "success": False}, {"address": "a:1", "success": True}]
        return [
            {"address": "b:1", "group_name": "asset", "shards": 16},
            {"address": "b:1", "group_name": "auction", "shards": 4},
        ]

    async def execute(self, statement: str, *arguments: Any, **options: Any) -> None:
        self.done.append((statement, *arguments, *options.values()))


class TestWorkerNodes:
    async def test_are_in_the_order_of_their_addresses_with_what_lies_on_each(self) -> None:
        db: Any = PlayedCluster(is_distributed=True)
        assert list(await read_worker_nodes(db)) == [
            WorkerNode("a:1", answers=True, shards={}),
            WorkerNode("b:1", answers=False, shards={"asset": 16, "auction": 4}),
        ]
        groups, tables = db.done[0]
        assert dict(zip(groups, tables, strict=True))["asset"] == "physical_asset_parameters", "the first of its group"
        assert set(groups) == {"asset", "organisation", "auction"}
        db.is_distributed = False
        assert await read_worker_nodes(db) == ()


class TestEmptying:
    async def test_goes_from_what_points_to_what_is_pointed_to_where_tables_are_spread(self) -> None:
        tables = [
            Placement("asset", TableKind.REFERENCE),
            Placement("event", TableKind.DISTRIBUTED, "organisation_id", "organisation"),
            Placement("job", TableKind.LOCAL),
            Placement("rate_limit", TableKind.LOCAL),
        ]
        spread: list[tuple[Any, ...]] = [
            ("select set_config('statement_timeout', $1, true)", "600s"),
            ("delete from event", 600),
            ("delete from asset", 600),
            ("truncate job, rate_limit restart identity",),
        ]
        for is_distributed, done in (
            (True, spread),
            (False, [("truncate asset, event, job, rate_limit restart identity",)]),
        ):
            db: Any = PlayedCluster(is_distributed=is_distributed)
            await emptying.empty_tables(db, tables)
            assert db.done == done


class TestMigrations:
    def test_are_read_in_the_order_of_their_numbers_and_named_alike(self, tmp_path: Path) -> None:
        for name in ("0010_later", "0002_sooner"):
            (tmp_path / f"{name}.sql").write_text(f"select '{name}';")
        found = read_migrations(tmp_path)
        assert [one.name for one in found] == ["0002_sooner", "0010_later"]
        assert found[0].sql == "select '0002_sooner';"
        assert len({one.sha256 for one in found}) == 2
        for name in ("11_short", "0011-odd", "0011_Odd"):
            (tmp_path / f"{name}.sql").touch()
            with pytest.raises(MigrationError, match=r"is not named like"):
                read_migrations(tmp_path)
            (tmp_path / f"{name}.sql").unlink()


class TestTheAddressOfAServer:
    def test_names_everything_that_drivers_would_read_elsewhere(self, tmp_path: Path) -> None:
        (tmp_path / "a b").mkdir()
        (tmp_path / "run").symlink_to(tmp_path / "a b")
        dsn = dsn_of_running(tmp_path)
        assert dsn == f"postgresql:///gridloom?host={tmp_path}/a%20b&port=5432&user=gridloom"
        assert service_dsn(dsn) == dsn.replace("user=gridloom", "user=gridloom_service")


class TestTheAccountOfAServer:
    @pytest.fixture
    def as_root(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """The accounts of this machine."""
        known: dict[str, Any] = {}
        monkeypatch.setattr(os, "geteuid", lambda: 0)

        def getpwnam(name: str) -> Any:
            return known[name]

        monkeypatch.setattr(pwd, "getpwnam", getpwnam)
        return known

    def test_of_root_has_to_be_there(self, as_root: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(EmbeddedPostgresError, match="does not run as root"):
            server_account(tmp_path / "none")


class TestAProcess:
    @pytest.mark.parametrize(
        ("answer", "is_alive"), [(None, True), (ProcessLookupError, False), (PermissionError, True)]
    )
    def test_is_alive_unless_there_is_none(
        self, monkeypatch: pytest.MonkeyPatch, answer: type[OSError] | None, is_alive: bool
    ) -> None:
        asked: list[tuple[int, int]] = []

        def kill(pid: int, sign: int) -> None:
            asked.append((pid, sign))
            if answer is not None:
                raise answer

        monkeypatch.setattr(os, "kill", kill)
        assert processes.is_alive(4711) is is_alive
        assert asked == [(4711, 0)], "and it is sent no signal"
