"""Who bears a loss: what is free, then the own schedule, then bids without a result, then all that is firm alike
(contract 3.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tests.simulation.market import product_quarters
from tests.simulation.model import Battery, Outage, World
from tests.simulation.oracle.availability import ZERO, Amounts
from tests.simulation.oracle.book import SLACK, Page, find_turning_points, read_page
from tests.simulation.oracle.shares import waiting_of

Holder = tuple[str, str]
"""The kind of a conflict, and the id of who holds what is not there."""
SIDES = ("charge", "discharge", "energy")


@dataclass(frozen=True, slots=True)
class PreviewedLoss:
    """At the worst moment: what holders lose, in kW, and what may be said of the rest, which nobody holds."""

    cut: Fraction
    free: frozenset[Fraction]


def find_losers(world: World, battery: Battery, first: int, end: int) -> set[Holder]:
    """Virtual assets, auctions and bids for blocks that hold more than is left for them somewhere in a window."""
    found: set[Holder] = set()
    for quarter in find_turning_points(world, battery, first, end):
        page = read_page(world, battery, quarter)
        if page.missing == Amounts():
            continue
        waiting = waiting_of(world, battery, quarter)
        firm = page.taken - page.own - waiting
        short_of_firm = _list_short(firm, page.available)
        short_of_waiting = _list_short(waiting, (page.available - firm).positive)
        for kind, name, sides, is_firm in _list_holders(world, battery, quarter):
            if sides & (short_of_firm if is_firm else short_of_waiting):
                found.add((kind, name))
    return found


def _list_short(asked: Amounts, there: Amounts) -> set[str]:
    return {side for side in SIDES if getattr(asked, side) > getattr(there, side) + SLACK}


def _list_holders(world: World, battery: Battery, quarter: int) -> Iterator[tuple[str, str, set[str], bool]]:
    """Each with its kind, its id, what it takes of the battery, and whether it is firm."""
    for virtual in world.virtuals.values():
        if virtual.first <= quarter < virtual.end and any(name == battery.name for name, _ in virtual.backing):
            yield "VIRTUAL_ASSET", virtual.id, set(SIDES), True
    for auction in world.auctions.values():
        is_open = not auction.is_cancelled and not auction.is_cleared
        if (
            is_open
            and auction.first <= quarter < auction.last
            and any(one == battery.name for one, _ in auction.backing)
        ):
            yield "AUCTION", auction.id, set(SIDES), True
    for bid in battery.bids.values():
        is_block = bid.product.count("_") == 2
        if is_block and bid.status in ("OFFERED", "ACCEPTED") and quarter in product_quarters(bid.day, bid.product):
            direction = bid.product.partition("_")[0]
            sides = {"POS": {"discharge", "energy"}, "NEG": {"charge", "energy"}}.get(direction, set(SIDES))
            yield "ANCILLARY_BID", bid.id, sides, bid.status == "ACCEPTED"


def preview_loss(world: World, battery: Battery, outage: Outage, first: int, end: int) -> PreviewedLoss:
    """What an outage would take, as if it were reported."""
    battery.outages[outage.id] = outage
    try:
        points = find_turning_points(world, battery, first, end)
        after = {quarter: read_page(world, battery, quarter) for quarter in points}
    finally:
        del battery.outages[outage.id]
    worst: list[tuple[Fraction, Fraction]] = []
    for quarter, page in after.items():
        before = read_page(world, battery, quarter)
        worst += [_compare_side(before, page, side) for side in SIDES[:2]]
    most = max((cut for cut, _ in worst), default=ZERO)
    if most <= SLACK:
        lost = max((lost for _, lost in worst), default=ZERO)
        return PreviewedLoss(ZERO, frozenset({lost}))
    return PreviewedLoss(most, frozenset(max(ZERO, lost - cut) for cut, lost in worst if most - cut <= SLACK))


def _compare_side(before: Page, after: Page, side: str) -> tuple[Fraction, Fraction]:
    """What holders lose, and what the battery loses."""
    cut = getattr(after.missing, side) - getattr(before.missing, side)
    return cut, getattr(before.available, side) - getattr(after.available, side)
