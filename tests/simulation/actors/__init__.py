"""The people of a simulated life, one file for each part they play."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.simulation.actors.acting import ACTIONS, Action


def every_action() -> dict[str, Action]:
    """All actions, in the order of files and of lines: the same in every process."""
    if not ACTIONS:
        for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
            import_module(f"tests.simulation.actors.{path.stem}")
    return ACTIONS
