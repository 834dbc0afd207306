"""The arithmetic of the categories: pure functions over arrays of summed measures, one element a bucket.

NaN means "no value": a price without volume, a mean without hours. Nothing else makes a NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

DAYS_A_YEAR: Final = 365.0
"""The seed's factor, literally: also in leap years."""


class Sums(dict[str, FloatArray]):
    """Summed measures by name, from which formulas are worked out."""

    def of(self, formula: Formula) -> FloatArray:
        return formula.values(self)


class MemoizedSums(Sums):
    """Works out each formula once, however many others are made of it. For as long as all results are wanted anyway."""

    def __init__(self, sums: Mapping[str, FloatArray]) -> None:
        super().__init__(sums)
        self._known: dict[int, FloatArray] = {}

    def of(self, formula: Formula) -> FloatArray:
        # By identity: the table of categories shares its formulas, and to hash one is to walk it.
        known = self._known.get(id(formula))
        if known is None:
            known = self._known[id(formula)] = formula.values(self)
        return known


class Formula(Protocol):
    """How a category follows from the sums; `text` says the same to people."""

    @property
    def text(self) -> str: ...

    @property
    def measures(self) -> frozenset[str]: ...

    @property
    def is_total(self) -> bool:
        """Whether every bucket has a value, be it 0."""

    def values(self, sums: Sums) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class Total:
    """Measures added up, some of them taken away."""

    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    is_total: bool = True

    @property
    def text(self) -> str:
        return " + ".join(self.plus) + "".join(f" − {name}" for name in self.minus)

    @property
    def measures(self) -> frozenset[str]:
        return frozenset((*self.plus, *self.minus))

    def values(self, sums: Sums) -> FloatArray:
        result = sums[self.plus[0]]
        for name in self.plus[1:]:
            result = result + sums[name]
        for name in self.minus:
            result = result - sums[name]
        return result


@dataclass(frozen=True, slots=True)
class Sum:
    """Other formulas added up, so that a total is its parts in every bucket."""

    parts: tuple[Formula, ...]
    is_total: bool = True

    @property
    def text(self) -> str:
        return " + ".join(f"({part.text})" if "−" in part.text else part.text for part in self.parts)

    @property
    def measures(self) -> frozenset[str]:
        return frozenset().union(*(part.measures for part in self.parts))

    def values(self, sums: Sums) -> FloatArray:
        result = sums.of(self.parts[0])
        for part in self.parts[1:]:
            result = result + sums.of(part)
        return result


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sum over another: no value where the lower one is 0, unless another ratio can say it."""

    upper: str
    lower: str
    otherwise: Ratio | None = None
    is_total: bool = False

    @property
    def text(self) -> str:
        return f"{self.upper} / {self.lower}"

    @property
    def measures(self) -> frozenset[str]:
        own = frozenset((self.upper, self.lower))
        return own | self.otherwise.measures if self.otherwise is not None else own

    def values(self, sums: Sums) -> FloatArray:
        result = quotient(sums[self.upper], sums[self.lower])
        if self.otherwise is None:
            return result
        return np.where(np.isnan(result), sums.of(self.otherwise), result)


@dataclass(frozen=True, slots=True)
class PerMegawatt:
    """A revenue over the mean of rated charge and discharge power."""

    revenue: Formula
    is_total: bool = False

    @property
    def text(self) -> str:
        return f"({self.revenue.text}) / rated_power_mw"

    @property
    def measures(self) -> frozenset[str]:
        return self.revenue.measures | {"rated_power_mw"}

    def values(self, sums: Sums) -> FloatArray:
        return quotient(sums.of(self.revenue), sums["rated_power_mw"])


@dataclass(frozen=True, slots=True)
class PerYear:
    """A revenue per MW, times 365."""

    normalised: PerMegawatt
    is_total: bool = False

    @property
    def text(self) -> str:
        return f"{self.normalised.text} × 365"

    @property
    def measures(self) -> frozenset[str]:
        return self.normalised.measures

    def values(self, sums: Sums) -> FloatArray:
        return sums.of(self.normalised) * DAYS_A_YEAR


def quotient(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """One over the other; no value where the lower one is 0."""
    if lower.all():
        return upper / lower
    with np.errstate(divide="ignore", invalid="ignore"):
        result = upper / lower
    result[lower == 0] = np.nan
    return result
