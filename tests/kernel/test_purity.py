"""The kernel imports the standard library and itself, nothing else."""

import ast
import sys
from pathlib import Path

import pytest

import gridloom.kernel

pytestmark = pytest.mark.pure

MODULES = sorted(Path(next(iter(gridloom.kernel.__path__))).glob("*.py"))


class TestKernel:
    def test_imports_nothing_but_the_standard_library(self):
        for path in MODULES:
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                for name in names:
                    assert name.partition(".")[0] in sys.stdlib_module_names or name.startswith("gridloom.kernel"), path
