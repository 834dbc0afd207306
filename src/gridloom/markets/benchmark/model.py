"""Batteries whose days are compared, and the days themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from gridloom.market_calendar import Floats


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkBattery:
    """A battery by its parameters and its availability in the periods from `first` on.

    `day_kwh` is what it may discharge on a market day; None without limit. Outside its life it has no power.
    """

    first: int
    charge_kw: Floats
    discharge_kw: Floats
    energy_kwh: Floats
    charge_efficiency: Floats
    discharge_efficiency: Floats
    rated_kwh: float
    day_kwh: float | None


@dataclass(frozen=True, slots=True)
class Rated:
    """Rated power (the mean of both directions) and energy of an asset or of several."""

    power_kw: float
    energy_kwh: float


@dataclass(frozen=True, slots=True, eq=False)
class Peer:
    """Another asset of the platform: its EUR per MW on each day, not a number where it was not rated all day."""

    organisation_id: UUID
    rated: Rated
    per_mw: Floats


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """EUR per MW: the quarter, the half and three quarters of the peers earned no more."""

    lower_quartile: float
    median: float
    upper_quartile: float


@dataclass(frozen=True, slots=True)
class BenchmarkDay:
    day: date
    earned_eur: float
    per_mw: float | None
    foresight_eur: float | None
    peers: PeerFigures | None
