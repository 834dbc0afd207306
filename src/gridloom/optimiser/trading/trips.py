"""Trips of energy through a battery: which purchase each sale lives on, first in first out, and its gain; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gridloom.optimiser.limits import LimitReason, LimitReasons
from gridloom.optimiser.solving.programme import BatteryProgramme, Floats
from gridloom.optimiser.trading.positions import tolerance_kwh

_NOISE_KWH: Final = 1e-6
_NEAR: Final = 1e-4  # of a bound: a solver's powers lie so near to the one that holds them


@dataclass(frozen=True, slots=True)
class TripLeg:
    """The energy of a trip at the grid in the periods [first, end), and its mean price."""

    first: int
    end: int
    energy_kwh: float
    price_eur_mwh: float


@dataclass(frozen=True, slots=True)
class Trip:
    """Without `bought` the sale is of what was in store before; without `sold` the energy stays there.

    `gain_eur` is after losses, fee and wear. The gains of all trips add up to what the trades earn.
    """

    bought: TripLeg | None
    sold: TripLeg | None
    gain_eur: float
    limited_by: tuple[LimitReason, ...]


@dataclass(slots=True)
class _Parcel:
    """Energy in store that one period moved, not yet matched with one of the other direction."""

    period: int
    left_kwh: float


@dataclass(slots=True)
class _TripSum:
    """Parts of periods that belong to one trip: by period, the share of its trade."""

    bought: dict[int, float] = field(default_factory=dict)
    sold: dict[int, float] = field(default_factory=dict)


def find_trips(
    programme: BatteryProgramme,
    power_kw: Floats,
    reasons: LimitReasons,
    *,
    before_kw: Floats | None = None,
    fee_eur_mwh: float = 0.0,
) -> list[Trip]:
    """Of a schedule, or of the trades that change a position `before_kw` into it.

    What a schedule sells is taken from what was in store at first, then from its purchases in their order. Trades have
    no stock: what they sell before they buy is matched with the purchases after it.
    """
    stock_kwh = programme.initial_kwh if before_kw is None else 0.0
    before_kw = np.zeros(len(programme)) if before_kw is None else before_kw
    traded_kw = power_kw - before_kw
    moved_kwh = _stored_changes(programme, power_kw) - _stored_changes(programme, before_kw)
    worn_kw = np.maximum(power_kw, 0.0) - np.maximum(before_kw, 0.0)
    cash_eur = (
        (programme.price_eur_mwh * traded_kw - fee_eur_mwh * np.abs(traded_kw) - programme.wear_eur_mwh * worn_kw)
        * programme.step_h
        / 1000
    )
    sums = _match_parcels(
        moved_kwh, _number_runs(np.sign(np.where(np.abs(moved_kwh) > _NOISE_KWH, moved_kwh, 0.0))), stock_kwh
    )
    limits = _LimitFinder(programme, power_kw, reasons)
    trips = []
    for one in sums:
        gain = sum(share * float(cash_eur[index]) for index, share in (*one.bought.items(), *one.sold.items()))
        legs = [_describe_leg(programme, traded_kw, part) for part in (one.bought, one.sold)]
        trips.append(Trip(legs[0], legs[1], gain, limits.find_reasons(list(one.bought), list(one.sold))))
    return trips


def _stored_changes(programme: BatteryProgramme, power_kw: Floats) -> Floats:
    factor = np.where(power_kw < 0, programme.charge_efficiency, 1 / programme.discharge_efficiency)
    return np.asarray(-power_kw * factor * programme.step_h)


def _number_runs(signs: Floats) -> list[int]:
    """The number of the run of one direction that each period belongs to; idle periods end a run."""
    return [int(number) for number in np.cumsum(np.diff(signs, prepend=0.0) != 0)]


def _match_parcels(moved_kwh: Floats, runs: Sequence[int], stock_kwh: float) -> list[_TripSum]:
    """Each period's energy with that of the other direction before it, in their order; the rest stays by itself."""
    sums: dict[tuple[int, int], _TripSum] = {}
    open_parcels: deque[_Parcel] = deque()
    is_bought = True

    def note(bought: int | None, sold: int | None, kwh: float) -> None:
        key = (-1 if bought is None else runs[bought], -1 if sold is None else runs[sold])
        one = sums.setdefault(key, _TripSum())
        for part, period in ((one.bought, bought), (one.sold, sold)):
            if period is not None:
                part[period] = part.get(period, 0.0) + kwh / abs(float(moved_kwh[period]))

    for period in np.flatnonzero(np.abs(moved_kwh) > _NOISE_KWH).tolist():
        left_kwh, buys = abs(float(moved_kwh[period])), bool(moved_kwh[period] > 0)
        if not buys and stock_kwh > _NOISE_KWH:
            taken_kwh = min(left_kwh, stock_kwh)
            note(None, period, taken_kwh)
            stock_kwh, left_kwh = stock_kwh - taken_kwh, left_kwh - taken_kwh
        while left_kwh > _NOISE_KWH and open_parcels and is_bought != buys:
            parcel = open_parcels[0]
            taken_kwh = min(left_kwh, parcel.left_kwh)
            note(period if buys else parcel.period, parcel.period if buys else period, taken_kwh)
            parcel.left_kwh, left_kwh = parcel.left_kwh - taken_kwh, left_kwh - taken_kwh
            if parcel.left_kwh <= _NOISE_KWH:
                open_parcels.popleft()
        if left_kwh > _NOISE_KWH:
            open_parcels.append(_Parcel(period, left_kwh))
            is_bought = buys
    for parcel in open_parcels:
        note(parcel.period if is_bought else None, None if is_bought else parcel.period, parcel.left_kwh)
    return list(sums.values())


