"""The people of a simulated life, one file for each part they play."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from tests.simulation.actors.acting import ACTIONS, Action


@cache
def every_action() -> dict[str, Action]:
    """All actions, by name: the same order in every process, whichever file was imported first."""
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("[a-z]*.py")):
        import_module(".".join([__name__, *path.relative_to(folder).with_suffix("").parts]))
    return {name: ACTIONS[name] for name in sorted(ACTIONS)}
