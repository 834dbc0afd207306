"""The tutorials do what they say."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import subprocess
from pathlib import Path

import pytest
from tests.client.conftest import Terminal
from tests.people import OPERATOR_USERNAME, PASSWORD

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def agrees(expected: str, actual: str) -> bool:
    """Whether the output is what the page shows; `…` stands for anything."""
    pattern = ".*?".join(map(re.escape, expected.strip().split("…")))
    return re.fullmatch(pattern, actual.strip(), re.DOTALL) is not None


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
        environment = terminal.environment | {"OPERATOR": OPERATOR_USERNAME, "OPERATOR_PASSWORD": PASSWORD}
        script, expectations = "", []
        for language, text in blocks("command-line.md"):
            if language != "console":
                continue
            for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = step.partition("\n")
                script += f"{command}\necho '=== end of step'\n"
                expectations.append((command, output))
        ended = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", script],
            cwd=terminal.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        outputs = ended.stdout.split("=== end of step\n")
        assert len(outputs) == len(expectations) + 1, ended.stderr
        for (command, expected), actual in zip(expectations, outputs, strict=False):
            assert agrees(expected, actual), f"$ {command}\nexpected\n{expected}\nbut saw\n{actual}\n{ended.stderr}"
