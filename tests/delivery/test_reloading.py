"""A run that reads only what has changed does what one does that reads everything."""

from __future__ import annotations

import random
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.codec import pack, unpack
from gridloom.delivery.inputs.reloading import reload_changed_schedules
from gridloom.delivery.plan_store import ZoneState, forget_arrays, lock_zone
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.runs.run import plan_zone, read_one_zone_status
from gridloom.kernel.market_time import block_window, market_day_of, period_number
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Connection

BATTERIES, ASSETS, STEPS = 12, 14, 7
"""Enough batteries for small changes to be laid over a plan that stands."""
ZONE = "TenneT"


async def _sent(answer: Any) -> None:
    assert answer.status_code in (200, 201, 409, 422), answer.text


class Scene:
    """A zone in which things happen at random, drawn from a seed."""

    def __init__(self, yard: Yard, seed: int) -> None:
        self.yard, self.draw, self.offset = yard, random.Random(seed), -4
        self.batteries: list[dict[str, Any]] = []
        self.assets: list[dict[str, Any]] = []

    async def furnish(self) -> None:
        for number in range(BATTERIES):
            size = {"energyCapacity": (2000, 4000)[number % 2], "chargeEfficiency": (0.9, 0.93)[number % 3 % 2]}
            self.batteries.append(await self.yard.battery(ratedChargePower=2000, ratedDischargePower=2000, **size))
        for number in range(ASSETS):
            behind = (self.batteries[number % BATTERIES], self.batteries[(number + 1) % BATTERIES])
            rated = {"ratedChargePower": 600, "ratedDischargePower": 600, "energyCapacity": 700}
            self.assets.append(await self.yard.virtual(*behind, **rated))
            await self.schedule(range(4, 40))

    async def schedule(self, places: range) -> None:
        """A random asset does something else there; some of it is refused."""
        asset = self.draw.choice(self.assets)
        powers = [round(self.draw.uniform(-60, 60), 3) for _ in places]
        points = [
            {"time": wire(self.yard.start + place * QUARTER), "power": power}
            for place, power in zip(places, powers, strict=True)
        ]
        url = f"{self.yard.url(asset)}/blocks/{asset['blockIDs'][0]}"
        await _sent(await self.yard.trader.trader.put(url, json={"schedule": points}))

    async def lose(self) -> None:
        """Most of a battery, for a while."""
        start = self.yard.start + (self.offset + self.draw.randrange(8)) * QUARTER
        left = {"charge": 1990, "discharge": 1990}
        body = {"description": "A transformer trips", "type": "OUTAGE", "start": wire(start)}
        volume = {"energyCapacity": 0, "powerCapacity": left}
        url = f"/physical-assets/{self.draw.choice(self.batteries)['id']}/unavailability"
        end = {"end": wire(start + timedelta(hours=2))}
        await _sent(await self.yard.owner.engineer.post(url, json={**body, **end, "volume": volume}))

    async def reserve(self) -> None:
        """FCR on a virtual asset."""
        start = block_window(market_day_of(self.yard.start), 8, 12).start
        window = {"start": wire(start), "end": wire(start + timedelta(hours=4)), "market": "FCR"}
        power = {"ratedChargePower": 50, "ratedDischargePower": 50}
        url = f"{self.yard.url(self.draw.choice(self.assets))}/blocks"
        await _sent(await self.yard.trader.trader.post(url, json={**window, **power}))

    async def hold(self) -> None:
        """Someone bids with what is free of a battery: no plan is made anew for that, but the next counts it."""
        day = market_day_of(self.yard.start) + timedelta(days=1)
        entry = {"deliveryDay": day.isoformat(), "product": "NEGPOS_16_20"}
        bids = [{"capacityPrice": 40, "offeredCapacity": 1000}]
        url = f"/physical-assets/{self.draw.choice(self.batteries)['id']}/ancillary/bids"
        await _sent(await self.yard.owner.trader.post(url, json=[{**entry, "bids": bids}]))

    async def change(self) -> None:
        happens = self.draw.choices(("schedule", "lose", "reserve", "hold", "nothing"), (8, 1, 1, 1, 1))[0]
        if happens in ("lose", "reserve", "hold"):
            await getattr(self, happens)()
        if happens != "nothing":
            first = self.offset + self.draw.randrange(3, 20)
            await self.schedule(range(first, first + self.draw.randrange(1, 6)))


