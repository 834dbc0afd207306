"""The additive measures that are kept per asset and market day, and the shapes in which a day holds them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final


class Source(StrEnum):
    """Where a figure comes from: six kinds of settled facts, and the platform's own auctions."""

    WHOLESALE = "wholesale"
    NET_OFF = "net_off"
    FCR = "fcr"
    AFRR_CAPACITY = "afrr_capacity"
    AFRR_ENERGY = "afrr_energy"
    TOLLING = "tolling"
    AUCTION = "auction"


@dataclass(frozen=True, slots=True)
class Measure:
    """A sum that is kept.

    is_shared: whether a part of an asset carries the same part of the measure. Half of an award is half the MW and half
    the EUR, but the same hours and the same price.
    """

    name: str
    source: Source
    is_shared: bool = True


MEASURES: Final = (
    Measure("buy_volume_mwh", Source.WHOLESALE),
    Measure("buy_cost_eur", Source.WHOLESALE),
    Measure("sell_volume_mwh", Source.WHOLESALE),
    Measure("sell_proceeds_eur", Source.WHOLESALE),
    Measure("net_off_volume_mwh", Source.NET_OFF),
    Measure("fcr_revenue_eur", Source.FCR),
    Measure("fcr_capacity_mw_h", Source.FCR),
    Measure("fcr_price_eur_mw", Source.FCR, is_shared=False),
    Measure("fcr_delivery_h", Source.FCR, is_shared=False),
    Measure("afrr_capacity_revenue_eur", Source.AFRR_CAPACITY),
    Measure("afrr_pos_volume_mwh", Source.AFRR_ENERGY),
    Measure("afrr_pos_revenue_eur", Source.AFRR_ENERGY),
    Measure("afrr_neg_volume_mwh", Source.AFRR_ENERGY),
    Measure("afrr_neg_revenue_eur", Source.AFRR_ENERGY),
)
POSITION: Final = {measure.name: position for position, measure in enumerate(MEASURES)}

PERIOD_SOURCES: Final = (Source.WHOLESALE, Source.NET_OFF, Source.AFRR_ENERGY)
"""Facts of one delivery period."""
BLOCK_SOURCES: Final = (Source.FCR, Source.AFRR_CAPACITY)
"""Facts of one wall-clock block, six to a day."""
KEPT_SOURCES: Final = (*PERIOD_SOURCES, *BLOCK_SOURCES)


@cache
def positions_of(source: Source) -> slice:
    """Where a source's measures stand among all of them."""
    places = [position for position, measure in enumerate(MEASURES) if measure.source is source]
    assert places == list(range(places[0], places[-1] + 1)), "a source's measures stand together"
    return slice(places[0], places[-1] + 1)


def measure_count(source: Source) -> int:
    found = positions_of(source)
    return int(found.stop - found.start)
