"""`make quick` finds the tests of a change, and pure tests cost neither a server nor the application."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.quick import ROOT, find_pure_tests, find_tests_of


def names_of(*changed: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in find_tests_of(map(Path, changed))]


class TestAChange:
    def test_of_a_rule_runs_its_room_with_the_tests_of_the_rule_first(self):
        found = names_of("src/gridloom/revenue/statement/rounding.py")
        assert found[0] == "tests/revenue/test_rounding.py"
        assert set(found) == {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/revenue").glob("test_*.py")}

    @pytest.mark.parametrize(
        ("changed", "expected"),
        [
            ("src/gridloom_client/retries.py", "tests/client/test_session.py"),
            ("src/gridloom/settings.py", "tests/test_settings.py"),
            ("src/gridloom/commands/accounts.py", "tests/commands/test_operator_commands.py"),
            (
                "src/gridloom/platform/http/openapi/field_descriptions.py",
                "tests/platform/http/openapi/test_description.py",
            ),
            ("src/gridloom/optimiser/solving/linear.py", "tests/optimiser/test_solving.py"),
            ("src/gridloom/platform/database/migrations/0030_auctions.sql", "tests/platform/database/test_migrate.py"),
            ("tests/kernel/test_window.py", "tests/kernel/test_window.py"),
            ("tests/platform/webhooks/conftest.py", "tests/platform/webhooks/test_webhooks.py"),
        ],
    )
    def test_anywhere_runs_tests(self, changed: str, expected: str):
        assert expected in names_of(changed)

    @pytest.mark.parametrize("changed", ["README.md", "docs/concepts.md", "tests/kernel/test_that_was_removed.py"])
    def test_of_what_has_no_tests_runs_none(self, changed: str):
        assert names_of(changed) == []

    def test_of_any_source_has_tests(self):
        sources = [path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.py")]
        assert [path for path in sources if not find_tests_of([path])] == [Path("src/gridloom/__init__.py")]


class TestPureTests:
    def test_are_many_and_in_many_rooms(self):
        pure = find_pure_tests()
        assert len(pure) > 60
        assert len({path.parent for path in pure}) > 12

    def test_import_neither_the_application_nor_start_a_server(self):
        names = [path.relative_to(ROOT).as_posix() for path in find_pure_tests()]
        script = (
            "import os, sys, pytest\n"
            "code = pytest.main(['-qq', '-p', 'no:cacheprovider', '--collect-only', *sys.argv[1:]])\n"
            "loaded = [name for name in ('gridloom.app', 'uvicorn') if name in sys.modules]\n"
            "assert not loaded, loaded\n"
            "sys.exit(code)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, *names], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
