"""The reach of lives: what was met how often, and what was not."""

from __future__ import annotations

from collections import Counter

from tests.simulation.life import AuthorizedAsset
from tests.simulation.schemas import read_interface

NOT_DRIVEN = frozenset(
    {
        "readLiveness",
        "readReadiness",
        "readMetrics",
        "readInterface",
        "showDocumentation",
        "showFrontPage",
        "readDocumentationAsset",
        "listProblemTypes",
        "explainProblemType",
        "takeSimulatorStep",
    }
)
"""Health, the documentation and the simulator's own handshake."""


def show_reach(reach: AuthorizedAsset) -> str:
    declared = [name for name in read_interface().operations if name not in NOT_DRIVEN]
    missed = [name for name in declared if not reach.operations[name]]
    parts = [
        f"operations that succeeded: {len(declared) - len(missed)} of {len(declared)}",
        f"not reached: {', '.join(missed) or 'none'}",
        _show("problem types", reach.problems),
        _show("events", reach.events),
        _show("rooms that met", reach.meetings),
        _show("twists", reach.twists),
        _show("compared with the oracle", reach.checks),
        _show("milliseconds", reach.spent_ms),
    ]
    return "\n".join(parts)


def _show(title: str, counted: Counter[str]) -> str:
    listed = ", ".join(f"{name} {count}" for name, count in sorted(counted.items(), key=lambda one: (-one[1], one[0])))
    return f"{title} ({len(counted)}): {listed}"
