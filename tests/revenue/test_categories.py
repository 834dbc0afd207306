"""The table of categories against the names that the interface promises."""

from __future__ import annotations

import pytest

from gridloom.revenue.categories import CATEGORIES, SOURCE_OF

pytestmark = pytest.mark.pure

REVENUES = (
    "total",
    "wholesale",
    "fcr",
    "afrr_capacity",
    "afrr_energy",
    "afrr_energy_pos",
    "afrr_energy_neg",
    "vba",
    "tolling",
)
PROMISED = (
    *[
        "revenue_total_revenue",
        "revenue_wholesale",
        "buy_vwap_wholesale",
        "sell_vwap_wholesale",
        "buy_volume_wholesale",
        "sell_volume_wholesale",
        "net_volume_wholesale",
        "net_off_volume_wholesale",
        "revenue_fcr",
        "capacity_fcr",
        "settlement_price_fcr",
        "weighted_capacity_fcr",
        "weighted_settlement_price_fcr",
        "delivery_hours_fcr",
        "capacity_fcr_weighted_avg",
        "settlement_price_fcr_weighted_avg",
        "revenue_afrr_capacity",
        "revenue_afrr_energy",
        "revenue_afrr_energy_pos",
        "revenue_afrr_energy_neg",
        "settlement_price_afrr_energy_pos",
        "settlement_price_afrr_energy_neg",
        "total_volume_afrr_energy_pos",
        "total_volume_afrr_energy_neg",
        "revenue_tolling",
        "annual_price_tolling",
        "revenue_vba",
        "hurdle_price_vba",
    ],
    *(f"revenue_normalised_{name}" for name in REVENUES),
    *(f"revenue_normalised_per_year_{name}" for name in REVENUES),
)


class TestTable:
    def test_has_the_46_categories(self) -> None:
        assert len(CATEGORIES) == 46
        assert list(CATEGORIES) == list(PROMISED)

    @pytest.mark.parametrize("name", CATEGORIES)
    def test_says_what_a_category_is_and_is_made_of(self, name: str) -> None:
        category = CATEGORIES[name]
        assert category.unit
        assert category.description
        assert category.formula.text
        assert category.sources
        assert category.formula.measures <= {*SOURCE_OF, "rated_power_mw"}
