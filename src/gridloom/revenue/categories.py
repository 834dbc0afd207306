"""The 46 categories as one table: name, unit, kind, formula and meaning.

The computation, `metaData`, OpenAPI and the page in the documentation are all read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from gridloom.revenue.formulas import Formula, PerMegawatt, PerYear, Ratio, Sum, Total
from gridloom.settlements.measures import MEASURES, FactSource


class CategoryKind(Enum):
    """How a category's values combine: within a bucket, and over several assets."""

    ADDITIVE = ("sum", "the sum over the bucket, a longer block pro rata by time", "the sum")
    RATIO = ("ratio of sums", "the EUR of the bucket over its MWh; null without volume", "all EUR over all MWh")
    FCR_AVERAGE = (
        "weighted sum over delivery hours",
        "the weighted sum over the delivery hours of the bucket; null without delivery",
        "the same quotient of the sums over the assets",
    )
    FCR_CAPACITY = (
        "mean by delivery hours",
        "the block's own value; above a block the mean by delivery hours",
        "the sum over the assets",
    )
    FCR_PRICE = (
        "mean by delivery hours",
        "the block's own value; above a block the mean by delivery hours",
        "the mean by capacity and hours",
    )
    LEVEL = (
        "time-weighted mean",
        "the mean over the time in the bucket for which it holds; null where it never does",
        "the mean weighted by rated power",
    )
    NORMALISED = ("sum per MW", "the revenue of the bucket over the rated power", "all revenue over all rated power")
    PER_YEAR = ("sum per MW × 365", "the value per MW, times 365", "the value per MW, times 365")

    def __init__(self, aggregation: str, in_a_bucket: str, over_assets: str) -> None:
        self.aggregation = aggregation
        self.in_a_bucket = in_a_bucket
        self.over_assets = over_assets


@dataclass(frozen=True, slots=True)
class Category:
    name: str
    unit: str
    kind: CategoryKind
    formula: Formula
    description: str

    @property
    def sources(self) -> frozenset[FactSource]:
        """The kinds of facts that it is made of; `raw` gives a value for each of their own periods."""
        return frozenset(SOURCE_OF[measure] for measure in self.formula.measures if measure in SOURCE_OF)


SOURCE_OF: Final[Mapping[str, FactSource]] = MappingProxyType(
    {measure.name: measure.source for measure in MEASURES}
    | {
        "fcr_capacity_mw": FactSource.FCR,
        "fcr_price_capacity_eur": FactSource.FCR,
        "tolling_revenue_eur": FactSource.TOLLING,
        "tolling_price_weighted": FactSource.TOLLING,
        "tolling_mw_h": FactSource.TOLLING,
        "vba_revenue_eur": FactSource.AUCTION,
        "hurdle_price_weighted": FactSource.AUCTION,
        "hurdle_mw_h": FactSource.AUCTION,
    }
)
"""Every summed measure but the rated power, and where it comes from."""

_WHOLESALE = Total(("sell_proceeds_eur",), ("buy_cost_eur",))
_FCR = Total(("fcr_revenue_eur",))
_AFRR_CAPACITY = Total(("afrr_capacity_revenue_eur",))
_AFRR_ENERGY_POS = Total(("afrr_pos_revenue_eur",))
_AFRR_ENERGY_NEG = Total(("afrr_neg_revenue_eur",))
_AFRR_ENERGY = Total(("afrr_pos_revenue_eur", "afrr_neg_revenue_eur"))
_TOLLING = Total(("tolling_revenue_eur",))
_VBA = Total(("vba_revenue_eur",))
_TOTAL = Sum((_WHOLESALE, _FCR, _AFRR_CAPACITY, _AFRR_ENERGY, _TOLLING, _VBA))

_FCR_MEAN_PRICE = Ratio("fcr_price_eur_mw", "fcr_delivery_h")

_REVENUES: Final = (
    ("total", _TOTAL, "total revenue"),
    ("wholesale", _WHOLESALE, "wholesale revenue"),
    ("fcr", _FCR, "FCR capacity revenue"),
    ("afrr_capacity", _AFRR_CAPACITY, "aFRR capacity revenue"),
    ("afrr_energy", _AFRR_ENERGY, "aFRR energy revenue"),
    ("afrr_energy_pos", _AFRR_ENERGY_POS, "revenue of positive aFRR energy"),
    ("afrr_energy_neg", _AFRR_ENERGY_NEG, "revenue of negative aFRR energy"),
    ("vba", _VBA, "virtual battery auction revenue"),
    ("tolling", _TOLLING, "tolling revenue"),
)
_PER_MEGAWATT: Final = {name: PerMegawatt(formula) for name, formula, _ in _REVENUES}


def _make_additive(name: str, unit: str, formula: Formula, description: str) -> Category:
    return Category(name, unit, CategoryKind.ADDITIVE, formula, description)


