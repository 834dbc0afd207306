"""Values of failures: what a zone had to give in some periods, and what each battery failed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gridloom.delivery.model import BatteryLimits
from gridloom.market_calendar import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class ReservePool:
    """The reserve of one kind that a virtual asset has sold, by battery: its share, and what it holds; kW."""

    share_kw: Floats
    held_kw: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ZoneDelivery:
    """A zone in some final periods: rows are virtual assets or batteries, as in `ZoneInput`.

    `counted_kw` is what counts as delivered by each virtual asset, `undelivered_kw` what of it was not. `store_kwh` is
    the energy of each in its virtual store at the start of each period, `promised_kwh` the same capacity; zero while it
    does not live. `given_kw` is what each battery was dispatched for virtual assets. `left_kw` has, in the order of
    `share_of`, what a virtual asset that was cut would have left if all of it stood on that one battery.
    """

    first: int
    counted_kw: Floats
    undelivered_kw: Floats
    store_kwh: Floats
    share_of: Ints
    shares: Floats
    limits: BatteryLimits
    given_kw: Floats
    left_kw: Floats
    pools: list[ReservePool]


@dataclass(frozen=True, slots=True, eq=False)
class Failures:
    """By battery and period, kW: what of the zone's undelivered power is its owner's (`missed_kw`, export positive),
    what it should have given, in power and in reserve, and did not (`short_kw`), and by failed and helping battery what
    others gave instead."""

    missed_kw: Floats
    short_kw: Floats
    taken_over_kw: Mapping[tuple[int, int], Floats]

    @classmethod
    def nothing(cls, batteries: int, periods: int) -> Failures:
        return cls(np.zeros((batteries, periods)), np.zeros((batteries, periods)), {})
