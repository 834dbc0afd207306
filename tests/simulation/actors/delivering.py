"""Days on which much is delivered: batteries alike, whole days of schedules, measured power, and a battery that fails
while it holds reserves. Drawn only in the kinds of lives that name them."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from tests.simulation.actors.acting import action, as_window, next_open_quarter, on_battery, on_virtual
from tests.simulation.actors.balancing import offer_request
from tests.simulation.actors.batteries import registration_request
from tests.simulation.actors.outages import outage_request
from tests.simulation.actors.schedules import carve_request, put_schedule
from tests.simulation.actors.settling import hours_request, record
from tests.simulation.actors.telemetry import write_samples
from tests.simulation.actors.virtual_assets import MAX_VIRTUALS, allocation_request
from tests.simulation.calls import Request
from tests.simulation.market import (
    BLOCKS,
    berlin_day,
    block_of_quarter,
    blocks_within,
    day_of_quarter,
    quarter_of,
    quarters_of_day,
    start_of_quarter,
    to_text,
    wall_clock,
)
from tests.simulation.model import ZONES, Battery, VirtualAsset, World
from tests.simulation.oracle.availability import lowest_between
from tests.simulation.steps import Pick

WHOLE, NOTHING = Fraction(1), Fraction(0)
MAX_ALIKE = 4
QUARTERS_OF_TWO_DAYS = 192
AFRR_STEP = {"capacityPrice": 8.5, "offeredCapacity": 1000, "energyPrice": 90}
STRETCH = 12
"""Quarter-hours in which all charge, and then discharge."""


@action(weight=0, is_sought=False)
def register_alike(world: World, pick: Pick) -> Request | None:
    """All in one zone with the same efficiencies, and no limit but power and energy."""
    if len(world.batteries) >= MAX_ALIKE:
        return None
    owner, power = pick.of(world.owners), pick.between(6, 12, 2) * 1000
    parameters = {
        "ratedChargePower": power,
        "ratedDischargePower": power,
        "energyCapacity": power * pick.one_of(2, 4),
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    }
    return registration_request(world, owner, ZONES[0], parameters, world.operator)


@action(weight=0, is_sought=False)
def allocate_alike(world: World, pick: Pick) -> Request | None:
    """With the batteries' own efficiencies, for some days, on one of them: what opposes is netted between batteries."""
    if not world.batteries or len(world.virtuals) >= MAX_VIRTUALS:
        return None
    battery = list(world.batteries.values())[len(world.virtuals) % len(world.batteries)]
    day = berlin_day(world.now) + timedelta(days=1)
    power = pick.between(2, 4) * 1000
    end = quarters_of_day(day + timedelta(days=pick.between(4, 7))).start
    body = {
        **as_window(quarters_of_day(day).start, end),
        "deliveryZone": battery.zone,
        "ratedChargePower": power,
        "ratedDischargePower": power,
        "energyCapacity": 2 * power,
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    }
    holder = world.traders[len(world.virtuals) // 2 % len(world.traders)]
    return allocation_request(world, holder, body, [battery], [Fraction(1)])


@action(weight=0, is_sought=False)
def allocate_shared(world: World, pick: Pick) -> Request | None:
    """All the power of one battery, or of two, or half of it; with their efficiencies, from tomorrow on."""
    within = [one for one in world.batteries.values() if one.zone == ZONES[0]]
    behind = within[len(world.virtuals) % 2 :][: pick.one_of(2, 2, 1)]
    if not behind or len(world.virtuals) >= MAX_VIRTUALS:
        return None
    day = berlin_day(world.now) + timedelta(days=1)
    power = min(lowest_between(one, world.now, world.now + timedelta(days=9)).charge for one in behind)
    power = power * len(behind) / pick.one_of(2, 1, 2)
    body = {
        **as_window(quarters_of_day(day).start, quarters_of_day(day + timedelta(days=pick.between(4, 7))).start),
        "deliveryZone": behind[0].zone,
        "ratedChargePower": float(power),
        "ratedDischargePower": float(power),
        "energyCapacity": float(2 * power),
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    }
    holder = world.traders[len(world.virtuals) % len(world.traders)]
    return allocation_request(world, holder, body, behind, [Fraction(1, len(behind))] * len(behind))


@on_virtual(weight=0)
def schedule_strong(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """From the next open gate on, three quarter-hours of full export and then four that bring it back, again and again:
    a battery that fails is not always replaced in full."""
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s))
    end = min(virtual.end, soonest + pick.one_of(QUARTERS_OF_TWO_DAYS, 96, 2 * QUARTERS_OF_TWO_DAYS))
    back = Fraction(3, 4) / (virtual.charge_efficiency * virtual.discharge_efficiency) * virtual.discharge
    powers = [virtual.discharge] * 3 + [Fraction(-int(back))] * 4 + [Fraction(0)] * 5
    part = Fraction(pick.one_of(2, 2, 1), 2)
    points = {quarter: powers[quarter % STRETCH] * part for quarter in range(soonest, end)}
    return put_schedule(world, virtual, points, by_block=pick.chance(50)) if points else None


