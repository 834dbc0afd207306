"""The command `gridloom`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_THE_SERVER = """
import sys
for name in ("asyncpg", "granian", "starlette", "structlog", "numpy", "pyarrow", "orjson"):
    sys.modules[name] = None
from gridloom.entry import main
sys.argv = ["gridloom", *sys.argv[1:]]
main()
"""


def gridloom_without_the_server(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", WITHOUT_THE_SERVER, *arguments], capture_output=True, text=True)


class TestWithoutTheServer:
    def test_the_servers_commands_say_how_to_install_it(self) -> None:
        for command in ("serve", "migrate", "openapi"):
            done = gridloom_without_the_server(command)
            assert done.returncode == 1
            assert "pip install 'gridloom[server]'" in done.stderr
            assert "Traceback" not in done.stderr

    def test_the_users_commands_are_there(self) -> None:
        done = gridloom_without_the_server("--help")
        assert done.returncode == 0
        assert "login" in done.stdout


def gridloom(folder: Path, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("gridloom")), *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GRIDLOOM_")}
    return subprocess.run(command, cwd=folder, env={**environ, **settings}, capture_output=True, text=True, timeout=60)


class TestACommandForARunningPlatform:
    @pytest.mark.parametrize(
        "command", ["jobs", "let-in a@example.com", "rotate-signing-key", "rebuild revenue", "backup here"]
    )
    def test_makes_no_database_where_there_is_none(self, command: str, tmp_path: Path) -> None:
        done = gridloom(tmp_path, *command.split())
        assert done.returncode == 1
        assert done.stderr.startswith(f"There is no database in {tmp_path / '.gridloom'}.")
        assert "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_overwrites_no_file_unasked(self, tmp_path: Path) -> None:
        (tmp_path / "tonight").write_text("the copy of yesterday")
        done = gridloom(tmp_path, "backup", "tonight")
        assert (done.returncode, "tonight exists" in done.stderr, "--force" in done.stderr) == (1, True, True)
        assert (tmp_path / "tonight").read_text() == "the copy of yesterday"

    @pytest.mark.parametrize("command", ["jobs", "migrate"])
    def test_says_in_a_sentence_that_the_database_is_not_there(self, command: str, tmp_path: Path) -> None:
        done = gridloom(tmp_path, command, GRIDLOOM_DATABASE_URL="postgresql://nobody@127.0.0.1:1/nowhere")
        assert done.returncode == 1
        assert done.stderr.startswith("No connection to PostgreSQL at 127.0.0.1")
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        ("command", "words"),
        [("jobs", "Kind and key"), ("let-in", "the token is"), ("rebuild revenue", "Only compare")],
    )
    def test_explains_its_options(self, command: str, words: str, tmp_path: Path) -> None:
        said = gridloom(tmp_path, *command.split(), "--help", COLUMNS="200").stdout
        assert words in said
        assert "--empty" not in said


LOADED_BY_SERVE = """
import sys
from gridloom import entry
from gridloom.commands.serving import serve
serve.serve = lambda settings, announce: print(*sys.modules)
sys.argv = ["gridloom", "serve"]
entry.main()
"""


class TestServe:
    def test_loads_nothing_of_the_other_commands(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", LOADED_BY_SERVE]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        loaded = set(done.stdout.split())
        assert "gridloom.commands.serving.supervisor" in loaded
        assert not {"cyclopts", "gridloom.commands.cli", "gridloom_client"} & loaded

    def test_says_in_a_sentence_what_keeps_it_from_starting(self, tmp_path: Path) -> None:
        done = gridloom(tmp_path, "serve", GRIDLOOM_PORT="0")
        assert done.returncode == 1
        assert done.stderr.startswith("GRIDLOOM_PORT must be a whole number")
        assert "Traceback" not in done.stderr
