"""The page that explains every category, written from the table: `python -m sdk.category_page`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from gridloom.revenue.categories import CATEGORIES, Category, CategoryKind
from gridloom.revenue.formulas import PerMegawatt, PerYear, Sums

MEANINGS: Final[Mapping[str, str]] = {
    "buy_volume_mwh": "Σ MWh of the trades bought",
    "buy_cost_eur": "Σ MWh × EUR/MWh of the trades bought",
    "sell_volume_mwh": "Σ MWh of the trades sold",
    "sell_proceeds_eur": "Σ MWh × EUR/MWh of the trades sold",
    "net_off_volume_mwh": "Σ MWh netted within the portfolio",
    "fcr_revenue_eur": "Σ MW × EUR/MW/h × delivery hours of the FCR awards",
    "fcr_capacity_mw_h": "Σ MW × delivery hours of the FCR awards",
    "fcr_price_eur_mw": "Σ EUR/MW/h × delivery hours of the FCR awards",
    "fcr_delivery_h": "Σ delivery hours of the FCR awards",
    "fcr_capacity_mw": "Σ over the assets of each one's fcr_capacity_mw_h / fcr_delivery_h",
    "fcr_price_capacity_eur": "Σ over the assets of each one's fcr_price_eur_mw / fcr_delivery_h × fcr_capacity_mw_h",
    "afrr_capacity_revenue_eur": "Σ MW × EUR/MW/h × delivery hours of the aFRR capacity awards",
    "afrr_pos_volume_mwh": "Σ MWh activated upward",
    "afrr_pos_revenue_eur": "Σ MWh × EUR/MWh activated upward",
    "afrr_neg_volume_mwh": "Σ MWh activated downward",
    "afrr_neg_revenue_eur": "Σ MWh × EUR/MWh activated downward; a price below 0 is paid by the provider",
    "tolling_revenue_eur": "Σ EUR/MW/year × rated MW × hours within the asset's life ÷ hours in that calendar year",
    "tolling_price_weighted": (
        "Σ over the assets of each one's EUR/MW/year, all its contracts together, as a mean over time"
        " × its part of tolling_mw_h"
    ),
    "tolling_mw_h": "Σ rated MW × hours of the asset's life for which a contract is in force",
    "vba_revenue_eur": "Σ auction price × hours ÷ hours in the delivery window",
    "hurdle_price_weighted": "Σ hurdle price × rated MW × hours in the delivery window",
    "hurdle_mw_h": "Σ rated MW × hours in delivery windows with a hurdle price",
    "rated_power_mw": (
        "Σ over the assets of the mean of rated charge and discharge power; several assets count for the part of the"
        " bucket in which they live"
    ),
}

EXAMPLE: Final[Mapping[str, float]] = {
    "buy_volume_mwh": 10.0,
    "buy_cost_eur": 10 * 20.0,
    "sell_volume_mwh": 8.0 + 4.0,
    "sell_proceeds_eur": 8 * 66.86 + 4 * 100.0,
    "net_off_volume_mwh": 1.5,
    "fcr_revenue_eur": 5 * 22.286667 * 3 + 8 * 5.525 * 4,
    "fcr_capacity_mw_h": 5 * 3.0 + 8 * 4.0,
    "fcr_price_eur_mw": 22.286667 * 3 + 5.525 * 4,
    "fcr_delivery_h": 3.0 + 4.0,
    "fcr_capacity_mw": (5 * 3 + 8 * 4) / 7,
    "fcr_price_capacity_eur": (22.286667 * 3 + 5.525 * 4) / 7 * (5 * 3 + 8 * 4),
    "afrr_capacity_revenue_eur": 2 * 6.5 * 4,
    "afrr_pos_volume_mwh": 1.2,
    "afrr_pos_revenue_eur": 1.2 * 150,
    "afrr_neg_volume_mwh": 0.8,
    "afrr_neg_revenue_eur": 0.8 * -20,
    "tolling_revenue_eur": 120_000 * 10 * 23 / 8760,
    "tolling_price_weighted": 120_000 * 10 * 23.0,
    "tolling_mw_h": 10 * 23.0,
    "vba_revenue_eur": 219_000 * 23 / 8760,
    "hurdle_price_weighted": 180_000 * 10 * 23.0,
    "hurdle_mw_h": 10 * 23.0,
    "rated_power_mw": 10.0,
}

_GROUPS: Final = (
    ("Total and wholesale", "revenue_total_revenue", "net_off_volume_wholesale"),
    ("FCR", "revenue_fcr", "settlement_price_fcr_weighted_avg"),
    ("aFRR", "revenue_afrr_capacity", "total_volume_afrr_energy_neg"),
    ("Tolling and virtual battery auction", "revenue_tolling", "hurdle_price_vba"),
    ("Normalised per MW", "revenue_normalised_total", "revenue_normalised_tolling"),
    ("Normalised per MW and year", "revenue_normalised_per_year_total", "revenue_normalised_per_year_tolling"),
)

_OPENING = """\
# The revenue categories

