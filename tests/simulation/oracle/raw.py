"""Categories at resolution `raw` (contract 7): a point at the start of each fact's own period, and sums over a window
that are those of every other resolution."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

from tests.simulation.market import from_text, product_quarters, quarter_of, start_of_quarter
from tests.simulation.model import VirtualAsset, World
from tests.simulation.oracle.revenue import ZERO, categories, exact

PERIOD_CATEGORIES = (
    "revenue_wholesale",
    "buy_volume_wholesale",
    "sell_volume_wholesale",
    "buy_vwap_wholesale",
    "sell_vwap_wholesale",
)
BLOCK_CATEGORIES = ("revenue_fcr", "capacity_fcr", "settlement_price_fcr", "delivery_hours_fcr")
ADDITIVE = (
    "revenue_wholesale",
    "revenue_fcr",
    "revenue_afrr_capacity",
    "revenue_afrr_energy",
    "revenue_tolling",
    "revenue_vba",
    "revenue_total_revenue",
    "net_volume_wholesale",
    "weighted_capacity_fcr",
    "total_volume_afrr_energy_pos",
    "total_volume_afrr_energy_neg",
)
Points = dict[str, list[dict[str, object]]]


def find_raw_difference(
    world: World, virtual: VirtualAsset, data: Points, window: tuple[datetime, datetime]
) -> str | None:
    """Of a window of whole market days: the first point that is not its fact's, or the sum that is not the window's."""
    trades = {at: (start_of_quarter(at), start_of_quarter(at + 1)) for at in _list_traded(world, virtual, window)}
    blocks = {
        block.start: (start_of_quarter(block.start), start_of_quarter(block.stop))
        for block in _list_blocks(world, virtual, window)
    }
    for names, periods in ((PERIOD_CATEGORIES, trades), (BLOCK_CATEGORIES, blocks)):
        for name in names:
            said = {quarter_of(from_text(str(point["time"]))): point["value"] for point in data[name]}
            if said.keys() != periods.keys():
                return f"{name} in {sorted(periods)}, not {sorted(said)}"
            for at, period in periods.items():
                if not _is_close(said[at], categories(world, virtual, *period)[name]):
                    return f"{name} at {period[0]}: {categories(world, virtual, *period)[name]}, not {said[at]}"
    world.compared["categories raw"] += len(trades) + len(blocks)
    whole = categories(world, virtual, *window)
    for name in ADDITIVE:
        total = sum((exact(point["value"] or 0) for point in data[name]), ZERO)
        if not _is_close(total, whole[name]):
            return f"{name} of {float(whole[name] or 0)} in all, not {float(total)}"
    return None


def _list_traded(world: World, virtual: VirtualAsset, window: tuple[datetime, datetime]) -> set[int]:
    first, end = quarter_of(window[0]), quarter_of(window[1])
    return {at for (asset, _, at, _) in world.facts.trades if asset == virtual.id and first <= at < end}


def _list_blocks(world: World, virtual: VirtualAsset, window: tuple[datetime, datetime]) -> list[range]:
    first, end = quarter_of(window[0]), quarter_of(window[1])
    blocks = [product_quarters(day, product) for (asset, day, product) in world.facts.fcr if asset == virtual.id]
    return [block for block in blocks if first <= block.start < end]


def _is_close(said: object, expected: Fraction | None) -> bool:
    if said is None or expected is None:
        return said is None and expected is None
    return abs(exact(said) - expected) <= max(Fraction(1, 10**5), abs(expected) / 10**8)
