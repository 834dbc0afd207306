"""When the tenders close: market time the day before for blocks, a lead before delivery for quarter-hours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final, assert_never

from gridloom.ancillary.products import Market, ProductKey
from gridloom.kernel.market_time import MARKET_ZONE

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GateClosures:
    """At its gate closure a product takes no more bids: the instant itself is already too late."""

    fcr_day_before: time = time(8)
    afrr_capacity_day_before: time = time(9)
    afrr_energy_lead: timedelta = timedelta(minutes=25)

    def closure(self, key: ProductKey) -> datetime:
        """The first instant at which the product is closed, in UTC."""
        match key.product.market:
            case Market.FCR:
                return _day_before(key, self.fcr_day_before)
            case Market.AFRR_CAPACITY:
                return _day_before(key, self.afrr_capacity_day_before)
            case Market.AFRR_ENERGY:
                return key.window.start - self.afrr_energy_lead
            case _ as other:
                assert_never(other)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> GateClosures:
        """`GRIDLOOM_GATE_CLOSURE_FCR` and `…_AFRR_CAPACITY` as HH:MM, `…_AFRR_ENERGY_MINUTES` as whole minutes."""
        standard = cls()
        minutes = environment.get("GRIDLOOM_GATE_CLOSURE_AFRR_ENERGY_MINUTES")
        lead = standard.afrr_energy_lead if minutes is None else timedelta(minutes=int(minutes))
        if lead < timedelta(0):
            raise ValueError("GRIDLOOM_GATE_CLOSURE_AFRR_ENERGY_MINUTES cannot be negative.")
        return cls(
            fcr_day_before=_time_of(environment, "GRIDLOOM_GATE_CLOSURE_FCR", standard.fcr_day_before),
            afrr_capacity_day_before=_time_of(
                environment, "GRIDLOOM_GATE_CLOSURE_AFRR_CAPACITY", standard.afrr_capacity_day_before
            ),
            afrr_energy_lead=lead,
        )


def _day_before(key: ProductKey, at: time) -> datetime:
    return datetime.combine(key.delivery_day - _DAY, at, tzinfo=MARKET_ZONE).astimezone(UTC)


def _time_of(environment: Mapping[str, str], name: str, standard: time) -> time:
    text = environment.get(name)
    if text is None:
        return standard
    value = time.fromisoformat(text)
    if value.tzinfo is not None:
        raise ValueError(f"{name} is a time of day in {MARKET_ZONE.key}, without an offset.")
    return value


GATES: Final = GateClosures.from_environment(os.environ)
