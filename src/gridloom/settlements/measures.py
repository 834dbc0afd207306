"""The additive measures that are stored per asset and market day, and the shapes in which a day holds them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final


class FactSource(StrEnum):
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
    """A sum that is stored.

    is_shared: whether a part of an asset carries the same part of the measure. Half of an award is half the MW and half
    the EUR, but the same hours and the same price.
    """

    name: str
    source: FactSource
    is_shared: bool = True


MEASURES: Final = (
    Measure("buy_volume_mwh", FactSource.WHOLESALE),
    Measure("buy_cost_eur", FactSource.WHOLESALE),
    Measure("sell_volume_mwh", FactSource.WHOLESALE),
    Measure("sell_proceeds_eur", FactSource.WHOLESALE),
    Measure("net_off_volume_mwh", FactSource.NET_OFF),
    Measure("fcr_revenue_eur", FactSource.FCR),
    Measure("fcr_capacity_mw_h", FactSource.FCR),
    Measure("fcr_price_eur_mw", FactSource.FCR, is_shared=False),
    Measure("fcr_delivery_h", FactSource.FCR, is_shared=False),
    Measure("afrr_capacity_revenue_eur", FactSource.AFRR_CAPACITY),
    Measure("afrr_pos_volume_mwh", FactSource.AFRR_ENERGY),
    Measure("afrr_pos_revenue_eur", FactSource.AFRR_ENERGY),
    Measure("afrr_neg_volume_mwh", FactSource.AFRR_ENERGY),
    Measure("afrr_neg_revenue_eur", FactSource.AFRR_ENERGY),
)
POSITION: Final = {measure.name: position for position, measure in enumerate(MEASURES)}

PERIOD_SOURCES: Final = (FactSource.WHOLESALE, FactSource.NET_OFF, FactSource.AFRR_ENERGY)
"""Facts of one delivery period."""
BLOCK_SOURCES: Final = (FactSource.FCR, FactSource.AFRR_CAPACITY)
"""Facts of one wall-clock block, six to a day."""
AGGREGATED_SOURCES: Final = (*PERIOD_SOURCES, *BLOCK_SOURCES)


@cache
def positions_of(source: FactSource) -> slice:
    """Where a source's measures stand among all of them."""
    indices = [position for position, measure in enumerate(MEASURES) if measure.source is source]
    assert indices == list(range(indices[0], indices[-1] + 1)), "a source's measures stand together"
    return slice(indices[0], indices[-1] + 1)


@cache
def measure_names(source: FactSource) -> tuple[str, ...]:
    return tuple(measure.name for measure in MEASURES if measure.source is source)


def measure_count(source: FactSource) -> int:
    return len(measure_names(source))
