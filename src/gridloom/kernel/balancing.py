"""Balancing reserves: the products, the direction of each, and how the four-hour blocks of a day are named."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from gridloom.kernel.market_time import BLOCK_HOURS

BLOCK_START_HOURS: Final = tuple(range(0, 24, BLOCK_HOURS))

ActivatedDirection: TypeAlias = Literal["POS", "NEG"]
ReserveName: TypeAlias = Literal["FCR", "AFRR_POS", "AFRR_NEG"]


class Direction(StrEnum):
    """Which way a battery must be able to move: POS exports, NEG imports, NEGPOS both."""

    NEGPOS = "NEGPOS"
    POS = "POS"
    NEG = "NEG"

    @property
    def exports(self) -> bool:
        return self is not Direction.NEG

    @property
    def imports(self) -> bool:
        return self is not Direction.POS


AFRR_DIRECTIONS: Final = (Direction.POS, Direction.NEG)


class ReserveProduct(StrEnum):
    """The products for which power is kept ready."""

    FCR = "FCR"
    AFRR_POS = "AFRR_POS"
    AFRR_NEG = "AFRR_NEG"

    @property
    def direction(self) -> Direction:
        return DIRECTION_OF[self]


DIRECTION_OF: Final = {
    ReserveProduct.FCR: Direction.NEGPOS,
    ReserveProduct.AFRR_POS: Direction.POS,
    ReserveProduct.AFRR_NEG: Direction.NEG,
}


def block_product(direction: Direction, start_hour: int) -> str:
    """`NEGPOS_00_04` and its like: direction, first hour and the hour at which it ends, on the wall clock."""
    return f"{direction}_{start_hour:02}_{start_hour + BLOCK_HOURS:02}"


PRODUCT_OF_BLOCK: Final = {
    block_product(product.direction, hour): product for product in ReserveProduct for hour in BLOCK_START_HOURS
}
"""The product of every block by its name."""
