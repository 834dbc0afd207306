"""Zones: what is left of schedules is done by batteries, within limits, fairly, and reserves are held or given back."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import as_window, exact
from tests.simulation.actors.delivered import dispatch_request
from tests.simulation.actors.statement_lines import holder_request
from tests.simulation.calls import Finding, Request
from tests.simulation.market import (
    berlin_day,
    block_of_quarter,
    block_quarters,
    day_of_quarter,
    from_text,
    quarter_after,
    quarter_of,
    quarters_of_day,
)
from tests.simulation.model import Battery, Block, VirtualAsset
from tests.simulation.oracle.dispatch import LONGEST_GATE, find_unfair_day
from tests.simulation.oracle.netting import is_zone_plain, sum_sides
from tests.simulation.oracle.payments import CENT, SLACK

if TYPE_CHECKING:
    from tests.simulation.life import Life

BEFORE, AFTER = 192, 48
"""Quarter-hours before and after now."""
SLACK_KW = 0.01
MIN_OPPOSED_KW = 1.0
Powers = dict[str, dict[int, float]]


async def compare_zones(life: Life) -> None:
    """In every quarter-hour that was planned, batteries do for a zone what is left of its schedules."""
    world = life.world
    now = quarter_of(world.now)
    said = {battery.name: await _read_dispatch(life, battery, now - BEFORE, now + AFTER) for battery in _list_all(life)}
    query = as_window(now - BEFORE, now + AFTER)
    request = Request("listDeliveryZones", world.operator.viewer, "GET", "/delivery/zones", query=query, expect=200)
    for zone in (await life.ask(request)).body:
        within = [battery for battery in _list_all(life) if battery.zone == zone["deliveryZone"]]
        done = {one.name: _sum_parts(said[one.name], ("VIRTUAL",)) for one in within}
        error = _find_wrong_quarter(life, zone, done) or _find_opposed(life, within, zone, done)
        if error is not None:
            raise Finding("dispatch", error, request, None)
        await _compare_fairness(life, zone["deliveryZone"], within)
        await _compare_reserves(life, zone["deliveryZone"], {one.name: said[one.name] for one in within})


def _list_all(life: Life) -> list[Battery]:
    return list(life.world.batteries.values())


async def _read_dispatch(life: Life, battery: Battery, first: int, end: int) -> list[dict[str, Any]]:
    return list((await life.ask(dispatch_request(life.world, battery, first, end))).body["dispatch"])


def _sum_parts(points: list[dict[str, Any]], kinds: tuple[str, ...]) -> dict[int, float]:
    return {
        quarter_of(from_text(point["time"])): sum(part["power"] for part in point["parts"] if part["kind"] in kinds)
        for point in points
    }


def _find_wrong_quarter(life: Life, zone: dict[str, Any], done: Powers) -> str | None:
    """What is dispatched is what is left; where nothing but schedules counts, that is what they say."""
    world, now = life.world, quarter_of(life.world.now)
    is_plain = is_zone_plain(world, zone["deliveryZone"])
    for point in zone["quarters"]:
        quarter = quarter_of(from_text(point["time"]))
        left = point["scheduledExport"] - point["scheduledImport"] - point["unserved"]
        by_batteries = sum(powers.get(quarter, 0.0) for powers in done.values())
        world.compared["zone sums"] += bool(point["dispatched"])
        if max(abs(left - point["dispatched"]), abs(by_batteries - point["dispatched"])) > SLACK_KW:
            said = f"{by_batteries} by batteries, {left} scheduled"
            return f"{point['dispatched']} kW in {point['time']}, not {said}"
        if is_plain and quarter < now:
            exported, imported = sum_sides(world, zone["deliveryZone"], quarter)
            expected = (float(exported), float(imported), float(min(exported, imported)))
            found = (point["scheduledExport"], point["scheduledImport"], point["netted"])
            world.compared["netting of a zone"] += bool(expected[2])
            if any(abs(one - other) > SLACK_KW for one, other in zip(expected, found, strict=True)):
                return f"exports, imports and netted {expected} in {point['time']}, not {found}"
    return None


def _find_opposed(life: Life, within: list[Battery], zone: dict[str, Any], done: Powers) -> str | None:
    """No battery charges while another discharges; only looked at where no limit can force it."""
    is_limited = any(one.outages or one.own or one.bids or one.versions[1:] or _has_limit(one) for one in within)
    if is_limited or not is_zone_plain(life.world, zone["deliveryZone"]):
        return None
    for point in zone["quarters"]:
        powers = [one.get(quarter_of(from_text(point["time"])), 0.0) for one in done.values()]
        life.world.compared["one sign in a zone"] += sum(abs(power) > MIN_OPPOSED_KW for power in powers) > 1
        if powers and min(powers) < -MIN_OPPOSED_KW and max(powers) > MIN_OPPOSED_KW and not point["unserved"]:
            return f"powers of one sign in {point['time']}, not {powers}"
    return None


def _has_limit(battery: Battery) -> bool:
    return any(version.daily_cycles for version in battery.versions)


async def _compare_fairness(life: Life, zone: str, within: list[Battery]) -> None:
    """Yesterday, where nothing failed."""
    world = life.world
    day = quarters_of_day(berlin_day(world.now) - timedelta(days=1))
    is_quiet = not any(one.outages or one.versions[1:] or _has_limit(one) for one in within)
    is_sold = any(sum_sides(world, zone, quarter)[0] for quarter in day)
    if not (is_quiet and is_sold and is_zone_plain(world, zone)):
        return
    powers = {
        one.name: _sum_parts(await _read_dispatch(life, one, day[0], day[-1] + 1), ("VIRTUAL",)) for one in within
    }
    error = find_unfair_day(world, zone, powers, day[0], day[-1] + 1)
    if error is not None:
        raise Finding("fair parts", error)


async def _compare_reserves(life: Life, zone: str, said: dict[str, list[dict[str, Any]]]) -> None:
    """What batteries hold of FCR blocks; what they do not, the holder gives back at the award's price."""
    world, now = life.world, quarter_of(life.world.now)
    first = now - BEFORE
    blocks = [
        (virtual, block)
        for virtual in world.virtuals.values()
        for block in virtual.blocks.values()
        if virtual.zone == zone and block.market == "FCR" and block.first < now and block.end > first
    ]
    if not blocks:
        return
    held: Counter[int] = Counter()
    for point in chain.from_iterable(said.values()):
        for part in point["parts"]:
            if part["kind"] == "FCR" and "virtualAssetID" in part:  # else its owner has sold it
                held[quarter_of(from_text(point["time"]))] += round(1000 * part["power"])
    short = {
        quarter: Fraction(round(1000 * sum(one.charge for _, one in blocks if one.first <= quarter < one.end)), 1000)
        - Fraction(held[quarter], 1000)
        for quarter in range(first, now)
        if not any(_is_told_late(world.batteries[name], quarter) for name in said)
    }
    if not short:
        return
    is_quiet = not any(world.batteries[name].outages or world.batteries[name].versions[1:] for name in said)
    if is_quiet and is_zone_plain(world, zone):
        off = {quarter: float(kw) for quarter, kw in short.items() if abs(kw) > 1}
        world.compared["reserves held"] += sum(one.first <= quarter < one.end for _, one in blocks for quarter in short)
        if off:
            raise Finding(
                "reserves", f"all of the FCR in {zone} held by batteries, where nothing failed: {off} kW short"
            )
    for virtual in {one.name: one for one, _ in blocks}.values():
        own = [one for other, one in blocks if other is virtual]
        alone = {at for at in short if sum(one.first <= at < one.end for _, one in blocks) == 1}
        await _compare_given_back(life, virtual, own, short, alone)


