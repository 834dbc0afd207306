"""Every `--help` is quick: it loads what shows it, and nothing of what the command does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gridloom_client.commands import make_app
from gridloom_client.commands.directory import (
    OPERATOR_COMMANDS,
    USER_COMMANDS,
    describe_unknown,
    find_help,
    is_unknown,
)
from gridloom_client.commands.narrow_help import reflow_help
from gridloom_client.profiles import find_local_url

ROOT = Path(__file__).parents[2]


def sub_commands() -> list[str]:
    """Every command of the users' with its sub-commands."""
    found: list[str] = []
    for name in USER_COMMANDS:
        app = make_app(name)[name]
        inner = [each for each in app if not each.startswith("-")]
        found += [name, *(f"{name} {each}" for each in inner)]
    return found


STORED = {name: find_help(name) or "" for name in [*sub_commands(), *OPERATOR_COMMANDS]}


@pytest.mark.parametrize("columns", [24, 40, 79])
class TestTheHelpOfANarrowTerminal:
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


UNKNOWN = {
    "bids": "did you mean gridloom auctions bids or gridloom reserves bids?",
    "orders": "did you mean gridloom markets orders?",
    "batteries": "did you mean gridloom assets?",
    "outage": "did you mean gridloom unavailability add?",
    "asets": "did you mean gridloom assets?",
    "migrat": "did you mean gridloom migrate?",
    "assets lst": "did you mean gridloom assets list?",
    "unavailability cancel": "did you mean gridloom unavailability withdraw?",
    "fleets add": "did you mean gridloom fleets create?",
    "assets xyzzy": "gridloom assets --help lists them.",
    "xyzzy": "gridloom --help lists them.",
}


class TestAnUnknownCommand:
    @pytest.mark.parametrize("typed", UNKNOWN)
    def test_is_answered_with_the_nearest_or_with_the_list(self, typed: str):
        words = typed.split()
        assert (is_unknown(words), describe_unknown(words)) == (True, f"There is no command {typed}; {UNKNOWN[typed]}")

    def test_is_none_that_is_known(self):
        assert not [name for name in STORED if is_unknown(name.split())]
        assert not any(map(is_unknown, (["prices", "--plot"], ["statements"], ["whoami", "--json"], ["--help"])))

    def test_is_in_no_example_and_on_no_page(self):
        pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        shown = {page.name: re.findall(r"[`$|] ?gridloom ([a-z-]+[^`|\n]*)", page.read_text()) for page in pages}
        shown |= {name: re.findall(r"^    gridloom (.+)$", text, re.MULTILINE) for name, text in STORED.items()}
        assert {"command-line.md", "backtest"} <= {where for where, lines in shown.items() if lines}
        unknown = [(where, line) for where, lines in shown.items() for line in lines if is_unknown(line.split())]
        assert unknown == []


class TestTheLocalService:
    def test_is_found_by_the_port_of_the_environment_or_the_folder(self, tmp_path: Path):
        assert find_local_url({}, tmp_path) == "http://127.0.0.1:8000"
        (tmp_path / ".env").write_text("# mine\nexport GRIDLOOM_PORT='8140'\n")
        assert find_local_url({}, tmp_path) == "http://127.0.0.1:8140"
        assert find_local_url({"GRIDLOOM_PORT": "9000"}, tmp_path) == "http://127.0.0.1:9000"
