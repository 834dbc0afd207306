"""Values of a battery's book: holdings, the battery's own schedule, and requests for capacity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final
from uuid import UUID

import numpy as np
import numpy.typing as npt

from gridloom.kernel.market_time import market_day_of, period_start
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.kernel.window import Window

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TOLERANCE: Final = POWER_TOLERANCE_KW  # and of a kWh


class HoldingKind(StrEnum):
    """Kinds of holders of capacity. The own schedule is stored as a schedule; the others are rows of the book."""

    VIRTUAL_ASSET = "VIRTUAL_ASSET"
    AUCTION = "AUCTION"
    FCR = "FCR"
    AFRR_CAPACITY = "AFRR_CAPACITY"
    AFRR_ENERGY = "AFRR_ENERGY"
    OWN_SCHEDULE = "OWN_SCHEDULE"


@dataclass(frozen=True, slots=True)
class OneWayEfficiency:
    """The efficiencies of a holder's power and energy: its one-way efficiencies."""

    charge: float
    discharge: float


@dataclass(frozen=True, slots=True)
class Holding:
    """The holding of one holder in one battery in the periods [first, end), in the holder's own terms.

    A virtual asset (or the auction of one) names its efficiencies: a battery that loses more has to give more of
    itself. A bid's energy is what must be in store, or the room for it, to serve it. `is_firm` is false while a bid
    waits for its result.
    """

    kind: HoldingKind
    holder_id: UUID
    first: int
    end: int
    charge_kw: float
    discharge_kw: float
    energy_kwh: float
    is_firm: bool = True
    losses: OneWayEfficiency | None = None
    organisation_id: UUID | None = None
    product: str | None = None

    @property
    def window(self) -> Window:
        return Window(period_start(self.first), period_start(self.end))

    @property
    def product_date_code(self) -> str:
        """Of a bid: its product on its delivery day."""
        return f"{market_day_of(self.window.start).isoformat()}_{self.product}"


@dataclass(frozen=True, slots=True, eq=False)
class OwnSchedule:
    """The owner's own use of a battery: scheduled periods in order, and their powers (positive is export)."""

    periods: Ints
    power_kw: Floats

    @staticmethod
    @cache
    def nothing() -> OwnSchedule:
        return OwnSchedule(np.zeros(0, dtype=np.int64), np.zeros(0))

    def with_periods(self, periods: Ints, power_kw: Floats) -> OwnSchedule:
        """The schedule once exactly these periods are replaced."""
        kept = ~np.isin(self.periods, periods)
        all_periods = np.concatenate([self.periods[kept], periods])
        order = np.argsort(all_periods, kind="stable")
        return OwnSchedule(all_periods[order], np.concatenate([self.power_kw[kept], power_kw])[order])


@dataclass(frozen=True, slots=True)
class HoldingGroup:
    """A request for capacity: holdings over one window that are validated together, such as a bid's price steps.

    `pointer` says where in the request it is asked for.
    """

    holdings: tuple[Holding, ...]
    pointer: str = ""

    @property
    def first(self) -> int:
        return self.holdings[0].first

    @property
    def end(self) -> int:
        return self.holdings[0].end


@dataclass(frozen=True, slots=True)
class ReserveMinutes:
    """For how many minutes of full power a reserve needs energy in store, or room for it.

    FCR needs it either way; aFRR capacity in its own direction; aFRR energy for what it offers beyond its capacity.
    """

    fcr: int = 15
    afrr: int = 60
    afrr_energy: int = 15

    def energy_kwh(self, kind: HoldingKind, charge_kw: float, discharge_kw: float) -> float:
        minutes = {
            HoldingKind.FCR: self.fcr,
            HoldingKind.AFRR_CAPACITY: self.afrr,
            HoldingKind.AFRR_ENERGY: self.afrr_energy,
        }[kind]
        return (charge_kw + discharge_kw) * minutes / 60
