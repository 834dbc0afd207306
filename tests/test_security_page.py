"""The page that answers a customer's questionnaire names tests that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "security.md").read_text()


class TestThePage:
    def test_names_tests_that_exist(self):
        named = re.findall(r"`((?:[a-z_]+/)*test_[a-z_]+\.py)((?:::[A-Za-z_]+)*)`", PAGE)
        assert len(named) > 30
        for path, members in named:
            text = (TESTS / path).read_text()
            for member in members.split("::")[1:]:
                assert re.search(rf"(class|def) {member}\b", text), f"{path}::{member}"

    def test_holds_nearly_every_answer_by_a_test(self):
        rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "Question" not in line]
        without = [row for row in rows if "test_" not in row.rsplit("|", 2)[1]]
        assert len(without) <= 2, without
