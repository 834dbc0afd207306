"""What a virtual asset has left: its ratings × Σ share · min(1, available ÷ firm) of its batteries (contract 3.4)."""

from __future__ import annotations

from fractions import Fraction

from tests.simulation.market import product_quarters
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.availability import Amounts
from tests.simulation.oracle.book import read_page


def available_fraction(world: World, virtual: VirtualAsset, quarter: int) -> Amounts:
    """In kW and kWh."""
    left = left_of(world, virtual.backing, quarter)
    return Amounts(left.charge * virtual.charge, left.discharge * virtual.discharge, left.energy * virtual.energy)


def left_of(world: World, backing: list[tuple[str, Fraction]], quarter: int) -> Amounts:
    """As ratios. What is free is lost first, then the own schedule, then bids without a result; what is firm shrinks
    alike."""
    left = Amounts()
    for name, share in backing:
        battery = world.batteries[name]
        page = read_page(world, battery, quarter)
        firm = page.taken - page.own - waiting_of(world, battery, quarter)
        left += Amounts(
            share * _part(page.available.charge, firm.charge),
            share * _part(page.available.discharge, firm.discharge),
            share * _part(page.available.energy, firm.energy),
        )
    return left


def _part(available: Fraction, firm: Fraction) -> Fraction:
    return min(Fraction(1), available / firm) if firm > 0 else Fraction(1)


def waiting_of(world: World, battery: Battery, quarter: int) -> Amounts:
    """What bids without a result hold: the book with them less the book without them."""
    offered = [
        bid
        for bid in battery.bids.values()
        if bid.status == "OFFERED" and quarter in product_quarters(bid.day, bid.product)
    ]
    if not offered:
        return Amounts()
    before = read_page(world, battery, quarter).taken
    for bid in offered:
        bid.status = "REPLACED"
    try:
        return before - read_page(world, battery, quarter).taken
    finally:
        for bid in offered:
            bid.status = "OFFERED"
