"""Blocks are slices: whatever is carved and given back, they never sum to more than the asset."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.ids import BlockID
from gridloom.virtual_assets.blocks.rules import (
    NothingToJoin,
    NoWholesalePower,
    carve,
    first_overcommitment,
    remove_block,
)
from gridloom.virtual_assets.model import Block, Market

pytestmark = pytest.mark.pure

WHOLE = Block(BlockID(UUID(int=1)), 0, 0, 100, Market.WHOLESALE, 1000.0, 800.0)


def sums(blocks):
    charge, discharge = np.zeros(100), np.zeros(100)
    for block in blocks:
        charge[block.first : block.end] += block.charge_kw
        discharge[block.first : block.end] += block.discharge_kw
    return charge, discharge


def no_lane_doubled(blocks):
    used = set()
    for block in blocks:
        for period in range(block.first, block.end):
            assert (block.lane, period) not in used
            used.add((block.lane, period))
    return True


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 99),
        st.integers(1, 100),
        st.sampled_from(Market),
        st.floats(0, 1000).map(lambda kw: round(kw, 3)),
        st.floats(1, 800).map(lambda kw: round(kw, 3)),
    ),
    max_size=8,
)


class TestAnOvercommitment:
    def test_is_found_where_the_powers_of_one_direction_first_sum_to_more_than_the_assets(self):
        late = replace(WHOLE, first=40, charge_kw=1.0, discharge_kw=0.0)
        assert first_overcommitment([late, WHOLE], 1000.5, 800.0) == 40
        late = replace(WHOLE, first=40, charge_kw=0.0, discharge_kw=1.0)
        assert first_overcommitment([late, WHOLE], 1000.0, 800.5) == 40
        assert first_overcommitment([WHOLE], 999.0, 800.0) == first_overcommitment([WHOLE], 1000.0, 799.0) == 0


class TestCarving:
    @given(REQUESTS)
    def test_keeps_the_sum_in_every_period(self, requests):
        blocks: tuple[Block, ...] = (WHOLE,)
        for first, length, market, charge, discharge in requests:
            end = min(100, first + length)
            try:
                blocks = carve(blocks, first, end, market, charge, discharge).blocks
            except NoWholesalePower:
                continue
            charge_kw, discharge_kw = sums(blocks)
            np.testing.assert_allclose(charge_kw, 1000.0)
            np.testing.assert_allclose(discharge_kw, 800.0)
            assert first_overcommitment(blocks, 1000.0, 800.0) is None
            assert no_lane_doubled(blocks)

    @given(REQUESTS, st.randoms(use_true_random=False))
    def test_and_giving_back_in_any_order_keeps_the_sum(self, requests, random):
        blocks: tuple[Block, ...] = (WHOLE,)
        carved = []
        for first, length, market, charge, discharge in requests:
            try:
                carving = carve(blocks, first, min(100, first + length), market, charge, discharge)
            except NoWholesalePower:
                continue
            blocks = carving.blocks
            if market is not Market.WHOLESALE:
                carved.append(carving.block)
        random.shuffle(carved)
        for block in carved:
            blocks = remove_block(blocks, block).blocks
            charge_kw, discharge_kw = sums(blocks)
            np.testing.assert_allclose(charge_kw, 1000.0)
            np.testing.assert_allclose(discharge_kw, 800.0)
            assert no_lane_doubled(blocks)
        assert all(block.market is Market.WHOLESALE for block in blocks)


class TestGivingBack:
    def test_restores_the_block_as_it_was_before_the_carving(self):
        carving = carve([WHOLE], 16, 32, Market.FCR, 300.0, 300.0)
        assert remove_block(carving.blocks, carving.block).blocks == (WHOLE,)

    def test_restores_it_too_when_all_the_power_was_carved(self):
        carving = carve([WHOLE], 16, 32, Market.FCR, 1000.0, 800.0)
        restored = remove_block(carving.blocks, carving.block).blocks
        assert [(b.first, b.end, b.charge_kw) for b in restored] == [(0, 100, 1000.0)]

    def test_of_a_reserve_leaves_no_energy_kept_for_it(self):
        carving = carve([WHOLE], 0, 16, Market.FCR, 1000.0, 800.0, 15.0)
        assert (carving.block.charge_kw, carving.block.discharge_kw) == (1000.0, 800.0)
        assert [(b.first, b.reserve_minutes) for b in carving.blocks] == [(16, 0.0), (0, 15.0)]
        [restored] = remove_block(carving.blocks, carving.block).blocks
        assert (restored.first, restored.end, restored.market) == (0, 100, Market.WHOLESALE)
        assert restored.reserve_minutes == 0.0

    def test_joins_wholesale_blocks_split_in_time(self):
        carving = carve([WHOLE], 50, 100, Market.WHOLESALE, 1000.0, 800.0)
        assert remove_block(carving.blocks, carving.block).blocks == (WHOLE,)

    def test_joins_a_block_to_the_one_that_follows_it(self):
        first, second = replace(WHOLE, end=50), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        assert remove_block([first, second], first).blocks == (replace(second, first=0),)
        assert remove_block([first, second], second).blocks == (replace(first, end=100),)

    def test_joins_no_block_of_another_lane(self):
        first, second = replace(WHOLE, end=50), replace(WHOLE, id=BlockID(UUID(int=2)), lane=1, first=50)
        with pytest.raises(NothingToJoin):
            remove_block([first, second], second)

    def test_joins_no_reserve(self):
        first, second = replace(WHOLE, end=50, market=Market.FCR), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        with pytest.raises(NothingToJoin):
            remove_block([first, second], second)

    def test_joins_no_block_that_begins_later_or_ended_earlier(self):
        first, second = replace(WHOLE, end=49), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        for one in (first, second):
            with pytest.raises(NothingToJoin):
                remove_block([first, second], one)
