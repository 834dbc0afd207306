"""Blocks are slices: whatever is carved and given back, they never sum to more than the asset."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.ids import BlockID
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.blocks.carving import ScheduleInTheWay, _move_powers, _reduce_lanes, _reserve_minutes
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

    def test_is_none_where_they_sum_to_just_the_assets_or_follow_each_other(self):
        beside = replace(WHOLE, first=40, end=60, charge_kw=1.0, discharge_kw=2.0)
        assert first_overcommitment([WHOLE, beside], 1001.0, 802.0) is None
        assert first_overcommitment([WHOLE, replace(WHOLE, first=100, end=200)], 1000.0, 800.0) is None


class TestCarving:
    def test_cuts_the_wholesale_block_in_three_and_keeps_its_id_for_the_first_piece(self):
        carving = carve([WHOLE], 16, 32, Market.FCR, 300.0, 300.0)
        wholesale = sorted((b for b in carving.blocks if b.market is Market.WHOLESALE), key=lambda b: b.first)
        assert [(b.first, b.end, b.charge_kw, b.discharge_kw) for b in wholesale] == [
            (0, 16, 1000.0, 800.0),
            (16, 32, 700.0, 500.0),
            (32, 100, 1000.0, 800.0),
        ]
        assert wholesale[0].id == WHOLE.id
        assert len({b.id for b in carving.blocks}) == 4

    def test_of_all_but_a_hair_of_the_power_leaves_no_piece_of_it(self):
        hair_kw = POWER_TOLERANCE_KW / 2
        carving = carve([WHOLE], 0, 100, Market.FCR, 1000.0 - hair_kw, 800.0 - hair_kw)
        assert carving.blocks == (carving.block,)
        assert [(one.charge_kw, one.discharge_kw) for one in carving.reductions] == [(0.0, 0.0)]

    def test_of_all_the_power_leaves_no_empty_piece(self):
        carving = carve([WHOLE], 50, 100, Market.WHOLESALE, 1000.0, 800.0)
        assert sorted((b.first, b.end, b.lane) for b in carving.blocks) == [(0, 50, 0), (50, 100, 0)]

    def test_takes_from_the_lowest_lane_first_wherever_its_block_begins(self):
        late = Block(BlockID(UUID(int=2)), 0, 50, 100, Market.WHOLESALE, 400.0, 300.0)
        early = Block(BlockID(UUID(int=3)), 1, 0, 100, Market.WHOLESALE, 600.0, 500.0)
        carving = carve([early, late], 60, 70, Market.FCR, 450.0, 250.0)
        taken = [(one.lane, one.charge_kw, one.discharge_kw) for one in carving.reductions]
        assert taken == [(0, 0.0, 50.0), (1, 550.0, 500.0)], "what is left of each"

    def test_leaves_one_piece_where_the_edge_of_another_block_changes_nothing_of_it(self):
        later = Block(BlockID(UUID(int=2)), 1, 24, 100, Market.WHOLESALE, 400.0, 300.0)
        carving = carve([WHOLE, later], 16, 32, Market.FCR, 300.0, 200.0)
        assert [(b.first, b.end, b.charge_kw, b.discharge_kw) for b in carving.blocks if b.lane == 0] == [
            (0, 16, 1000.0, 800.0),
            (16, 32, 700.0, 600.0),
            (32, 100, 1000.0, 800.0),
        ]
        assert later in carving.blocks

    def test_refuses_more_than_wholesale_blocks_hold(self):
        blocks = carve([WHOLE], 16, 32, Market.FCR, 600.0, 600.0).blocks
        with pytest.raises(NoWholesalePower, match="hold 400 kW of charging and 200 kW"):
            carve(blocks, 20, 40, Market.AFRR_POS, 0.0, 300.0)

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


class TestSplitting:
    @given(
        hnp.arrays(np.float64, 100, elements=st.floats(-1000, 800)),
        st.lists(st.tuples(st.integers(0, 99), st.integers(1, 100), st.floats(0, 1000), st.floats(1, 800)), max_size=5),
        hnp.arrays(np.float64, 100, elements=st.floats(0, 1)),
    )
    def test_into_wholesale_blocks_changes_no_trajectory(self, power_kw, requests, part):
        """What fits into the part of the power that is available fits into the blocks' parts too."""
        blocks: tuple[Block, ...] = (WHOLE,)
        power_kw = power_kw * part
        available = AvailableFraction(0, part, part, part)
        lanes_kw = {0: power_kw}
        for first, length, charge, discharge in requests:
            try:
                carving = carve(blocks, first, min(100, first + length), Market.WHOLESALE, charge, discharge)
            except NoWholesalePower:
                continue
            for lane, change in _reduce_lanes(carving, days_of_lanes(lanes_kw), available).items():
                lanes_kw[lane] = lanes_kw.get(lane, np.zeros(100)).copy()
                lanes_kw[lane][change.periods] = change.power_kw
            blocks = carving.blocks
            np.testing.assert_allclose(sum(lanes_kw.values()), power_kw, atol=1e-9)
            for block in blocks:
                part_kw = lanes_kw.get(block.lane, np.zeros(100))[block.first : block.end]
                there = available.between(block.first, block.end)
                assert (part_kw <= block.discharge_kw * there.discharge + 1e-6).all()
                assert (part_kw >= -block.charge_kw * there.charge - 1e-6).all()


