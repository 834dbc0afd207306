"""A continuous backup gives back any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone

import asyncpg
import pytest
from tests.platform.backups.test_versions import ANOTHER_SERVER

from gridloom.platform.backups import continuous
from gridloom.platform.backups.continuous import back_up_continuously, base_before, receive_until_signalled, restore_to
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.server.processes import EmbeddedPostgresError
from gridloom.platform.database.service_database import CommandError


@pytest.fixture(autouse=True)
def environment_of_another_server(monkeypatch):
    """As on a machine whose environment names another server: none of the programs goes there."""
    for name, value in ANOTHER_SERVER.items():
        monkeypatch.setenv(name, value)


async def execute(dsn: str, statement: str):
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


def ask(dsn: str, statement: str):
    return asyncio.run(execute(dsn, statement))


class TestAMomentBetweenTwoWrites:
    def test_is_restored_with_the_first_and_without_the_second(self, tmp_path):
        server = EmbeddedPostgres(tmp_path / "home")
        dsn = server.start()
        receiving = None
        try:
            ask(dsn, "create table fact (name text)")
            receiving = back_up_continuously(tmp_path / "home", tmp_path / "backups" / "daily", began=datetime.now(UTC))
            ask(dsn, "insert into fact values ('first')")
            time.sleep(0.3)
            (between,) = ask(dsn, "select clock_timestamp()")[0]
            time.sleep(0.3)
            ask(dsn, "insert into fact values ('second')")
            (written,) = ask(dsn, "select pg_current_wal_flush_lsn()::text")[0]
            deadline = time.monotonic() + 60
            while not ask(dsn, f"select from pg_stat_replication where flush_lsn >= '{written}'"):
                assert time.monotonic() < deadline
                time.sleep(0.1)
        finally:
            if receiving is not None:
                receiving.send_signal(signal.SIGINT)
                receiving.wait(20)
            server.stop()
        assert stat.S_IMODE((tmp_path / "backups" / "daily").stat().st_mode) == 0o700
        restore_to(tmp_path / "homes" / "new", tmp_path / "backups" / "daily", between)
        restored = EmbeddedPostgres(tmp_path / "homes" / "new")
        try:
            assert ask(restored.start(), "select name from fact") == [("first",)]
        finally:
            restored.stop()
        with pytest.raises(CommandError, match="exists"):
            restore_to(tmp_path / "homes" / "new", tmp_path / "backups" / "daily", between)
        with pytest.raises(CommandError, match="no copy that was begun before"):
            restore_to(tmp_path / "other", tmp_path / "backups" / "daily", between - timedelta(days=1))


class TestACopy:
    def test_is_the_last_that_was_begun_before_the_instant(self, tmp_path):
        """The log since the first may be months long."""
        for name in ("base-20260301T000000Z", "base-20260302T000000Z", "base-20260303T000000Z", "base-of-mine"):
            (tmp_path / name).mkdir()
        for day, hour, expected in ((2, 12, "base-20260302T000000Z"), (3, 0, "base-20260303T000000Z")):
            assert base_before(tmp_path, datetime(2026, 3, day, hour, tzinfo=UTC)).name == expected


class TestAHomeThatIsFilled:
    INSTANT = datetime(2026, 3, 29, 14, 30, tzinfo=timezone(timedelta(hours=2)))

    @pytest.fixture
    def backup(self, tmp_path):
        directory = tmp_path / "backup"
        for name, content in (("base-20260328T000000Z/PG_VERSION", "18"), ("wal/000000010000000000000001", "log")):
            (directory / name).parent.mkdir(parents=True)
            (directory / name).write_text(content)
        return directory

    def test_replays_the_log_up_to_the_instant_in_utc(self, backup, tmp_path, monkeypatch):
        recovered = []
        monkeypatch.setattr(continuous, "_recover_server", lambda server: recovered.append(server.data))
        (tmp_path / "home" / "postgres.new").mkdir(parents=True)
        (tmp_path / "home" / "postgres.new" / "half").touch()
        restore_to(tmp_path / "home", backup, self.INSTANT)
        [data] = recovered
        assert data == tmp_path / "home" / "postgres"
        assert sorted(path.name for path in data.iterdir()) == [
            "PG_VERSION",
            "postgresql.auto.conf",
            "recovery.signal",
            "restored_wal",
        ]
        assert [path.name for path in (data / "restored_wal").iterdir()] == ["000000010000000000000001"]
        lines = (data / "postgresql.auto.conf").read_text().splitlines()
        assert lines[1:] == [
            "recovery_target_time = '2026-03-29T12:30:00+00:00'",
            "recovery_target_action = 'promote'",
        ]
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert (backup / "wal" / "000000010000000000000001").exists()

    def test_is_as_empty_as_before_where_that_fails(self, backup, tmp_path, monkeypatch):
        def fail(server):
            raise EmbeddedPostgresError("It ends before.")

        monkeypatch.setattr(continuous, "_recover_server", fail)
        with pytest.raises(CommandError, match=r"does not reach 2026-03-29T12:30:00\+00:00, or is damaged\. It ends"):
            restore_to(tmp_path / "home", backup, self.INSTANT)
        assert list((tmp_path / "home").iterdir()) == []


class TestReceiving:
    @pytest.mark.parametrize("status", [0, 1])
    def test_that_ends_by_itself_has_failed_if_its_program_has(self, status):
        with subprocess.Popen([sys.executable, "-c", f"raise SystemExit({status})"]) as receiving:
            assert receive_until_signalled(receiving) == status

    def test_of_an_external_server_names_what_to_use_instead(self, tmp_path):
        environment = {**os.environ, "GRIDLOOM_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
        command = [sys.executable, "-m", "gridloom.commands.cli", "backup", str(tmp_path / "backup"), "--continuous"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "pg_basebackup" in done.stderr