This page is written from the table in `src/gridloom/revenue/categories.py` by
`python -m sdk.category_page`;
a test fails when the two differ. What buckets are and how corrections work is in [revenue.md](revenue.md).

Every category is a formula over **measures**: sums over the facts of a bucket, a fact that lasts longer than the bucket
counting pro rata by time. First the sums are made, then the formula is applied, so that an average price over a month
or a portfolio is the quotient of the sums and never the average of averages.

## The example

One virtual asset with 10 MW in each direction, on the market day 2026-03-29. The clock goes forward that night: the day
has 23 hours, and the FCR block from 0 to 4 o'clock lasts three of them. It was settled like this:

| Fact | Terms |
|---|---|
| Trades sold | 8 MWh at 66.86 EUR/MWh, 4 MWh at 100.00 EUR/MWh |
| Trade bought | 10 MWh at 20.00 EUR/MWh |
| Net-off | 1.5 MWh |
| FCR `NEGPOS_00_04` | 5 MW at 22.286667 EUR/MW/h for 3 h (published: 66.86 EUR/MW for the block) |
| FCR `NEGPOS_04_08` | 8 MW at 5.525 EUR/MW/h for 4 h |
| aFRR capacity `POS_08_12` | 2 MW at 6.50 EUR/MW/h for 4 h |
| aFRR energy | upward 1.2 MWh at 150.00 EUR/MWh, downward 0.8 MWh at −20.00 EUR/MWh |
| Tolling contract | 120,000 EUR/MW/year from 2026-01-01 to 2027-01-01 |
| Auction | won for 219,000 EUR for the same year, hurdle price 180,000 EUR |

## The measures
"""


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join([_OPENING, *_list_measures(), "", *_list_kinds(), "", *_list_categories()]).rstrip() + "\n"


def worked_values() -> dict[str, float]:
    """Every category's value in the example."""
    sums = Sums({name: np.array([value]) for name, value in EXAMPLE.items()})
    return {name: float(sums.of(category.formula)[0]) for name, category in CATEGORIES.items()}


def _list_measures() -> Iterator[str]:
    yield "| Measure | Meaning | In the example |"
    yield "|---|---|---|"
    for name, meaning in MEANINGS.items():
        yield f"| `{name}` | {meaning} | {_show_value(EXAMPLE[name])} |"


def _list_kinds() -> Iterator[str]:
    yield "## How categories combine\n"
    yield "| Kind | In a bucket | Over several assets |"
    yield "|---|---|---|"
    for kind in CategoryKind:
        yield f"| {_kind_name(kind)} | {kind.in_a_bucket} | {kind.over_assets} |"


def _list_categories() -> Iterator[str]:
    names, values = list(CATEGORIES), worked_values()
    for title, first, last in _GROUPS:
        yield f"## {title}\n"
        yield "| Category | Unit | Kind | Meaning | Formula | In the example |"
        yield "|---|---|---|---|---|---|"
        for name in names[names.index(first) : names.index(last) + 1]:
            category = CATEGORIES[name]
            yield (
                f"| `{name}` | {category.unit} | {_kind_name(category.kind)} | {category.description} "
                f"| {_write_formula(category)} | {_work_example(category)} = **{_show_value(values[name])}** |"
            )
        yield ""


def _write_formula(category: Category) -> str:
    """A normalised category by the name of what it normalises: the whole sum is said once already."""
    if isinstance(category.formula, PerMegawatt | PerYear):
        base = category.name.replace("normalised_per_year_", "").replace("normalised_", "")
        base = "revenue_total_revenue" if base == "revenue_total" else base
        return f"{base} / rated_power_mw" + (" × 365" if isinstance(category.formula, PerYear) else "")
    return category.formula.text


def _work_example(category: Category) -> str:
    values = worked_values()

    def value_of(match: re.Match[str]) -> str:
        name = match.group()
        value = EXAMPLE[name] if name in EXAMPLE else values[name]
        return f"({_show_value(value)})" if value < 0 else _show_value(value)

    return re.sub(r"[a-z_]{4,}", value_of, _write_formula(category))


def _kind_name(kind: CategoryKind) -> str:
    return kind.name.replace("FCR_", "FCR ").replace("_", " ").lower().replace("fcr", "FCR")


def _show_value(value: float) -> str:
    text = f"{value:,.4f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


if __name__ == "__main__":
    sys.stdout.write(page())
