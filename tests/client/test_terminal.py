"""What is asked and said at a terminal, who is calling from there, and what is drawn on it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.client.played import Run

from gridloom_client import CredentialsError, Tokens
from gridloom_client.commands import table_files
from gridloom_client.commands.terminal.options import Options, connect
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.profiles import Profile, Profiles, Secret

pytestmark = pytest.mark.pure

TOKENS = Tokens(access_token="a", refresh_token="r", expires_at=1e12)
NOON = datetime(2026, 7, 1, 10, tzinfo=UTC)


class TestACaller:
    @pytest.fixture(autouse=True)
    def made(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
        """What clients are made of; the environment has no identity of its own."""
        for name in [name for name in os.environ if name.startswith("GRIDLOOM_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        monkeypatch.setenv("GRIDLOOM_KEYRING", "off")
        Profiles().put("sandbox", Profile(url="http://one.test"), Secret(tokens=TOKENS))
        Profiles().put("robot", Profile(url="http://two.test"), Secret(api_key="k-2"))
        made: list[dict[str, Any]] = []
        monkeypatch.setattr(
            "gridloom_client.commands.terminal.options.make_client", lambda url, **who: made.append({"url": url} | who)
        )
        return made

    def test_is_of_the_profile_in_use_or_of_the_one_that_is_named(self, made: list[dict[str, Any]]):
        connect(Options(), mentions_history=False)
        connect(Options(profile="robot"), mentions_history=False)
        [in_use, named] = made
        assert (in_use["url"], in_use["tokens"].load()) == ("http://one.test", TOKENS)
        assert named == {"url": "http://two.test", "api_key": "k-2"}

    def test_is_of_the_environment_before_any_profile(
        self, made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("GRIDLOOM_USERNAME", "ada")
        monkeypatch.setenv("GRIDLOOM_PASSWORD", "pw")
        connect(Options(url="http://three.test"), mentions_history=False)
        assert made == [{"url": "http://three.test", "username": "ada", "password": "pw"}]

    def test_is_nobody_who_has_not_signed_in(self, made: list[dict[str, Any]]):
        Profiles().delete_secret("sandbox")
        with pytest.raises(CredentialsError, match="You are not signed in: run gridloom login"):
            connect(Options(), mentions_history=False)
        assert made == []


class TestAThing:
    def test_that_earns_and_is_none_of_its_kind_is_answered_with_those_that_are(self, run: Run):
        shown = run("revenue Nor --kind portfolio")
        assert (shown.code, shown.err) == (2, "There is no portfolio Nor; did you mean North?\n")


def drawn(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str], str]:
    """The levels beside a picture, the words below it, and the picture itself."""
    lines = capsys.readouterr().out.splitlines()
    levels = [line.split("┤")[0].strip() for line in lines if "┤" in line]
    return levels, lines[-1].split(), "\n".join(lines[1:-2])


class TestAPicture:
    @pytest.fixture(autouse=True)
    def narrow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")

    def test_draws_a_line_at_naught_and_a_gap_where_nothing_is_known(self, capsys: pytest.CaptureFixture[str]):
        times = [NOON + timedelta(hours=hour) for hour in range(3)]
        pictures = {}
        drawings: dict[str, list[float | None]] = {"naught": [0.0] * 3, "gap": [None] * 3, "five": [5.0] * 3}
        for name, values in drawings.items():
            plot_lines("Power", times, {"kW": values}, utc=True)
            pictures[name] = drawn(capsys)
        marks = {name: set(picture) - set(" 0123456789.│┤┬─└┘┌┐\n") for name, (_, _, picture) in pictures.items()}
        assert [bool(marks[name]) for name in ("naught", "gap", "five")] == [True, False, True]
        assert [pictures[name][0] for name in ("naught", "five")] == [["0.00"], ["5.00"]], "one level has one name"
        plot_lines("Power", times, {"kW": [-40.0, -20.0, 0.0]}, utc=True)
        assert drawn(capsys)[0] == ["0", "-10", "-20", "-30", "-40"]


class TestATableFile:
    def test_goes_in_pieces_that_the_service_takes(self):
        """A million points or 64 MiB."""
        assert table_files.CELLS < 1_000_000
        assert table_files.CSV_BYTES < 64 * 1024 * 1024
