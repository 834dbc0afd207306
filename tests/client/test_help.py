"""Every `--help` is quick: it loads what shows it, and nothing of what the command does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridloom_client.commands import make_app
from gridloom_client.commands.directory import OPERATOR_COMMANDS, USER_COMMANDS, describe_unknown
from gridloom_client.profiles import find_local_url

SHOW_HELP = """
import contextlib, io, sys
from gridloom import entry

loaded = {}
for command in sys.argv[1:]:
    sys.argv = ["gridloom", *command.split(), "--help"]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        entry.main()
    assert "Usage:" in shown.getvalue(), command
print(*sys.modules, sep="\\n")
"""
HEAVY = {
    *("httpx2", "gridloom_client.client", "gridloom_client.answers", "gridloom_client.operations", "rich.markdown"),
    *("rich.progress", "gridloom_client.inputs", "http.server", "webbrowser", "asyncio", "asyncpg", "gridloom.app"),
    *("gridloom.settings", "numpy", "pyarrow", "structlog", "ssl"),
}


def modules_for_help(*commands: str, columns: int = 100) -> set[str]:
    """Of a width for which no text is stored, unless it is 80."""
    run = [sys.executable, "-c", SHOW_HELP, *commands]
    environ = {**os.environ, "COLUMNS": str(columns)}
    return set(subprocess.run(run, capture_output=True, text=True, check=True, env=environ).stdout.splitlines())


def sub_commands() -> list[str]:
    """Every command of the users' with its sub-commands."""
    found: list[str] = []
    for name in USER_COMMANDS:
        app = make_app(name)[name]
        inner = [each for each in app if not each.startswith("-")]
        found += [name, *(f"{name} {each}" for each in inner)]
    return found


class TestTheHelp:
    def test_at_80_columns_is_stored_for_every_command_and_loads_no_library(self):
        commands = [*sub_commands(), *OPERATOR_COMMANDS, "rebuild revenue"]
        loaded = modules_for_help(*commands, columns=80)
        assert {"cyclopts", "rich", "msgspec", "gridloom.cli", "pathlib", *HEAVY} & loaded == set()

    def test_of_a_users_command_loads_nothing_heavy(self):
        loaded = modules_for_help(*sub_commands())
        assert HEAVY & loaded == set()
        assert "gridloom.cli" not in loaded

    def test_of_an_operators_command_loads_nothing_heavy(self):
        commands = [name for name in OPERATOR_COMMANDS if name != "serve"]
        loaded = modules_for_help(*commands)
        assert (HEAVY | {"gridloom_client.commands.account", "gridloom_client.profiles"}) & loaded == set()


class TestAnUnknownCommand:
    @pytest.mark.parametrize(
        ("typed", "nearest"),
        [("auction", "auctions"), ("webhook", "webhooks"), ("log-in", "login"), ("migrat", "migrate")],
    )
    def test_is_answered_with_the_nearest(self, typed: str, nearest: str):
        assert describe_unknown(typed) == f"There is no command {typed}; did you mean gridloom {nearest}?"

    def test_is_answered_with_the_list_where_none_is_near(self):
        assert describe_unknown("xyzzy").endswith("gridloom --help lists them.")

    def test_of_the_server_is_not_suggested_where_it_is_not_installed(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert "migrate" not in describe_unknown("migrat")


class TestTheLocalService:
    def test_is_found_by_the_port_of_the_environment_or_the_folder(self, tmp_path: Path):
        assert find_local_url({}, tmp_path) == "http://127.0.0.1:8000"
        (tmp_path / ".env").write_text("# mine\nexport GRIDLOOM_PORT='8140'\n")
        assert find_local_url({}, tmp_path) == "http://127.0.0.1:8140"
        assert find_local_url({"GRIDLOOM_PORT": "9000"}, tmp_path) == "http://127.0.0.1:9000"
