"""The embedded server: it starts, survives crashes, guards its home and leaves nothing behind."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from gridloom.platform.database.server import binaries, embedded
from gridloom.platform.database.server.embedded import DataDirectoryLockedError, EmbeddedPostgres
from gridloom.platform.database.server.processes import EmbeddedPostgresError

OWNER = """
import sys, time
from pathlib import Path
from gridloom.platform.database.server.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
print(server.start(), server.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gl-", ignore_cleanup_errors=True) as directory:
        yield Path(directory) / "home"


@pytest.fixture
def server(home: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(home)
    yield server
    server.stop()


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


async def fetchval(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@contextlib.contextmanager
def owner_process(home: Path) -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(home)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            dsn, pid = process.stdout.readline().split()
            yield process, dsn, int(pid)
        finally:
            process.kill()
    wait_until(lambda: not psutil.pid_exists(int(pid)))


class TestEmbeddedPostgres:
    def test_listens_on_no_network(self, server: EmbeddedPostgres) -> None:
        server.start()
        processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
        assert [c for process in processes for c in process.net_connections("inet")] == []

    async def test_starts_at_a_path_too_long_for_a_socket(self, home: Path) -> None:
        server = EmbeddedPostgres(home / ("long, " * 12) / ("x" * 60))
        try:
            dsn = server.start()
            assert await fetchval(dsn, "select 1") == 1
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)
            wait_until(lambda: not server.is_running())
            assert server.start() == dsn
            assert await fetchval(dsn, "select 1") == 1
        finally:
            server.stop()

    def test_refuses_to_start_beside_the_main_thread(self, server: EmbeddedPostgres) -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as threads, pytest.raises(RuntimeError, match="main thread"):
            threads.submit(server.start).result()

    def test_says_why_it_does_not_start(self, home: Path) -> None:
        server = EmbeddedPostgres(home, {"shared_buffers": "nonsense"})
        with pytest.raises(EmbeddedPostgresError, match="shared_buffers"):
            server.start()
        assert not server.is_running()

    def test_refuses_data_of_another_major_version(self, server: EmbeddedPostgres) -> None:
        server.start()
        server.stop()
        (server.data / "PG_VERSION").write_text("14\n")
        with pytest.raises(EmbeddedPostgresError, match="made by PostgreSQL 14"):
            server.start()


class TestCrash:
    def test_of_the_owner_takes_the_server_along(self, home: Path) -> None:
        with owner_process(home) as (process, _, pid):
            everyone = [psutil.Process(pid), *psutil.Process(pid).children()]
            process.send_signal(signal.SIGKILL)
            wait_until(lambda: not any(one.is_running() for one in everyone))

    async def test_of_the_owner_is_followed_by_a_start_at_once(self, home: Path, server: EmbeddedPostgres) -> None:
        with owner_process(home) as (process, dsn, _):
            await fetchval(dsn, "create table t as select 42 as n")
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert await fetchval(server.start(), "select n from t") == 42

    async def test_of_the_server_loses_no_acknowledged_row(self, server: EmbeddedPostgres) -> None:
        dsn = server.start()
        connection = await asyncpg.connect(dsn)
        await connection.execute("create table t (n int primary key)")
        for n in range(200):
            await connection.execute("insert into t values ($1)", n)
        pid = server.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not server.is_running())
        assert server.start() == dsn
        assert await fetchval(dsn, "select count(*) from t") == 200

    async def test_while_the_data_is_made_leaves_no_half(self, server: EmbeddedPostgres) -> None:
        half = server.home / "postgres.new"
        half.mkdir(parents=True)
        (half / "PG_VERSION").write_text("18")
        assert await fetchval(server.start(), "select 1") == 1
        assert not half.exists()


class TestHome:
    def test_is_refused_to_a_second_process(self, home: Path, server: EmbeddedPostgres) -> None:
        with (
            owner_process(home) as (process, _, pid),
            pytest.raises(DataDirectoryLockedError, match=str(process.pid)) as refused,
        ):
            server.start()
        assert refused.value.pid == process.pid
        assert pid

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may look where others may not")
    async def test_may_lie_where_other_users_cannot_look(
        self, home: Path, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home.mkdir(parents=True)
        home.parent.chmod(0o700)
        home.chmod(0o700)
        monkeypatch.setattr(binaries, "_is_reachable", lambda path: False)
        assert await fetchval(server.start(), "select 1") == 1
        assert home.parent.stat().st_mode & 0o777 == 0o700
        readable = binaries.make_world_readable(binaries.find_binaries())
        assert Path(psutil.Process(server.pid).exe()).is_relative_to(readable.directory.resolve().parent)


class TestBinaries:
    @pytest.fixture(autouse=True)
    def none_come_with_a_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    async def test_of_this_machine_do_as_well(self, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
        try:
            found = binaries.find_binaries()
        except binaries.NoPostgresBinaries:
            pytest.skip("this machine has no PostgreSQL of its own")
        monkeypatch.setattr(embedded, "find_binaries", lambda: found)
        version = await fetchval(server.start(), "show server_version_num")
        assert int(str(version)) // 10000 == found.major

    def test_are_the_newest_of_this_machine_and_never_older_than_we_can_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there: list[binaries.Binaries] = []
        monkeypatch.setattr(binaries, "_local_binaries", lambda: there)
        with pytest.raises(binaries.NoPostgresBinaries):
            binaries.find_binaries()
        there += [binaries.Binaries(Path("/old/bin"), 14), binaries.Binaries(Path("/older/bin"), 13)]
        with pytest.raises(binaries.NoPostgresBinaries, match="PostgreSQL 15 or later"):
            binaries.find_binaries()
        there += [binaries.Binaries(Path("/new/bin"), 16), binaries.Binaries(Path("/least/bin"), 15)]
        assert binaries.find_binaries().major == 16
        assert binaries.find_binaries_of(15) == there[3]
        assert binaries.find_binaries_of(17) is None
        del there[2]
        assert binaries.find_binaries() == there[2]
