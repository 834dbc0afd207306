"""Euros as people and markets set them: exact, to the cent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

CENT: Final = Decimal("0.01")

PLAIN_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
"""A number as people write it. Python also reads `1_0`, ` 5`, `+5`, `1e3` and the digits of other scripts."""


def is_decimal_literal(text: str) -> bool:
    return PLAIN_NUMBER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Euro:
    """Marks an amount or a price in a declaration: `Annotated[Decimal, Euro(low, high)]`, both bounds allowed."""

    low: Decimal
    high: Decimal

    def __post_init__(self) -> None:
        if not (self.low.is_finite() and self.high.is_finite() and self.low <= self.high):
            raise ValueError(f"Bounds in euros are finite and in order, not {self.low} and {self.high}.")


def check_euro(value: Decimal, euro: Euro) -> Decimal:
    """The value in whole cents; a ValueError that says what is wrong when it is not finite, out of bounds or too fine.

    Fineness is checked by value: 1.100 is 1.10.
    """
    if not value.is_finite():
        raise ValueError("Expected a finite amount in EUR.")
    if value < euro.low:
        raise ValueError(f"Expected at least {euro.low} EUR.")
    if value > euro.high:
        raise ValueError(f"Expected at most {euro.high} EUR.")
    if _is_finer_than_a_cent(value):
        raise ValueError("Expected at most 2 decimals.")
    return value.quantize(CENT) + 0  # adding nothing makes -0 a plain 0


def _is_finer_than_a_cent(value: Decimal) -> bool:
    """Read from the digits, since arithmetic would round those beyond the context's precision."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # a finite value's
    return exponent < -2 and any(digits[exponent + 2 :])
