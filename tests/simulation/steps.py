"""A life's script: steps of plain data drawn from a seed.

A step names what is done and carries choice numbers. What the numbers choose is resolved when the step runs, against
the model as it stands then. So a script stays a script whatever steps are taken out of it, and shrinking is nothing but
leaving steps out and making numbers smaller.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

CHOICES = 24
LARGEST = 1 << 16
PLAIN = "plain"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """`action` is done with a `twist`; `choices` say to what and how much."""

    action: str
    twist: str
    choices: tuple[int, ...]
    is_fixed: bool = False
    """Whether nothing else is done in its place where the world has nothing to do it with."""
    kind: str = "everything"
    """Of the life that it was drawn for: what may be done in its place."""
    sought: str = ""
    """What the life that it was drawn for looks for before all else: an operation or a problem type."""


class Pick:
    """Draws from a step's numbers one after the other; after the last one, always 0: the simplest choice."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = choices
        self._next = 0

    def below(self, count: int) -> int:
        number = self._choices[self._next] if self._next < len(self._choices) else 0
        self._next += 1
        return number % count

    def of(self, things: Sequence[T]) -> T:
        return things[self.below(len(things))]

    def one_of(self, *things: T) -> T:
        return things[self.below(len(things))]

    def between(self, low: int, high: int, step: int = 1) -> int:
        """A multiple of `step` beyond `low`, `high` included."""
        return low + step * self.below((high - low) // step + 1)

    def chance(self, percent: int) -> bool:
        """Never where the number is 0."""
        return self.below(100) >= 100 - percent


def draw_script(
    seed: int,
    length: int,
    weights: Mapping[str, int],
    twists: Mapping[str, int],
    opening: Sequence[str] = (),
    kind: str = "everything",
    sought: str = "",
) -> list[Step]:
    """The same script for the same arguments, whatever hashes are salted with."""
    chance = random.Random(seed)
    names, name_weights = list(weights), list(weights.values())
    kinds, kind_weights = list(twists), list(twists.values())
    actions = [*opening, *chance.choices(names, name_weights, k=max(0, length - len(opening)))]
    return [
        Step(
            action,
            PLAIN if number < len(opening) else chance.choices(kinds, kind_weights)[0],
            tuple(chance.randrange(LARGEST) for _ in range(CHOICES)),
            kind=kind,
            sought=sought,
        )
        for number, action in enumerate(actions)
    ]
