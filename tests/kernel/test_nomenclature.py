"""The nomenclature names quantities as the code does."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "nomenclature.md"


def names_in_code() -> set[str]:
    """Whole names out of the tables' second column."""
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[2]) if "_" in name}


class TestNomenclature:
    def test_uses_names_that_the_code_uses(self):
        code = "\n".join(path.read_text() for path in (ROOT / "src" / "gridloom").rglob("*.py"))
        words = set(re.findall(r"\b[a-z_]+\b", code))
        assert len(names_in_code()) > 30
        assert names_in_code() <= words, sorted(names_in_code() - words)