def _is_told_late(battery: Battery, quarter: int) -> bool:
    """Whether the result of a bid for FCR may have come after the quarter-hour was closed."""
    return any(
        bid.decided_at is not None
        and bid.product.startswith("NEGPOS")
        and quarter in block_quarters(bid.day, bid.product.removeprefix("NEGPOS_"))
        and quarter < quarter_after(bid.decided_at + LONGEST_GATE)
        for bid in battery.bids.values()
    )


async def _compare_given_back(
    life: Life, virtual: VirtualAsset, blocks: list[Block], short: dict[int, Fraction], alone: set[int]
) -> None:
    first, end = max(virtual.first, min(short)), min(virtual.end, max(short) + 1)
    if first >= end:
        return
    missing = {quarter: kw for quarter, kw in short.items() if kw > 1 and first <= quarter < end}
    request = holder_request(life.world, virtual, first, end, "hourly")
    answer = await life.ask(request)
    said = sum(
        (
            exact(line["amount"])
            for line in answer.body["lines"]
            if line["line"] == "RESERVE_SHORTFALL" and line["counterparty"] == "GRID_OPERATOR"
        ),
        Fraction(0),
    )
    expected = _find_given_back(life, virtual, blocks, missing)
    if expected is None or not alone >= missing.keys():
        return  # which of several blocks was not held is not known
    life.world.compared["RESERVE_SHORTFALL of a holder"] += bool(expected)
    if abs(said - expected) > 3 * CENT + SLACK:
        raise Finding("reserves", f"RESERVE_SHORTFALL of {float(expected)}, not {float(said)}", request, answer)


def _find_given_back(life: Life, virtual: VirtualAsset, blocks: list[Block], missing: dict[int, Fraction]) -> Any:
    """−MW not held × ¼ h × the award's price; None where the award is of another capacity than the block."""
    owed = Fraction(0)
    for quarter, kw in missing.items():
        block = next((one for one in blocks if one.first <= quarter < one.end), None)
        if block is None:
            continue
        key = (virtual.id, day_of_quarter(quarter), f"NEGPOS_{block_of_quarter(quarter)}")
        award = life.world.facts.fcr.get(key)
        if award is None:
            continue
        if exact(award["capacity"]) * 1000 != block.charge:
            return None
        owed -= kw / 1000 / 4 * exact(award["settlementPrice"])
    return owed
