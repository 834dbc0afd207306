"""Figures of the oracle, computed by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest
from tests.simulation.market import midnight, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Battery, Organisation, Parameters, VirtualAsset, World
from tests.simulation.oracle.levelling import LevelZone, find_gaps, find_level_zone, list_windows
from tests.simulation.oracle.netting import find_netted_volume
from tests.simulation.oracle.owner_imbalance import find_owner_imbalance
from tests.simulation.oracle.payments import IMBALANCE_PRICE
from tests.simulation.oracle.raw import find_raw_difference

ONE = Fraction(1)
START = datetime(2027, 1, 11, tzinfo=UTC)
FIRST = quarter_of(START)


@pytest.fixture
def world() -> World:
    """Two batteries of 2 MW and 4 MWh without losses, each behind a virtual asset of 1 MW and 2 MWh for three days."""
    people = Organisation("one", "", "PARTICIPANT", {})
    made = World(START + timedelta(days=2), people, [people], [people])
    for name in ("a", "b"):
        rated = Parameters(None, 2000 * ONE, 2000 * ONE, 4000 * ONE, ONE, ONE, 0 * ONE, ONE, ONE, None)
        made.batteries[name] = Battery(name, f"battery {name}", people, "TenneT", "ACTIVE", [rated])
        made.virtuals[name] = VirtualAsset(
            name, name, people, "TenneT", FIRST, FIRST + 288, 1000 * ONE, 1000 * ONE, 2000 * ONE, ONE, ONE,
            480, ONE / 2, ONE / 2, ONE, [(name, ONE)],
        )  # fmt: skip
    return made


def make_point(quarter: int, **parts: float) -> dict[str, object]:
    return {
        "time": to_text(start_of_quarter(quarter)),
        "parts": [{"kind": kind, "power": power} for kind, power in parts.items()],
    }


class TestNettedVolume:
    def test_is_what_met_opposite_schedules_until_now(self, world: World):
        for quarter in (FIRST, FIRST + 1, FIRST + 250):
            world.virtuals["a"].schedule[quarter], world.virtuals["b"].schedule[quarter] = 800 * ONE, -200 * ONE
        day = (START, START + timedelta(days=1))
        assert find_netted_volume(world, world.virtuals["a"], *day) == Fraction(1, 10)
        assert find_netted_volume(world, world.virtuals["b"], *day) == Fraction(-1, 10)
        assert find_netted_volume(world, world.virtuals["a"], day[1], day[1] + timedelta(days=3)) == 0

    def test_is_what_was_recorded_where_a_row_was(self, world: World):
        world.virtuals["a"].schedule[FIRST], world.virtuals["b"].schedule[FIRST] = 800 * ONE, -200 * ONE
        world.facts.net_off["a", FIRST] = {"volume": 0.7}
        assert find_netted_volume(world, world.virtuals["a"], START, START + timedelta(days=1)) == Fraction(7, 10)

    def test_is_unknown_where_a_schedule_may_have_been_cut(self, world: World):
        world.virtuals["b"].is_disturbed = True
        assert find_netted_volume(world, world.virtuals["a"], START, START + timedelta(days=1)) is None


class TestAnOwnersImbalance:
    def test_is_what_the_battery_owed_and_was_measured_not_to_do(self, world: World):
        battery = world.batteries["a"]
        battery.samples["active_power"] = {START + timedelta(minutes=minute): 600.0 for minute in range(15)}
        world.prices[IMBALANCE_PRICE, FIRST] = 80 * ONE
        points = [make_point(FIRST, VIRTUAL=1000.0), make_point(FIRST + 1, VIRTUAL=1000.0)]
        assert find_owner_imbalance(world, battery, points, {}, (FIRST, FIRST + 96)) == -8

    def test_is_what_it_does_for_its_owner_beyond_its_trades(self, world: World):
        world.prices |= {(IMBALANCE_PRICE, FIRST + number): 100 * ONE for number in range(2)}
        points = [make_point(FIRST, OWN=400.0), make_point(FIRST + 1, DRIFT=400.0)]
        traded = {FIRST + 1: Fraction(1, 10)}
        assert find_owner_imbalance(world, world.batteries["a"], points, traded, (FIRST, FIRST + 96)) == 10


class TestLevelling:
    def test_finds_the_gap_that_netting_opens(self, world: World):
        """a discharges a quarter-hour of 800 kW while b charges it: no battery moves, and both are 200 kWh off."""
        world.virtuals["a"].schedule[FIRST], world.virtuals["b"].schedule[FIRST] = 800 * ONE, -800 * ONE
        known = find_level_zone(world, "TenneT")
        assert isinstance(known, LevelZone)
        energies = {name: {FIRST: 2000.0, FIRST + 1: 2000.0} for name in ("a", "b")}
        assert find_gaps(known, energies, FIRST + 1) == {"a": 200.0, "b": -200.0}

    def test_looks_at_windows_of_as_many_nets_as_levelling_needs_without_netting(self, world: World):
        for quarter in range(FIRST, FIRST + 288):
            world.virtuals["a"].schedule[quarter] = 100 * ONE if quarter % 2 else -100 * ONE
        known = find_level_zone(world, "TenneT")
        assert known is not None
        assert list_windows(world, "TenneT", known, FIRST + 192) == [(FIRST, FIRST + 96)]
        world.virtuals["b"].schedule[FIRST + 30] = 50 * ONE
        assert list_windows(world, "TenneT", known, FIRST + 192) == [(FIRST + 31, FIRST + 127)]
        world.virtuals["b"].schedule[FIRST + 160] = 50 * ONE
        assert list_windows(world, "TenneT", known, FIRST + 192) == []

    def test_leaves_out_a_zone_in_which_something_was_measured(self, world: World):
        world.batteries["b"].samples["state_of_charge"] = {START: 50.0}
        assert find_level_zone(world, "TenneT") is None


class TestRawFigures:
    def test_have_a_point_for_each_trade_and_block_and_sum_up_to_the_window(self, world: World):
        virtual, day = world.virtuals["a"], date(2027, 1, 12)
        at = quarter_of(midnight(day)) + 40
        world.facts.trades["a", "T", at, "SELL"] = {"volume": 0.25, "price": 80}
        world.facts.fcr["a", day, "NEGPOS_04_08"] = {"capacity": 0.5, "settlementPrice": 10}
        window = (midnight(day), midnight(day + timedelta(days=1)))
        sold, block = to_text(start_of_quarter(at)), to_text(midnight(day) + timedelta(hours=4))
        points: dict[str, dict[str, object]] = {
            "revenue_wholesale": {sold: 20},
            "buy_volume_wholesale": {sold: 0},
            "sell_volume_wholesale": {sold: 0.25},
            "net_volume_wholesale": {sold: 0.25},
            "buy_vwap_wholesale": {sold: None},
            "sell_vwap_wholesale": {sold: 80},
            "revenue_fcr": {block: 20},
            "capacity_fcr": {block: 0.5},
            "settlement_price_fcr": {block: 10},
            "delivery_hours_fcr": {block: 4},
            "weighted_capacity_fcr": {block: 2},
            "revenue_total_revenue": {sold: 20, block: 20},
        }
        nothing = ["revenue_afrr_capacity", "revenue_afrr_energy", "revenue_tolling", "revenue_vba"]
        nothing += ["total_volume_afrr_energy_pos", "total_volume_afrr_energy_neg"]
        data: dict[str, list[dict[str, object]]] = {
            name: [{"time": time, "value": value} for time, value in found.items()] for name, found in points.items()
        }
        data |= {name: [] for name in nothing}
        assert find_raw_difference(world, virtual, data, window) is None
        data["revenue_total_revenue"].pop()
        assert "revenue_total_revenue of 40.0" in (find_raw_difference(world, virtual, data, window) or "")
        data["capacity_fcr"] = []
        assert "capacity_fcr in" in (find_raw_difference(world, virtual, data, window) or "")
