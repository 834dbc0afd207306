"""The product table across clock changes, and the keys that name a product on a day."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.ancillary.products import (
    PRODUCTS,
    AncillaryMarket,
    NotADeliveryDay,
    capacity_block_around,
    parse_product_key,
    product_key,
)
from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import market_day_window, period_count

pytestmark = pytest.mark.pure

SPRING = (date(2026, 3, 29), date(2027, 3, 28))
AUTUMN = (date(2026, 10, 25), date(2027, 10, 31))
PLAIN = date(2026, 6, 15)
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
    def test_last_three_hours_in_the_first_block_of_the_short_day(self, day):
        window = product_key(day, "NEGPOS_00_04").window
        assert window.duration == timedelta(hours=3)
        assert window.start == datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=1)
        assert product_key(day, "NEGPOS_04_08").window.duration == timedelta(hours=4)

    @pytest.mark.parametrize("day", AUTUMN)
    def test_last_five_hours_in_the_first_block_of_the_long_day(self, day):
        window = product_key(day, "POS_00_04").window
        assert window.duration == timedelta(hours=5)
        assert window.start == datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=2)

    @pytest.mark.parametrize("day", SPRING)
    @pytest.mark.parametrize("direction", ["POS", "NEG"])
    def test_end_at_092_on_the_short_day(self, day, direction):
        last = product_key(day, f"{direction}_092")
        assert last.window.end == market_day_window(day).end
        with pytest.raises(ValueError, match="92 quarter-hours"):
            product_key(day, f"{direction}_093")

    @pytest.mark.parametrize("day", AUTUMN)
    @pytest.mark.parametrize("direction", ["POS", "NEG"])
    def test_reach_100_on_the_long_day(self, day, direction):
        assert product_key(day, f"{direction}_100").window.end == market_day_window(day).end

    def test_end_at_096_on_any_other_day(self):
        assert product_key(PLAIN, "POS_096").window.end == market_day_window(PLAIN).end
        with pytest.raises(ValueError, match="96 quarter-hours"):
            product_key(PLAIN, "POS_097")

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

    def test_is_there_from_the_first_delivery_day_to_the_last(self):
        days = [date(1999, 12, 31), date(2000, 1, 1), date(2099, 12, 31), date(2100, 1, 1)]
        for day, is_there in zip(days, (False, True, True, False), strict=True):
            if is_there:
                assert product_key(day, "POS_00_04").delivery_day == day
                continue
            with pytest.raises(NotADeliveryDay):
                product_key(day, "POS_00_04")

    def test_never_repeats_a_long_text_in_full(self):
        with pytest.raises(ValueError, match="…") as refusal:
            parse_product_key("2026-06-15_" + "X" * 5000)
        assert len(str(refusal.value)) < 500


class TestCapacityBlock:
    @pytest.mark.parametrize(
        ("day", "count"), [(SPRING[0], 12), (SPRING[1], 12), (AUTUMN[0], 20), (AUTUMN[1], 20), (PLAIN, 16)]
    )
    def test_has_the_quarter_hours_from_its_start_to_its_end(self, day, count):
        block = product_key(day, "POS_00_04")
        quarter_hours = [product_key(day, f"POS_{number:03}") for number in range(1, count + 1)]
        assert all(capacity_block_around(quarter_hour) == block for quarter_hour in quarter_hours)
        assert capacity_block_around(product_key(day, f"POS_{count + 1:03}")) == product_key(day, "POS_04_08")

    @given(DAYS)
    def test_is_there_once_for_every_quarter_hour_of_the_day(self, day):
        for number in range(1, period_count(day) + 1):
            quarter_hour = product_key(day, f"NEG_{number:03}")
            block = capacity_block_around(quarter_hour)
            assert block.product.direction == quarter_hour.product.direction
            assert quarter_hour.window.start in block.window
