"""Balancing reserves of virtual assets are held by the pool; what none holds is told and given back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.delivery.conftest import Yard
from tests.delivery.test_anchoring import measure
from tests.delivery.zones import even_limits
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.model import CODE_OF_KIND, PartKind
from gridloom.delivery.planning.reserves import (
    ReserveCapability,
    ReservePower,
    find_unstored_kw,
    hold_reserves,
    hold_unstored,
)
from gridloom.kernel.market_time import block_window, market_day_of, market_day_window

KINDS = (PartKind.FCR, PartKind.AFRR_POS, PartKind.AFRR_NEG)


async def emitted(yard: Yard, type: str) -> list[Any]:
    """The data of all events of a type, delivered or not, each once however many organisations read it."""
    rows = await yard.edge.pool.fetch(
        """select data from event_outbox where type = $1 union
           select data from event where type = $1""",
        type,
    )
    return [row["data"] for row in rows]


class TestHoldingReserves:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 5))
    def test_holds_all_or_tells_what_is_short_and_takes_no_more_than_is_free(self, seed: int, count: int) -> None:
        draw = np.random.default_rng(seed)
        shape = (count, 4)
        free_charge_kw, free_discharge_kw = draw.uniform(0, 500, (2, *shape))
        charge, discharge, energy = draw.choice([0.0, 0.5, 1.0], (3, *shape))
        capability = ReserveCapability(
            free_charge_kw,
            free_discharge_kw,
            draw.uniform(0, 1000, shape),
            charge,
            discharge,
            energy,
            np.ones(shape, dtype=bool),
        )
        asked = [
            ReservePower(int(draw.integers(count)), kind, 7, draw.uniform(0, 800, 4), 0.25 if kind == "FCR" else 1.0)
            for kind in KINDS
        ]
        held = hold_reserves(asked, capability)
        for one in asked:
            code = CODE_OF_KIND[one.kind]
            held_kw = held.power_kw[held.keys[:, 1] == code].sum(axis=0)
            short_kw = held.shortfall_kw[held.shortfall_keys[:, 1] == code].sum(axis=0)
            assert held_kw + short_kw == pytest.approx(one.power_kw, abs=1e-5)
        assert (held.free_charge_kw <= capability.free_charge_kw + 1e-9).all()
        extra_kw = sum(
            row
            for (battery, code, _), row in zip(held.keys.tolist(), held.power_kw, strict=True)
            if code == CODE_OF_KIND[PartKind.FCR] and battery != asked[0].battery
        )
        assert (extra_kw <= capability.free_charge_kw.sum(axis=0) + 1e-6).all()

    def test_lets_others_step_in_by_what_they_have_free(self) -> None:
        whole, lost = np.ones((3, 1)), np.array([[0.0], [1.0], [1.0]])
        free_kw = np.array([[0.0], [300.0], [100.0]])
        capability = ReserveCapability(free_kw, free_kw, free_kw * 4, lost, lost, whole, np.ones((3, 1), dtype=bool))
        held = hold_reserves([ReservePower(0, PartKind.FCR, 7, np.array([200.0]), 0.25)], capability)
        by_battery = {
            battery: float(row[0]) for (battery, _, _), row in zip(held.keys.tolist(), held.power_kw, strict=True)
        }
        assert by_battery == pytest.approx({0: 0.0, 1: 150.0, 2: 50.0})
        assert not len(held.shortfall_kw)

    def test_replaces_what_virtual_assets_lack_alike_and_by_what_is_left_after_the_kind_before(self) -> None:
        """The first battery has half of what it holds: for two virtual assets, for its owner, and upward. The others
        have 30 and 90 kW free, and 100 to discharge."""
        half, none, whole = np.array([[0.5], [1.0], [1.0]]), np.zeros((3, 1)), np.ones((3, 1))
        free_kw, free_discharge_kw = np.array([[0.0], [30.0], [90.0]]), np.array([[0.0], [30.0], [100.0]])
        capability = ReserveCapability(
            free_kw, free_discharge_kw, none + 1000.0, half, half, whole, np.ones((3, 1), dtype=bool)
        )
        asked = [
            ReservePower(0, PartKind.FCR, 7, np.array([200.0]), 0.25),
            ReservePower(0, PartKind.FCR, 8, np.array([100.0]), 0.5),
            ReservePower(0, PartKind.FCR, 0, np.array([60.0]), 0.25),
            ReservePower(1, PartKind.FCR, 7, np.array([40.0]), 0.25),
            ReservePower(0, PartKind.AFRR_POS, 7, np.array([80.0]), 1.0),
        ]
        held = hold_reserves(asked, capability)
        fcr, pos = (CODE_OF_KIND[kind] for kind in (PartKind.FCR, PartKind.AFRR_POS))
        by_key = dict(zip(map(tuple, held.keys.tolist()), held.power_kw[:, 0].tolist(), strict=True))
        assert by_key == pytest.approx(
            {
                **{(0, fcr, 7): 100.0, (0, fcr, 8): 50.0, (0, fcr, 0): 30.0, (0, pos, 7): 40.0},
                **{(1, fcr, 7): 60.0, (2, fcr, 7): 60.0, (1, fcr, 8): 10.0, (2, fcr, 8): 30.0, (2, pos, 7): 10.0},
            }
        )
        short = dict(zip(map(tuple, held.shortfall_keys.tolist()), held.shortfall_kw[:, 0].tolist(), strict=True))
        assert short == pytest.approx({(0, fcr, 7): 20.0, (0, fcr, 8): 10.0, (0, pos, 7): 30.0})
        assert held.by_kind(3)[:, :, 0].tolist() == [
            pytest.approx([180.0, 70.0, 90.0]),
            pytest.approx([40.0, 0.0, 10.0]),
            [0.0] * 3,
        ]
        assert held.energy_by_kind(3)[0, :, 0].tolist() == pytest.approx([25 + 25 + 7.5, 35.0, 45.0])
        assert (held.free_charge_kw[:, 0].tolist(), held.free_discharge_kw[:, 0].tolist()) == ([0.0] * 3, [0.0] * 3)


class TestTheCapabilityOfBatteries:
    """Of two, of which the second backs no virtual asset."""

    CAPABILITY = ReserveCapability(
        np.array([[100.0], [300.0]]),
        np.array([[200.0], [50.0]]),
        np.array([[40.0], [1000.0]]),
        np.array([[0.9], [1.0]]),
        np.array([[0.7], [1.0]]),
        np.array([[0.8], [1.0]]),
        np.array([[True], [False]]),
    )

    @pytest.mark.parametrize(
        ("kind", "coverage", "reserve_h", "headroom_kw", "left"),
        [
            pytest.param(PartKind.FCR, 0.7, 0.25, 80.0, (90.0, 190.0, 35.0), id="both ways, and both in store"),
            pytest.param(PartKind.AFRR_POS, 0.7, 1.0, 40.0, (100.0, 190.0, 30.0), id="to discharge"),
            pytest.param(PartKind.AFRR_NEG, 0.8, 0.5, 80.0, (90.0, 200.0, 35.0), id="to charge"),
            pytest.param(PartKind.AFRR_POS, 0.7, 0.0, 200.0, (100.0, 190.0, 40.0), id="without energy"),
            pytest.param(PartKind.FCR, 0.7, 0.1, 100.0, (90.0, 190.0, 38.0), id="by the smaller power"),
        ],
    )
    def test_is_by_kind(
        self, kind: PartKind, coverage: float, reserve_h: float, headroom_kw: float, left: tuple[float, ...]
    ) -> None:
        assert self.CAPABILITY.coverage(kind, 0).tolist() == [coverage]
        assert self.CAPABILITY.headroom_kw(kind, reserve_h).tolist() == [[headroom_kw], [0.0]]
        after = self.CAPABILITY.without(kind, np.array([[10.0], [0.0]]), reserve_h)
        free = after.free_charge_kw, after.free_discharge_kw, after.free_kwh
        assert [float(one[0, 0]) for one in free] == pytest.approx(left)
        gone = self.CAPABILITY.without(kind, np.array([[1000.0], [0.0]]), 1.0)
        assert min(one.min() for one in (gone.free_charge_kw, gone.free_discharge_kw, gone.free_kwh)) == 0


class TestReservesWithoutTheirEnergy:
    KEYS = np.array([(0, CODE_OF_KIND[kind], 7) for kind in KINDS] + [(0, CODE_OF_KIND[PartKind.FCR], 0)])

    def _find(self, stored_kwh: float) -> list[float]:
        """Of 100 kW of each kind in a battery that must store 300 to 800 kWh for them, 200 kWh in each direction."""
        bound = np.ones((1, 1))
        limits = replace(
            even_limits([1000.0], [1000.0], 1),
            low_kwh=300 * bound,
            high_kwh=800 * bound,
            reserve_stored_kwh=200 * bound,
            reserve_headroom_kwh=200 * bound,
        )
        found = find_unstored_kw(limits, np.array([[stored_kwh]]), self.KEYS, np.full((4, 1), 100.0))
        return [float(row[0]) for row in found]

    def test_are_held_within_the_bounds(self) -> None:
        assert self._find(300.0) == self._find(800.0) == [0.0, 0.0, 0.0, 0.0]
        assert self._find(300.0 - 1e-7) == self._find(800.0 + 1e-7) == [0.0, 0.0, 0.0, 0.0], "but for rounding"

    def test_lack_what_is_not_in_store_of_the_directions_that_need_it(self) -> None:
        assert self._find(250.0) == pytest.approx([25.0, 25.0, 0.0, 0.0])

    def test_lack_what_there_is_no_headroom_for(self) -> None:
        assert self._find(900.0) == pytest.approx([50.0, 0.0, 50.0, 0.0])

    def test_are_not_held_at_all_by_an_empty_battery(self) -> None:
        assert self._find(0.0) == pytest.approx([100.0, 100.0, 0.0, 0.0])


class TestSteppingInForReservesWithoutTheirEnergy:
    def _hold(
        self, stored_kwh: list[float], kind: PartKind, efficiency: float = 1.0, **changed: Any
    ) -> dict[int, float]:
        """What each battery holds of 200 kW that the first is asked for an hour; a battery must store 300 to 800 kWh,
        the first for the sake of that reserve, and has 150 kW in no book."""
        count = len(stored_kwh)
        ones, first = np.ones((count, 1)), np.array([[1.0]] + [[0.0]] * (count - 1))
        limits = replace(
            even_limits([1000.0] * count, [1000.0] * count, 1),
            low_kwh=300 * ones,
            high_kwh=800 * ones,
            charge_efficiency=efficiency * ones,
            discharge_efficiency=efficiency * ones,
            free_charge_kw=150 * ones,
            free_discharge_kw=150 * ones,
            reserve_stored_kwh=200 / efficiency * first,
            reserve_headroom_kwh=200 * efficiency * first,
        )
        zeros = np.zeros((count, 1))
        given: dict[str, Any] = {"power_kw": zeros, "drift_kw": zeros} | changed
        energy_kwh = np.array([[kwh, kwh] for kwh in stored_kwh])
        asked = np.array([(0, CODE_OF_KIND[kind], 7)]), np.array([[200.0]])
        keys, unstored_kw = hold_unstored(
            limits, energy_kwh[:, :-1], energy_kwh[:, 1:], given["power_kw"], given["drift_kw"], *asked
        )
        held_kw = np.concatenate([asked[1], np.zeros((len(keys) - 1, 1))]) - unstored_kw
        return {battery: float(row[0]) for (battery, _, _), row in zip(keys.tolist(), held_kw, strict=True)}

    def test_is_by_what_others_have_free(self) -> None:
        assert self._hold([100.0, 700.0, 375.0], PartKind.AFRR_POS) == pytest.approx({0: 0.0, 1: 400 / 3, 2: 200 / 3})

    def test_is_limited_by_their_energy_and_their_free_power(self) -> None:
        assert self._hold([100.0, 350.0], PartKind.AFRR_POS) == pytest.approx({0: 0.0, 1: 50.0})
        assert self._hold([100.0, 500.0], PartKind.AFRR_POS) == pytest.approx({0: 0.0, 1: 150.0})
        drift_kw = np.array([[0.0], [60.0]])
        assert self._hold([100.0, 500.0], PartKind.AFRR_POS, drift_kw=drift_kw) == pytest.approx({0: 0.0, 1: 90.0})
        power_kw = np.array([[0.0], [980.0]])
        assert self._hold([100.0, 500.0], PartKind.AFRR_POS, power_kw=power_kw) == pytest.approx({0: 0.0, 1: 20.0})
        assert self._hold([1000.0, 500.0], PartKind.AFRR_POS) == {0: 200.0}

    def test_downward_is_limited_by_their_room_and_the_power_they_do_not_charge_with(self) -> None:
        assert self._hold([1000.0, 750.0], PartKind.AFRR_NEG) == pytest.approx({0: 0.0, 1: 50.0})
        assert self._hold([1000.0, 500.0], PartKind.AFRR_NEG) == pytest.approx({0: 0.0, 1: 150.0})
        for drift, power, held in ((-60.0, 0.0, 90.0), (60.0, 0.0, 150.0), (0.0, -980.0, 20.0), (0.0, 980.0, 150.0)):
            changed: dict[str, Any] = {"drift_kw": np.array([[0.0], [drift]]), "power_kw": np.array([[0.0], [power]])}
            assert self._hold([1000.0, 500.0], PartKind.AFRR_NEG, **changed) == pytest.approx({0: 0.0, 1: held})

    def test_of_fcr_takes_energy_and_headroom(self) -> None:
        assert self._hold([250.0, 760.0], PartKind.FCR) == pytest.approx({0: 150.0, 1: 40.0})

    def test_counts_what_the_grid_would_get_or_give(self) -> None:
        """100 kWh in store are 80 kWh at the grid; room for 80 kWh takes 100 kWh from it."""
        assert self._hold([50.0, 400.0], PartKind.AFRR_POS, 0.8) == pytest.approx({0: 0.0, 1: 80.0})
        assert self._hold([960.0, 720.0], PartKind.AFRR_NEG, 0.8) == pytest.approx({0: 0.0, 1: 100.0})

    def test_of_several_kinds_takes_what_the_kinds_before_have_left(self) -> None:
        """The first battery is empty and was to hold 60 kW each way, 80 up and 50 down, for an hour each; another has
        150 kW free each way, 120 kWh in store and room for 100."""
        ones, first = np.ones((2, 1)), np.array([[1.0], [0.0]])
        limits = replace(
            even_limits([1000.0] * 2, [1000.0] * 2, 1),
            **{"low_kwh": 300 * ones, "high_kwh": np.array([[800.0], [520.0]])},
            **{"charge_efficiency": ones, "discharge_efficiency": ones},
            **{"free_charge_kw": 150 * ones, "free_discharge_kw": 150 * ones},
            **{"reserve_stored_kwh": 140 * first, "reserve_headroom_kwh": 110 * first},
        )
        codes, asked_kw = [CODE_OF_KIND[kind] for kind in KINDS], np.array([[60.0], [80.0], [50.0]])
        zeros = np.zeros((2, 1))
        for stored_kwh, expected_kw in (
            (100.0, {(1, codes[0]): 60.0, (1, codes[1]): 60.0, (0, codes[2]): 50.0}),
            (950.0, {(1, codes[0]): 60.0, (0, codes[1]): 80.0, (1, codes[2]): 40.0}),
        ):
            energy_kwh = np.array([[stored_kwh, stored_kwh], [420.0, 420.0]])
            keys, unstored_kw = hold_unstored(
                limits,
                energy_kwh[:, :-1],
                energy_kwh[:, 1:],
                zeros,
                zeros,
                np.array([(0, code, 7) for code in codes]),
                asked_kw,
            )
            held_kw = np.concatenate([asked_kw, np.zeros((len(keys) - 3, 1))]) - unstored_kw
            found = {(one, code): float(kw[0]) for (one, code, _), kw in zip(keys.tolist(), held_kw, strict=True)}
            assert {key: kw for key, kw in found.items() if kw} == pytest.approx(expected_kw)

    def test_adds_to_what_a_battery_holds_already_for_the_same_block(self) -> None:
        ones, first = np.ones((2, 1)), np.array([[1.0], [0.0]])
        limits = replace(
            even_limits([1000.0] * 2, [1000.0] * 2, 1, [1.0, 1.0]),
            **{"low_kwh": 300 * ones, "high_kwh": 800 * ones, "free_discharge_kw": 150 * ones},
            **{"reserve_stored_kwh": 200 * first},
        )
        keys, zeros = np.array([(one, CODE_OF_KIND[PartKind.AFRR_POS], 7) for one in (0, 1)]), np.zeros((2, 1))
        energy_kwh = np.array([[200.0, 200.0], [600.0, 600.0]])
        found, unstored_kw = hold_unstored(
            limits, energy_kwh[:, :-1], energy_kwh[:, 1:], zeros, zeros, keys, np.array([[200.0], [50.0]])
        )
        assert (found.tolist(), unstored_kw[:, 0].tolist()) == (keys.tolist(), pytest.approx([100.0, -100.0]))

    def test_is_for_each_other_at_different_times(self) -> None:
        """Each has 100 kWh too little in one quarter-hour, half of what its 200 kW need, and 150 kW free in the
        other."""
        ones = np.ones((2, 2))
        limits = replace(
            even_limits([1000.0] * 2, [1000.0] * 2, 2, [1.0, 1.0]),
            **{"low_kwh": 300 * ones, "high_kwh": 800 * ones, "free_discharge_kw": 150 * ones},
            **{"reserve_stored_kwh": 200 * ones},
        )
        keys, zeros = np.array([(one, CODE_OF_KIND[PartKind.AFRR_POS], 7) for one in (0, 1)]), np.zeros((2, 2))
        energy_kwh = np.array([[200.0, 600.0, 600.0], [600.0, 600.0, 600.0]])
        energy_kwh[1, 1], limits.low_kwh[1, 1] = 600.0, 700.0
        found, unstored_kw = hold_unstored(
            limits, energy_kwh[:, :-1], energy_kwh[:, 1:], zeros, zeros, keys, np.full((2, 2), 200.0)
        )
        assert found.tolist() == keys.tolist()
        assert unstored_kw.tolist() == [pytest.approx([100.0, -100.0]), pytest.approx([-100.0, 100.0])]

    def test_is_by_the_energy_that_others_have_throughout_the_period(self) -> None:
        """What the dispatch takes out of a battery until the end of the period, or puts into it, holds no reserve."""
        for kind, start_kwh, end_kwh, held_kw in (
            (PartKind.AFRR_POS, 420.0, 360.0, 60.0),
            (PartKind.AFRR_POS, 370.0, 420.0, 70.0),
            (PartKind.AFRR_NEG, 650.0, 720.0, 80.0),
            (PartKind.AFRR_NEG, 710.0, 650.0, 90.0),
        ):
            ones, first = np.ones((2, 1)), np.array([[1.0], [0.0]])
            limits = replace(
                even_limits([1000.0] * 2, [1000.0] * 2, 1, [1.0, 1.0]),
                **{"low_kwh": 300 * ones, "high_kwh": 800 * ones},
                **{"free_charge_kw": 150 * ones, "free_discharge_kw": 150 * ones},
                **{"reserve_stored_kwh": 200 * first, "reserve_headroom_kwh": 200 * first},
            )
            empty_kwh = 0.0 if kind is PartKind.AFRR_POS else 1000.0
            energy_kwh = np.array([[empty_kwh, empty_kwh], [start_kwh, end_kwh]])
            asked, zeros = np.array([(0, CODE_OF_KIND[kind], 7)]), np.zeros((2, 1))
            keys, unstored_kw = hold_unstored(
                limits, energy_kwh[:, :-1], energy_kwh[:, 1:], zeros, zeros, asked, np.array([[200.0]])
            )
            assert keys[:, 0].tolist() == [0, 1]
            assert unstored_kw[:, 0].tolist() == pytest.approx([200.0, -held_kw])

    def test_is_not_needed_where_the_energy_is_there(self) -> None:
        assert self._hold([300.0, 500.0], PartKind.FCR) == {0: 200.0}


class TestABatteryThatFails:
    async def _begin(
        self, yard: Yard, hours: tuple[int, int] = (8, 12), **life: Any
    ) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """A virtual asset with an FCR block of 300 kW on one battery."""
        battery = await yard.battery()
        virtual = await yard.virtual(battery, **life)
        block = block_window(market_day_of(yard.start), *hours)
        body = {
            "start": wire(block.start),
            "end": wire(block.end),
            "market": "FCR",
            "ratedChargePower": 300,
            "ratedDischargePower": 300,
        }
        answer = await yard.trader.trader.post(f"{yard.url(virtual)}/blocks", json=body)
        assert answer.status_code == 201, answer.text
        return battery, virtual, block

    async def _fail(self, yard: Yard, battery: dict[str, Any], block: Any, hours: int = 1) -> None:
        body = {
            "description": "It trips",
            "type": "OUTAGE",
            "start": wire(block.start),
            "end": wire(block.start + timedelta(hours=hours)),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 1000, "discharge": 1000}},
        }
        answer = await yard.owner.engineer.post(f"/physical-assets/{battery['id']}/unavailability", json=body)
        assert answer.status_code == 201, answer.text

    async def test_is_replaced_by_another_with_free_power(self, yard: Yard) -> None:
        battery, _, block = await self._begin(yard)
        helper = await yard.battery(ratedChargePower=4000, ratedDischargePower=4000, energyCapacity=8000)
        await yard.virtual(helper)
        await yard.gate_of(0)
        await self._fail(yard, battery, block)
        await yard.gate_of(1)
        window = {"start": wire(block.start), "end": wire(block.start + timedelta(hours=2))}
        held = [
            [sum(part["power"] for part in point["parts"] if part["kind"] == "FCR") for point in answer["dispatch"]]
            for answer in (await yard.dispatch(battery, **window), await yard.dispatch(helper, **window))
        ]
        assert held == [[0.0] * 4 + [300.0] * 4, [300.0] * 4 + [0.0] * 4]
        assert (await self._last_run(yard))["reserveShortfall"] == 0

    async def test_holds_nothing_of_a_block_that_was_given_back(self, yard: Yard) -> None:
        battery, virtual, block = await self._begin(yard)
        window = {"start": wire(block.start), "end": wire(block.start + timedelta(hours=1))}

        async def read_held() -> list[float]:
            points = (await yard.dispatch(battery, **window))["dispatch"]
            return [sum(part["power"] for part in point["parts"] if part["kind"] == "FCR") for point in points]

        await yard.gate_of(0)
        assert await read_held() == [300.0] * 4
        blocks = (await yard.trader.trader.get(f"{yard.url(virtual)}/blocks")).json()
        [given_back] = [one["id"] for one in blocks if one["market"] == "FCR"]
        answer = await yard.trader.trader.delete(f"{yard.url(virtual)}/blocks/{given_back}")
        assert answer.status_code == 204, answer.text
        await yard.gate_of(1)
        assert await read_held() == [0.0] * 4
        assert (await self._last_run(yard))["reserveShortfall"] == 0

    async def test_leaves_a_shortfall_that_is_reported_and_refunded(self, yard: Yard) -> None:
        battery, virtual, block = await self._begin(yard)
        await yard.gate_of(0)
        await self._award(yard, virtual)
        await self._fail(yard, battery, block)
        await yard.gate_of(1)
        assert (await self._last_run(yard))["reserveShortfall"] == pytest.approx(0.3)
        [told] = await emitted(yard, "delivery.reserve-shortfall")
        assert (told["market"], told["power"]) == ("FCR", 300)
        await yard.advance(block.end + timedelta(hours=1))
        lines = await self._lines(yard, virtual)
        # 0.3 MW × 1 h × 20 EUR/MW/h to the grid operator; nothing was announced, so the owner pays it to the holder.
        assert sorted(float(line["amount"]) for line in lines) == [-6.0, 6.0]

    @pytest.mark.parametrize("has_successor", [False, True])
    async def test_leaves_a_shortfall_that_is_refunded_though_the_clock_leaps_past_the_asset_s_end(
        self, yard: Yard, has_successor: bool
    ) -> None:
        end = market_day_window(market_day_of(yard.start)).end
        on_the_grid = {"dispatchGateClosureSeconds": 3600}  # a gate closes at the end itself
        battery, virtual, block = await self._begin(yard, (20, 24), end=wire(end), **on_the_grid)
        if has_successor:  # the zone is not planned for it yet
            later = {"start": wire(end + timedelta(days=3)), "end": wire(end + timedelta(days=4))}
            await yard.virtual(battery, **later, **on_the_grid)
        await yard.gate_of(0)
        await self._award(yard, virtual, "NEGPOS_20_24")
        await self._fail(yard, battery, block, 4)
        await yard.gate_of(40)
        await yard.advance(end + timedelta(minutes=1))
        lines = await self._lines(yard, virtual)
        # 0.3 MW × 4 h × 20 EUR/MW/h.
        assert sorted(float(line["amount"]) for line in lines) == [-24.0, 24.0]

    async def test_has_no_shortfall_any_more_once_it_is_back(self, yard: Yard) -> None:
        battery, _, block = await self._begin(yard)
        await yard.gate_of(0)
        await self._fail(yard, battery, block)
        await yard.gate_of(1)
        [outage] = (await yard.owner.engineer.get(f"/physical-assets/{battery['id']}/unavailability")).json()
        answer = await yard.owner.engineer.delete(f"/physical-assets/{battery['id']}/unavailability/{outage['id']}")
        assert answer.status_code < 300, answer.text
        await yard.gate_of(2)
        assert (await self._last_run(yard))["reserveShortfall"] == 0
        span = {"start": wire(block.start), "end": wire(block.start + timedelta(hours=1))}
        told = sorted(await emitted(yard, "delivery.reserve-shortfall"), key=lambda data: -data["power"])
        assert told == [{"market": "FCR", **span, "power": power} for power in (300.0, 0.0)]

    async def test_has_a_shortfall_too_where_it_enters_the_block_with_too_little_energy(self, yard: Yard) -> None:
        battery, _, block = await self._begin(yard)
        await yard.advance(yard.start + QUARTER)
        assert (await self._last_run(yard))["reserveShortfall"] == 0
        await measure(yard, battery, [1.0, 1.0])
        await yard.gate_of(3)
        window = {"start": wire(block.start), "end": wire(block.end)}
        points = (await yard.dispatch(battery, **window))["dispatch"]
        held_kw = [sum(part["power"] for part in point["parts"] if part["kind"] == "FCR") for point in points]
        assert 0 < held_kw[0] < 300
        short_mwh = sum((300 - power_kw) / 4000 for power_kw in held_kw)
        assert (await self._last_run(yard))["reserveShortfall"] == pytest.approx(short_mwh)
        [data] = await emitted(yard, "delivery.reserve-shortfall")
        assert (data["market"], data["power"]) == ("FCR", pytest.approx(300 - min(held_kw)))

    async def test_is_replaced_too_where_it_enters_the_block_with_too_little_energy(self, yard: Yard) -> None:
        battery, _, block = await self._begin(yard)
        helper = await yard.battery(ratedChargePower=4000, ratedDischargePower=4000, energyCapacity=8000)
        other = await yard.virtual(helper)
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, [1.0, 1.0])
        await yard.gate_of(3)
        assert (await self._last_run(yard))["reserveShortfall"] == 0
        own_kw, others_kw = await self._held(yard, (battery, helper), block)
        assert 0 < own_kw[0] < 300
        assert own_kw + others_kw == pytest.approx(np.full(16, 300.0))
        # A change of a schedule alone leaves it so.
        await yard.schedule(other, [100.0], offset=60)
        await yard.gate_of(4)
        assert sum(await self._held(yard, (battery, helper), block)) == pytest.approx(np.full(16, 300.0))
        assert not await emitted(yard, "delivery.reserve-shortfall")

    async def _held(self, yard: Yard, batteries: Any, block: Any) -> Any:
        """The FCR that each of them holds, by period."""
        window = {"start": wire(block.start), "end": wire(block.end)}
        return [
            np.array(
                [
                    sum(part["power"] for part in point["parts"] if part["kind"] == "FCR")
                    for point in (await yard.dispatch(battery, **window))["dispatch"]
                ]
            )
            for battery in batteries
        ]

    async def _award(self, yard: Yard, virtual: dict[str, Any], product: str = "NEGPOS_08_12") -> None:
        row = {
            "assetID": virtual["id"],
            "deliveryDay": market_day_of(yard.start).isoformat(),
            "product": product,
            "capacity": 0.3,
            "settlementPrice": 20,
        }
        answer = await yard.operator.post("/settlements/fcr", json=[row])
        assert answer.status_code == 200, answer.text

    async def _last_run(self, yard: Yard) -> Any:
        answer = await yard.operator.get("/delivery/runs", params={"limit": "1"})
        return answer.json()[0]

    async def _lines(self, yard: Yard, virtual: dict[str, Any]) -> Any:
        window = {"start": wire(yard.start), "end": wire(yard.start + timedelta(days=1)), "resolution": "daily"}
        answer = await yard.trader.admin.get(
            f"/revenue-reporting/virtual-assets/{virtual['id']}/statement", params=window
        )
        assert answer.status_code == 200, answer.text
        return [line for line in answer.json()["lines"] if line["line"] == "RESERVE_SHORTFALL"]


class TestARunThatFails:
    async def test_leaves_the_plan_in_force_and_is_reported_once(
        self, yard: Yard, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0] * 8)
        await yard.gate_of(0)

        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError("a fault in the computation")

        with monkeypatch.context() as broken:
            broken.setattr("gridloom.delivery.runs.run.replan", fail)
            await yard.schedule(virtual, [200.0], offset=4)
            await yard.gate_of(1)
            await yard.gate_of(2)
            assert await yard.powers(battery, 8) == [400.0] * 8
            health = (await yard.owner.admin.get(f"/physical-assets/{battery['id']}/health")).json()
            [check] = [one for one in health["checks"] if one["name"] == "DISPATCH"]
            assert check["status"] == "DEGRADED"
            [told] = await emitted(yard, "delivery.run-failed")
            assert (told["deliveryZone"], told["reason"]) == ("TenneT", "ZeroDivisionError")
        await yard.gate_of(3)
        assert await yard.powers(battery, 8) == [400.0] * 4 + [200.0] + [400.0] * 3
        health = (await yard.owner.admin.get(f"/physical-assets/{battery['id']}/health")).json()
        [check] = [one for one in health["checks"] if one["name"] == "DISPATCH"]
        assert check["status"] == "OK"
