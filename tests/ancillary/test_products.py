"""The product table across clock changes, and the keys that name a product on a day."""

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.ancillary.products import (
    PRODUCTS,
    AncillaryMarket,
    capacity_block_around,
    parse_product_key,
    product_key,
)
from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import market_day_window, period_count

pytestmark = pytest.mark.pure

SPRING = (date(2026, 3, 29), date(2027, 3, 28))
DAYS = st.dates(date(2000, 1, 2), date(2099, 12, 31))


class TestProducts:
    def test_are_six_of_fcr_twelve_of_afrr_capacity_and_a_hundred_quarter_hours_each_way(self):
        markets = [product.market for product in PRODUCTS.values()]
        assert markets.count(AncillaryMarket.FCR) == 6
        assert markets.count(AncillaryMarket.AFRR_CAPACITY) == 12
        assert markets.count(AncillaryMarket.AFRR_ENERGY) == 200

    def test_spell_blocks_and_quarter_hours_as_the_market_does(self):
        assert {"NEGPOS_00_04", "NEGPOS_20_24", "POS_00_04", "NEG_20_24", "POS_001", "NEG_100"} <= PRODUCTS.keys()
        assert "POS_000" not in PRODUCTS
        assert "NEGPOS_001" not in PRODUCTS

    @pytest.mark.parametrize("day", SPRING)
    @pytest.mark.parametrize("direction", ["POS", "NEG"])
    def test_end_at_092_on_the_short_day(self, day, direction):
        last = product_key(day, f"{direction}_092")
        assert last.window.end == market_day_window(day).end
        with pytest.raises(ValueError, match="92 quarter-hours"):
            product_key(day, f"{direction}_093")

    @given(DAYS)
    def test_of_one_direction_cover_the_whole_day_without_gap_or_overlap(self, day):
        for market, direction in (
            (AncillaryMarket.FCR, Direction.NEGPOS),
            (AncillaryMarket.AFRR_CAPACITY, Direction.NEG),
            (AncillaryMarket.AFRR_ENERGY, Direction.POS),
        ):
            windows = [
                product.window(day)
                for product in PRODUCTS.values()
                if product.market is market and product.direction is direction and product.is_traded_on(day)
            ]
            assert windows[0].start == market_day_window(day).start
            assert windows[-1].end == market_day_window(day).end
            assert all(a.end == b.start for a, b in pairwise(windows))


class TestProductKey:
    @given(DAYS, st.sampled_from(sorted(PRODUCTS)))
    def test_reads_back_what_it_writes(self, day, code):
        if not PRODUCTS[code].is_traded_on(day):
            return
        key = product_key(day, code)
        assert str(key) == f"{day.isoformat()}_{code}"
        assert parse_product_key(str(key)) == key

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "<delivery_day>_<product>"),
            ("2026-06-15", "<delivery_day>_<product>"),
            ("2026-06-15_", "no product ''"),
            ("2026-06-15_POS", "no product 'POS'"),
            ("2026-06-15_POS_00_05", "no product"),
            ("2026-06-15_pos_00_04", "no product"),
            ("2026-06-15_POS_1", "no product"),
            ("2026-06-15_POS_00_04_", "no product"),
            (" 2026-06-15_POS_00_04", "YYYY-MM-DD"),
            ("20260615_POS_00_04", "YYYY-MM-DD"),
            ("2026-6-15_POS_00_04", "YYYY-MM-DD"),
            ("٢٠٢٦-٠٦-١٥_POS_00_04", "YYYY-MM-DD"),
            ("2026-02-30_POS_00_04", "no day 2026-02-30"),
            ("2026-13-01_POS_00_04", "no day"),
            ("0000-01-01_POS_00_04", "no day"),
            ("0001-01-01_POS_00_04", "delivery day from"),
            ("9999-12-31_POS_00_04", "delivery day from"),
        ],
    )
    def test_is_refused_with_the_reason(self, text, reason):
        with pytest.raises(ValueError, match=reason):
            parse_product_key(text)


class TestCapacityBlock:
    @given(DAYS)
    def test_is_there_once_for_every_quarter_hour_of_the_day(self, day):
        for number in range(1, period_count(day) + 1):
            quarter_hour = product_key(day, f"NEG_{number:03}")
            block = capacity_block_around(quarter_hour)
            assert block.product.direction == quarter_hour.product.direction
            assert quarter_hour.window.start in block.window
