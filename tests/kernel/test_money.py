"""Euros are finite, within bounds and in whole cents."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.money import Euro, check_euro

pytestmark = pytest.mark.pure

BID = Euro(Decimal("0.01"), Decimal("10000000"))
PRICE = Euro(Decimal(-15000), Decimal(15000))


class TestEuro:
    @given(st.integers(-1_500_000, 1_500_000))
    def test_is_taken_as_it_is_in_whole_cents(self, cents: int):
        value = Decimal(cents) / 100
        assert check_euro(value, PRICE) == value
        assert str(check_euro(value, PRICE)).partition(".")[2].__len__() == 2

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("0.001", "Expected at least 0.01 EUR."),
            ("0", "Expected at least 0.01 EUR."),
            ("-5", "Expected at least 0.01 EUR."),
            ("10000000.01", "Expected at most 10000000 EUR."),
            ("1E+999999", "Expected at most 10000000 EUR."),
            ("1.001", "Expected at most 2 decimals."),
            ("1.0000000000000000000000000000000000001", "Expected at most 2 decimals."),
            ("NaN", "Expected a finite amount in EUR."),
            ("sNaN", "Expected a finite amount in EUR."),
            ("-Infinity", "Expected a finite amount in EUR."),
        ],
    )
    def test_is_refused_with_the_reason(self, value: str, message: str):
        with pytest.raises(ValueError, match=message):
            check_euro(Decimal(value), BID)

    def test_of_next_to_nothing_is_too_fine(self):
        with pytest.raises(ValueError, match="2 decimals"):
            check_euro(Decimal("1E-400000"), PRICE)

    def test_has_bounds_in_order(self):
        for low, high in ((1, 0), ("NaN", 1), (0, "Infinity"), ("-Infinity", 0)):
            with pytest.raises(ValueError, match="in order"):
                Euro(Decimal(low), Decimal(high))
        assert check_euro(Decimal(1), Euro(Decimal(1), Decimal(1))) == 1
