"""What a zone's virtual assets will do, what its batteries can do, and what comes of it; arrays over quarter-hours.

Rows are assets, columns are periods. Power is signed as everywhere: positive leaves an asset.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from gridloom.kernel.units import POWER_TOLERANCE_KW

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NOISE_KW: Final = POWER_TOLERANCE_KW
"""Powers below a milliwatt are what a subtraction leaves behind."""


class Method(StrEnum):
    """How the net of a zone was spread over its batteries."""

    CLOSED_FORM = "CLOSED_FORM"
    LINEAR_PROGRAMME = "LINEAR_PROGRAMME"
    PROPORTIONAL = "PROPORTIONAL"
    """The programme was too slow or failed: shares within limits instead."""


class PartKind(StrEnum):
    """What a part of a battery's dispatch is for."""

    VIRTUAL = "VIRTUAL"
    OWN = "OWN"
    FCR = "FCR"
    AFRR_POS = "AFRR_POS"
    AFRR_NEG = "AFRR_NEG"


CODE_OF_KIND: Final = {kind: code for code, kind in enumerate(PartKind)}
KIND_OF_CODE: Final = dict(enumerate(PartKind))
"""Kinds as numbers, where a kind stands in an array."""


@dataclass(frozen=True, slots=True, eq=False)
class Batteries:
    """All batteries that back a virtual asset of the zone, a row each.

    `charge_kw` and `discharge_kw` are what is available after reserves, `low_kwh` and `high_kwh` the bounds of the
    stored energy at the end of each period, reserves included; `energy_kwh` is what is stored at the very start.
    `own_kw` is the owner's schedule, `free_charge_kw` and `free_discharge_kw` what nobody was promised. `serves` is 1
    in periods in which a virtual asset lives that the battery backs, else 0: then it moves for its owner alone.
    """

    charge_kw: Floats
    discharge_kw: Floats
    low_kwh: Floats
    high_kwh: Floats
    charge_efficiency: Floats
    discharge_efficiency: Floats
    own_kw: Floats
    free_charge_kw: Floats
    free_discharge_kw: Floats
    serves: Floats
    energy_kwh: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.charge_kw.shape[0], self.charge_kw.shape[1]


def sum_rows(values: Floats, groups: Ints, count: int) -> Floats:
    """The sum of all rows of each of `count` groups; rows of one group in their order, so that sums are the same."""
    sums = np.zeros((count, values.shape[1]))
    if not len(groups):
        return sums
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sums[groups[order][starts]] = np.add.reduceat(values[order], starts, axis=0)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """A delivery zone over consecutive periods: what was scheduled, after cuts, and what can serve it.

    `share_of` holds a row for each pair of virtual asset and battery behind it: their places, and `shares` the part.
    `due_kwh` is the energy that each battery would hold at the end if it did no more and no less than its shares.
    """

    power_kw: Floats
    batteries: Batteries
    share_of: Ints
    shares: Floats
    due_kwh: Floats

    def by_share(self, power_kw: Floats) -> Floats:
        """What falls to each battery of virtual assets' powers."""
        return sum_rows(
            self.shares[:, None] * power_kw[self.share_of[:, 0]], self.share_of[:, 1], self.batteries.shape[0]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """What each battery does for virtual assets and for its owner, and what nobody could serve.

    `energy_kwh` has one column more than periods, the end; `unserved_kw` has the sign of the net.
    """

    virtual_kw: Floats
    own_kw: Floats
    energy_kwh: Floats
    unserved_kw: Floats

    @property
    def power_kw(self) -> Floats:
        return np.asarray(self.virtual_kw + self.own_kw)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A zone's dispatch: virtual assets after what cannot be served, their netted parts, and the batteries' powers.

    `forced` says in which periods a battery charges while another discharges because a limit leaves no other way.
    """

    scheduled_kw: Floats
    delivered_kw: Floats
    netted_kw: Floats
    spread: Spread
    method: Method
    forced: npt.NDArray[np.bool_]
    solver_s: float
