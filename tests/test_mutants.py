"""The faults that `make mutants` plants still find the lines that they are about."""

import ast

import pytest
from bench.mutation_tests import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{mutant.file} {mutant.old[:30]}" for mutant in MUTANTS])
class TestAFault:
    def test_stands_once_and_leaves_a_file_that_can_be_read(self, mutant: Mutant):
        text = (ROOT / "src" / "gridloom" / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1
        if mutant.file.endswith(".py"):
            ast.parse(text.replace(mutant.old, mutant.new))

    def test_names_tests_that_exist(self, mutant: Mutant):
        assert (ROOT / "tests" / mutant.tests).exists()
