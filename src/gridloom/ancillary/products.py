"""The balancing products as a table, their wall-clock delivery windows and the keys that name them on a day.

Blocks follow the wall clock in Berlin, so `00_04` lasts three hours on the day that loses an hour and five on the day
that gains one. Energy products count the day's quarter-hours from 001: 92, 96 or 100 of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from gridloom.kernel.balancing import BLOCK_START_HOURS, Direction, block_product
from gridloom.kernel.market_time import BLOCK_HOURS, PERIOD, block_window, market_day_window, period_count
from gridloom.kernel.window import Window

MIN_PERIODS_IN_A_DAY: Final = 92
MAX_PERIODS_IN_A_DAY: Final = 100
FIRST_DELIVERY_DAY: Final = date(2000, 1, 1)
LAST_DELIVERY_DAY: Final = date(2099, 12, 31)

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class NotADeliveryDay(ValueError):
    """Nothing is delivered on such a day, whatever the product."""


class AncillaryMarket(StrEnum):
    """The three tenders in which a battery can be offered."""

    FCR = "FCR"
    AFRR_CAPACITY = "AFRR_CAPACITY"
    AFRR_ENERGY = "AFRR_ENERGY"


@dataclass(frozen=True, slots=True)
class Product:
    """One row of the table: `first` is the block's first hour, or the quarter-hour's number counted from 1."""

    code: str
    market: AncillaryMarket
    direction: Direction
    first: int

    def is_traded_on(self, day: date) -> bool:
        return (
            self.market is not AncillaryMarket.AFRR_ENERGY
            or self.first <= MIN_PERIODS_IN_A_DAY
            or self.first <= period_count(day)
        )

    def window(self, day: date) -> Window:
        """When the product is delivered; only for a day on which it is traded."""
        if self.market is not AncillaryMarket.AFRR_ENERGY:
            return block_window(day, self.first, self.first + BLOCK_HOURS)
        assert self.is_traded_on(day), f"{self.code} does not exist on {day}"
        start = market_day_window(day).start + (self.first - 1) * PERIOD
        return Window(start, start + PERIOD)


def _list_blocks(market: AncillaryMarket, direction: Direction) -> list[Product]:
    return [Product(block_product(direction, hour), market, direction, hour) for hour in BLOCK_START_HOURS]


def _quarter_hours(direction: Direction) -> list[Product]:
    return [
        Product(f"{direction}_{number:03}", AncillaryMarket.AFRR_ENERGY, direction, number)
        for number in range(1, MAX_PERIODS_IN_A_DAY + 1)
    ]


PRODUCTS: Final[Mapping[str, Product]] = MappingProxyType(
    {
        product.code: product
        for product in (
            *_list_blocks(AncillaryMarket.FCR, Direction.NEGPOS),
            *_list_blocks(AncillaryMarket.AFRR_CAPACITY, Direction.POS),
            *_list_blocks(AncillaryMarket.AFRR_CAPACITY, Direction.NEG),
            *_quarter_hours(Direction.POS),
            *_quarter_hours(Direction.NEG),
        )
    }
)


@dataclass(frozen=True, slots=True)
class ProductKey:
    """A product on its delivery day; on the wire `<delivery_day>_<product>`."""

    delivery_day: date
    product: Product

    def __str__(self) -> str:
        return f"{self.delivery_day.isoformat()}_{self.product.code}"

    @property
    def window(self) -> Window:
        return self.product.window(self.delivery_day)


def product_key(delivery_day: date, code: str) -> ProductKey:
    """The key of a product on a day; a ValueError says why there is none."""
    if not FIRST_DELIVERY_DAY <= delivery_day <= LAST_DELIVERY_DAY:
        raise NotADeliveryDay(f"Expected a delivery day from {FIRST_DELIVERY_DAY} to {LAST_DELIVERY_DAY}.")
    product = PRODUCTS.get(code)
    if product is None:
        raise ValueError(
            f"There is no product {_shorten_text(code)}: FCR is NEGPOS_00_04 to NEGPOS_20_24, aFRR capacity POS_00_04 "
            "to NEG_20_24, aFRR energy POS_001 to NEG_096 (to 092 and 100 on the days of the clock changes)."
        )
    if not product.is_traded_on(delivery_day):
        raise ValueError(
            f"{delivery_day} has {period_count(delivery_day)} quarter-hours, so {code} does not exist on it."
        )
    return ProductKey(delivery_day, product)


@lru_cache(maxsize=16_384)
def parse_product_key(text: str) -> ProductKey:
    """`2026-03-29_POS_00_04` taken apart: the day ends at the first underscore, the product keeps its own."""
    day_text, separator, code = text.partition("_")
    if not separator:
        raise ValueError(f"Expected <delivery_day>_<product>, such as 2026-03-29_POS_00_04, not {_shorten_text(text)}.")
    return product_key(_parse_day(day_text), code)


def capacity_block_around(quarter_hour: ProductKey) -> ProductKey:
    """The aFRR capacity block in which an energy product lies."""
    assert quarter_hour.product.market is AncillaryMarket.AFRR_ENERGY, "only energy products lie in a capacity block"
    start = quarter_hour.window.start
    for block in _list_blocks(AncillaryMarket.AFRR_CAPACITY, quarter_hour.product.direction):
        if start in block.window(quarter_hour.delivery_day):
            return ProductKey(quarter_hour.delivery_day, PRODUCTS[block.code])
    raise AssertionError("the blocks cover the whole day")


def _parse_day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError(f"Expected a delivery day as YYYY-MM-DD, not {_shorten_text(text)}.")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"There is no day {text}.") from None


def _shorten_text(text: str) -> str:
    """Enough of what was sent to recognise it, never all of it."""
    return repr(text if len(text) <= 40 else text[:40] + "…")
