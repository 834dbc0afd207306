"""The tutorials do what they say."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from tests.client.conftest import Terminal
from tests.people import OPERATOR_USERNAME, PASSWORD

COLUMNS = 80
TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def agrees(expected: str, actual: str) -> bool:
    """Whether the output is what the page shows; `…` stands for anything."""
    pattern = ".*?".join(map(re.escape, expected.strip().split("…")))
    shown = re.sub(r" +$", "", actual, flags=re.MULTILINE)
    return re.fullmatch(pattern, shown.strip(), re.DOTALL) is not None


def blocks(name: str) -> list[tuple[str, str]]:
    return BLOCK.findall((TUTORIALS / name).read_text())


@pytest.mark.usefixtures("operator")
class TestTutorial:
    async def test_for_python_does_what_it_shows(self, address: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("GRIDLOOM_URL", address)
        monkeypatch.setenv("GRIDLOOM_USERNAME", OPERATOR_USERNAME)
        monkeypatch.setenv("GRIDLOOM_PASSWORD", PASSWORD)
        await asyncio.to_thread(self._run_python, blocks("python-sdk.md"))

    async def test_for_decisions_does_what_it_shows(self, address: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("GRIDLOOM_URL", address)
        monkeypatch.setenv("GRIDLOOM_USERNAME", OPERATOR_USERNAME)
        monkeypatch.setenv("GRIDLOOM_PASSWORD", PASSWORD)
        await asyncio.to_thread(self._run_python, blocks("decisions.md"))

    async def test_for_a_day_on_every_market_does_what_it_shows(
        self, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GRIDLOOM_URL", address)
        monkeypatch.setenv("GRIDLOOM_USERNAME", OPERATOR_USERNAME)
        monkeypatch.setenv("GRIDLOOM_PASSWORD", PASSWORD)
        await asyncio.to_thread(self._run_python, blocks("markets.md"))

    @staticmethod
    def _run_python(page: list[tuple[str, str]]) -> None:
        namespace: dict[str, object] = {"__name__": "tutorial"}
        printed = ""
        for language, text in page:
            if language == "text":
                assert agrees(text, printed), f"expected\n{text}\nbut saw\n{printed}"
            if language == "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(text, "tutorial", "exec"), namespace)
                printed = output.getvalue()

    async def test_for_the_command_line_does_what_it_shows(self, terminal: Terminal):
        terminal.write_program(terminal.home / "bin")
        environment = terminal.environment | {"OPERATOR": OPERATOR_USERNAME, "OPERATOR_PASSWORD": PASSWORD}
        environment["PATH"] = f"{terminal.home / 'bin'}{os.pathsep}{environment['PATH']}"
        script, expectations = "", []
        for language, text in blocks("command-line.md"):
            if language != "console":
                continue
            for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = step.partition("\n")
                script += f"{command}\necho '=== end of step'\n"
                expectations.append((command, output))
        printed, faults, code = await asyncio.to_thread(run_in_terminal, script, terminal.home, environment)
        outputs = printed.split("=== end of step\n")
        assert len(outputs) == len(expectations) + 1, faults
        steps = [
            (command, expected, actual) for (command, expected), actual in zip(expectations, outputs, strict=False)
        ]
        wrong = [f"$ {step[0]}\nexpected\n{step[1]}\nbut saw\n{step[2]}" for step in steps if not agrees(*step[1:])]
        assert not wrong, "\n".join([*wrong, faults])
        tables = [actual for _, expected, actual in steps if expected.count("\n") > 3]
        assert all(len(line.rstrip()) <= COLUMNS for table in tables for line in table.splitlines())
        assert code == 0


def run_in_terminal(script: str, home: Path, environment: dict[str, str]) -> tuple[str, str, int]:
    """What a script writes to a terminal of 80 columns, without colours; beside it what it says on standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    with (home / "errors").open("w+") as faults:
        running = subprocess.Popen(
            ["bash", "-c", script],
            cwd=home,
            env=environment | {"TERM": "dumb", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=faults,
            start_new_session=True,
        )
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the script is over
            while chunk := os.read(ours, 65536):
                printed += chunk
        os.close(ours)
        code = running.wait(120)
        faults.seek(0)
        return printed.decode().replace("\r\n", "\n"), faults.read(), code
