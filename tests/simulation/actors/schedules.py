"""Holders of virtual assets: schedules and blocks."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import (
    as_window,
    exact,
    next_open_quarter,
    on_virtual,
    pick_window,
)
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    BLOCKS,
    block_quarters,
    day_of_quarter,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import Block, VirtualAsset, World
from tests.simulation.oracle.energy import find_store, is_plain, stays_within
from tests.simulation.steps import Pick


@on_virtual(weight=12)
def schedule_virtual(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """A stretch of power on the whole asset, or on its one block; balanced, greedy or idle."""
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s))
    if soonest >= virtual.end:
        return None
    first = min(virtual.end - 1, soonest + pick.between(0, 60))
    count = min(virtual.end - first, pick.one_of(2, 4, 8, 16))
    power = Fraction(pick.one_of(1, 2, 4, -1, -2, -4, 0, 5), 4) * virtual.discharge
    points = dict.fromkeys(range(first, first + count), power)
    if pick.chance(50):
        turned = -power * virtual.charge_efficiency * virtual.discharge_efficiency
        points |= {q + count: Fraction(round(turned)) for q in range(first, first + count) if q + count < virtual.end}
    return put_schedule(world, virtual, points, by_block=pick.chance(50))


def put_schedule(world: World, virtual: VirtualAsset, points: dict[int, Fraction], *, by_block: bool) -> Request:
    body = {"schedule": [{"time": to_text(start_of_quarter(q)), "power": float(p)} for q, p in points.items()]}
    blocks = list(virtual.blocks.values())
    wholesale = blocks[0] if len(blocks) == 1 and blocks[0].market == "WHOLESALE" else None
    expect: Any = None
    if wholesale is not None and is_plain(world, virtual):
        expect = 200 if stays_within(virtual, points) else 422

    def remember(_: Answer) -> None:
        virtual.schedule |= points

    def check(answer: Answer) -> None:
        if is_plain(world, virtual):
            world.compared["imbalance of a schedule"] += 1
            compare_imbalance(virtual, answer.body["imbalance"])

    path = f"{virtual.path}/schedule"
    operation = "scheduleAsset"
    if by_block and wholesale is not None:
        path, operation = f"{virtual.path}/blocks/{wholesale.id}", "scheduleBlock"
    by = virtual.holder.trader
    is_new = any(virtual.schedule.get(quarter, Fraction(0)) != power for quarter, power in points.items())
    causes = ((virtual.holder.name, "schedule.updated", virtual.id),) if is_new and wholesale is not None else ()
    return Request(operation, by, "PUT", path, body, expect=expect, on_success=remember, check=check, causes=causes)


def compare_imbalance(virtual: VirtualAsset, said: dict[str, Any]) -> None:
    end = find_store(virtual)[virtual.end]
    off = end - virtual.target * virtual.energy
    expected = {
        "endStateOfChargePercentage": 100 * end / virtual.energy,
        "imbalanceDischarge": max(Fraction(0), off),
        "imbalanceCharge": max(Fraction(0), -off),
    }
    for name, value in expected.items():
        assert abs(exact(said[name]) - value) < Fraction(1, 100), f"{name} {float(value)}, not {said[name]}"
    balanced = abs(off) <= virtual.tolerance * virtual.energy
    near = abs(abs(off) - virtual.tolerance * virtual.energy) < Fraction(1, 1000)
    assert near or said["balanced"] == balanced, f"balanced {balanced}, not {said['balanced']}"


@on_virtual(weight=1)
def schedule_too_late(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """A period whose gate has closed, or one off the quarter-hour, or outside the asset's life."""
    kind = pick.below(3)
    now = quarter_of(world.now)
    expect: Any = (400, 422)
    moment = start_of_quarter(virtual.first) - timedelta(hours=1)
    if kind == 1:
        moment, expect = start_of_quarter(virtual.first) + timedelta(minutes=7), 400
    elif kind == 2 and virtual.first <= now < virtual.end:
        moment, expect = start_of_quarter(now), 409
    body = {"schedule": [{"time": to_text(moment), "power": 0}]}
    path = f"{virtual.path}/schedule"
    return Request("scheduleAsset", virtual.holder.trader, "PUT", path, body, expect=expect)


@on_virtual(weight=3)
def carve_block(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    market = pick.one_of("FCR", "FCR", "AFRR_POS", "AFRR_NEG", "WHOLESALE")
    first, end = pick_window(world, pick, 1, 5)
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s))
    blocks = [
        quarters
        for day in {day_of_quarter(quarter) for quarter in range(soonest, virtual.end, 92)}
        for quarters in (block_quarters(day, block) for block in BLOCKS)
        if soonest <= quarters.start and quarters.stop <= virtual.end
    ]
    if blocks and pick.chance(85):
        chosen = pick.of(sorted(blocks, key=lambda quarters: quarters.start))
        first, end = chosen.start, chosen.stop
    power = Fraction(pick.one_of(1, 2, 4), 4) * virtual.charge
    return carve_request(virtual, range(first, end), market, power)


def carve_request(virtual: VirtualAsset, quarters: range, market: str, power: Fraction) -> Request:
    first, end = quarters.start, quarters.stop
    body = {
        **as_window(first, end),
        "market": market,
        "ratedChargePower": float(power) if market != "AFRR_POS" else 0,
        "ratedDischargePower": float(power) if market != "AFRR_NEG" else 0,
    }

    def remember(answer: Answer) -> None:
        made = answer.body
        virtual.has_one_block = False
        virtual.blocks[made["id"]] = Block(
            made["id"], first, end, market, exact(made["ratedChargePower"]), exact(made["ratedDischargePower"])
        )

    path = f"{virtual.path}/blocks"
    return Request("createBlock", virtual.holder.trader, "POST", path, body, on_success=remember)


@on_virtual(weight=1)
def give_block_back(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    if len(virtual.blocks) < 2:
        return None
    block = pick.of(list(virtual.blocks.values())[1:])

    def remember(_: Answer) -> None:
        virtual.blocks.pop(block.id, None)
        virtual.is_disturbed = True

    path = f"{virtual.path}/blocks/{block.id}"
    return Request("deleteBlock", virtual.holder.trader, "DELETE", path, on_success=remember)
