"""Tables fit the terminal, times are the market's, and what was pasted is read as it was meant."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gridloom_client.commands.directory import OPERATOR_COMMANDS, USER_COMMANDS, write_help
from gridloom_client.commands.scheduling.points import read_points
from gridloom_client.commands.terminal.asking import read_text
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.options import Options
from gridloom_client.commands.terminal.rendering import (
    choose_columns,
    print_data,
    print_followed,
)
from gridloom_client.commands.terminal.windows import choose_day, iso_duration

NOON = datetime(2026, 10, 25, 11, tzinfo=UTC)


class TestATable:
    @pytest.mark.parametrize(("room", "shown"), [(100, [0, 1, 2]), (25, [0, 2]), (5, [0])])
    def test_keeps_the_first_column_and_what_fits_of_the_others(self, room: int, shown: list[int]):
        assert choose_columns([10, 30, 12], room) == shown


class TestData:
    ROWS = ({"time": NOON, "power": 1.5}, {"time": NOON, "power": None})

    def test_is_a_json_object_a_line(self, capsys: pytest.CaptureFixture[str]):
        assert print_data(self.ROWS, Options(output="ndjson"))
        assert capsys.readouterr().out.count("\n") == 2

    def test_of_a_stream_comes_line_by_line(self, capsys: pytest.CaptureFixture[str]):
        for number, row in enumerate(self.ROWS):
            assert print_followed(row, Options(output="csv"), is_first=number == 0)
        assert capsys.readouterr().out == "time,power\n2026-10-25T11:00:00Z,1.5\n2026-10-25T11:00:00Z,\n"
        assert not print_followed(self.ROWS[0], Options(), is_first=True)
        with pytest.raises(Misunderstood, match="no end"):
            print_followed(self.ROWS[0], Options(output="parquet"), is_first=True)

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
    def test_has_no_formula_in_its_texts(self, capsys: pytest.CaptureFixture[str], start: str):
        assert print_data([{"name": f"{start}cmd", "power": -1.5}], Options(output="csv"))
        [row] = csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))
        assert row == {"name": f"'{start}cmd", "power": "-1.5"}


class TestADay:
    def test_that_is_none_is_refused_with_a_sentence(self):
        with pytest.raises(Misunderstood, match="is no day"):
            choose_day("soon", NOON)


class TestASpan:
    @pytest.mark.parametrize(
        ("text", "iso"), [("1h", "P0DT1H0M0S"), ("90m", "P0DT0H90M0S"), ("1d12h", "P1DT12H0M0S"), ("PT1H", "PT1H")]
    )
    def test_may_be_typed_as_people_do(self, text: str, iso: str):
        assert iso_duration(text) == iso

    @pytest.mark.parametrize("text", ["", "1", "soon", "1w"])
    def test_is_refused_with_a_sentence_otherwise(self, text: str):
        with pytest.raises(Misunderstood, match="span of time"):
            iso_duration(text)


class TestAPastedTable:
    @pytest.mark.parametrize("text", ["", "time,power\n", "yesterday;1\n2;x", "2026-10-25 12:00;much"])
    def test_is_refused_with_the_line_at_fault(self, text: str):
        with pytest.raises(Misunderstood):
            read_points(text, 1)

    def test_is_refused_with_every_line_at_fault_at_once(self):
        with pytest.raises(
            Misunderstood, match=r"line 2: yesterday is no time.*line 3: there is no power.*line 4: much"
        ):
            read_points("time;power\nyesterday;1\n2026-10-25 12:00\n2026-10-25 12:15;much\n")

    def test_of_a_file_that_cannot_be_read_is_refused_with_a_sentence(self, tmp_path: Path):
        with pytest.raises(Misunderstood, match="cannot be read: No such file"):
            read_text(tmp_path / "none.csv", "times")
        (tmp_path / "latin.csv").write_bytes("Größe;1".encode("latin-1"))
        with pytest.raises(Misunderstood, match="is no text in UTF-8"):
            read_text(tmp_path / "latin.csv", "times")

    def test_asks_for_the_offset_where_an_hour_comes_twice(self):
        with pytest.raises(Misunderstood, match="stands there twice"):
            read_points("2026-10-25 02:00;1\n2026-10-25 02:00;2\n")
        twice = read_points("2026-10-25T02:00+02:00;1\n2026-10-25T02:00+01:00;2\n")
        assert [point.power for point in twice] == [1, 2]


class TestTheCommand:
    def test_lists_every_command_it_has(self):
        from gridloom.commands.cli import app
        from gridloom_client.commands import make_app

        known = {name for name in (*app, *make_app()) if not name.startswith("-")}
        assert known == {*USER_COMMANDS, *OPERATOR_COMMANDS}

    def test_tells_of_all_commands_in_eighty_columns(self):
        written = io.StringIO()
        write_help(written)
        assert [line for line in written.getvalue().splitlines() if len(line) > 80] == []

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_teaches_a_shell_to_complete_it(self, shell: str, tmp_path: Path):
        home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
        program = "from gridloom.entry import main; main()"
        command = [sys.executable, "-c", program, "--install-completion", shell]
        done = subprocess.run(command, capture_output=True, text=True, env=home, check=False)
        assert done.returncode == 0, done.stderr
        script = Path(done.stdout.removeprefix("Completion is in ").partition(". It works")[0])
        assert script.is_relative_to(tmp_path)
        assert "gridloom --complete" in script.read_text()
        if shell == "bash":
            subprocess.run(["bash", "-n", script], check=True)

    @pytest.mark.parametrize("words", [["--version"], ["--help"]])
    def test_says_what_needs_nothing_before_anything_is_imported(self, words: list[str]):
        program = (
            f"import sys; sys.argv = ['gridloom', *{words}]; from gridloom.entry import main; main();"
            "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('httpx2', 'rich', 'cyclopts', 'numpy')))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == ""