async def _run(db: Connection, state: ZoneState, now: datetime) -> dict[str, Any] | None:
    """What a run would leave; it is undone."""
    undone = db.transaction()
    await undone.start()
    look = await read_one_zone_status(db, ZONE, now)
    assert look is not None
    run = await plan_zone(db, look, state, now)
    left: dict[str, Any] | None = None
    if run is not None:
        after = await lock_zone(db, ZONE)
        assert after.plan is not None
        left = {"plan": _list_arrays(after.plan, run.first_period), "run": _list_figures(run)}
        left["dispatch"] = [tuple(row) for row in await db.fetch(DISPATCH, run.id)]
        for table in ("delivery_netting", "delivery_quarters"):
            left[table] = [tuple(row) for row in await db.fetch(f"select * from {table} order by version")]
    await undone.rollback()
    return left


DISPATCH = """select asset_key, version, recorded_at, first_period, end_period, body from dispatch_version
              where run_id = $1 order by asset_key"""


def _list_arrays(plan: ZonePlan, first: int) -> dict[str, np.ndarray]:
    """From that period on; without reserves that have ended."""
    column = first - plan.first
    is_reserved = plan.reserve_kw[:, column:].any(axis=1)
    names = ("power_kw", "virtual_kw", "own_kw", "drift_kw", "energy_kwh", "netted_fraction", "totals_kw")
    cut = {name: getattr(plan, name)[..., column:] for name in names}
    cut |= {"share_energy_kwh": plan.share_energy_kwh[:, column:], "versions": plan.versions, "shares": plan.shares}
    cut |= {"reserve_kw": plan.reserve_kw[is_reserved, column:], "reserve_keys": plan.reserve_keys[is_reserved]}
    return cut


