"""Points of revenue reporting compared with the categories that follow from the facts, bucket by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction

from tests.simulation.market import from_text
from tests.simulation.model import VirtualAsset, World
from tests.simulation.oracle.netting import find_netted_volume
from tests.simulation.oracle.revenue import ZERO, bucket_end, categories, categories_of, exact, is_near

NETTED = "net_off_volume_wholesale"


def find_difference(
    world: World,
    virtuals: Sequence[VirtualAsset],
    data: dict[str, list[dict[str, object]]],
    window: tuple[datetime, datetime],
    resolution: str,
) -> str | None:
    """The first point that is not as the facts have it."""
    cached: dict[object, dict[str, Fraction | None]] = {}
    for name, points in data.items():
        for point in points:
            time = point["time"]
            if time not in cached:
                cached[time] = _find_bucket(world, virtuals, from_text(str(time)), window, resolution)
            if name not in cached[time]:
                continue
            said, expected = point["value"], cached[time][name]
            _count_compared(world, name, expected, resolution, len(virtuals))
            if (expected is None) != (said is None):
                return f"{name} at {point['time']}: {expected}, not {said}"
            if expected is not None and not is_near(said, expected, relative=1e-9):
                return f"{name} at {point['time']}: {float(expected)}, not {said}"
    return None


def _find_bucket(
    world: World, virtuals: Sequence[VirtualAsset], start: datetime, window: tuple[datetime, datetime], resolution: str
) -> dict[str, Fraction | None]:
    """What each category must say; those that are not known are left out."""
    low, high = max(start, window[0]), min(window[1], bucket_end(start, resolution))
    found = categories_of(world, virtuals, low, high)
    netted = _sum_netted(world, virtuals, low, high)
    return found if netted is None else found | {NETTED: netted}


def _sum_netted(world: World, virtuals: Sequence[VirtualAsset], start: datetime, end: datetime) -> Fraction | None:
    found = [find_netted_volume(world, one, start, end) for one in virtuals]
    return None if None in found else sum((one for one in found if one is not None), ZERO)


def _count_compared(world: World, name: str, expected: Fraction | None, resolution: str, assets: int) -> None:
    if expected:
        world.compared["netted volume" if name == NETTED else f"categories {resolution}"] += 1
        world.compared["categories of several"] += assets > 1


ADDED_UP = (
    "revenue_wholesale",
    "revenue_afrr_energy",
    "revenue_tolling",
    "revenue_vba",
    "buy_volume_wholesale",
    "sell_volume_wholesale",
    "total_volume_afrr_energy_pos",
)
"""Additive categories that no provisional award of a battery has a part in."""


def find_share_difference(
    world: World,
    parts: list[tuple[VirtualAsset, Fraction]],
    data: dict[str, list[dict[str, object]]],
    window: tuple[datetime, datetime],
    batteries: Sequence[str],
) -> str | None:
    """Of batteries, by id, with their shares in virtual assets: the first daily sum that is not theirs."""
    cached: dict[object, list[tuple[Fraction, dict[str, Fraction | None]]]] = {}
    for name in ADDED_UP:
        if name in TRADED and world.drift_trades is None:
            continue
        for point in data[name]:
            start = from_text(str(point["time"]))
            low, high = max(start, window[0]), min(window[1], bucket_end(start, "daily"))
            if start not in cached:
                cached[start] = [(share, categories(world, one, low, high)) for one, share in parts]
            expected = sum((share * (figures[name] or ZERO) for share, figures in cached[start]), ZERO)
            expected += _sum_drift(world, name, batteries, low, high)
            said = exact(point["value"] or 0)
            world.compared["shares of a battery"] += bool(expected)
            if abs(said - expected) > max(Fraction(1, 10**5), abs(expected) / 10**8):
                return f"{name} at {point['time']}: {float(expected)}, not {point['value']}"
    return None


TRADED = {
    "revenue_wholesale": {"SELL": (1, True), "BUY": (-1, True)},
    "buy_volume_wholesale": {"BUY": (1, False)},
    "sell_volume_wholesale": {"SELL": (1, False)},
}
"""Categories in which trades of drift count, by side: the sign, and whether they count as euros."""


def _sum_drift(world: World, name: str, batteries: Sequence[str], start: datetime, end: datetime) -> Fraction:
    total = ZERO
    for row in world.drift_trades or () if name in TRADED else ():
        if row["assetID"] in batteries and start <= from_text(row["time"]) < end and row["side"] in TRADED[name]:
            sign, is_paid = TRADED[name][row["side"]]
            total += sign * exact(row["volume"]) * (exact(row["price"]) if is_paid else 1)
    return total
