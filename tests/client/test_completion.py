"""What Tab completes: commands, options, and names that were listed before."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.client.played import Run

from gridloom_client.commands.completion import complete, names_path

pytestmark = pytest.mark.pure

COMPLETED = {
    ("sched",): ["schedule"],
    ("schedule", "re"): ["repair"],
    ("assets", "show", "hu"): ["Husum"],
    ("assets", "show", '"Hu'): ["Husum"],
    ("virtual", "show", ""): ["Elbe", "Weser"],
    ("revenue", "E"): ["Elbe"],
    ("schedule", "show", "Elbe", "--organisation", "S"): ["Südwind"],
    ("schedule", "show", "Elbe", "--pl"): ["--plot"],
    ("auctions", "bid", "x", "--js"): ["--json"],
    ("nothing", "of", "ours"): [],
}


class TestTab:
    def test_completes_what_is_known_without_asking_the_service(self, run: Run):
        for command in ("assets list", "virtual show Elbe", "organisations list"):
            assert run(command).code == 0
        assert {words: complete(words) for words in COMPLETED} == COMPLETED
        assert stat.S_IMODE(Path(names_path()).stat().st_mode) == 0o600
        run("logout")
        assert complete(("assets", "show", "")) == []
