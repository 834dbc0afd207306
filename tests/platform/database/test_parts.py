"""Small parts below all stores, each without a server: limits of sessions, idle connections, nodes, emptying, files."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.platform.database import emptying, nodes
from gridloom.platform.database import migrate as migrating
from gridloom.platform.database import pool as pool_module
from gridloom.platform.database.citus import DistributionRefused, Placement, TableKind, _check_placed
from gridloom.platform.database.composition import compose
from gridloom.platform.database.migrate import MigrationError, read_migrations
from gridloom.platform.database.nodes import WorkerNode, read_worker_nodes
from gridloom.platform.database.pool import server_settings
from gridloom.platform.database.preflight_store import _describe_schema
from gridloom.platform.database.server import binaries, embedded, processes
from gridloom.platform.database.server.binaries import Binaries, find_binaries_of
from gridloom.platform.database.server.embedded import EmbeddedPostgres, dsn_of_running
from gridloom.platform.database.server.processes import EmbeddedPostgresError, OsUser, TraversablePath, server_account
from gridloom.platform.database.server.service_role import service_dsn

pytestmark = pytest.mark.pure


class TestTheLimitsOfASession:
    def test_are_set_in_milliseconds_from_its_start(self) -> None:
        assert server_settings() == {
            "application_name": "gridloom",
            "statement_timeout": "30000",
            "lock_timeout": "10000",
            "idle_in_transaction_session_timeout": "60000",
            "timezone": "UTC",
        }
        asked = server_settings(
            application_name="other", statement_timeout_s=0.0015, lock_timeout_s=2, idle_in_transaction_timeout_s=3
        )
        assert list(asked.values()) == ["other", "2", "2000", "3000", "UTC"]


class TestAConnectionAtRest:
    def test_is_closed_where_it_has_done_nothing_between_two_looks(self) -> None:
        closed: list[str] = []

        def holder(name: str, queries: int, *, is_connected: bool = True) -> Any:
            return SimpleNamespace(
                is_connected=lambda: is_connected,
                _con=SimpleNamespace(_protocol=SimpleNamespace(queries_count=queries)),
                _deactivate_inactive_connection=lambda: closed.append(name),
            )

        idle, busy, new, lost = holder("idle", 5), holder("busy", 9), holder("new", 1), holder("lost", 5)
        lost.is_connected = lambda: False
        later: list[Mapping[int, int]] = []
        pool: Any = SimpleNamespace(
            is_closing=lambda: False,
            _queue=SimpleNamespace(_queue=[idle, busy, new, lost]),
            schedule_idle_check=later.append,
        )
        seen = {id(idle._con): 5, id(busy._con): 8, id(lost._con): 5}
        look: Any = lambda: pool  # noqa: E731
        pool_module._close_idle(look, seen)
        assert closed == ["idle"]
        assert later == [{id(idle._con): 5, id(busy._con): 9, id(new._con): 1}]
        gone: Any = lambda: None  # noqa: E731
        pool_module._close_idle(gone, seen)
        pool.is_closing = lambda: True
        pool_module._close_idle(look, seen)
        assert (closed, len(later)) == (["idle"], 1)


class TestWorkerNodes:
    async def test_are_in_the_order_of_their_addresses_with_what_lies_on_each(self) -> None:
        asked: list[Any] = []

        async def fetchval(statement: str) -> bool:
            return is_distributed

        async def fetch(statement: str, *arguments: Any) -> list[dict[str, Any]]:
            asked.append(arguments)
            if "run_command_on_workers" in statement:
                return [{"address": "b:1", "success": False}, {"address": "a:1", "success": True}]
            return [
                {"address": "b:1", "group_name": "asset", "shards": 16},
                {"address": "b:1", "group_name": "auction", "shards": 4},
            ]

        db: Any = SimpleNamespace(fetchval=fetchval, fetch=fetch)
        is_distributed = True
        assert list(await read_worker_nodes(db)) == [
            WorkerNode("a:1", answers=True, shards={}),
            WorkerNode("b:1", answers=False, shards={"asset": 16, "auction": 4}),
        ]
        groups, tables = asked[0]
        assert dict(zip(groups, tables, strict=True))["asset"] == "physical_asset_parameters", "the first of its group"
        is_distributed = False
        assert await read_worker_nodes(db) == ()
        assert set(nodes._FIRST_OF_GROUP) == {"asset", "organisation", "auction"}


class TestATableThatIsPlaced:
    def test_is_left_where_it_is_and_refused_elsewhere(self) -> None:
        placement = Placement("event", TableKind.DISTRIBUTED, "organisation_id", "organisation")
        assert _check_placed(placement, {"event": "distributed"})
        assert not _check_placed(placement, {"event": None, "webhook": "distributed"})
        assert not _check_placed(placement, {})
        with pytest.raises(
            DistributionRefused, match=r"event is a reference table already.*undistribute_table\('event'"
        ):
            _check_placed(placement, {"event": "reference"})


class TestEmptying:
    @pytest.mark.parametrize("is_distributed", [False, True])
    async def test_goes_from_what_points_to_what_is_pointed_to_where_tables_are_spread(
        self, is_distributed: bool
    ) -> None:
        done: list[Any] = []

        async def fetchval(statement: str) -> bool:
            return is_distributed

        async def execute(statement: str, *arguments: Any, **options: Any) -> None:
            done.append((statement, *arguments, *options.values()))

        db: Any = SimpleNamespace(fetchval=fetchval, execute=execute)
        tables = [
            Placement("asset", TableKind.REFERENCE),
            Placement("event", TableKind.DISTRIBUTED, "organisation_id", "organisation"),
            Placement("job", TableKind.LOCAL),
            Placement("rate_limit", TableKind.LOCAL),
        ]
        await emptying.empty_tables(db, tables)
        if is_distributed:
            assert done == [
                ("select set_config('statement_timeout', $1, true)", "600s"),
                ("delete from event", 600),
                ("delete from asset", 600),
                ("truncate job, rate_limit restart identity",),
            ]
        else:
            assert done == [("truncate asset, event, job, rate_limit restart identity",)]

    def test_composes_what_is_constant(self) -> None:
        assert compose("delete from {table} limit {most}", table="event", most=3) == "delete from event limit 3"


class TestMigrations:
    @pytest.mark.parametrize(("version", "is_taken"), [("149999", False), ("150000", True), ("180001", True)])
    async def test_need_a_server_of_a_release_that_has_what_they_use(
        self, monkeypatch: pytest.MonkeyPatch, version: str, is_taken: bool
    ) -> None:
        names = ["0001_edge", "0002_identity"]

        async def apply_next(*_: Any) -> str | None:
            return names.pop(0) if names else None

        async def fetchval(_: str) -> str:
            return version

        monkeypatch.setattr(migrating, "_apply_next", apply_next)
        connection: Any = SimpleNamespace(fetchval=fetchval)
        if is_taken:
            assert await migrating.migrate(connection) == ["0001_edge", "0002_identity"]
        else:
            with pytest.raises(MigrationError, match=r"PostgreSQL 15 or later is needed; this server is 14\."):
                await migrating.migrate(connection)

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

    @pytest.mark.parametrize(("has_schema", "missing"), [(False, 60), (True, 0), (True, 2)])
    def test_are_told_before_a_start(self, has_schema: bool, missing: int) -> None:
        told = _describe_schema(has_schema, missing)
        assert ("empty" in told or "no schema" in told) == (not has_schema)
        assert (str(missing) in told) == (has_schema and missing > 0)


class TestTheLogOfAServer:
    def test_is_emptied_beyond_its_limit_and_kept_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "MAX_LOG_BYTES", 8)
        server, log, former = EmbeddedPostgres(tmp_path), tmp_path / "postgres.log", tmp_path / "postgres.log.1"
        server.rotate_log()
        log.write_text("x" * 8)
        server.rotate_log()
        assert (log.read_text(), former.exists()) == ("x" * 8, False)
        log.write_text("y" * 9)
        server.rotate_log()
        assert (log.read_text(), former.read_text()) == ("", "y" * 9)

        def fail(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(shutil, "copyfile", fail)
        log.write_text("z" * 9)
        server.rotate_log()
        assert (log.read_text(), former.read_text()) == ("", "y" * 9), "there is no room for a copy"


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

    @pytest.mark.parametrize(
        ("owner", "account"), [(1234, OsUser(1234, 1235)), (0, OsUser(26, 27)), (None, OsUser(26, 27))]
    )
    def test_of_root_is_the_owner_of_the_data_or_an_unprivileged_one(
        self, as_root: dict[str, Any], owner: int | None, account: OsUser
    ) -> None:
        as_root |= {
            "nobody": SimpleNamespace(pw_uid=99, pw_gid=98),
            "postgres": SimpleNamespace(pw_uid=26, pw_gid=27),
        }
        data: Any = SimpleNamespace(
            exists=lambda: owner is not None, stat=lambda: SimpleNamespace(st_uid=owner, st_gid=1235)
        )
        assert server_account(data) == account
        assert account.is_other

    def test_of_root_has_to_be_there(self, as_root: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(EmbeddedPostgresError, match="does not run as root"):
            server_account(tmp_path / "none")

    def test_of_anyone_else_is_its_own_and_has_a_name(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        names = {77: "ada"}
        monkeypatch.setattr(os, "geteuid", lambda: 77)
        monkeypatch.setattr(os, "getegid", lambda: 78)
        monkeypatch.setattr(pwd, "getpwuid", names.__getitem__)
        account = server_account(tmp_path)
        assert (account, account.is_other) == (OsUser(77, 78), False)
        with TraversablePath(tmp_path, account) as path:
            assert (path.name, path.descriptors) == (str(tmp_path), ())
        names.clear()
        with pytest.raises(EmbeddedPostgresError, match="77 has none in /etc/passwd"):
            server_account(tmp_path)

    def test_of_another_reaches_a_directory_by_its_descriptor(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("here")
        with TraversablePath(tmp_path, OsUser(os.geteuid() + 1, 0)) as path:
            [descriptor] = path.descriptors
            assert path.name == f"/proc/self/fd/{descriptor}"
            assert (Path(path.name) / "file").read_text() == "here"
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


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


class TestPrograms:
    @pytest.mark.parametrize(("major", "found"), [(18, "wheel"), (16, "sixteen"), (15, None)])
    def test_of_a_version_are_the_preferred_ones_or_local_ones(
        self, monkeypatch: pytest.MonkeyPatch, major: int, found: str | None
    ) -> None:
        local = [Binaries(Path("eighteen"), 18), Binaries(Path("sixteen"), 16)]
        monkeypatch.setattr(binaries, "find_binaries", lambda: Binaries(Path("wheel"), 18))
        monkeypatch.setattr(binaries, "_local_binaries", lambda: local)
        chosen = find_binaries_of(major)
        assert (None if chosen is None else chosen / "psql") == (None if found is None else f"{found}/psql")

    def test_may_be_run_by_all_where_every_directory_lets_them_in(self, tmp_path: Path) -> None:
        inner = tmp_path / "outer" / "inner"
        inner.mkdir(parents=True)
        program = inner / "postgres"
        program.touch()
        opened = [path for path in tmp_path.parents if path.stat().st_mode & 0o001]
        for modes, is_reachable in (
            ((0o755, 0o755, 0o755), len(opened) == len(tmp_path.parents)),
            ((0o755, 0o755, 0o754), False),
            ((0o755, 0o755, 0o751), False),
            ((0o754, 0o755, 0o755), False),
        ):
            for path, mode in zip((tmp_path / "outer", inner, program), modes, strict=True):
                path.chmod(mode)
            tmp_path.chmod(0o755)
            assert binaries._is_reachable(program) is is_reachable
