"""What a person reads when the service cannot start: a sentence, never a traceback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.database_server import migrated_database
from tests.ports import free_port

from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.server.processes import EmbeddedPostgresError
from gridloom.settings import Settings


def serve(home, **environment):
    command = [str(Path(sys.executable).with_name("gridloom")), "serve"]
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GRIDLOOM_")},
        "GRIDLOOM_HOME": str(home),
        "GRIDLOOM_PORT": str(free_port()),
        **environment,
    }
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, cwd=home.parent)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    return " ".join(done.stderr.split())


class TestAHome:
    def test_that_is_a_file_is_refused_in_a_sentence(self, tmp_path):
        home = tmp_path / "home"
        home.write_text("")
        assert "is a file" in serve(home)

    def test_whose_data_directory_is_empty_is_refused_in_a_sentence(self, tmp_path):
        home = tmp_path / "home"
        (home / "postgres").mkdir(parents=True)
        assert "no data directory of PostgreSQL" in serve(home)

    def test_that_cannot_be_written_is_refused_in_a_sentence(self, tmp_path, monkeypatch):
        def refuse(**_):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr("tempfile.mkstemp", refuse)
        with pytest.raises(EmbeddedPostgresError, match="cannot be written to"):
            EmbeddedPostgres(tmp_path / "home").start()


class TestADatabase:
    async def test_that_takes_no_changes_is_refused_in_a_sentence(self, database_url):
        from gridloom.commands.serving.serve import StartupError, prepare

        separator = "&" if "?" in database_url else "?"
        read_only = f"{database_url}{separator}options=-c%20default_transaction_read_only%3Don"
        with pytest.raises(StartupError, match="standby or takes no changes"):
            await prepare(Settings(environment="sandbox", database_url=read_only))

    async def test_sealed_with_another_key_is_refused_in_a_sentence(self):
        """Before a service is up that could sign no token."""
        from gridloom.commands.serving.serve import StartupError, prepare

        async with migrated_database() as url:
            sealed = Settings(environment="sandbox", database_url=url, secrets_key="a" * 44)
            await prepare(sealed)
            with pytest.raises(StartupError, match="goes into GRIDLOOM_FORMER_SECRETS_KEYS"):
                await prepare(replace(sealed, secrets_key="b" * 44))
            await prepare(replace(sealed, secrets_key="b" * 44, former_secrets_keys=("a" * 44,)))


class TestAPort:
    """It is looked at before anything is started: that of the metrics opens only once the service answers."""

    def test_that_something_else_has_is_refused_in_a_sentence(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = str(other.getsockname()[1])
            assert "set GRIDLOOM_METRICS_PORT to another" in serve(tmp_path, GRIDLOOM_METRICS_PORT=taken)
            assert "set GRIDLOOM_PORT to another" in serve(tmp_path, GRIDLOOM_PORT=taken)

    def test_is_not_for_requests_and_metrics_alike(self, tmp_path):
        port = str(free_port())
        assert f"are both {port}" in serve(tmp_path, GRIDLOOM_PORT=port, GRIDLOOM_METRICS_PORT=port)


class TestTheLogOfTheServer:
    def test_is_rotated_while_it_runs(self, tmp_path, monkeypatch):
        monkeypatch.setattr("gridloom.platform.database.server.embedded.MAX_LOG_BYTES", 100)
        server = EmbeddedPostgres(tmp_path)
        log = tmp_path / "postgres.log"
        with log.open("ab") as appending:
            appending.write(b"x" * 200)
            appending.flush()
            server.rotate_log()
            assert log.stat().st_size == 0
            assert (tmp_path / "postgres.log.1").stat().st_size == 200
            appending.write(b"y")
            appending.flush()
        assert log.read_bytes() == b"y"


FIGURES = """
import os, sys
from pathlib import Path
from gridloom.settings import Settings
from gridloom.platform.worker.prometheus_multiprocess import set_metrics_directory
set_metrics_directory(Settings(home=Path(sys.argv[1]), metrics_token="t"))
print(os.environ["PROMETHEUS_MULTIPROC_DIR"], flush=True)
if len(sys.argv) > 2:
    os.kill(os.getpid(), 9)
sys.stdin.read()
"""


class TestFigures:
    def start(self, tmp_path, *more):
        command = [sys.executable, "-c", FIGURES, str(tmp_path), *more]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def test_of_a_running_service_are_left_alone_by_another_start(self, tmp_path):
        first, second = self.start(tmp_path), self.start(tmp_path)
        one, two = Path(first.stdout.readline().strip()), Path(second.stdout.readline().strip())
        assert one != two
        second.communicate("")
        assert one.is_dir()
        assert not two.exists()
        first.communicate("")
        assert not one.exists()

    def test_of_a_killed_service_go_with_the_next_start(self, tmp_path):
        killed = self.start(tmp_path, "killed")
        left = Path(killed.stdout.readline().strip())
        killed.wait()
        assert left.is_dir()
        self.start(tmp_path).communicate("")
        assert not left.exists()
