"""The documents lead where they say."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def test_every_link_within_the_repository_leads_somewhere():
    lost = [
        f"{target} in {document.relative_to(ROOT)}"
        for document in DOCUMENTS
        for target in LINK.findall(document.read_text())
        if "://" not in target and not target.startswith("/") and not (document.parent / target).exists()
    ]
    assert lost == []


def test_every_decision_has_a_number_of_its_own():
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name[:4].isdigit()]
    assert len(numbers) == len(set(numbers))


def test_who_is_told_to_install_the_package_is_told_where_it_comes_from():
    """It is not on the package index yet; when it is, this goes with the section."""
    told = [page for page in ROOT.glob("docs/**/*.md") if re.search(r"pip install '?gridloom", page.read_text())]
    assert len(told) > 5
    assert [page.name for page in told if "#installing-it" not in page.read_text() and page.name != "releases.md"] == []