_TABLE: Final = (
    # Total and wholesale
    _make_additive(
        "revenue_total_revenue", "EUR", _TOTAL, "Revenue of wholesale, FCR, aFRR, tolling and virtual battery auctions"
    ),
    _make_additive("revenue_wholesale", "EUR", _WHOLESALE, "Proceeds of energy sold minus the cost of energy bought"),
    Category(
        "buy_vwap_wholesale",
        "EUR/MWh",
        CategoryKind.RATIO,
        Ratio("buy_cost_eur", "buy_volume_mwh"),
        "Volume-weighted average price of the energy bought",
    ),
    Category(
        "sell_vwap_wholesale",
        "EUR/MWh",
        CategoryKind.RATIO,
        Ratio("sell_proceeds_eur", "sell_volume_mwh"),
        "Volume-weighted average price of the energy sold",
    ),
    _make_additive("buy_volume_wholesale", "MWh", Total(("buy_volume_mwh",)), "Energy bought on the wholesale market"),
    _make_additive("sell_volume_wholesale", "MWh", Total(("sell_volume_mwh",)), "Energy sold on the wholesale market"),
    _make_additive(
        "net_volume_wholesale",
        "MWh",
        Total(("sell_volume_mwh",), ("buy_volume_mwh",)),
        "Energy sold minus energy bought",
    ),
    _make_additive(
        "net_off_volume_wholesale",
        "MWh",
        Total(("net_off_volume_mwh",)),
        "Energy netted between schedules of the portfolio instead of traded",
    ),
    # FCR
    _make_additive("revenue_fcr", "EUR", _FCR, "Accepted FCR capacity × settlement price × delivery hours"),
    Category(
        "capacity_fcr",
        "MW",
        CategoryKind.FCR_CAPACITY,
        Total(("fcr_capacity_mw",), is_total=False),
        "Accepted FCR capacity",
    ),
    Category(
        "settlement_price_fcr",
        "EUR/MW/h",
        CategoryKind.FCR_PRICE,
        Ratio("fcr_price_capacity_eur", "fcr_capacity_mw_h", otherwise=_FCR_MEAN_PRICE),
        "FCR settlement price per hour",
    ),
    _make_additive(
        "weighted_capacity_fcr", "MW·h", Total(("fcr_capacity_mw_h",)), "Accepted FCR capacity × delivery hours"
    ),
    _make_additive(
        "weighted_settlement_price_fcr",
        "EUR/MW",
        Total(("fcr_price_eur_mw",)),
        "FCR settlement price × delivery hours",
    ),
    _make_additive("delivery_hours_fcr", "h", Total(("fcr_delivery_h",)), "Hours of FCR delivery"),
    Category(
        "capacity_fcr_weighted_avg",
        "MW",
        CategoryKind.FCR_AVERAGE,
        Ratio("fcr_capacity_mw_h", "fcr_delivery_h"),
        "Weighted FCR capacity over delivery hours",
    ),
    Category(
        "settlement_price_fcr_weighted_avg",
        "EUR/MW/h",
        CategoryKind.FCR_AVERAGE,
        _FCR_MEAN_PRICE,
        "Weighted FCR settlement price over delivery hours",
    ),
    # aFRR
    _make_additive("revenue_afrr_capacity", "EUR", _AFRR_CAPACITY, "Accepted aFRR capacity × price × delivery hours"),
    _make_additive("revenue_afrr_energy", "EUR", _AFRR_ENERGY, "Revenue of positive and negative aFRR energy"),
    _make_additive("revenue_afrr_energy_pos", "EUR", _AFRR_ENERGY_POS, "Revenue of upward activations"),
    _make_additive("revenue_afrr_energy_neg", "EUR", _AFRR_ENERGY_NEG, "Revenue of downward activations"),
    Category(
        "settlement_price_afrr_energy_pos",
        "EUR/MWh",
        CategoryKind.RATIO,
        Ratio("afrr_pos_revenue_eur", "afrr_pos_volume_mwh"),
        "Settlement price of upward activations, weighted by volume",
    ),
    Category(
        "settlement_price_afrr_energy_neg",
        "EUR/MWh",
        CategoryKind.RATIO,
        Ratio("afrr_neg_revenue_eur", "afrr_neg_volume_mwh"),
        "Settlement price of downward activations, weighted by volume",
    ),
    _make_additive("total_volume_afrr_energy_pos", "MWh", Total(("afrr_pos_volume_mwh",)), "Energy activated upward"),
    _make_additive("total_volume_afrr_energy_neg", "MWh", Total(("afrr_neg_volume_mwh",)), "Energy activated downward"),
    # Tolling and virtual battery auction
    _make_additive("revenue_tolling", "EUR", _TOLLING, "The toll as it accrues over the calendar year"),
    Category(
        "annual_price_tolling",
        "EUR/MW/year",
        CategoryKind.LEVEL,
        Ratio("tolling_price_weighted", "tolling_mw_h"),
        "Annual price of the tolling contracts, those in parallel added up",
    ),
    _make_additive("revenue_vba", "EUR", _VBA, "The auction's price, spread evenly over the delivery window"),
    Category(
        "hurdle_price_vba",
        "EUR",
        CategoryKind.LEVEL,
        Ratio("hurdle_price_weighted", "hurdle_mw_h"),
        "Hurdle price of the virtual battery auction",
    ),
    # Normalised per MW, and per MW and year
    *(
        Category(
            f"revenue_normalised_{name}",
            "EUR/MW",
            CategoryKind.NORMALISED,
            _PER_MEGAWATT[name],
            f"The {meaning} per MW of rated power",
        )
        for name, _, meaning in _REVENUES
    ),
    *(
        Category(
            f"revenue_normalised_per_year_{name}",
            "EUR/MW/year",
            CategoryKind.PER_YEAR,
            PerYear(_PER_MEGAWATT[name]),
            f"The {meaning} per MW of rated power, times 365",
        )
        for name, _, meaning in _REVENUES
    ),
)

CATEGORIES: Final[Mapping[str, Category]] = MappingProxyType({category.name: category for category in _TABLE})
