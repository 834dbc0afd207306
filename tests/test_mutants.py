"""The faults that `make mutants` plants still find the lines that they are about."""

import ast

import pytest
from bench.mutants import FAULTS, ROOT, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{fault.file} {fault.old[:30]}" for fault in FAULTS])
class TestAFault:
    def test_stands_once_and_leaves_a_file_that_can_be_read(self, fault: Fault):
        text = (ROOT / "src" / "gridloom" / fault.file).read_text(encoding="utf-8")
        assert text.count(fault.old) == 1
        if fault.file.endswith(".py"):
            ast.parse(text.replace(fault.old, fault.new))

    def test_names_tests_that_exist(self, fault: Fault):
        assert (ROOT / "tests" / fault.tests).exists()