def _check_alike(one: Any, other: Any, name: str = "") -> None:
    """The same but for the rounding of sums that were added up in another order."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _check_alike(one[key], other[key], f"{name}.{key}")
    elif isinstance(one, bytes):
        _check_alike(unpack(one), unpack(other), name)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), name
        for mine, others in zip(one, other, strict=True):
            _check_alike(mine, others, name)
    elif isinstance(one, float | np.ndarray):
        assert np.shape(one) == np.shape(other), name
        assert np.allclose(one, other, rtol=1e-9, atol=1e-5), name
    else:
        assert one == other, name


def _list_figures(run: Any) -> dict[str, Any]:
    return {one.name: getattr(run, one.name) for one in fields(run) if one.name not in ("id", "solver_s")}


async def _check_nothing_is_left(yard: Yard) -> None:
    """A second run changes nothing."""
    async with yard.edge.pool.acquire() as db, db.transaction():
        state, now = await lock_zone(db, ZONE), await platform_now(db)
        look = await read_one_zone_status(db, ZONE, now)
        assert look is not None
        assert state.plan is not None
        if state.plan.unserved_kw[period_number(now) - state.plan.first :].any():
            return  # unserved power was cut after the plan was stored: the next gate finds it
        assert await plan_zone(db, look, state, now) is None


async def test_what_another_holder_takes_of_a_battery_is_read_by_the_next_run(yard: Yard) -> None:
    """A bid changes no plan by itself; but drift is returned only with what it leaves."""
    scene = Scene(yard, 4)
    scene.batteries = [await yard.battery(ratedChargePower=4000, ratedDischargePower=4000, energyCapacity=8000)]
    scene.assets = [await yard.virtual(*scene.batteries)]
    await yard.gate_of(1)
    assert await _can_reload(yard)
    await scene.hold()
    assert not await _can_reload(yard)


async def _can_reload(yard: Yard) -> bool:
    async with yard.edge.pool.acquire() as db, db.transaction():
        state = await lock_zone(db, ZONE)
        assert state.plan is not None
        assert state.inputs is not None
        both = state.versions, state.versions
        return (
            await reload_changed_schedules(db, state.plan, state.inputs, both, state.plan.first, state.plan.end)
            is not None
        )


async def test_a_plan_that_was_stored_with_less_is_continued(yard: Yard) -> None:
    battery = await yard.battery()
    virtual = await yard.virtual(battery)
    await yard.schedule(virtual, [400.0] * 4)
    await yard.gate_of(0)
    assert await _can_reload(yard)
    await yard.edge.pool.execute("delete from delivery_plan_piece where name = 'inputs.promised_kwh'")
    forget_arrays()
    await yard.schedule(virtual, [200.0], offset=2)
    await yard.gate_of(1)
    assert await yard.powers(battery, 4) == [400.0, 400.0, 200.0, 400.0]
    assert await _can_reload(yard)


async def test_a_plan_that_was_stored_in_one_piece_is_continued(yard: Yard) -> None:
    battery = await yard.battery()
    virtual = await yard.virtual(battery)
    await yard.schedule(virtual, [400.0] * 4)
    await yard.gate_of(0)
    before = (await yard.dispatch(battery))["dispatch"]
    async with yard.edge.pool.acquire() as db, db.transaction():
        state = await lock_zone(db, ZONE)
        assert state.plan is not None
        await db.execute("delete from delivery_plan_piece")
        await db.execute("update delivery_zone set plan = $1", _pack_in_one_piece(state.plan))
    await yard.schedule(virtual, [200.0], offset=2)
    await yard.gate_of(1)
    after = (await yard.dispatch(battery))["dispatch"]
    assert [point["power"] for point in after[:4]] == [400.0, 400.0, 200.0, 400.0]
    assert after[2]["stateOfChargePercentage"] == pytest.approx(before[2]["stateOfChargePercentage"])
    assert after[0]["parts"] == before[0]["parts"]


def _pack_in_one_piece(plan: ZonePlan) -> bytes:
    names, part_kw = list_parts(plan, 0, plan.end - plan.first)
    names[:, 0] = np.searchsorted(plan.battery_keys, names[:, 0])
    kept = {name: getattr(plan, name) for name in IN_ONE_PIECE}
    kept |= {"due_kwh": plan.share_energy_kwh, "netted_part": plan.netted_fraction}
    return pack({**kept, "part_of": names, "part_kw": part_kw})


IN_ONE_PIECE = (*("asset_keys", "power_kw", "battery_keys", "virtual_kw", "own_kw", "energy_kwh", "unserved_kw"),)


async def test_a_change_of_an_outage_that_began_the_day_before_is_read_by_the_next_run(yard: Yard) -> None:
    battery = await yard.battery()
    virtual = await yard.virtual(battery)
    body = {
        "description": "Half of it",
        "type": "OUTAGE",
        "start": wire(yard.start - timedelta(hours=1)),
        "end": wire(yard.start + timedelta(hours=8)),
        "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 500, "discharge": 500}},
    }
    url = f"/physical-assets/{battery['id']}/unavailability"
    made = await yard.owner.engineer.post(url, json=body)
    assert made.status_code == 201, made.text
    await yard.schedule(virtual, [50.0] * 12)
    await yard.gate_of(4)
    less = {"volume": {"energyCapacity": 0, "powerCapacity": {"charge": 100, "discharge": 100}}}
    changed = await yard.owner.engineer.change(f"{url}/{made.json()['id']}", json=less)
    assert changed.status_code == 200, changed.text
    await yard.schedule(virtual, [700.0] * 4, offset=8)
    await yard.gate_of(10)
    assert await yard.powers(battery, 12) == [50.0] * 8 + [700.0] * 4
