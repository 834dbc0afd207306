"""When the tenders close: market time the day before for blocks, a lead before delivery for quarter-hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import assert_never

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


def _day_before(key: ProductKey, at: time) -> datetime:
    return datetime.combine(key.delivery_day - _DAY, at, tzinfo=MARKET_ZONE).astimezone(UTC)
