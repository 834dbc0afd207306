"""The arithmetic of the categories: pure functions over arrays of summed measures, one element a bucket.

NaN stands for "no value": a price without volume, a mean without hours. Nothing else makes a NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Sums: TypeAlias = Mapping[str, FloatArray]

DAYS_A_YEAR: Final = 365.0
"""The seed's factor, literally: also in leap years."""


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
        result = self.parts[0].values(sums)
        for part in self.parts[1:]:
            result = result + part.values(sums)
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
        result = _quotient(sums[self.upper], sums[self.lower])
        if self.otherwise is None:
            return result
        return np.where(np.isnan(result), self.otherwise.values(sums), result)


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
        return _quotient(self.revenue.values(sums), sums["rated_power_mw"])


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
        return self.normalised.values(sums) * DAYS_A_YEAR


def _quotient(upper: FloatArray, lower: FloatArray) -> FloatArray:
    result = np.full(upper.shape, np.nan)
    np.divide(upper, lower, out=result, where=lower != 0)
    return result
