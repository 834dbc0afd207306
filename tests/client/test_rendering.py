"""Tables fit the terminal, times are the market's, and what was pasted is read as it was meant."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from cyclopts import App
from rich.console import Console

from gridloom_client.answers import Backing, CurrentBid
from gridloom_client.commands.directory import OPERATOR_COMMANDS, USER_COMMANDS, write_help
from gridloom_client.commands.scheduling.points import read_points
from gridloom_client.commands.terminal.asking import agree, read_text
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.finding import find_id
from gridloom_client.commands.terminal.options import Options
from gridloom_client.commands.terminal.rendering import (
    choose_columns,
    instant_text,
    print_data,
    print_facts,
    print_followed,
    print_table,
)
from gridloom_client.commands.terminal.windows import choose_day, iso_duration, market_day

ID = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
NOON = datetime(2026, 10, 25, 11, tzinfo=UTC)


class TestATable:
    def test_fits_eighty_columns_and_names_what_it_leaves_out(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("COLUMNS", "80")
        columns = ["ID", "Status", "Closes", "Delivery", "Your bid EUR", "Zone", "Discharge kW", "Energy kWh", "Opens"]
        row = (ID, "RUNNING", NOON, (NOON, NOON), 125_000.5, "TransnetBW", 20_000.0, 40_000.0, NOON)
        print_table("Auctions", columns, [row] * 3)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) == 1 + 1 + 3 + 1
        assert lines[2].split()[0] == "099a8057"
        assert lines[-1].startswith("Not shown: ")

    @pytest.mark.parametrize(("width", "is_whole"), [(80, True), (81, False)])
    def test_uses_the_whole_width(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, is_whole: bool
    ):
        monkeypatch.setenv("COLUMNS", "80")
        print_table("Notes", ["First", "Second"], [("x" * 38, "y" * (width - 40))])
        assert ("Not shown" not in capsys.readouterr().out) is is_whole

    def test_sets_an_id_of_digits_alone_as_any_other_id(self, capsys: pytest.CaptureFixture[str]):
        of_digits = UUID("01890a5d-ac96-774b-bcce-b30245875091")
        print_table("Assets", ["Identification", "Power kW"], [(of_digits, 5.0)])
        assert capsys.readouterr().out.splitlines()[2] == "45875091               5"

    def test_sets_numbers_to_the_right_unless_a_word_is_among_them(self, capsys: pytest.CaptureFixture[str]):
        print_table("Values", ["Numbers only", "With a word"], [(5.0, 5.0), (None, "none")])
        assert capsys.readouterr().out.splitlines()[2:] == ["           5  5", "           –  none"]

    @pytest.mark.parametrize(
        ("title", "text"),
        [("Auctions", "auctions"), ("API keys", "API keys"), ("Statement of Elbe", "statement of Elbe")],
    )
    def test_says_so_when_there_is_nothing_in_it(self, capsys: pytest.CaptureFixture[str], title: str, text: str):
        print_table(title, ["ID"], [])
        assert capsys.readouterr().out == f"No {text}.\n"

    def test_has_its_title_in_one_line_however_narrow_it_is(self, capsys: pytest.CaptureFixture[str]):
        print_table("Revenue of the battery at Husum", ["EUR"], [("1.00",)])
        assert capsys.readouterr().out.splitlines()[0] == "Revenue of the battery at Husum"

    @pytest.mark.parametrize(("room", "shown"), [(100, [0, 1, 2]), (25, [0, 2]), (5, [0])])
    def test_keeps_the_first_column_and_what_fits_of_the_others(self, room: int, shown: list[int]):
        assert choose_columns([10, 30, 12], room) == shown


class TestATime:
    def test_is_the_markets_unless_utc_is_asked_for(self):
        assert instant_text(NOON) == "2026-10-25 12:00"
        assert instant_text(NOON, utc=True) == "2026-10-25 11:00Z"
        assert instant_text([NOON] * 3) == ", ".join(["2026-10-25 12:00"] * 3), "two are a span"
        assert instant_text(NOON.replace(second=5)) == "2026-10-25 12:00:05"

    def test_of_a_market_day_is_its_date_however_long_it_is(self):
        day = (datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC))
        assert instant_text(day) == "2026-10-25"

    @pytest.mark.parametrize(
        ("end", "text"),
        [
            (NOON.replace(hour=13), "2026-10-25 12:00–14:00"),
            (NOON.replace(day=26), "10-25 12:00–10-26 12:00"),
            (datetime(2026, 10, 25, 23, tzinfo=UTC), "10-25 12:00–10-26 00:00"),
        ],
    )
    def test_of_a_span_within_a_day_names_the_day_once(self, end: datetime, text: str):
        assert instant_text((NOON, end)) == text

    def test_of_several_whole_days_is_the_first_and_how_many(self):
        days = (datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 27, 23, tzinfo=UTC))
        assert instant_text(days) == "2026-10-25 +3 d"


class TestData:
    ROWS = ({"time": NOON, "power": 1.5}, {"time": NOON, "power": None})

    def test_is_csv_with_times_in_utc(self, capsys: pytest.CaptureFixture[str]):
        assert print_data(self.ROWS, Options(output="csv"))
        assert capsys.readouterr().out == "time,power\n2026-10-25T11:00:00Z,1.5\n2026-10-25T11:00:00Z,\n"

    def test_has_the_interfaces_names_in_json_and_csv_and_money_with_two_decimals(
        self, capsys: pytest.CaptureFixture[str]
    ):
        bid = CurrentBid(id=ID, price=Decimal("1250.5"), timestamp=NOON)
        part = Backing(physical_asset_id=ID, share=0.5)
        assert print_data([bid], Options(output="json"))
        assert '"price":1250.50' in capsys.readouterr().out
        assert print_data([{"bid": bid, "backing": [part], "exact": Decimal("22.286667")}], Options(output="csv"))
        header, line = capsys.readouterr().out.splitlines()
        assert header == "bid.id,bid.price,bid.timestamp,backing,exact"
        assert "1250.50" in line
        assert '""physicalAssetID""' in line
        assert line.endswith("22.286667")

    def test_in_euros_has_two_decimals_in_a_table(self, capsys: pytest.CaptureFixture[str]):
        print_table("Values", ["Mean EUR", "Power kW"], [(1.5, 1.5), (2.0, 2.0)])
        print_facts("Value", {"P50 EUR": 1234.5, "Share": 0.125})
        out = capsys.readouterr().out
        assert "1.50" in out
        assert "1,234.50" in out
        assert "0.125" in out

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

    def test_is_left_to_the_table_otherwise(self):
        assert not print_data(self.ROWS, Options())


class TestAShortId:
    THINGS = (SimpleNamespace(id=ID, name="Elbe"), SimpleNamespace(id=UUID(int=0x57), name="Isar"))

    @pytest.mark.parametrize("text", [str(ID), "099a8057", "Elbe", "8057"])
    def test_stands_for_the_one_thing_it_fits(self, text: str):
        assert find_id(text, self.THINGS, "asset") == ID

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("57", "type more of the id"),
            ("ffff", "There is no asset ffff; the list shows which there are"),
            ("lb", "There is no asset lb; did you mean Elbe?"),
        ],
    )
    def test_is_refused_where_it_fits_several_or_none(self, text: str, word: str):
        with pytest.raises(Misunderstood, match=word):
            find_id(text, self.THINGS, "asset")


class TestADay:
    @pytest.mark.parametrize(
        ("text", "day"),
        [("today", 25), ("Tomorrow", 26), ("yesterday", 24), ("2026-10-03", 3), ("07.10.2026", 7), (None, 25)],
    )
    def test_may_be_said_in_words_on_the_services_clock(self, text: str | None, day: int):
        assert choose_day(text, NOON) == date(2026, 10, day)

    def test_is_the_nearest_of_a_life_when_none_is_named(self):
        life = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, 23, tzinfo=UTC)
        assert choose_day(None, NOON, life) == date(2026, 11, 1)
        assert choose_day(None, NOON, life, days_ahead=30) == date(2026, 11, 2)

    def test_has_as_many_hours_as_the_clock_change_leaves_it(self):
        start, end = market_day(date(2026, 10, 25))
        assert (end - start).total_seconds() / 3600 == 25

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


class TestAQuestion:
    @pytest.mark.parametrize(
        ("typed", "agreed"), [("y", True), (" YES ", True), ("", False), ("n", False), ("yo", False)]
    )
    def test_is_agreed_to_by_a_yes_alone(self, monkeypatch: pytest.MonkeyPatch, typed: str, agreed: bool):
        def no_terminal(*_: str) -> Path:
            raise OSError

        monkeypatch.setattr("gridloom_client.commands.terminal.asking.Path", no_terminal)
        monkeypatch.setattr("builtins.input", lambda _: typed)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
        assert agree("Put it?", yes=False) is agreed
        assert agree("Put it?", yes=True)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
        with pytest.raises(Misunderstood, match="--yes"):
            agree("Put it?", yes=False)


class TestAReaderThatHasGone:
    def test_ends_a_command_in_silence(self, monkeypatch: pytest.MonkeyPatch):
        """As in `gridloom events tail | head`."""
        app, moved = CommandGroup(name="x"), list[int]()

        @app.default
        def write() -> None:
            raise BrokenPipeError

        monkeypatch.setattr("gridloom_client.commands.terminal.ending.os.open", lambda *_: 77)
        monkeypatch.setattr("gridloom_client.commands.terminal.ending.os.dup2", lambda *ends: moved.extend(ends))
        monkeypatch.setattr("sys.stdout", SimpleNamespace(fileno=lambda: 1))
        app([], result_action="return_value")
        monkeypatch.undo()
        assert moved == [77, 1], "what is flushed at the end goes nowhere"


class TestAPastedTable:
    @pytest.mark.parametrize(
        "text",
        [
            "time,power\n2026-10-25T12:00:00+01:00,1.5\n2026-10-25T12:15:00+01:00,-2\n",
            "Zeit;Leistung\n2026-10-25 12:00;1,5\n2026-10-25 12:15;−2,0\n",
            "2026-10-25 12:15\t-2,0\n2026-10-25 12:00\t1,5\n\n",
            "25.10.2026 12:00;1,5\n25.10.2026 12:15;-2\n",
        ],
        ids=["csv", "semicolons", "tabs", "German dates"],
    )
    def test_is_read_whatever_separates_it(self, text: str):
        first, second = read_points(text, 1000)
        assert (first.time, first.power, second.power) == (NOON, 1500, -2000)

    @pytest.mark.parametrize("text", ["", "time,power\n", "yesterday;1\n2;x", "2026-10-25 12:00;much"])
    def test_is_refused_with_the_line_at_fault(self, text: str):
        with pytest.raises(Misunderstood):
            read_points(text, 1)

    def test_is_refused_with_every_line_at_fault_at_once(self):
        with pytest.raises(
            Misunderstood, match=r"line 2: yesterday is no time.*line 3: there is no power.*line 4: much"
        ):
            read_points("time;power\nyesterday;1\n2026-10-25 12:00\n2026-10-25 12:15;much\n")

    def test_may_set_its_thousands_apart_in_either_way_and_have_more_columns(self):
        written = {
            "1.234,5": 1234.5,
            "1,234.5": 1234.5,
            "12 345,5": 12345.5,
            "1\u00a0234": 1234,
            "-1,234,567.5": -1234567.5,
        }
        for text, power in written.items():
            for mark in ";\t":
                [point] = read_points(f"2026-10-25 12:00{mark}{text}{mark}7\n")
                assert point.power == power, text

    def test_may_begin_with_the_mark_that_spreadsheets_write(self, tmp_path: Path):
        file = tmp_path / "plan.csv"
        file.write_text("2026-10-25 12:00;1,5\n2026-10-25 12:15;2\n", encoding="utf-8-sig")
        assert [point.power for point in read_points(read_text(file, "times"))] == [1.5, 2]

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


def find_command(app: App, words: str) -> App:
    for name in words.split():
        app = app[name]
    return app


def leaves(app: App, words: str = "") -> Iterator[str]:
    """Every command below an app that does something by itself."""
    for name in app:
        if not name.startswith("-"):
            command = app[name]
            if command.default_command is not None:
                yield f"{words} {name}".strip()
            yield from leaves(command, f"{words} {name}".strip())


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

    def test_shows_examples_in_the_help_of_every_command(self):
        from gridloom.commands.cli import app
        from gridloom_client.commands import make_app

        walked = 0
        for root in (app, make_app()):
            for words in leaves(root):
                printed = io.StringIO()
                root.help_print(words.split(), console=Console(file=printed, width=80))
                text = printed.getvalue()
                assert "For example:" in text, f"gridloom {words}"
                assert f"gridloom {words}" in text.partition("For example:")[2], f"gridloom {words}"
                walked += 1
        assert walked > 50

    def test_explains_every_parameter_of_every_command(self):
        from gridloom_client.commands import make_app

        app = make_app()
        unexplained = [
            f"{words} {argument.name}"
            for words in leaves(app)
            for argument in find_command(app, words).assemble_argument_collection(parse_docstring=True)
            if argument.show and argument.name != "*" and not argument.parameter.help
        ]
        assert not unexplained, "\n".join(unexplained)

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_teaches_a_shell_to_complete_it(self, shell: str, tmp_path: Path):
        home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
        program = "from gridloom.entry import main; main()"
        command = [sys.executable, "-c", program, "--install-completion", shell]
        done = subprocess.run(command, capture_output=True, text=True, env=home, check=False)
        assert done.returncode == 0, done.stderr
        script = Path(done.stdout.removeprefix("Completion is in ").partition(". It works")[0])
        assert script.is_relative_to(tmp_path)
        assert "optimise" in script.read_text()
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
