"""`python -m bench.mutation_tests --lives 12`: the faults of `mutants.toml` under simulated lives.

The lives are first lived without any fault. A fault is found where a life breaks that did not break without it: the
same seed, the same script. What came of each fault is kept in `bench/results/mutants_by_lives.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIFE_RESULTS = Path(__file__).parent / "results" / "mutants_by_lives.json"
LIFE_STEPS = 200
BROKEN_OFF = 0
"""The seed of a run that ended without naming one."""
MAX_SHOWN = 240
Run = Callable[[Path, dict[str, str], Sequence[str]], tuple[int | None, str]]
"""A command in a copy: its exit status, None where it took too long, and what it printed."""


@dataclass
class Lives:
    """The lives of seeds 1 to `count`; `unsound` are those that break without a fault, and so show nothing."""

    run: Run
    count: int
    time_s: int
    unsound: dict[int, str] = field(default_factory=dict)

    def live_unplanted(self, copy: Path, environment: dict[str, str]) -> None:
        self.unsound = self._live(copy, environment, keeps_going=True)
        for seed, said in self.unsound.items():
            print(f"without a fault seed {seed} breaks: {said}", flush=True)
        if BROKEN_OFF in self.unsound:
            raise RuntimeError("the lives cannot be lived without a fault: nothing can be said of any")

    def find_broken(self, copy: Path, environment: dict[str, str]) -> list[str]:
        """What the first life says that breaks with the fault and did not without it."""
        broken = self._live(copy, environment, keeps_going=bool(self.unsound))
        return [f"seed {seed}{said}" for seed, said in broken.items() if seed not in self.unsound][:1]

    def _live(self, copy: Path, environment: dict[str, str], *, keeps_going: bool) -> dict[int, str]:
        command = ["tests.simulation", "--seconds", str(self.time_s), "--lives", str(self.count)]
        command += ["--steps", str(LIFE_STEPS), "--no-shrink", *(["--keep-going"] if keeps_going else [])]
        return read_broken(*self.run(copy, environment, command))


def read_broken(status: int | None, printed: str) -> dict[int, str]:
    """By seed, what each life that broke has said."""
    said = re.findall(r"^seed (\d+)(.*)$", printed, re.MULTILINE)
    broken = {int(seed): text[:MAX_SHOWN] for seed, text in said}
    if status is None:
        broken.setdefault(BROKEN_OFF, ": nothing ended in time")
    elif status and not broken:
        last = printed.strip().rpartition("\n")[2]
        broken[BROKEN_OFF] = f": the lives broke off: {last[:MAX_SHOWN]}"
    return broken


def keep_found_by_lives(lives: Lives, new: dict[str, Any]) -> None:
    """In place of what came of the same fault before."""
    kept = json.loads(LIFE_RESULTS.read_text(encoding="utf-8"))["results"] if LIFE_RESULTS.exists() else []
    others = [one for one in kept if any(one[name] != new[name] for name in ("file", "old", "new"))]
    rows = sorted([*others, new], key=lambda one: (one["file"], one["old"]))
    found = {
        "lives": lives.count,
        "steps": LIFE_STEPS,
        "brokenWithoutFault": sorted(lives.unsound),
        "faults": len(rows),
        "found": sum(one["outcome"] == "caught" for one in rows),
        "results": rows,
    }
    LIFE_RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
