"""The locks of packages are for every machine, pinned by digest, and name no index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LOCKS = sorted((Path(__file__).parents[2] / "requirements").glob("*.lock"))


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
class TestALock:
    def test_names_no_address_of_an_index(self, path: Path):
        lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
        assert [line for line in lines if "://" in line or line.startswith(("-i", "--"))] == []

    def test_has_versions_that_do_not_move_and_their_digests(self, path: Path):
        entries = re.split(r"\n(?=\S)", re.sub(r"^ *#.*\n", "", path.read_text(), flags=re.MULTILINE).strip())
        assert entries
        assert [entry for entry in entries if not re.match(r"[\w.-]+==[\w.]+[^\n]*\\\n +--hash=sha256:", entry)] == []