def days_of_lanes(lanes_kw):
    """Lanes over the periods 0 to 99 as the store gives them."""
    days = {lane: np.concatenate([power_kw, np.zeros(92)]).reshape(2, 96) for lane, power_kw in lanes_kw.items()}
    return {day: {lane: rows[day] for lane, rows in days.items()} for day in (0, 1)}


class TestALaneThatLosesPower:
    def reduce(self, market, charge_kw, discharge_kw, scheduled_kw, part=(1.0, 1.0)):
        """What a block over the periods 16 to 31 leaves of a schedule of the whole asset, and takes over; by lane."""
        carving = carve([WHOLE], 16, 32, market, charge_kw, discharge_kw)
        power_kw = np.zeros(100)
        power_kw[list(scheduled_kw)] = list(scheduled_kw.values())
        available = AvailableFraction(0, np.full(100, part[0]), np.full(100, part[1]), np.ones(100))
        changes = _reduce_lanes(carving, days_of_lanes({0: power_kw}), available.between(16, 32))
        return {
            lane: dict(zip(change.periods.tolist(), change.power_kw.tolist(), strict=True))
            for lane, change in changes.items()
        }

    def test_keeps_a_schedule_that_a_reserve_leaves_room_for(self):
        assert self.reduce(Market.FCR, 300.0, 300.0, {15: 800.0, 16: 500.0, 31: -700.0, 32: -1000.0}) == {}
        assert self.reduce(Market.FCR, 300.0, 300.0, {20: 250.0, 21: -175.0}, (0.25, 0.5)) == {}

    @pytest.mark.parametrize(
        ("scheduled_kw", "part", "left_kw"),
        [
            pytest.param({20: 500.0, 22: 501.0}, (1.0, 1.0), (700, 500), id="discharging"),
            pytest.param({20: -700.0, 22: -701.0}, (1.0, 1.0), (700, 500), id="charging"),
            pytest.param({20: 250.0, 22: 251.0}, (0.25, 0.5), (175, 250), id="discharging with what is available"),
            pytest.param({20: -175.0, 22: -176.0}, (0.25, 0.5), (175, 250), id="charging with what is available"),
            pytest.param({20: 250.0, 22: 600.0}, (0.25, 0.5), (175, 250), id="beyond all that is available"),
        ],
    )
    def test_is_in_the_way_of_a_reserve_from_the_first_period_that_needs_more(self, scheduled_kw, part, left_kw):
        with pytest.raises(ScheduleInTheWay) as refusal:
            self.reduce(Market.FCR, 300.0, 300.0, scheduled_kw, part)
        assert refusal.value.members["firstPeriod"] == format_period(22)
        assert f"only {left_kw[0]} kW of charging and {left_kw[1]} kW of discharging" in refusal.value.detail

    def test_is_not_in_the_way_in_a_direction_of_which_nothing_is_taken(self):
        assert self.reduce(Market.AFRR_POS, 0.0, 300.0, {20: -1000.0}, (0.5, 1.0)) == {}

    def test_gives_the_rest_of_its_schedule_to_a_wholesale_block(self):
        """Of 600 kW, beyond all that is available, each keeps what it may use, and the lane the rest."""
        found = self.reduce(Market.WHOLESALE, 300.0, 300.0, {16: 500.0, 17: 501.0, 18: -800.0, 32: 800.0})
        assert found == {0: {17: 500.0, 18: -700.0}, 1: {17: 1.0, 18: -100.0}}
        found = self.reduce(Market.WHOLESALE, 300.0, 300.0, {17: 600.0, 18: 400.0, 19: 800.0}, (1.0, 0.5))
        assert found == {0: {17: 450.0, 18: 250.0, 19: 500.0}, 1: {17: 150.0, 18: 150.0, 19: 300.0}}

    def test_is_reduced_on_each_side_of_an_edge_of_another_block(self):
        later = Block(BlockID(UUID(int=2)), 1, 24, 100, Market.WHOLESALE, 400.0, 300.0)
        carving = carve([WHOLE, later], 16, 32, Market.WHOLESALE, 300.0, 300.0)
        power_kw = np.zeros(100)
        power_kw[[17, 25]] = 510.0, 520.0
        changes = _reduce_lanes(carving, days_of_lanes({0: power_kw}), AvailableFraction.full(16, 32))
        assert {lane: change.power_kw.tolist() for lane, change in changes.items()} == {0: [500, 500], 2: [10, 20]}


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

    def test_leaves_blocks_apart_that_were_split_elsewhere(self):
        first, second = replace(WHOLE, end=50), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        carving = carve([first, second], 16, 32, Market.FCR, 300.0, 200.0)
        assert remove_block(carving.blocks, carving.block).blocks == (first, second)

    def test_joins_wholesale_blocks_split_in_time(self):
        carving = carve([WHOLE], 50, 100, Market.WHOLESALE, 1000.0, 800.0)
        assert remove_block(carving.blocks, carving.block).blocks == (WHOLE,)

    def test_leaves_products_that_follow_each_other_apart(self):
        earlier, later, upward = (
            Block(BlockID(UUID(int=2 + number)), lane, first, first + 16, market, 100.0, 100.0)
            for number, (lane, first, market) in enumerate(
                [(1, 16, Market.FCR), (1, 32, Market.FCR), (2, 32, Market.AFRR_POS)]
            )
        )
        restored = remove_block([WHOLE, earlier, later, upward], upward).blocks
        assert [block for block in restored if block.market is Market.FCR] == [earlier, later]

    def test_joins_a_block_to_the_one_that_follows_it(self):
        first, second = replace(WHOLE, end=50), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        assert remove_block([first, second], first).blocks == (replace(second, first=0),)
        assert remove_block([first, second], second).blocks == (replace(first, end=100),)

    def test_joins_it_beside_all_other_blocks(self):
        first, second = replace(WHOLE, end=50), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        third = replace(WHOLE, id=BlockID(UUID(int=3)), first=10, end=20, lane=1, market=Market.FCR, charge_kw=5.0)
        assert set(remove_block([first, third, second], second).blocks) == {third, replace(first, end=100)}

    def test_joins_no_block_of_another_lane(self):
        first, second = replace(WHOLE, end=50), replace(WHOLE, id=BlockID(UUID(int=2)), lane=1, first=50)
        with pytest.raises(NothingToJoin):
            remove_block([first, second], second)

    def test_returns_power_to_the_wholesale_block_although_a_reserve_lies_on_a_lower_lane(self):
        split = carve([WHOLE], 0, 100, Market.WHOLESALE, 400.0, 300.0)
        reserve = carve(split.blocks, 16, 32, Market.FCR, 600.0, 500.0)
        upward = carve(reserve.blocks, 16, 32, Market.AFRR_POS, 0.0, 100.0)
        assert (reserve.block.lane, upward.block.lane) == (0, 2)
        restored = remove_block(upward.blocks, upward.block).blocks
        assert {replace(b, id=WHOLE.id) for b in restored} == {replace(b, id=WHOLE.id) for b in reserve.blocks}

    def test_leaves_pieces_apart_between_which_their_lane_is_empty(self):
        carving = carve([WHOLE], 16, 32, Market.WHOLESALE, 400.0, 300.0)
        middle = next(b for b in carving.blocks if (b.lane, b.first) == (0, 16))
        released = remove_block(carving.blocks, middle)
        assert sorted((b.lane, b.first, b.end, b.charge_kw, b.discharge_kw) for b in released.blocks) == [
            (0, 0, 16, 1000.0, 800.0),
            (0, 32, 100, 1000.0, 800.0),
            (1, 16, 32, 1000.0, 800.0),
        ]

    def test_joins_no_reserve(self):
        first, second = replace(WHOLE, end=50, market=Market.FCR), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        with pytest.raises(NothingToJoin):
            remove_block([first, second], second)

    def test_joins_no_block_that_begins_later_or_ended_earlier(self):
        first, second = replace(WHOLE, end=49), replace(WHOLE, id=BlockID(UUID(int=2)), first=50)
        for one in (first, second):
            with pytest.raises(NothingToJoin):
                remove_block([first, second], one)

    def test_joins_parallel_wholesale_blocks_and_moves_the_schedule(self):
        carving = carve([WHOLE], 4, 100, Market.WHOLESALE, 400.0, 300.0)
        released = remove_block(carving.blocks, carving.block)
        assert released.blocks == (WHOLE,)
        assert [(m.source, m.target, m.first, m.end) for m in released.moves] == [(1, 0, 4, 100)]
        one_kw, other_kw = np.zeros(100), np.zeros(100)
        one_kw[[5, 7, 99]], other_kw[[5, 6, 7]] = (10.0, 20.0, 30.0), (-4.0, 3.0, -20.0)
        moved = _move_powers(released.moves, days_of_lanes({0: one_kw, 1: other_kw}), carving.block)
        assert {lane: (change.periods.tolist(), change.power_kw.tolist()) for lane, change in moved.items()} == {
            0: ([5, 6, 7], [6.0, 3.0, 0.0]),
            1: ([5, 6, 7], [0.0, 0.0, 0.0]),
        }

    @pytest.mark.parametrize(("charge_kw", "discharge_kw"), [(900.0, 800.0), (1000.0, 700.0)])
    def test_joins_no_neighbour_of_another_power_in_either_direction(self, charge_kw, discharge_kw):
        first = replace(WHOLE, end=50)
        second = Block(BlockID(UUID(int=2)), 0, 50, 100, Market.WHOLESALE, charge_kw, discharge_kw)
        with pytest.raises(NothingToJoin):
            remove_block([first, second], second)

    def test_refuses_the_last_wholesale_block(self):
        with pytest.raises(NothingToJoin):
            remove_block([WHOLE], WHOLE)


class TestTheReserveOfABlock:
    def test_lasts_as_long_as_the_platform_asks_of_its_market(self):
        minutes = ReserveMinutes(fcr=20, afrr=50, afrr_energy=10)
        assert {market: _reserve_minutes(market, minutes) for market in Market} == {
            Market.WHOLESALE: 0,
            Market.FCR: 20,
            Market.AFRR_POS: 50,
            Market.AFRR_NEG: 50,
        }
