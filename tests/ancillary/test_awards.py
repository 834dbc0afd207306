"""What accepted price steps earn until they are settled: EUR/MW per hour, whatever the market quotes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gridloom.ancillary.awards import provisional_award_of
from gridloom.ancillary.products import parse_product_key
from gridloom.ancillary.result_store import AcceptedStep

pytestmark = pytest.mark.pure


class TestAProvisionalAward:
    @pytest.mark.parametrize(
        ("key", "price"),
        [
            ("2027-06-01_NEGPOS_00_04", "3"),
            ("2027-03-28_NEGPOS_00_04", "4"),  # three hours
            ("2027-10-31_NEGPOS_00_04", "2.4"),  # five hours
            ("2027-06-01_POS_00_04", "12"),
            ("2027-03-28_NEG_00_04", "12"),
        ],
    )
    def test_has_a_price_per_hour_though_fcr_is_paid_by_the_block(self, key: str, price: str) -> None:
        award = provisional_award_of(parse_product_key(key), [AcceptedStep(2000.0, Decimal(12))])
        assert (award.capacity_kw, award.price_eur_mw_h) == (2000.0, Decimal(price))
