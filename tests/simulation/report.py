"""The reach of lives: what was met how often, and what was not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.simulation.exploring import list_meetings
from tests.simulation.invariants import list_uncompared
from tests.simulation.reach import Reach
from tests.simulation.schemas import list_problem_types, read_interface

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
        "readSecurityContact",
        "takeSimulatorStep",
        "steerSimulator",
        # An order that stands, or is executed, holds, trades and carves: the model has none of that yet.
        "cancelOrder",
        "createOrders",
        "readOrder",
        "recordOrderResults",
        # Nothing is configured to be pulled, so that these can only be refused.
        "runFeed",
        "switchFeed",
        # Writes of schedules, prices and telemetry that the model takes in by their other operation alone.
        "deleteReferencePrices",
        "schedulePortfolio",
        "writeLines",
    }
)
"""Health, the documentation, and the simulator, which a life is lived without; and what is named above."""
NOT_CAUSED = {
    "as-of-too-early": "facts of an earlier release",
    "events-forgotten": "events older than they are kept",
    "internal-error": "a fault of the service",
    "logins-busy": "more sign-ins at a time than passwords can be checked",
    "too-many-requests": "thousands of requests a minute",
}
"""Problem types that no actor leads to, and what each would take."""


@dataclass
class Total:
    """What a run has come to, in one process or in several."""

    reach: Reach = field(default_factory=Reach)
    lives: int = 0
    own_cpu_s: float = 0.0
    failures: int = 0

    def add(self, other: Total) -> None:
        self.reach.add(other.reach)
        self.lives += other.lives
        self.own_cpu_s += other.own_cpu_s
        self.failures += other.failures


def list_missed_operations(reach: Reach) -> list[str]:
    return [name for name in read_interface().operations if name not in NOT_DRIVEN and not reach.operations[name]]


def list_unmet_problems(reach: Reach) -> list[str]:
    return sorted(list_problem_types() - set(NOT_CAUSED) - set(reach.problems))


def list_unreached(reach: Reach) -> list[str]:
    """Operations, problem types and invariants that a long run must have met, and has not."""
    return [*list_missed_operations(reach), *list_unmet_problems(reach), *list_uncompared(reach.invariants)]


def show_reach(reach: Reach) -> str:
    count, unmet = len(set(read_interface().operations) - NOT_DRIVEN), list_unmet_problems(reach)
    missed = list_missed_operations(reach)
    parts = [
        f"operations that succeeded: {count - len(missed)} of {count}",
        f"not reached: {', '.join(missed) or 'none'}",
        _show("problem types", reach.problems),
        f"problem types not met: {', '.join(unmet) or 'none'}; nobody causes {', '.join(sorted(NOT_CAUSED))}",
        _show("events", reach.events),
        _show("rooms that met", reach.meetings),
        f"rooms that did not meet: {', '.join(sorted(set(list_meetings()) - set(reach.meetings))) or 'none'}",
        _show("twists", reach.twists),
        _show("answers compared with the model", reach.checks),
        _show("invariants that had something to compare", reach.invariants),
        f"invariants never compared: {', '.join(list_uncompared(reach.invariants)) or 'none'}",
        _show("milliseconds of the service's processor", reach.spent_ms),
    ]
    return "\n".join(parts)


def _show(title: str, counted: Counter[str]) -> str:
    listed = ", ".join(f"{name} {count}" for name, count in sorted(counted.items(), key=lambda one: (-one[1], one[0])))
    return f"{title} ({len(counted)}): {listed}"
