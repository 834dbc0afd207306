"""What each command asks of the service and shows of its answers, as recorded beside this module.

`GRIDLOOM_RECORD=1 pytest tests/client/test_recorded.py` writes the records anew, to be read before they are committed.
In them `$` is a command, `<` what is typed, `>` what is asked of the service (`if` its condition), `!` is said on the
error stream and `=` an exit code other than 0. The service is played: it answers with every field that the interface
has, each number another one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.client.played import ETAG, Run, Shown, operations
from tests.client.reasons import WITHOUT_COMMAND

from gridloom_client.commands import make_app
from gridloom_client.commands.directory import USER_COMMANDS

pytestmark = pytest.mark.pure

RECORDS = Path(__file__).parent / "recorded"
IS_RECORDING = bool(os.environ.get("GRIDLOOM_RECORD"))


@dataclass(frozen=True)
class Entry:
    """One command with what was recorded of it."""

    command: str
    typed: str
    shown: str

    @property
    def invoked(self) -> str:
        return f"$ gridloom {self.command}\n" + "".join(f"< {line}\n" for line in self.typed.splitlines())


def read_record(path: Path) -> Iterator[Entry]:
    for part in re.split(r"^\$ gridloom ", path.read_text(), flags=re.MULTILINE)[1:]:
        command, _, rest = part.strip("\n").partition("\n")
        lines = rest.splitlines()
        typed = [line[2:] for line in lines if line.startswith("< ")]
        yield Entry(command, "".join(f"{line}\n" for line in typed), "\n".join(lines[len(typed) :]))


def write_shown(shown: Shown) -> str:
    asked = [line.replace(f"if {ETAG}", "if …") for line in shown.service.lines]
    lines = [f"> {line}" for line in asked] + shown.out.rstrip("\n").splitlines()
    lines += [f"! {line}" for line in shown.err.splitlines()] + ([f"= {shown.code}"] if shown.code else [])
    return "\n".join(line.rstrip() for line in lines)


ENTRIES = {entry.command: entry for path in sorted(RECORDS.glob("*.txt")) for entry in read_record(path)}


def play(run: Run, entry: Entry, more: str = "") -> Shown:
    return run(entry.command + more, {}, entry.typed, is_full=True)


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_ask_and_show_what_is_recorded(run: Run, path: Path):
    entries = list(read_record(path))
    now = {entry: write_shown(play(run, entry)) for entry in entries}
    if IS_RECORDING:
        path.write_text("\n".join(f"{entry.invoked}{shown}\n" for entry, shown in now.items()))
        return
    for entry, shown in now.items():
        assert shown == entry.shown, entry.command


def list_commands() -> Iterator[str]:
    for name in USER_COMMANDS:
        app = make_app(name)[name]
        inner = [each for each in app if not each.startswith("-")]
        yield from [f"{name} {each}" for each in inner] or [name]


ELSEWHERE = {
    *("login", "join", "profile add", "profile use", "profile list", "profile remove", "sandbox wait", "sandbox clock"),
    *("auctions watch", "backtest run", "backtest show", "call", "events tail", "feeds run", "feeds backfill"),
    *(
        "gateway init",
        "gateway field",
        "lake write",
        "sheets workbook",
        "mcp",
        "gateway check",
        "gateway run",
        "import day-ahead",
        "import prices",
        "import rebap",
        "import fcr",
        "import afrr-capacity",
        "import afrr-energy",
    ),
    *("import settlements", "monitoring export", "monitoring import", "monitoring tail"),
    *("schedule optimise", "schedule repair", "statements download", "statements issue"),
}
"""Commands that wait, stream, write files or sign in: tests of their own run them."""


class TestEveryCommand:
    def test_is_recorded_or_run_by_a_test_of_its_own(self):
        recorded = {
            name for name in list_commands() if any(each == name or each.startswith(f"{name} ") for each in ENTRIES)
        }
        known = set(list_commands())
        assert known - recorded == ELSEWHERE & known
        assert recorded.isdisjoint(ELSEWHERE)


class TestEveryOperation:
    def test_has_a_command_or_a_reason_why_it_has_none(self):
        asked = {tuple(line.split()[1:3]) for line in list_requests()}
        paths = {(method, target.partition("?")[0]) for method, target in asked}
        called = {
            next(
                one["operationId"] for verb, pattern, one in operations() if verb == method and pattern.fullmatch(path)
            )
            for method, path in paths
        }
        every = {operation["operationId"] for _, _, operation in operations()}
        assert every - called == set(WITHOUT_COMMAND)


def list_requests() -> Iterator[str]:
    for entry in ENTRIES.values():
        yield from (line for line in entry.shown.splitlines() if line.startswith("> "))


COUNTED = {"Batteries", "Changes", "Orders", "Quarter-hours", "Attempts", "Virtual assets"}
"""Titles of columns that count the items of a list."""


def numbers_of(value: Any) -> Iterator[float]:
    """Every number of an answer."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def cells_of(out: str) -> Iterator[tuple[str, float]]:
    """The numbers of tables and of facts under each other, each with its title."""
    titles: list[str] = []
    for line in out.splitlines():
        cells = re.split(r"  +", line.strip())
        is_row = len(cells) == len(titles) and (len(cells) > 2 or line[:1].isdigit())
        if is_row:
            pairs = zip(titles, cells, strict=True)
            yield from (
                (title + "%" * cell.endswith("%"), read_number(cell)) for title, cell in pairs if is_number(cell)
            )
        elif len(cells) == 2 and is_number(cells[1]):
            yield cells[0], read_number(cells[1])
        elif len(cells) > 1:
            titles = cells


def is_number(cell: str) -> bool:
    return re.fullmatch(r"-?[0-9][0-9,]*(\.[0-9]+)?%?", cell) is not None and not re.fullmatch(r"0{5}\d+", cell)


def read_number(cell: str) -> float:
    return float(cell.rstrip("%").replace(",", ""))


def is_close(shown: float, known: set[float]) -> bool:
    return any(abs(shown - each) < 0.0501 for each in known)


class TestEveryNumber:
    """Numbers of the played service are all different, ratios lie between 0.5 and 1, and percentages above 1."""

    @pytest.mark.parametrize("path", sorted(RECORDS.glob("*.txt")), ids=lambda path: path.stem)
    def test_of_a_command_is_that_of_the_interface_in_the_unit_of_its_title_and_is_in_its_json(
        self, run: Run, path: Path
    ):
        for entry in read_record(path):
            table, printed = play(run, entry), play(run, entry, " --json")
            assert printed.out.strip()[:1] in ("", "{", "["), entry.command
            answer = json.loads(printed.out) if printed.out.strip() else None
            if table.service.changes or answer is None:
                continue
            known = set(numbers_of([body for _, body in table.service.answers]))
            known |= {read_number(word) for word in re.split(r"[ ,\n]", entry.typed) if is_number(word)}
            given = set(numbers_of(answer)) - {0.0}
            for title, number in cells_of(table.out):
                if title in COUNTED or title.startswith(("Total", "Name")):
                    continue
                is_percent = "%" in title
                for numbers in (known, given):
                    ratios = {100 * each for each in numbers if 0.5 <= each < 1}
                    plain = {each for each in numbers if not 0.5 <= each < 1}
                    allowed = plain | ratios if is_percent else numbers
                    assert is_close(number, allowed), (entry.command, title, number, numbers is given)
            assert given <= known | {each / 100 for each in known}, entry.command
