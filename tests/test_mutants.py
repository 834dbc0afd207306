"""The faults that `make mutants` plants still find the lines that they are about, and are spread over the rooms."""

import ast

import pytest
from bench.mutation_tests import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{mutant.file} {mutant.old[:30]}" for mutant in MUTANTS])
class TestAFault:
    def test_stands_once_and_leaves_a_file_that_can_be_read(self, mutant: Mutant):
        changed = mutant.applied_to((ROOT / mutant.path).read_text(encoding="utf-8"))
        if mutant.file.endswith(".py"):
            ast.parse(changed)

    def test_names_tests_of_its_own_room(self, mutant: Mutant):
        assert (ROOT / "tests" / mutant.tests).exists()
        room = "client" if mutant.file.startswith("gridloom_client/") else mutant.file.split("/")[0]
        is_migration = mutant.file.startswith("database/migrations/")
        assert is_migration or mutant.tests.split("/")[0] == room


class TestTheFaults:
    def test_are_many_and_half_of_them_across_two_rooms(self):
        assert len(MUTANTS) >= 60
        assert 2 * sum(bool(mutant.across) for mutant in MUTANTS) >= len(MUTANTS)

    def test_are_in_all_rooms(self):
        assert len({mutant.file.split("/")[0] for mutant in MUTANTS}) >= 20