@on_virtual(weight=0)
def schedule_day(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """From the next open gate on, power in every quarter-hour, which leaves the store where it was. All assets charge
    at the same hours, so that nothing is netted but what other schedules oppose."""
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s))
    end = min(virtual.end, soonest + pick.one_of(QUARTERS_OF_TWO_DAYS, 96, 3 * QUARTERS_OF_TWO_DAYS))
    if soonest >= end:
        return None
    most = min(virtual.charge, virtual.energy / 10)
    charged = most * Fraction(pick.one_of(4, 3, 2), 4)
    discharged = charged * virtual.charge_efficiency * virtual.discharge_efficiency
    points = {
        quarter: -charged if quarter // STRETCH % 2 else Fraction(round(1000 * discharged), 1000)
        for quarter in range(soonest, end)
    }
    return put_schedule(world, virtual, points, by_block=pick.chance(50))


@on_virtual(weight=0)
def oppose(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """Some hours against the others of the zone: as much of both sides is netted."""
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s)) + pick.between(0, 16)
    end = min(virtual.end, soonest + pick.one_of(8, 4))
    power = min(virtual.charge, virtual.energy / 8)
    points = {quarter: power if quarter // STRETCH % 2 else -power * Fraction(9, 10) for quarter in range(soonest, end)}
    return put_schedule(world, virtual, points, by_block=pick.chance(50)) if points else None


@action(weight=0, is_sought=False)
def publish_fortnight(world: World, pick: Pick) -> Request | None:
    """Imbalance and day-ahead prices by the hour, for days to come as well: what is due has a price when it is due."""
    today = berlin_day(world.now)
    soon = quarters_of_day(today + timedelta(days=2)).start
    series = next((one for one in ("REBAP_DE", "DAY_AHEAD_DE_LU") if (one, soon) not in world.prices), None)
    if series is None:
        return None
    return hours_request(world, pick, series, today - timedelta(days=2), today + timedelta(days=12))


@on_virtual(weight=0)
def trade_near(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """What is scheduled around now, more or less of it, is sold and bought."""
    now = quarter_of(world.now)
    quarters = range(max(virtual.first, now - 96), min(virtual.end, now + 48))
    if not quarters:
        return None
    rows = {}
    for _ in range(pick.between(2, 6)):
        quarter = pick.of(quarters)
        power = virtual.schedule.get(quarter, Fraction(0)) or virtual.discharge / 4
        volume = round(float(abs(power) / 4000 * Fraction(pick.one_of(10, 9, 12, 5), 10)), 6)
        side = "SELL" if power > 0 else "BUY"
        rows[virtual.id, f"N{quarter}", quarter, side] = {
            "tradeID": f"N{quarter}",
            "assetID": virtual.id,
            "time": to_text(start_of_quarter(quarter)),
            "side": side,
            "volume": volume,
            "price": pick.between(-1000, 15000) / 100,
            "market": "INTRADAY_CONTINUOUS",
        }
    path, by = "/settlements/wholesale-trades", world.operator.trader
    return record(world, "recordWholesaleTrades", path, world.facts.trades, rows, by)


@on_virtual(weight=0)
def carve_for_reserve(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """Half of the power of one of the next blocks for FCR."""
    soonest = max(virtual.first, next_open_quarter(world, virtual.gate_s))
    open_blocks = blocks_within(soonest, min(virtual.end, soonest + QUARTERS_OF_TWO_DAYS))
    return carve_request(virtual, pick.of(open_blocks[:6]), "FCR", virtual.charge / 2) if open_blocks else None


@action(weight=0, is_sought=False)
def award_reserve(world: World, pick: Pick) -> Request | None:
    """A block that is to be held has its award, before it begins."""
    now = quarter_of(world.now)
    waiting = [
        (block, (virtual.id, day_of_quarter(block.first), f"NEGPOS_{block_of_quarter(block.first)}"))
        for virtual in world.virtuals.values()
        for block in virtual.blocks.values()
        if block.market == "FCR" and block.first > now
    ]
    waiting = [one for one in waiting if one[1] not in world.facts.fcr]
    if not waiting:
        return None
    block, key = pick.of(waiting)
    row = {
        "assetID": key[0],
        "deliveryDay": key[1].isoformat(),
        "product": key[2],
        "capacity": float(block.charge / 1000),
        "settlementPrice": pick.between(100, 3000) / 100,
    }
    return record(world, "recordFcr", "/settlements/fcr", world.facts.fcr, {key: row}, world.operator.trader)


@on_battery(weight=0)
def offer_capacity(world: World, pick: Pick, battery: Battery) -> Request | None:
    """1 MW of aFRR upward, some block of the day after tomorrow."""
    day = berlin_day(world.now) + timedelta(days=2)
    return offer_request(world, battery, day, f"POS_{pick.of(BLOCKS)}", [{**AFRR_STEP}])


@on_battery(weight=0)
def measure_power(world: World, pick: Pick, battery: Battery) -> Request | None:
    return write_samples(world, pick, battery, "active_power")


@on_virtual(weight=0)
def fail_while_scheduled(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """All power of a battery fails for some hours in which an asset is scheduled: at once, or announced two days
    before."""
    soonest = max(virtual.first, quarter_of(world.now) + 8, find_soonest(world, pick))
    planned = [at for at, power in sorted(virtual.schedule.items()) if power and soonest <= at < virtual.end]
    if not planned or not virtual.has_one_block:
        return None
    battery, first = world.batteries[virtual.backing[0][0]], planned[0]
    return _fail(world, battery, first, first + pick.one_of(8, 16))


def find_soonest(world: World, pick: Pick) -> int:
    return quarter_of(world.now) if pick.chance(50) else find_announced(world)


def find_announced(world: World) -> int:
    """The first quarter-hour for which an outage is announced that is reported now."""
    today = berlin_day(world.now)
    is_morning = world.now < wall_clock(today, 12)
    return quarters_of_day(today + timedelta(days=1 if is_morning else 2)).start


@on_virtual(weight=0)
def lose_part(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """Some of the energy of a battery, with its content, and some of its power: at once, or announced."""
    return _lose_part(world, pick, virtual, find_soonest(world, pick))


@on_virtual(weight=0)
def announce_loss(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    return _lose_part(world, pick, virtual, find_announced(world))


def _lose_part(world: World, pick: Pick, virtual: VirtualAsset, soonest: int) -> Request | None:
    soonest = max(virtual.first, soonest) + pick.between(0, 12)
    if soonest >= virtual.end:
        return None
    battery = world.batteries[pick.of(virtual.backing)[0]]
    parts = (Fraction(pick.one_of(0, 2, 4), 4), Fraction(pick.one_of(2, 1, 3, 4), 4))
    return _fail(world, battery, soonest, soonest + pick.one_of(4, 12, 32), *parts)


@action(weight=0, is_sought=False)
def fail_in_reserve(world: World, pick: Pick) -> Request | None:
    """All power of a battery fails while a virtual asset behind it is to hold FCR."""
    soonest = quarter_of(world.now) + 1
    held = [
        (world.batteries[name], block)
        for virtual in world.virtuals.values()
        for block in virtual.blocks.values()
        if block.market == "FCR" and soonest < block.end
        for name, _ in virtual.backing
    ]
    if not held:
        return None
    battery, block = pick.of(held)
    return _fail(world, battery, max(block.first, soonest), block.end)


def _fail(
    world: World, battery: Battery, first: int, end: int, power: Fraction = WHOLE, energy: Fraction = NOTHING
) -> Request:
    """`power` and `energy`: the parts that are missing."""
    rated = lowest_between(battery, start_of_quarter(first), start_of_quarter(end))
    volume = {
        "energyCapacity": float(rated.energy * energy),
        "powerCapacity": {"charge": float(rated.charge * power), "discharge": float(rated.discharge * power)},
    }
    body = {
        "description": f"Outage {world.number()}",
        "type": "OUTAGE",
        **as_window(first, end),
        "volume": volume,
    }
    return outage_request(world, battery, body, fits=True)
