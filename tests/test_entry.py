"""What the command `gridloom` begins with: which commands it runs, and how one fails."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import pytest

from gridloom import entry
from gridloom.commands.errors import INSTALL_THE_SERVER, exit_on_known_errors
from gridloom.commands.serving.serve import StartupError
from gridloom.platform.database.environment import EnvironmentMismatchError
from gridloom.platform.database.migrate import MigrationError
from gridloom.platform.database.server.binaries import NoPostgresBinaries
from gridloom.platform.database.server.embedded import DataDirectoryLockedError
from gridloom.platform.database.server.processes import EmbeddedPostgresError
from gridloom.platform.database.service_database import CommandError
from gridloom.platform.identity.bootstrap import BootstrapError
from gridloom.settings import SettingsError

pytestmark = pytest.mark.pure


class TestTheFirstWord:
    def test_asks_for_the_version_or_for_help_or_is_none_of_ours(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        said = []
        for words in ("--version", "-V", "", "--help", "-h", "login --help", "login -h", "logni"):
            monkeypatch.setattr(sys, "argv", ["gridloom", *words.split()])
            with suppress(SystemExit):
                entry.main()
            said.append("".join(capsys.readouterr()))
        assert said[0] == said[1] != ""
        assert said[2] == said[3] == said[4]
        assert said[5] == said[6]
        assert said[5].startswith("Usage: gridloom login")
        assert "login" in said[7], "what comes nearest"


class TestAFailure:
    def end(self, error: BaseException) -> None:
        with exit_on_known_errors():
            raise error

    @pytest.mark.parametrize(
        ("error", "sentence"),
        [
            (CommandError("The database [is] empty."), "The database [is] empty."),
            (ModuleNotFoundError("No module", name="granian.server"), INSTALL_THE_SERVER),
            (subprocess.CalledProcessError(3, ["/usr/bin/initdb", "-D"], stderr="no room "), "initdb failed: no room"),
        ],
    )
    def test_that_a_person_can_put_right_is_a_sentence(
        self, capsys: pytest.CaptureFixture[str], error: Exception, sentence: str
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            self.end(error)
        assert (ended.value.code, capsys.readouterr().err) == (1, f"{sentence}\n")

    @pytest.mark.parametrize(
        "kind",
        [
            *(StartupError, SettingsError, EmbeddedPostgresError, DataDirectoryLockedError, NoPostgresBinaries),
            *(MigrationError, EnvironmentMismatchError, BootstrapError),
        ],
    )
    def test_of_a_start_is_a_sentence_whichever_room_says_it(
        self, capsys: pytest.CaptureFixture[str], kind: type[Exception]
    ) -> None:
        error = kind.__new__(kind)
        error.args = ("What to do is this.",)
        with pytest.raises(SystemExit) as ended:
            self.end(error)
        assert (ended.value.code, capsys.readouterr().err.rstrip("\n")) == (1, str(error))

    @pytest.mark.parametrize("error", [ModuleNotFoundError("No module", name="ours"), ZeroDivisionError("a bug")])
    def test_of_ours_is_shown_whole(self, error: Exception) -> None:
        with pytest.raises(type(error)):
            self.end(error)

    def test_by_ctrl_c_says_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            self.end(KeyboardInterrupt())
        assert (ended.value.code, capsys.readouterr().err) == (130, "")
