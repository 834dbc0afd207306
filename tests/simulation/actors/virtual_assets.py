"""Virtual assets: allocated by the operator, cut into blocks and scheduled by those who hold them."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, as_window, exact, next_open_quarter, pick_virtual, pick_window
from tests.simulation.actors.batteries import may_promise
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    berlin_day,
    from_text,
    midnight,
    quarter_after,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import Battery, Block, Organisation, VirtualAsset, World
from tests.simulation.oracle.availability import Amounts
from tests.simulation.oracle.book import find_shortage
from tests.simulation.oracle.energy import find_store, stays_within
from tests.simulation.oracle.shares import available_fraction
from tests.simulation.steps import Pick

MAX_VIRTUALS = 8


def choose_terms(world: World, pick: Pick) -> tuple[dict[str, Any], list[Battery], list[Fraction]] | None:
    """A virtual battery of a zone with one or two batteries behind it."""
    batteries = list(world.batteries.values())
    if not batteries:
        return None
    first = pick.of(batteries)
    others = [one for one in batteries if one.zone == first.zone and one is not first]
    shares = [Fraction(1)]
    behind = [first]
    if others and pick.chance(50):
        share = Fraction(pick.one_of(50, 25, 70), 100)
        behind, shares = [first, pick.of(others)], [share, 1 - share]
    power = pick.between(1, 6) * 1000
    day = berlin_day(world.now) + timedelta(days=pick.between(1, 3))
    length = pick.one_of(1, 2, 3, 7)
    start, end = midnight(day), midnight(day + timedelta(days=length))
    if pick.chance(20):
        start = start + timedelta(hours=pick.between(1, 12))
    body: dict[str, Any] = {
        "start": to_text(start),
        "end": to_text(end),
        "deliveryZone": first.zone,
        "ratedChargePower": power,
        "ratedDischargePower": power,
        "energyCapacity": power * pick.one_of(2, 1, 4),
        "chargeEfficiency": pick.one_of(0.95, 0.9, 1, 0.95),
        "dischargeEfficiency": pick.one_of(0.95, 0.9, 1, 0.95),
    }
    return body, behind, shares


def as_backing(behind: list[Battery], shares: list[Fraction]) -> list[dict[str, Any]]:
    return [{"physicalAssetID": one.id, "share": float(share)} for one, share in zip(behind, shares, strict=True)]


def judge_promise(world: World, body: dict[str, Any], behind: list[Battery], shares: list[Fraction]) -> Any:
    """Whether every battery has its share free over the whole window."""
    first, end = quarter_of(from_text(body["start"])), quarter_after(from_text(body["end"]))
    losses = (exact(body["chargeEfficiency"]), exact(body["dischargeEfficiency"]))
    asked = Amounts(exact(body["ratedChargePower"]), exact(body["ratedDischargePower"]), exact(body["energyCapacity"]))
    found = [
        find_shortage(world, one, asked.times(share), losses, first, end)
        for one, share in zip(behind, shares, strict=True)
    ]
    if any(one.status != "ACTIVE" for one in behind):
        return (409, 422)
    if "unavailable" in found:
        return (409, 422)
    return 409 if "taken" in found else 201


@action(weight=6)
def allocate(world: World, pick: Pick) -> Request | None:
    chosen = choose_terms(world, pick)
    if chosen is None or len(world.virtuals) >= MAX_VIRTUALS:
        return None
    body, behind, shares = chosen
    holder = pick.of(world.traders)
    name = f"virtual{world.number()}"
    body |= {"name": name, "backing": as_backing(behind, shares)}
    limits = [one.versions[-1].daily_cycles for one in behind if any(v.daily_cycles for v in one.versions)]
    if pick.chance(10):
        body["dispatchGateClosureSeconds"] = pick.one_of(900, 60, 3600)
    expect = judge_promise(world, body, behind, shares) if all(may_promise(one) for one in behind) else 403

    def remember(answer: Answer) -> None:
        backing = [(one.name, share) for one, share in zip(behind, shares, strict=True)]
        made = read_virtual(answer.body, name, holder, backing)
        made.has_cycle_limit = bool(limits) or "dailyCycleLimit" in answer.body
        world.virtuals[name] = made

    path = f"/organisations/{holder.id}/virtual-assets"
    return Request("createVirtualAsset", world.operator.admin, "POST", path, body, expect=expect, on_success=remember)


def read_virtual(
    body: dict[str, Any], name: str, holder: Organisation, backing: list[tuple[str, Fraction]]
) -> VirtualAsset:
    made = VirtualAsset(
        name=name,
        id=body["id"],
        holder=holder,
        zone=body["deliveryZone"],
        first=quarter_of(from_text(body["start"])),
        end=quarter_after(from_text(body["end"])),
        charge=exact(body["ratedChargePower"]),
        discharge=exact(body["ratedDischargePower"]),
        energy=exact(body["energyCapacity"]),
        charge_efficiency=exact(body["chargeEfficiency"]),
        discharge_efficiency=exact(body["dischargeEfficiency"]),
        gate_s=body["dispatchGateClosureSeconds"],
        initial=exact(body["initialStateOfChargePercentage"]) / 100,
        target=Fraction(1, 2),
        tolerance=exact(body["finalSoCTolerance"]),
        backing=backing,
        auction=body.get("auctionID"),
    )
    for block in body["blockMetadata"]:
        made.blocks[block["id"]] = Block(
            block["id"],
            quarter_of(from_text(block["start"])),
            quarter_of(from_text(block["end"])),
            block["market"],
            made.charge,
            made.discharge,
        )
    return made


@action(weight=1)
def rename_virtual(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    body = {"name": f"{virtual.name} {world.number()}"}
    return Request("updateVirtualAsset", virtual.holder.trader, "PATCH", virtual.path, body)


@action(weight=1)
def take_back_allocation(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    is_traded = any(key[0] == virtual.id for key in world.facts.trades)
    gate = start_of_quarter(virtual.first) - timedelta(seconds=virtual.gate_s)
    expect: Any = (204, 409)
    if virtual.auction is not None or is_traded or world.now >= gate:
        expect = 409

    def remember(_: Answer) -> None:
        del world.virtuals[virtual.name]
        world.deleted.append(virtual.id)

    return Request(
        "deleteVirtualAsset", world.operator.admin, "DELETE", virtual.path, expect=expect, on_success=remember
    )


# --- schedules -------------------------------------------------------------------------------------------------------


@action(weight=12)
def schedule_virtual(world: World, pick: Pick) -> Request | None:
    """A stretch of power on the whole asset, or on its one block; balanced, greedy or idle."""
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
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
            compare_imbalance(virtual, answer.body["imbalance"])

    path = f"{virtual.path}/schedule"
    operation = "scheduleAsset"
    if by_block and wholesale is not None:
        path, operation = f"{virtual.path}/blocks/{wholesale.id}", "scheduleBlock"
    return Request(operation, virtual.holder.trader, "PUT", path, body, expect=expect, on_success=remember, check=check)


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


@action(weight=1)
def schedule_too_late(world: World, pick: Pick) -> Request | None:
    """A period whose gate has closed, or one off the quarter-hour, or outside the asset's life."""
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
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


