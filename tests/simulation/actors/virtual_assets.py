"""Virtual assets: allocated by the operator, taken back, and put into portfolios by their holders."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, exact, on_virtual
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
from tests.simulation.oracle.energy import may_be_out_of_bounds
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
    if pick.chance(10):
        body["dispatchGateClosureSeconds"] = pick.one_of(900, 60, 3600)
    return allocation_request(world, holder, body, behind, shares)


def allocation_request(
    world: World, holder: Organisation, body: dict[str, Any], behind: list[Battery], shares: list[Fraction]
) -> Request:
    name = f"virtual{world.number()}"
    body |= {"name": name, "backing": as_backing(behind, shares)}
    limits = [one.versions[-1].daily_cycles for one in behind if any(v.daily_cycles for v in one.versions)]
    expect = judge_promise(world, body, behind, shares) if all(may_promise(one) for one in behind) else 403

    def remember(answer: Answer) -> None:
        backing = [(one.name, share) for one, share in zip(behind, shares, strict=True)]
        made = read_virtual(answer.body, name, holder, backing)
        made.has_cycle_limit = bool(limits) or "dailyCycleLimit" in answer.body
        made.is_disturbed = may_be_out_of_bounds(world, backing, made.first, made.end)
        world.virtuals[name] = made
        world.note_change(backing)

    path = f"/organisations/{holder.id}/virtual-assets"
    causes = ((holder.name, "virtual-asset.allocated", ""),)
    by = world.operator.admin
    return Request("createVirtualAsset", by, "POST", path, body, expect=expect, on_success=remember, causes=causes)


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


@on_virtual(weight=1)
def rename_virtual(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    body = {"name": f"{virtual.name} {world.number()}"}
    return Request("updateVirtualAsset", virtual.holder.trader, "PATCH", virtual.path, body)


@on_virtual(weight=1)
def take_back_allocation(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    is_traded = any(key[0] == virtual.id for key in world.facts.trades)
    gate = start_of_quarter(virtual.first) - timedelta(seconds=virtual.gate_s)
    expect: Any = (204, 409)
    if virtual.auction is not None or is_traded or world.now >= gate:
        expect = 409

    def remember(_: Answer) -> None:
        del world.virtuals[virtual.name]
        world.deleted.append(virtual.id)
        world.note_change(virtual.backing)
        world.touch(virtual.backing, virtual.first, virtual.end)

    return Request(
        "deleteVirtualAsset", world.operator.admin, "DELETE", virtual.path, expect=expect, on_success=remember
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
