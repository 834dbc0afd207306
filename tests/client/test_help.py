"""Every `--help` is quick: it loads what shows it, and nothing of what the command does."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gridloom_client.commands import make_app
from gridloom_client.commands.directory import (
    ACCOUNT,
    OPERATOR_COMMANDS,
    RUNNING,
    USER_COMMANDS,
    USING,
    describe_unknown,
    find_help,
    write_help,
)
from gridloom_client.commands.narrow_help import reflow_help
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


def modules_for_help(*commands: str, columns: int = 80) -> set[str]:
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
    @pytest.mark.parametrize("columns", [40, 80, 200])
    def test_is_stored_for_every_command_and_loads_no_library_at_any_width(self, columns: int):
        commands = [*sub_commands(), *OPERATOR_COMMANDS, "rebuild revenue"]
        loaded = modules_for_help(*commands, columns=columns)
        assert {"cyclopts", "rich", "msgspec", "gridloom.commands.cli", "pathlib", *HEAVY} & loaded == set()


STORED = {name: find_help(name) or "" for name in [*sub_commands(), *OPERATOR_COMMANDS]}


@pytest.mark.parametrize("columns", [24, 40, 79])
class TestTheHelpOfANarrowTerminal:
    def test_keeps_every_word(self, columns: int):
        for name, text in STORED.items():
            words = re.sub(r"[╭╮╰╯│─]|(?<=│ )\*", " ", text).split()
            assert sorted(reflow_help(text, columns).split()) == sorted(words), name

    def test_keeps_within_its_columns_but_for_examples(self, columns: int):
        for name, text in STORED.items():
            given = set(text.splitlines())
            long = [line for line in reflow_help(text, columns).splitlines() if len(line) > columns]
            assert [line for line in long if line not in given and " " in line.strip()] == [], name


BOXED = """Usage: gridloom grants set [OPTIONS] ASSET PERMISSIONS

Set what another organisation may do with a battery.

For example:

    gridloom grants set "Elbe 20 MW" Read:monitoring
Read:schedules

╭─ Parameters ─────────────────────────────────────────╮
│ *  ASSET --asset            The battery's id.        │
│                             [required]               │
│    PERMISSIONS              All that it may do from  │
│      --permissions          now on.                  │
│    NOTE --note              Why.                     │
╰──────────────────────────────────────────────────────╯
╭─ Commands ───────────────────────────────────────────╮
│ alone                                                │
╰──────────────────────────────────────────────────────╯
"""
NARROW = """Usage: gridloom grants set
[OPTIONS] ASSET PERMISSIONS

Set what another organisation
may do with a battery.

For example:

    gridloom grants set "Elbe 20 MW" Read:monitoring
Read:schedules

Parameters
  ASSET --asset
      The battery's id.
      [required]
  PERMISSIONS --permissions
      All that it may do from
      now on.
  NOTE --note
      Why.

Commands
  alone
"""


class TestAHelpText:
    def test_has_its_boxes_opened_and_every_entry_in_one_piece(self):
        assert reflow_help(BOXED, 30) == NARROW
        assert max(map(len, reflow_help(BOXED, 1).splitlines()[:2])) > 10, "as narrow as a word is none at all"

    def test_is_that_of_its_own_command(self):
        for name, text in STORED.items():
            assert re.match(rf"Usage: gridloom {name}( |$)", text, re.MULTILINE), name
        assert find_help("nothing") is None

    def test_of_all_commands_names_each_under_what_it_is_for(self):
        written = io.StringIO()
        write_help(written)
        groups: dict[str, list[str]] = {}
        for line in written.getvalue().splitlines():
            if line in (ACCOUNT, USING, RUNNING):
                groups[line] = []
            elif line.startswith("  "):
                groups[[*groups][-1]].append(line)
        purposes = {ACCOUNT: list[str](), USING: list[str](), RUNNING: list[str]()}
        for name, (group, _, purpose) in USER_COMMANDS.items():
            purposes[group].append(f"  {name:19} {purpose}")
        purposes[RUNNING] = [f"  {name:19} {purpose}" for name, purpose in OPERATOR_COMMANDS.items()]
        assert groups == purposes


class TestAnUnknownCommand:
    @pytest.mark.parametrize(
        ("typed", "nearest"),
        [
            ("auction", "auctions"),
            ("webhook", "webhooks"),
            ("log-in", "login"),
            ("migrat", "migrate"),
            ("sched", "schedule"),
        ],
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

    def test_is_where_it_usually_is_where_the_folder_says_nothing_of_it(self, tmp_path: Path):
        for text in ("OLD_GRIDLOOM_PORT=1\n# GRIDLOOM_PORT=2\n", "GRIDLOOM_PORT=\n", "GRIDLOOM_PORT=${PORT}\n"):
            (tmp_path / ".env").write_text(text)
            assert find_local_url({}, tmp_path) == "http://127.0.0.1:8000", text
        (tmp_path / ".env").write_bytes(b"\xff\nGRIDLOOM_PORT=1\n")
        assert find_local_url({}, tmp_path) == "http://127.0.0.1:8000"
        assert find_local_url({"GRIDLOOM_PORT": "many"}, tmp_path) == "http://127.0.0.1:8000"
        (tmp_path / "other").mkdir()
        (tmp_path / "other/.env").mkdir()
        assert find_local_url({}, tmp_path / "other") == "http://127.0.0.1:8000"
        (tmp_path / ".env").write_text('A=1\n  GRIDLOOM_PORT = "8140"\n')
        assert find_local_url({}, tmp_path) == "http://127.0.0.1:8140"
