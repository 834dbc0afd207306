"""When the tenders open and close: days before delivery, and market time the day before for blocks or a lead before
delivery for quarter-hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import assert_never

from gridloom.ancillary.products import AncillaryMarket, ProductKey
from gridloom.kernel.market_time import MARKET_ZONE

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TenderGates:
    """From its opening on a product takes bids, at its closure no more: the instant itself is already too late."""

    fcr_day_before: time = time(8)
    afrr_capacity_day_before: time = time(9)
    afrr_energy_lead: timedelta = timedelta(minutes=25)
    opens_at: time = time(10)
    fcr_days_ahead: int = 14
    afrr_days_ahead: int = 7

    def opening(self, key: ProductKey) -> datetime:
        """The first instant at which the product takes bids, in UTC. aFRR energy opens with its capacity."""
        days = self.fcr_days_ahead if key.product.market is AncillaryMarket.FCR else self.afrr_days_ahead
        return _market_time(key.delivery_day - days * _DAY, self.opens_at)

    def closure(self, key: ProductKey) -> datetime:
        """The first instant at which the product is closed, in UTC."""
        match key.product.market:
            case AncillaryMarket.FCR:
                return _market_time(key.delivery_day - _DAY, self.fcr_day_before)
            case AncillaryMarket.AFRR_CAPACITY:
                return _market_time(key.delivery_day - _DAY, self.afrr_capacity_day_before)
            case AncillaryMarket.AFRR_ENERGY:
                return key.window.start - self.afrr_energy_lead
            case _ as other:
                assert_never(other)


def _market_time(day: date, at: time) -> datetime:
    return datetime.combine(day, at, tzinfo=MARKET_ZONE).astimezone(UTC)
