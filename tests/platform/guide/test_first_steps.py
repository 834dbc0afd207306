"""Commands that the first steps name are commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gridloom_client.commands import make_app
from gridloom_client.commands.directory import OPERATOR_COMMANDS, USER_COMMANDS

PAGES = sorted((Path(__file__).parents[3] / "docs" / "first-steps").glob("*.md"))
COMMAND = re.compile(r"`gridloom ([a-z-]+)(?: ([a-z-]+))?")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_command_on_the_page_exists(page):
    named = COMMAND.findall(page.read_text())
    assert named
    for command, sub in named:
        assert command in USER_COMMANDS or command in OPERATOR_COMMANDS
        if sub and ":app" in USER_COMMANDS[command][1]:
            assert sub in make_app(command)[command]
