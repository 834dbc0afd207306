"""How far the pool reaches into the driver."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import gridloom
from gridloom.platform.database import commit, pool

ROOT = Path(next(iter(gridloom.__path__))).parents[1]
REACHED = {
    # Of the pool and its holders: idle connections are given back and closed without a task and a timer for each.
    *("_closing", "_con", "_deactivate_inactive_connection", "_generation", "_getters", "_holder", "_holders"),
    *("_max_queries", "_pool", "_pool_release_ctr", "_queue", "_release", "_schedule_min_size_maintenance", "_timeout"),
    # Of a connection: whether it is at rest, was hung up, and which types it need not ask about.
    *("_get_statement", "_is_cancelling", "_listeners", "_log_listeners", "_protocol", "_top_xact", "_transport"),
}


class TestTheDriversOwnNames:
    def test_are_no_more_than_these(self) -> None:
        """Each saves every request a task, a timer or a statement."""
        trees = [ast.parse(Path(module.__file__ or "").read_text()) for module in (pool, commit)]
        used = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert {name for name in used if re.fullmatch(r"_[a-z]\w*", name)} == REACHED

    def test_are_those_of_releases_that_were_tried(self) -> None:
        """Another minor release may rename them: raise the bound once the tests of connections pass with it."""
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        [driver] = [one for one in extras["server"] if one.startswith("asyncpg")]
        assert re.fullmatch(r"asyncpg>=0\.\d+,<0\.\d+", driver), driver
