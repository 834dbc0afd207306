"""Balancing bids of batteries, and the market that answers them."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, exact, on_battery, pick_day
from tests.simulation.actors.books import rooms_met
from tests.simulation.calls import Answer, Request
from tests.simulation.market import BLOCKS, berlin_day, product_quarters, quarters_of_day, start_of_quarter, wall_clock
from tests.simulation.model import BalancingBid, Battery, World
from tests.simulation.oracle.availability import ZERO, Amounts, parameters_at
from tests.simulation.oracle.book import AFRR_HOURS, ENERGY_HOURS, FCR_HOURS, SLACK, find_turning_points, read_page
from tests.simulation.steps import Pick

CORRECTED = "correction"


def choose_product(world: World, pick: Pick, day: date) -> str:
    kind = pick.below(4)
    if kind < 2:
        return f"NEGPOS_{pick.of(BLOCKS)}"
    if kind == 2:
        return f"{pick.one_of('POS', 'NEG')}_{pick.of(BLOCKS)}"
    return f"{pick.one_of('POS', 'NEG')}_{pick.between(1, len(quarters_of_day(day))):03}"


def is_capacity(product: str) -> bool:
    return product.count("_") == 2


def gate_is(world: World, day: date, product: str) -> str:
    """`early`, `open` or `closed`; the clock runs on by seconds, so that moments near a gate belong to neither."""
    fcr = product.startswith("NEGPOS")
    opens = wall_clock(day - timedelta(days=14 if fcr else 7), 10)
    if is_capacity(product):
        closes = wall_clock(day - timedelta(days=1), 8 if fcr else 9)
    else:
        closes = start_of_quarter(product_quarters(day, product).start) - timedelta(minutes=25)
    if world.now < opens:
        return "early"
    return "open" if world.now < closes else "closed"


@on_battery(weight=10)
def offer_balancing(world: World, pick: Pick, battery: Battery) -> Request | None:
    """Price steps for one product, which replace what stood."""
    day = pick_day(world, pick, 1, 4) if pick.chance(85) else pick_day(world, pick, -1, 16)
    product = choose_product(world, pick, day)
    steps = [_choose_step(pick, product) for _ in range(pick.one_of(1, 1, 2))]
    return offer_request(world, battery, day, product, steps)


@on_battery(weight=1)
def offer_after_result(world: World, pick: Pick, battery: Battery) -> Request | None:
    """For a product whose result was published before its gate has closed."""
    decided = [
        (bid.day, bid.product)
        for bid in battery.bids.values()
        if bid.status in ("ACCEPTED", "REJECTED") and gate_is(world, bid.day, bid.product) == "open"
    ]
    if not decided:
        return None
    day, product = pick.of(decided)
    return offer_request(world, battery, day, product, [_choose_step(pick, product)])


@on_battery(weight=3)
def offer_all_left(world: World, pick: Pick, battery: Battery) -> Request | None:
    """As much as there is room for, or a megawatt more; mostly in place of what stands for the product."""
    standing = [
        (bid.day, bid.product)
        for bid in battery.bids.values()
        if bid.status == "OFFERED" and gate_is(world, bid.day, bid.product) == "open"
    ]
    day = pick_day(world, pick, 1, 3)
    day, product = pick.of(standing) if standing and pick.chance(80) else (day, choose_product(world, pick, day))
    most, too_much = 0, int(max(battery.versions[-1].charge, battery.versions[-1].discharge) / 1000) + 2
    while too_much - most > 1:
        middle = (most + too_much) // 2
        fits = judge_offer(world, battery, day, product, Fraction(1000 * middle)) == 201
        most, too_much = (middle, too_much) if fits else (most, middle)
    asked = most + pick.one_of(0, 0, 1)
    step = {**_choose_step(pick, product), "offeredCapacity": 1000 * asked}
    return offer_request(world, battery, day, product, [step]) if asked else None


def offer_request(world: World, battery: Battery, day: date, product: str, steps: list[dict[str, Any]]) -> Request:
    body = [{"deliveryDay": day.isoformat(), "product": product, "bids": steps}]
    asked = sum((exact(step["offeredCapacity"]) for step in steps), ZERO)
    quarters = product_quarters(day, product)

    def remember(answer: Answer) -> None:
        (entry,) = answer.body
        world.touch([(battery.name, Fraction(1))], quarters.start, quarters.stop)
        kept = {bid["id"] for bid in entry["bids"]}
        for bid in _standing(battery, day, product):
            if bid.id not in kept:
                bid.status = "REPLACED"
        for made in entry["bids"]:
            battery.bids[made["id"]] = BalancingBid(
                made["id"],
                day,
                product,
                exact(made["offeredCapacity"]),
                exact(made["capacityPrice"]),
                None if "energyPrice" not in made else exact(made["energyPrice"]),
            )

    return Request(
        "placeAncillaryBids",
        battery.owner.trader,
        "POST",
        f"{battery.path}/ancillary/bids",
        body,
        expect=judge_offer(world, battery, day, product, asked),
        on_success=remember,
        met=tuple(f"balancing bid × {room}" for room in rooms_met(battery, quarters.start, quarters.stop, world)),
    )


def _choose_step(pick: Pick, product: str) -> dict[str, Any]:
    price = pick.between(0, 9999) / 100
    step: dict[str, Any] = {"capacityPrice": price, "offeredCapacity": 1000 * pick.one_of(1, 2, 1, 4, 8)}
    if not product.startswith("NEGPOS"):
        step["energyPrice"] = pick.between(-5000, 50000) / 100
    if not is_capacity(product):
        step["capacityPrice"] = 0
    return step


def _standing(battery: Battery, day: date, product: str) -> list[BalancingBid]:
    return [bid for bid in battery.bids.values() if (bid.day, bid.product, bid.status) == (day, product, "OFFERED")]


def judge_offer(world: World, battery: Battery, day: date, product: str, asked: Fraction) -> Any:
    """What the platform must say to an offer of so much in all."""
    if gate_is(world, day, product) != "open":
        return (422, 409)
    if battery.status != "ACTIVE":
        return (409, 422)
    has_result = any(
        (bid.day, bid.product) == (day, product) and bid.status in ("ACCEPTED", "REJECTED")
        for bid in battery.bids.values()
    )
    if has_result:
        return (409, "result-known")
    standing = _standing(battery, day, product)
    for bid in standing:
        bid.status = "REPLACED"
    try:
        verdict = _find_room(world, battery, day, product, asked)
    finally:
        for bid in standing:
            bid.status = "OFFERED"
    return verdict


def _find_room(world: World, battery: Battery, day: date, product: str, asked: Fraction) -> Any:
    direction = product.partition("_")[0]
    quarters = product_quarters(day, product)
    verdict = 201
    for quarter in find_turning_points(world, battery, quarters.start, quarters.stop):
        page = read_page(world, battery, quarter)
        found = parameters_at(battery, start_of_quarter(quarter))
        if direction == "NEGPOS":
            wanted = Amounts(asked, asked, 2 * FCR_HOURS * asked / found.usable)
            rated = min(page.rated.charge, page.rated.discharge)
            if asked > rated * found.fcr_ratio + SLACK:
                return 422
        else:
            hours = AFRR_HOURS if is_capacity(product) else ENERGY_HOURS
            power = asked if is_capacity(product) else _excess(battery, quarter, direction, asked)
            wanted = Amounts(
                power if direction == "NEG" else ZERO,
                power if direction == "POS" else ZERO,
                power * hours / found.usable,
            )
        if _is_more(wanted, page.available) or asked > _side(page.available, direction) + SLACK:
            return (409, 422)
        if _is_more(wanted, page.available - page.taken):
            verdict = 409
    return verdict


def _side(amounts: Amounts, direction: str) -> Fraction:
    return {"POS": amounts.discharge, "NEG": amounts.charge}.get(direction, min(amounts.charge, amounts.discharge))


def _excess(battery: Battery, quarter: int, direction: str, asked: Fraction) -> Fraction:
    """Of balancing energy what exceeds the accepted capacity of its block; other energy bids of the quarter-hour are of
    the same product."""
    accepted = sum(
        (
            bid.accepted
            for bid in battery.bids.values()
            if bid.status == "ACCEPTED"
            and bid.product.startswith(f"{direction}_")
            and is_capacity(bid.product)
            and quarter in product_quarters(bid.day, bid.product)
        ),
        ZERO,
    )
    return max(ZERO, asked - accepted)


def _is_more(wanted: Amounts, there: Amounts) -> bool:
    pairs = ((wanted.charge, there.charge), (wanted.discharge, there.discharge), (wanted.energy, there.energy))
    return any(one > 0 and one > other + SLACK for one, other in pairs)


@on_battery(weight=2)
def withdraw_offer(world: World, pick: Pick, battery: Battery) -> Request | None:
    if not battery.bids:
        return None
    bid = pick.of(list(battery.bids.values()))
    is_open = bid.status == "OFFERED" and gate_is(world, bid.day, bid.product) == "open"

    def remember(_: Answer) -> None:
        bid.status = "WITHDRAWN"
        world.touch([(battery.name, Fraction(1))], quarters.start, quarters.stop)

    quarters = product_quarters(bid.day, bid.product)
    path = f"{battery.path}/ancillary/bids/{bid.id}"
    return Request(
        "withdrawAncillaryBid",
        battery.owner.trader,
        "DELETE",
        path,
        expect=204 if is_open else (204, 409, 422) if bid.status == "WITHDRAWN" else (409, 422),
        on_success=remember,
    )


@action(weight=8)
def record_result(world: World, pick: Pick) -> Request | None:
    """Mostly after the gate has closed; sometimes again, or another one, as a correction or without saying so."""
    bids = [(battery, bid) for battery in world.batteries.values() for bid in battery.bids.values()]
    decided = [(battery, bid) for battery, bid in bids if bid.status in ("ACCEPTED", "REJECTED")]
    standing = [(battery, bid) for battery, bid in bids if bid.status == "OFFERED"]
    closed = [(battery, bid) for battery, bid in standing if gate_is(world, bid.day, bid.product) == "closed"]
    waiting = standing if pick.chance(12) else closed
    again = bool(decided) and pick.chance(25)
    if not (decided if again else waiting):
        return None
    battery, bid = pick.of(decided if again else waiting)
    accepted = pick.chance(75) or pick.below(2) == 0
    capacity = bid.capacity if pick.chance(70) else Fraction(1000)
    result: dict[str, Any] = {
        "bidID": bid.id,
        "accepted": accepted,
        "acceptedCapacity": float(capacity) if accepted else 0,
    }
    if accepted and is_capacity(bid.product):
        result["settlementPrice"] = pick.between(100, 9999) / 100
    if again and pick.chance(60):
        result[CORRECTED] = True
    expect: Any = 201 if not again else (201, 409, 422)

    price = exact(result["settlementPrice"]) if "settlementPrice" in result else None
    status = "ACCEPTED" if accepted else "REJECTED"
    is_new = (bid.status, bid.accepted, bid.settlement_price) != (status, capacity if accepted else ZERO, price)

    def remember(_: Answer) -> None:
        battery.results += is_new
        bid.status, bid.decided_at = status, world.now
        bid.accepted = capacity if accepted else ZERO
        bid.settlement_price = price
        world.note_change([(battery.name, Fraction(1))])
        world.touch([(battery.name, Fraction(1))], quarters.start, quarters.stop)

    quarters = product_quarters(bid.day, bid.product)
    body = [{"deliveryDay": bid.day.isoformat(), "product": bid.product, "results": [result]}]
    return Request(
        "recordAncillaryResults",
        battery.owner.admin,
        "POST",
        f"{battery.path}/ancillary/results",
        body,
        expect=expect,
        on_success=remember,
        causes=((battery.owner.name, "ancillary.result", bid.id),) if is_new else (),
    )


@on_battery(weight=3)
def read_offers(world: World, pick: Pick, battery: Battery) -> Request | None:
    """The seed's endpoint, and its sister that shows every bid."""
    keys = [(bid.day, bid.product) for bid in battery.bids.values()] or [(berlin_day(world.now), "NEGPOS_00_04")]
    wanted = list(dict.fromkeys(pick.of(keys) for _ in range(pick.between(1, 3))))
    waiting_only = pick.chance(60)

    def check(answer: Answer) -> None:
        assert [(entry["deliveryDay"], entry["product"]) for entry in answer.body] == [
            (day.isoformat(), product) for day, product in wanted
        ], "one entry per key in the order asked"
        for entry, (day, product) in zip(answer.body, wanted, strict=True):
            assert entry["productDateCode"] == f"{day.isoformat()}_{product}"
            expected = {
                bid.id: bid.status
                for bid in battery.bids.values()
                if (bid.day, bid.product) == (day, product) and (bid.status == "OFFERED" or not waiting_only)
            }
            said = {bid["id"]: bid["status"] for bid in entry["bids"]}
            if is_capacity(product) or waiting_only:
                assert said == expected, f"bids for {day}_{product}: {expected}, not {said}"

    name = "bids-without-result" if waiting_only else "bids-by-product-keys"
    operation = "listBidsWithoutResult" if waiting_only else "listBidsByProductKeys"
    query = {"product-keys": ",".join(f"{day.isoformat()}_{product}" for day, product in wanted)}
    path = f"{battery.path}/ancillary/{name}"
    return Request(operation, battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@on_battery(weight=1)
def list_offers(world: World, pick: Pick, battery: Battery) -> Request | None:
    if pick.chance(50):
        path = f"{battery.path}/ancillary/results"
        return Request("listAncillaryResults", battery.owner.viewer, "GET", path, expect=200)
    path = f"{battery.path}/ancillary/bids"
    return Request("listAncillaryBids", battery.owner.viewer, "GET", path, expect=200)
