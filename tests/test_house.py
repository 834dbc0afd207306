"""The habits of the house that no linter knows, read off the source itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import gridloom

SOURCE = Path(next(iter(gridloom.__path__)))
MODULES = sorted(SOURCE.rglob("*.py"))
LOCKED_TYPES = {"LockedAsset", "LockedKey"}


def speaks_to_postgresql(path: Path) -> bool:
    """Stores and what is below all rooms."""
    place = path.relative_to(SOURCE)
    return (
        place.parts[0] == "database" or "store" in place.parts or path.stem == "store" or path.stem.endswith("_store")
    )


def called_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


class TestALockedType:
    def test_is_made_only_by_the_stores_that_lock(self):
        makers = {path for path in MODULES if LOCKED_TYPES & set(called_names(path))}
        assert makers
        assert not [path for path in makers if not speaks_to_postgresql(path)]
