"""Chance that needs no past: a stream of random numbers is named by the seed, what it is for, and the day or step."""

from __future__ import annotations

import hashlib
from datetime import date

import numpy as np

_MASK = (1 << 64) - 1


def stream(seed: int, purpose: str, *place: int) -> np.random.Generator:
    """The generator of one purpose at one place; asked for twice, it gives the same numbers twice.

    Philox counts instead of remembering, so any day can be had without those before.
    """
    words = np.array([seed & _MASK, _number_of(purpose, place)], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=words))


def daily_normals(seed: int, purpose: str, first: date, days: int, width: int) -> np.ndarray:
    """A row of standard normals for each day from `first` on."""
    ordinal = first.toordinal()
    return np.array([stream(seed, purpose, ordinal + n).standard_normal(width) for n in range(days)]).reshape(
        days, width
    )


def _number_of(purpose: str, place: tuple[int, ...]) -> int:
    text = f"{purpose}/{'/'.join(map(str, place))}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
