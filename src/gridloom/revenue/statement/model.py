"""Values of a statement: lines between two parties, in whole cents."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Cents = NDArray[np.int64]
Floats = NDArray[np.float64]


class LineType(StrEnum):
    """The kinds of lines: what is paid for."""

    TRADING = "TRADING"
    DRIFT = "DRIFT"
    FCR = "FCR"
    AFRR_CAPACITY = "AFRR_CAPACITY"
    AFRR_ENERGY = "AFRR_ENERGY"
    TOLLING = "TOLLING"
    AUCTION = "AUCTION"
    AVAILABILITY = "AVAILABILITY"
    SUBSTITUTION = "SUBSTITUTION"
    RESERVE_SHORTFALL = "RESERVE_SHORTFALL"
    IMBALANCE = "IMBALANCE"
    END_OF_LIFE = "END_OF_LIFE"


class Party(StrEnum):
    """Those on the other side that are no organisation of the platform."""

    MARKET = "MARKET"
    GRID_OPERATOR = "GRID_OPERATOR"
    OUTSIDE = "OUTSIDE"
    """The holders of tolls on whole batteries."""


@dataclass(frozen=True, slots=True, eq=False)
class StatementEntry:
    """A line with one counterparty: what has come in until each edge of the statement's buckets, in cents."""

    line: LineType
    counterparty: str
    until: Cents
    assumed_mwh: Floats | None = None
    """By bucket: energy behind the line that counts as dispatched, since nothing was measured of it."""

    @property
    def by_bucket(self) -> Cents:
        return np.diff(self.until)
