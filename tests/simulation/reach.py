"""What lives have met and compared so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

COUNTED = ("operations", "problems", "events", "meetings", "twists", "checks", "invariants", "spent_ms")


@dataclass
class Reach:
    steps: int = 0
    calls: int = 0
    service_cpu_s: float = 0.0
    operations: Counter[str] = field(default_factory=Counter)
    """Good answers by operation."""
    problems: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    meetings: Counter[str] = field(default_factory=Counter)
    twists: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    """Answers that were compared with the model, by operation."""
    invariants: Counter[str] = field(default_factory=Counter)
    """How often each of `invariants.INVARIANTS` had something to compare."""
    spent_ms: Counter[str] = field(default_factory=Counter)

    def has_met(self, word: str) -> bool:
        """Whether an operation has succeeded, or a problem has appeared."""
        return self.operations[word] > 0 or self.problems[word] > 0

    def add(self, other: Reach) -> None:
        self.steps += other.steps
        self.calls += other.calls
        self.service_cpu_s += other.service_cpu_s
        for name in COUNTED:
            getattr(self, name).update(getattr(other, name))