def _describe_leg(programme: BatteryProgramme, traded_kw: Floats, part: dict[int, float]) -> TripLeg | None:
    if not part:
        return None
    periods = np.array(sorted(part))
    energy_kwh = np.array([part[period] for period in periods.tolist()]) * np.abs(traded_kw[periods])
    energy_kwh = energy_kwh * programme.step_h
    total_kwh = float(energy_kwh.sum())
    price = float(energy_kwh @ programme.price_eur_mwh[periods]) / max(total_kwh, _NOISE_KWH)
    return TripLeg(int(periods[0]), int(periods[-1]) + 1, total_kwh, price)


class _LimitFinder:
    """The bounds that a schedule stands at."""

    def __init__(self, programme: BatteryProgramme, power_kw: Floats, reasons: LimitReasons) -> None:
        self._programme, self._reasons = programme, reasons
        near_kw = _NEAR * max(float(np.abs(programme.max_kw).max()), float(np.abs(programme.min_kw).max()), 1.0)
        near_kwh = tolerance_kwh(programme) + near_kw * programme.step_h
        energy_kwh = programme.energy_kwh(power_kw)
        self._charges_most = power_kw <= programme.min_kw + near_kw
        self._discharges_most = power_kw >= programme.max_kw - near_kw
        self._is_full = energy_kwh >= programme.highest_kwh - near_kwh
        self._is_empty = energy_kwh <= programme.lowest_kwh + near_kwh
        discharged_kwh = np.maximum(power_kw, 0.0) * programme.step_h
        self._has_no_cycles = np.zeros(len(programme), dtype=bool)
        for limit in programme.cycles:
            used_kwh = np.bincount(limit.groups, discharged_kwh, minlength=len(limit.left_kwh))
            self._has_no_cycles |= (used_kwh >= limit.left_kwh - near_kwh)[limit.groups]

    def find_reasons(self, bought: Sequence[int], sold: Sequence[int]) -> tuple[LimitReason, ...]:
        """Power where every quarter-hour of a side is at its most, energy where the store is full or empty in between,
        and cycles where none are left; in the order of LimitReason."""
        found: set[LimitReason] = set()
        if bought and self._charges_most[list(bought)].all():
            found |= {self._reasons.charge[index] for index in bought}
        if sold and self._discharges_most[list(sold)].all():
            found |= {self._reasons.discharge[index] for index in sold}
        full = np.flatnonzero(self._is_full[max(bought) : min(sold) + 1] if bought and sold else [])
        found |= {self._reasons.high[max(bought) + place] for place in full.tolist()}
        if sold and self._is_empty[max(sold)]:
            found.add(self._reasons.low[max(sold)])
        if sold and self._has_no_cycles[list(sold)].any():
            found.add(LimitReason.CYCLES)
        return tuple(reason for reason in LimitReason if reason in found)
