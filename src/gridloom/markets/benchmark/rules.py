"""The best day-ahead schedule of each day, and which peers may be shown; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.market_calendar import Floats, market_day_periods
from gridloom.markets.benchmark.model import BenchmarkBattery, Peer, PeerFigures, Rated
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, CancelledError, CycleLimit
from gridloom.optimiser.solving.solve import solve

MIN_PEERS: Final = 5
MIN_ORGANISATIONS: Final = 3


def find_duration_class(rated: Rated) -> int | None:
    """Rated energy ÷ rated power in whole hours, at least one; None without power."""
    if rated.power_kw <= 0:
        return None
    return max(1, int(rated.energy_kwh / rated.power_kw + 0.5))


def foresee_days(
    batteries: Sequence[BenchmarkBattery], days: Sequence[date], prices: Sequence[Floats], deadline: Deadline
) -> list[float | None]:
    """EUR of all batteries on each day at its prices; None where one of these is missing."""
    found: list[float | None] = []
    for day, price_eur_mwh in zip(days, prices, strict=True):
        is_known = bool(batteries) and not np.isnan(price_eur_mwh).any()
        found.append(sum(_foresee_day(one, day, price_eur_mwh, deadline) for one in batteries) if is_known else None)
    return found


def _foresee_day(battery: BenchmarkBattery, day: date, price_eur_mwh: Floats, deadline: Deadline) -> float:
    if deadline.stopped:
        raise CancelledError
    programme = _frame_day(battery, day, price_eur_mwh)
    if not (programme.charge_kw.any() and programme.discharge_kw.any() and programme.highest_kwh.any()):
        return 0.0
    return solve(programme).value_eur


def _frame_day(battery: BenchmarkBattery, day: date, price_eur_mwh: Floats) -> BatteryProgramme:
    """The day by itself. It begins half full, or with less where less can be kept all day, and ends with no less."""
    first, end = market_day_periods(day)
    span = slice(first - battery.first, end - battery.first)
    highest_kwh = battery.energy_kwh[span]
    initial_kwh = min(battery.rated_kwh / 2, float(highest_kwh.min()))
    lowest_kwh = np.zeros(end - first)
    lowest_kwh[-1] = initial_kwh
    cycles: tuple[CycleLimit, ...] = ()
    if battery.day_kwh is not None:
        cycles = (CycleLimit(np.zeros(end - first, dtype=np.int64), np.array([battery.day_kwh])),)
    return BatteryProgramme(
        price_eur_mwh,
        -battery.charge_kw[span],
        battery.discharge_kw[span],
        lowest_kwh,
        highest_kwh,
        initial_kwh,
        float(battery.charge_efficiency[span].min()),
        float(battery.discharge_efficiency[span].min()),
        cycles,
    )


def choose_peers(peers: Iterable[Peer], rated: Rated) -> list[Peer]:
    """Those of the same duration class."""
    wanted = find_duration_class(rated)
    return [one for one in peers if wanted is not None and find_duration_class(one.rated) == wanted]


def compare_peers(peers: Sequence[Peer], index: int, known_organisations: Collection[UUID]) -> PeerFigures | None:
    """Of the day `index`. None where the assets of organisations other than the known ones, which can take away their
    own figures, are fewer than five or of fewer than three organisations."""
    rated = [one for one in peers if not np.isnan(one.per_mw[index])]
    unknown = [one.organisation_id for one in rated if one.organisation_id not in known_organisations]
    if len(unknown) < MIN_PEERS or len(set(unknown)) < MIN_ORGANISATIONS:
        return None
    quartiles = np.quantile([one.per_mw[index] for one in rated], [0.25, 0.5, 0.75])
    return PeerFigures(*quartiles.tolist())
