"""The schedules of a zone's virtual assets, the limits of its batteries, and the dispatch computed from both.

Arrays over quarter-hours: rows are assets, columns are periods. Power is signed as everywhere: positive is export.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from gridloom.kernel.balancing import ReserveProduct
from gridloom.market_calendar import Floats, Ints

Mask = npt.NDArray[np.bool_]


class DistributionMethod(StrEnum):
    """How the net of a zone was distributed over its batteries; runs of earlier releases used a linear programme."""

    CLOSED_FORM = "CLOSED_FORM"
    LINEAR_PROGRAMME = "LINEAR_PROGRAMME"
    PROPORTIONAL = "PROPORTIONAL"


class PartKind(StrEnum):
    """The purpose of a part of a battery's dispatch. The order is that of an answer."""

    VIRTUAL = "VIRTUAL"
    OWN = "OWN"
    DRIFT = "DRIFT"
    FCR = ReserveProduct.FCR.value
    AFRR_POS = ReserveProduct.AFRR_POS.value
    AFRR_NEG = ReserveProduct.AFRR_NEG.value


POWER_KINDS: Final = (PartKind.VIRTUAL, PartKind.OWN, PartKind.DRIFT)
"""Their sum is the battery's power."""
RESERVE_KINDS: Final = (PartKind.FCR, PartKind.AFRR_POS, PartKind.AFRR_NEG)
CODE_OF_KIND: Final = {
    PartKind.VIRTUAL: 0,
    PartKind.OWN: 1,
    PartKind.FCR: 2,
    PartKind.AFRR_POS: 3,
    PartKind.AFRR_NEG: 4,
    PartKind.DRIFT: 5,
}
KIND_OF_CODE: Final = {code: kind for kind, code in CODE_OF_KIND.items()}
"""Kinds as numbers in stored arrays: a code never changes its meaning."""


@dataclass(frozen=True, slots=True, eq=False)
class BatteryLimits:
    """The limits of a zone's batteries, a row each.

    `charge_kw` and `discharge_kw` are the available powers after reserves. `low_kwh` and `high_kwh` bound the stored
    energy at the end of each period, reserves included. `own_kw` is the owner's schedule, `drift_kw` the drift that is
    placed on the market; `free_charge_kw` and `free_discharge_kw` are in no holder's book. `promised_kwh` is
    Σ share × energy capacity of the virtual assets that are alive: a battery moves for virtual assets only where it is
    above zero. `ramp_kw` is the largest increase from one period to the next, `daily_export_kwh` and
    `annual_export_kwh` the cycle limits; infinite where there is none. `reserve_stored_kwh` and `reserve_headroom_kwh`
    are what reserves need of the energy bounds. `available_fraction` is the available part of the energy capacity: the
    bounds are those of the energy that is in reach. `energy_kwh` is stored at the start.
    """

    charge_kw: Floats
    discharge_kw: Floats
    low_kwh: Floats
    high_kwh: Floats
    charge_efficiency: Floats
    discharge_efficiency: Floats
    own_kw: Floats
    drift_kw: Floats
    free_charge_kw: Floats
    free_discharge_kw: Floats
    promised_kwh: Floats
    ramp_kw: Floats
    daily_export_kwh: Floats
    annual_export_kwh: Floats
    reserve_stored_kwh: Floats
    reserve_headroom_kwh: Floats
    available_fraction: Floats
    energy_kwh: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.charge_kw.shape[0], self.charge_kw.shape[1]

    @property
    def backs_virtual_asset(self) -> Mask:
        return np.asarray(self.promised_kwh > 0)


LIMIT_NAMES: Final = tuple(name for name in BatteryLimits.__dataclass_fields__ if name != "energy_kwh")


def slice_limits(limits: BatteryLimits, first: int, energy_kwh: Floats, end: int | None = None) -> BatteryLimits:
    """The columns [first, end), with `energy_kwh` stored at the first."""
    return BatteryLimits(**{name: getattr(limits, name)[:, first:end] for name in LIMIT_NAMES}, energy_kwh=energy_kwh)


MAX_SHORT: Final = int(np.iinfo(np.int16).max)


def sum_rows(values: Floats, groups: Ints, count: int) -> Floats:
    """The sum of all rows of each of `count` groups; rows of a group in their order, so that sums are reproducible."""
    sums = np.zeros((count, values.shape[1]))
    if not len(groups):
        return sums
    # numpy sorts short integers ten times as fast, in the same order.
    order = np.argsort(groups.astype(np.int16) if count <= MAX_SHORT else groups, kind="stable")
    ordered = groups[order]
    starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
    sums[ordered[starts]] = np.add.reduceat(values[order], starts, axis=0)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class StartState:
    """The batteries' past at the start: energy exported in its market day and year; the power, the energy out of reach
    and the available part of the energy capacity just before."""

    day_export_kwh: Floats
    year_export_kwh: Floats
    power_kw: Floats
    unreachable_kwh: Floats
    available_fraction: Floats

    @classmethod
    def of_rest(cls, count: int) -> StartState:
        """After nothing was moved, or missing."""
        return cls(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.ones(count))


@dataclass(frozen=True, slots=True, eq=False)
class DispatchInput:
    """A delivery zone over consecutive periods: powers of virtual assets after cuts, and the batteries behind them.

    `share_of` has a row for each pair of virtual asset and battery (their indices), `shares` the share of each.
    `share_energy_kwh` is the energy that each battery would store had it done its shares and its own schedule alone,
    at the start of every period and at the end: a battery's drift is its energy less this. `days` and `years` number
    the market days and years of the periods.
    """

    power_kw: Floats
    limits: BatteryLimits
    share_of: Ints
    shares: Floats
    share_energy_kwh: Floats
    days: Ints
    years: Ints
    start: StartState

    def by_share(self, power_kw: Floats) -> Floats:
        """Σ share × power of the virtual assets that each battery backs."""
        return sum_rows(self.shares[:, None] * power_kw[self.share_of[:, 0]], self.share_of[:, 1], self.limits.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class BatteryDispatch:
    """Each battery's power for virtual assets, for its owner and for the drift; and the power left unserved.

    `energy_kwh` has one column more than periods, the end; so has `unreachable_kwh`, the part of it out of reach before
    the first period and then in each. `unserved_kw` has the sign of the net; `is_cycle_bound` says where cycle
    limits left it unserved.
    """

    virtual_kw: Floats
    own_kw: Floats
    drift_kw: Floats
    energy_kwh: Floats
    unreachable_kwh: Floats
    unserved_kw: Floats
    is_cycle_bound: Mask

    @property
    def power_kw(self) -> Floats:
        return np.asarray(self.virtual_kw + self.own_kw + self.drift_kw)

    @property
    def in_reach_kwh(self) -> Floats:
        """At the start of each period."""
        return np.asarray(self.energy_kwh[:, :-1] - self.unreachable_kwh[:, 1:])


@dataclass(frozen=True, slots=True, eq=False)
class ZoneDispatch:
    """A zone's dispatch: virtual assets' powers after what is unserved, their netted parts, and the batteries'.

    `is_opposed` says in which periods one battery charges while another discharges.
    """

    scheduled_kw: Floats
    delivered_kw: Floats
    netted_kw: Floats
    batteries: BatteryDispatch
    is_opposed: Mask
