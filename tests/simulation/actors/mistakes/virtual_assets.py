"""Mistakes in allocations, portfolios and blocks of virtual assets."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import as_window, next_open_quarter
from tests.simulation.actors.batteries import may_promise
from tests.simulation.actors.mistakes.making import UNKNOWN, mistake, on_virtual
from tests.simulation.actors.virtual_assets import as_backing, choose_terms
from tests.simulation.calls import Request
from tests.simulation.market import berlin_day, blocks_within, midnight, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Block, VirtualAsset, World
from tests.simulation.oracle.energy import is_plain
from tests.simulation.steps import Pick

LONGEST_BLOCK = 20
"""Quarter-hours of four hours on the day on which clocks go back."""


def _allocate(world: World, pick: Pick, **more: Any) -> Request | None:
    chosen = choose_terms(world, pick)
    if chosen is None or not all(may_promise(one) and one.status == "ACTIVE" for one in chosen[1]):
        return None
    body, behind, shares = chosen
    body |= {"name": f"virtual{world.number()}", "backing": as_backing(behind, shares), **more}
    path = f"/organisations/{pick.of(world.traders).id}/virtual-assets"
    return Request("createVirtualAsset", world.operator.admin, "POST", path, body)


@mistake(422, "delivery-zones-differ")
def allocate_elsewhere(world: World, pick: Pick) -> Request | None:
    return _allocate(world, pick, deliveryZone="TransnetBW")


@mistake(422, "unknown-backing-asset")
def allocate_of_unknown(world: World, pick: Pick) -> Request | None:
    return _allocate(world, pick, backing=[{"physicalAssetID": UNKNOWN, "share": 1}])


@mistake(422, "shares-not-whole")
def allocate_nine_tenths(world: World, pick: Pick) -> Request | None:
    request = _allocate(world, pick)
    if request is not None:
        request.body["backing"] = [{**request.body["backing"][0], "share": 0.9}]
    return request


@mistake(422, "cycle-limit-exceeded")
def allocate_too_many_cycles(world: World, pick: Pick) -> Request | None:
    limited = [one for one in world.batteries.values() if all(version.daily_cycles for version in one.versions)]
    granted = [one for one in limited if may_promise(one)]
    if not granted:
        return None
    backing = as_backing(granted[:1], [Fraction(1)])
    request = _allocate(world, pick, dailyCycleLimit=90, backing=backing, deliveryZone=granted[0].zone)
    if request is not None:
        request.expect = (409, 422)
    return request


@mistake(422, "unknown-virtual-asset")
def group_unknown_asset(world: World, pick: Pick) -> Request | None:
    holder = pick.of(world.traders)
    body = {"name": f"Portfolio {world.number()}", "virtualAssetIDs": [UNKNOWN]}
    return Request("createPortfolio", holder.trader, "POST", f"/organisations/{holder.id}/portfolios", body)


@on_virtual(422, "unknown-portfolio")
def put_into_unknown_portfolio(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    return Request("updateVirtualAsset", virtual.holder.trader, "PATCH", virtual.path, {"portfolioID": UNKNOWN})


def _find_open_block(world: World, virtual: VirtualAsset) -> int | None:
    """The first quarter-hour of a four-hour block of a day to come within an asset's life."""
    day = berlin_day(max(start_of_quarter(virtual.first), world.now)) + timedelta(days=1)
    first = quarter_of(midnight(day))
    return first if first + 16 <= virtual.end else None


@on_virtual(422, "not-a-market-product")
def carve_an_hour(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    first = _find_open_block(world, virtual)
    if first is None:
        return None
    power = {"ratedChargePower": 1, "ratedDischargePower": 1}
    body = {**as_window(first, first + 4), "market": "FCR", **power}
    return Request("createBlock", virtual.holder.trader, "POST", f"{virtual.path}/blocks", body)


def _list_reserved(world: World) -> list[tuple[VirtualAsset, Block]]:
    """Blocks of balancing products that are to come."""
    soon = quarter_of(world.now) + 8
    blocks = [(virtual, block) for virtual in world.virtuals.values() for block in virtual.blocks.values()]
    return [one for one in blocks if one[1].market != "WHOLESALE" and one[1].first > soon]


@mistake(422, "block-without-schedule")
def schedule_reserve(world: World, pick: Pick) -> Request | None:
    found = _list_reserved(world)
    if not found:
        return None
    virtual, block = pick.of(found)
    body = {"schedule": [{"time": to_text(start_of_quarter(block.first)), "power": 0}]}
    return Request("scheduleBlock", virtual.holder.trader, "PUT", f"{virtual.path}/blocks/{block.id}", body)


@on_virtual(409, "schedule-in-the-way")
def carve_what_is_scheduled(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """All power of a block for FCR, in which something is scheduled already."""
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s) + 4)
    planned = {quarter for quarter, power in virtual.schedule.items() if power and soonest <= quarter < virtual.end}
    end = min(virtual.end, max(planned, default=soonest) + LONGEST_BLOCK)
    whole = [one for one in blocks_within(soonest, end) if planned & set(one)]
    if not whole or not (virtual.has_one_block and is_plain(world, virtual)):
        return None
    chosen = pick.of(whole)
    power = {"ratedChargePower": float(virtual.charge), "ratedDischargePower": float(virtual.discharge)}
    body = {**as_window(chosen.start, chosen.stop), "market": "FCR", **power}
    return Request("createBlock", virtual.holder.trader, "POST", f"{virtual.path}/blocks", body)


@mistake(409, "no-wholesale-power")
def carve_twice(world: World, pick: Pick) -> Request | None:
    found = [one for one in _list_reserved(world) if one[1].market == "FCR" and one[1].charge == one[0].charge]
    if not found:
        return None
    virtual, block = pick.of(found)
    power = {"ratedChargePower": float(block.charge), "ratedDischargePower": float(block.discharge)}
    body = {**as_window(block.first, block.end), "market": "FCR", **power}
    return Request("createBlock", virtual.holder.trader, "POST", f"{virtual.path}/blocks", body)


@mistake(409, "nothing-to-join")
def give_only_block_back(world: World, pick: Pick) -> Request | None:
    soon = quarter_of(world.now) + 8
    alone = [one for one in world.virtuals.values() if one.has_one_block and one.first > soon]
    if not alone:
        return None
    virtual = pick.of(alone)
    path = f"{virtual.path}/blocks/{next(iter(virtual.blocks))}"
    return Request("deleteBlock", virtual.holder.trader, "DELETE", path)
