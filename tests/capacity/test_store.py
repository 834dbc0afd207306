"""Which rows the books of batteries are made of: those of each battery that touch the periods asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from tests.capacity.test_capacity_json import db, lose, new_batteries, rate

from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency
from gridloom.capacity.store import (
    load_availability,
    load_battery_capacity,
    load_firm_capacity,
    load_ratings_and_outages,
    read_own_schedules,
    write_holdings,
)
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window

__all__ = ["db"]  # a fixture

FIRST = 1_990_080  # far from any other day, and not the first period of its market day
END = FIRST + 20


def promise(first: int = FIRST, end: int = END) -> Holding:
    kind, losses = HoldingKind.VIRTUAL_ASSET, OneWayEfficiency(0.97, 0.96)
    return Holding(kind, uuid4(), first, end, 1_000, 2_000, 3_000, losses=losses, organisation_id=uuid4())


def bid(first: int = FIRST, end: int = END, *, is_firm: bool = True) -> Holding:
    return Holding(HoldingKind.AFRR_CAPACITY, uuid4(), first, end, 0, 700, 800, is_firm, product="POS_00_04")


async def schedule(db: Any, key: int, **powers_kw: float) -> None:
    for place, power_kw in powers_kw.items():
        await db.execute(
            "insert into physical_schedule (asset_key, period, power_kw) values ($1, $2, $3)",
            key, period_start(FIRST + int(place.removeprefix("at").replace("_", "-"))), power_kw,
        )  # fmt: skip


class TestHoldings:
    async def test_given_back_by_one_battery_stay_with_the_others_of_their_holder(self, db: Any) -> None:
        one, other = await new_batteries(db, 2)
        held, kept = promise(), bid()
        await write_holdings(db, [], [(one, held), (one, kept), (other, replace(held, charge_kw=900))])
        await write_holdings(db, [(one, held.holder_id)], [(other, bid_of_other := bid())])
        found = await load_firm_capacity(db, [one, other], FIRST, END)
        assert found[one].holdings == [kept]
        assert sorted(found[other].holdings, key=lambda holding: holding.charge_kw) == [
            bid_of_other,
            replace(held, charge_kw=900),
        ]

    async def test_are_read_where_they_touch_the_periods_and_bids_that_wait_with_the_firm_ones_if_asked_for(
        self, db: Any
    ) -> None:
        key, other = await new_batteries(db, 2)
        inside = [promise(FIRST - 9, FIRST + 1), promise(END - 1, END + 9), bid(), waiting := bid(is_firm=False)]
        day_before, beside = promise(FIRST - 300, FIRST - 200), [promise(FIRST - 9, FIRST), promise(END, END + 9)]
        await write_holdings(db, [], [(key, one) for one in (*inside, day_before, *beside)])
        await write_holdings(db, [], [(other, promise())])
        firm = (await load_firm_capacity(db, [key], FIRST, END))[key]
        assert {one.holder_id for one in firm.holdings} == {one.holder_id for one in inside if one.is_firm}
        every = (await load_battery_capacity(db, [key], FIRST, END))[key]
        found = {one.holder_id: one for one in every.holdings}
        assert found == {one.holder_id: one for one in (*inside, *beside)}, "and those of the same market day"
        assert found[waiting.holder_id] == waiting


class TestRatingsAndOutages:
    async def test_are_those_of_each_battery_that_hold_or_touch_the_window(self, db: Any) -> None:
        one, other, bare = await new_batteries(db, 3)
        await rate(db, one, 1, FIRST - 50, 1_000)
        await rate(db, one, 2, END - 1, 2_000)
        await rate(db, one, 3, END, 3_000)
        await rate(db, other, 1, FIRST, 4_000)
        await lose(db, one, FIRST - 5, FIRST, 10)
        await lose(db, one, FIRST - 5, FIRST + 1, 20)
        await lose(db, one, END - 1, END + 1, 30)
        await lose(db, one, END, END + 1, 40)
        await lose(db, other, FIRST, END, 50)
        window = Window(period_start(FIRST), period_start(END))
        found = await load_ratings_and_outages(db, [one, other, bare], window)
        assert {key: sorted(rating.charge_power_kw for rating in each.ratings) for key, each in found.items()} == {
            one: [1_000, 2_000],
            other: [4_000],
            bare: [],
        }
        assert {key: sorted(outage.charge_power_kw for outage in each.outages) for key, each in found.items()} == {
            one: [20, 30],
            other: [50],
            bare: [],
        }
        booked = await load_firm_capacity(db, [other], FIRST, END)
        for known in (found[other], booked[other].ratings_and_outages):
            [outage] = known.outages
            assert (outage.charge_power_kw, outage.discharge_power_kw, outage.energy_kwh) == (50, 100, 150)
            assert outage.end == window.end
        [rating] = found[other].ratings
        assert (rating.charge_power_kw, rating.energy_kwh) == (4_000, 8_000)
        assert (rating.charge_efficiency, rating.discharge_efficiency, rating.fcr_limit_ratio) == (0.9, 0.92, 0.8)
        assert round(rating.usable_share, 9) == 0.85

    async def test_of_an_availability_count_wherever_they_are_in_a_period_that_the_window_touches(
        self, db: Any
    ) -> None:
        [key] = await new_batteries(db, 1)
        await rate(db, key, 1, FIRST - 50, 1_000)
        await lose(db, key, FIRST, FIRST + 1, 300)  # from the third minute on
        edge = period_start(FIRST) + (period_start(FIRST + 1) - period_start(FIRST)) / 15
        found = (await load_availability(db, [key], Window(period_start(FIRST - 1), edge)))[key]
        assert found.available[:, 0].tolist() == [1_000, 700]


class TestAnOwnSchedule:
    async def test_is_that_of_each_battery_in_the_periods_without_those_of_no_power(self, db: Any) -> None:
        one, other, idle = await new_batteries(db, 3)
        await schedule(db, one, at_1=9, at3=-30, at0=10, at2=0, at20=99)
        await schedule(db, other, at19=-40)
        found = await read_own_schedules(db, [one, other, idle], FIRST, END)
        assert {key: (own.periods.tolist(), own.power_kw.tolist()) for key, own in found.items()} == {
            one: ([FIRST, FIRST + 3], [10, -30]),
            other: ([FIRST + 19], [-40]),
            idle: ([], []),
        }
        capacity = await load_battery_capacity(db, [one, other], FIRST + 1, FIRST + 2)
        assert capacity[one].own.power_kw.tolist() == [9, 10, -30, 99], "all of the market day"
        assert capacity[other].own.power_kw.tolist() == [-40]