@action(weight=3)
def carve_block(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    first, end = pick_window(world, pick, 1, 5)
    market = pick.one_of("FCR", "FCR", "AFRR_POS", "AFRR_NEG", "WHOLESALE")
    power = Fraction(pick.one_of(1, 2, 4), 4) * virtual.charge
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


@action(weight=1)
def give_block_back(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None or len(virtual.blocks) < 2:
        return None
    block = pick.of(list(virtual.blocks.values())[1:])

    def remember(_: Answer) -> None:
        virtual.blocks.pop(block.id, None)
        virtual.is_disturbed = True

    path = f"{virtual.path}/blocks/{block.id}"
    return Request("deleteBlock", virtual.holder.trader, "DELETE", path, on_success=remember)


# --- reading ---------------------------------------------------------------------------------------------------------


@action(weight=4)
def read_store(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    return store_request(world, virtual, projected=pick.chance(50))


def store_request(world: World, virtual: VirtualAsset, *, projected: bool) -> Request:
    """The state of charge over the asset's life, compared where nothing but its schedule moved it."""
    moved_by_schedule_alone = is_plain(world, virtual)

    def check(answer: Answer) -> None:
        expected = find_store(virtual)
        for point in answer.body:
            said = (
                100 * exact(point["energy"]) / virtual.energy if projected else exact(point["stateOfChargePercentage"])
            )
            assert 0 <= said <= 100, f"a state of charge within 0 and 100 %, not {float(said)}"
            value = 100 * expected[quarter_of(from_text(point["time"]))] / virtual.energy
            if moved_by_schedule_alone:
                assert abs(said - value) < Fraction(1, 1000), f"{float(value)} % at {point['time']}, not {float(said)}"

    path = f"{virtual.path}/state-of-energy/projected" if projected else f"{virtual.path}/state-of-charge"
    operation = "readProjectedStateOfEnergy" if projected else "readStateOfCharge"
    query = as_window(virtual.first, min(virtual.end, virtual.first + 400))
    return Request(operation, virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def is_plain(world: World, virtual: VirtualAsset) -> bool:
    """Whether nothing but its schedule moves its store."""
    return not (virtual.is_disturbed or virtual.has_cycle_limit) and not is_activated(world, virtual)


def is_activated(world: World, virtual: VirtualAsset) -> bool:
    return any(asset == virtual.id and row["volume"] for (asset, _, _), row in world.facts.afrr_energy.items())


def adjustments_request(world: World, virtual: VirtualAsset) -> Request:
    """Cuts only ever reduce what was accepted, and are of what was accepted."""

    def check(answer: Answer) -> None:
        for cut in answer.body:
            accepted, adjusted = exact(cut["acceptedSchedule"]), exact(cut["adjustedSchedule"])
            assert accepted * adjusted >= 0, f"a cut that turns nothing around at {cut['timestamp']}, not {adjusted}"
            assert abs(adjusted) <= abs(accepted) + Fraction(1, 1000), f"a cut at {cut['timestamp']}, not {adjusted}"
            expected = virtual.schedule.get(quarter_of(from_text(cut["timestamp"])), Fraction(0))
            if virtual.has_one_block:
                assert abs(accepted - expected) < Fraction(1, 1000), (
                    f"accepted {float(expected)} at {cut['timestamp']}, not {float(accepted)}"
                )

    query = {"limit": "1000", **as_window(virtual.first, virtual.end)}
    path = f"{virtual.path}/adjustments"
    return Request("listAdjustments", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def past_store_request(world: World, virtual: VirtualAsset, cuts: dict[int, Fraction]) -> Request:
    """What is in store now follows from what was accepted and what of it was cut."""

    def check(answer: Answer) -> None:
        expected = find_store(virtual, {**virtual.schedule, **cuts})
        for point in answer.body:
            value = 100 * expected[quarter_of(from_text(point["time"]))] / virtual.energy
            said = exact(point["stateOfChargePercentage"])
            assert abs(said - value) < Fraction(1, 100), (
                f"{float(value)} % after cuts at {point['time']}, not {float(said)}"
            )

    query = as_window(virtual.first, min(virtual.end, quarter_of(world.now)))
    path = f"{virtual.path}/state-of-charge"
    return Request("readStateOfCharge", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


READS = {
    "readVirtualAsset": "",
    "listBlocks": "/blocks",
    "readAssetSchedule": "/schedule",
    "readLatestStateOfEnergy": "/state-of-energy/latest",
    "readOperational": "/operational",
    "listAdjustments": "/adjustments",
    "listScheduleHistory": "/schedule-history",
}


@action(weight=4)
def read_virtual_asset(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    operation = pick.of(list(READS))
    path = virtual.path + READS[operation]
    return Request(operation, pick.one_of(virtual.holder.viewer, world.operator.viewer), "GET", path, expect=200)


@action(weight=1)
def read_block(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None or not virtual.blocks:
        return None
    path = f"{virtual.path}/blocks/{pick.of(list(virtual.blocks))}"
    return Request("readBlock", virtual.holder.viewer, "GET", path, expect=(200, 404))


@action(weight=2)
def compare_schedule(world: World, pick: Pick) -> Request | None:
    """What stands is what was accepted, where nothing has cut it."""
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None

    def check(answer: Answer) -> None:
        compare_capacity(world, virtual, answer.body["powerCapacity"])
        if not is_plain(world, virtual):
            return
        for point in answer.body["schedule"]:
            power = virtual.schedule.get(quarter_of(from_text(point["time"])), Fraction(0))
            assert exact(point["power"]) == power, f"schedule at {point['time']}: {float(power)}, not {point['power']}"

    query = as_window(virtual.first, min(virtual.end, virtual.first + 400))
    path = f"{virtual.path}/schedule"
    return Request("readAssetSchedule", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def compare_capacity(world: World, virtual: VirtualAsset, said: list[dict[str, Any]]) -> None:
    """What is left of it, where it has one block alone."""
    if len(virtual.blocks) != 1:
        return
    for point in said[:: max(1, len(said) // 40)]:
        expected = available_fraction(world, virtual, quarter_of(from_text(point["time"])))
        for name, value in (("chargePowerCapacity", expected.charge), ("dischargePowerCapacity", expected.discharge)):
            assert abs(exact(point[name]) - value) < Fraction(1, 1000), (
                f"{name} {float(value)} at {point['time']}, not {point[name]}"
            )


@action(weight=1)
def list_virtuals(world: World, pick: Pick) -> Request | None:
    holder = pick.of(world.traders)

    def check(answer: Answer) -> None:
        said = {one["id"] for one in answer.body}
        held = {one.id for one in world.virtuals.values() if one.holder is holder}
        assert held <= said, f"virtual assets {held - said} in the list"
        assert not said & set(world.deleted), "no virtual asset that was taken back"

    path = f"/organisations/{holder.id}/virtual-assets"
    query = {"limit": "1000"}
    return Request("listVirtualAssets", holder.viewer, "GET", path, query=query, expect=200, check=check)


# --- portfolios ------------------------------------------------------------------------------------------------------


@action(weight=1)
def make_portfolio(world: World, pick: Pick) -> Request | None:
    holder = pick.of(world.traders)
    held = [one.id for one in world.virtuals.values() if one.holder is holder]
    chosen = [one for one in held if not any(one in listed for listed in holder.portfolios.values())]
    path = f"/organisations/{holder.id}/portfolios"

    def remember(answer: Answer) -> None:
        holder.portfolios[answer.body["id"]] = chosen

    body = {"name": f"Portfolio {world.number()}", "virtualAssetIDs": chosen}
    return Request("createPortfolio", holder.trader, "POST", path, body, on_success=remember)


@action(weight=1)
def change_portfolio(world: World, pick: Pick) -> Request | None:
    holder = pick.of(world.traders)
    if not holder.portfolios:
        return None
    portfolio = pick.of(list(holder.portfolios))
    chosen = [one.id for one in world.virtuals.values() if one.holder is holder and pick.chance(60)]

    def remember(_: Answer) -> None:
        for other in holder.portfolios:
            holder.portfolios[other] = [one for one in holder.portfolios[other] if one not in chosen]
        holder.portfolios[portfolio] = chosen

    path = f"/organisations/{holder.id}/portfolios/{portfolio}"
    return Request("updatePortfolio", holder.trader, "PATCH", path, {"virtualAssetIDs": chosen}, on_success=remember)


@action(weight=1)
def read_portfolios(world: World, pick: Pick) -> Request | None:
    holder = pick.of(world.traders)
    path = f"/organisations/{holder.id}/portfolios"
    if not holder.portfolios or pick.chance(50):
        return Request("listPortfolios", holder.viewer, "GET", path, expect=200)
    portfolio = pick.of(list(holder.portfolios))

    def check(answer: Answer) -> None:
        said, listed = set(answer.body["virtualAssetIDs"]), set(holder.portfolios[portfolio]) - set(world.deleted)
        assert said == listed, f"portfolio of {listed}, not {said}"

    return Request("readPortfolio", holder.viewer, "GET", f"{path}/{portfolio}", expect=200, check=check)
