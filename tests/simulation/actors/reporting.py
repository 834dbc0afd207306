"""Reading what was earned: categories of assets, portfolios, fleets and batteries on random windows and resolutions."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

from tests.simulation.actors.acting import action, as_window, exact, on_virtual, pick_battery, pick_window
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.market import day_of_quarter, from_text, midnight, start_of_quarter, to_text
from tests.simulation.model import Battery, Organisation, VirtualAsset, World
from tests.simulation.oracle.figures import find_difference, find_share_difference
from tests.simulation.oracle.raw import find_raw_difference
from tests.simulation.oracle.revenue import categories
from tests.simulation.steps import Pick

RESOLUTIONS = ("daily", "hourly", "15-minute")
LENGTHS = {"daily": 96 * 4, "hourly": 60, "15-minute": 24}
"""Quarter-hours that are read at once."""


@on_virtual(weight=8)
def read_data_points(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    resolution = pick.of(RESOLUTIONS)
    first = virtual.first - 8 + pick.below(virtual.end - virtual.first + 8)
    return data_points_request(world, virtual, first, first + pick.between(1, LENGTHS[resolution]), resolution)


def data_points_request(world: World, virtual: VirtualAsset, first: int, end: int, resolution: str) -> Request:
    path = f"/revenue-reporting/virtual-assets/{virtual.id}/data-points"
    operation = "readVirtualAssetDataPoints"
    return _figures(operation, virtual.holder.viewer, path, [virtual], world, (first, end), resolution)


@on_virtual(weight=2)
def read_raw_points(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """Each fact at the start of its own period, over whole market days."""
    first = day_of_quarter(virtual.first) + timedelta(days=pick.between(0, 2))
    return raw_points_request(world, virtual, first, pick.between(1, 4))


def raw_points_request(world: World, virtual: VirtualAsset, first: date, days: int) -> Request:
    window = (midnight(first), midnight(first + timedelta(days=days)))

    def check(answer: Answer) -> None:
        difference = find_raw_difference(world, virtual, answer.body["data"], window)
        assert difference is None, difference

    query = {"start": to_text(window[0]), "end": to_text(window[1]), "resolution": "raw"}
    path, by = f"/revenue-reporting/virtual-assets/{virtual.id}/data-points", virtual.holder.viewer
    return Request("readVirtualAssetDataPoints", by, "GET", path, query=query, expect=200, check=check)


def _figures(
    operation: str,
    by: Person,
    path: str,
    virtuals: list[VirtualAsset],
    world: World,
    quarters: tuple[int, int],
    resolution: str,
) -> Request:
    """Every category of one or several virtual assets."""

    def check(answer: Answer) -> None:
        window = (start_of_quarter(quarters[0]), start_of_quarter(quarters[1]))
        difference = find_difference(world, virtuals, answer.body["data"], window, resolution)
        assert difference is None, difference

    query = {**as_window(*quarters), "resolution": resolution}
    return Request(operation, by, "GET", path, query=query, expect=200, check=check)


@action(weight=3)
def read_portfolio(world: World, pick: Pick) -> Request | None:
    """Every category of several assets together."""
    holders = [one for one in world.traders if any(one.portfolios.values())] or world.traders
    holder = pick.of(holders)
    if not holder.portfolios:
        return None
    portfolio = pick.of(list(holder.portfolios))
    within = [one for one in world.virtuals.values() if one.id in holder.portfolios[portfolio]]
    resolution = pick.of(RESOLUTIONS)
    start = (pick.of(within).first if within else pick_window(world, pick, -3, 2)[0]) - pick.below(8)
    quarters = (start, start + pick.between(1, LENGTHS[resolution]))
    return portfolio_request(world, holder, portfolio, quarters, resolution)


def portfolio_request(
    world: World, holder: Organisation, portfolio: str, quarters: tuple[int, int], resolution: str
) -> Request:
    within = [one for one in world.virtuals.values() if one.id in holder.portfolios[portfolio]]
    path = f"/revenue-reporting/portfolios/{portfolio}/data-points"
    return _figures("readPortfolioDataPoints", holder.viewer, path, within, world, quarters, resolution)


@action(weight=3)
def read_shares(world: World, pick: Pick) -> Request | None:
    """Fleets and batteries: the sums of what they back, by share."""
    quarters = pick_window(world, pick, -3, 2)
    owner = pick.of(world.owners)
    if owner.fleets and pick.chance(40):
        fleet = pick.of(list(owner.fleets))
        within = [one for one in world.batteries.values() if one.id in owner.fleets[fleet]]
        parts = [part for battery in within for part in list_backed(world, battery)]
        path = f"/revenue-reporting/fleets/{fleet}/data-points"
        return _sums("readFleetDataPoints", owner.viewer, path, parts, world, quarters, [one.id for one in within])
    battery = pick_battery(world, pick)
    return None if battery is None else share_request(world, battery, quarters)


def share_request(world: World, battery: Battery, quarters: tuple[int, int]) -> Request:
    path = f"/revenue-reporting/physical-assets/{battery.id}/data-points"
    parts = list_backed(world, battery)
    return _sums("readPhysicalAssetDataPoints", battery.owner.viewer, path, parts, world, quarters, [battery.id])


def list_backed(world: World, battery: Battery) -> list[tuple[VirtualAsset, Fraction]]:
    """The virtual assets behind which a battery stands, with its shares."""
    return [(one, share) for one in world.virtuals.values() for name, share in one.backing if name == battery.name]


def has_unseen_prize(world: World) -> bool:
    """Whether an asset was won that the model has not read yet: its figures count already."""
    return any(one.winner is not None and one.virtual is None for one in world.auctions.values())


def _sums(
    operation: str,
    by: Person,
    path: str,
    parts: list[tuple[VirtualAsset, Fraction]],
    world: World,
    quarters: tuple[int, int],
    batteries: list[str],
) -> Request:
    window = (start_of_quarter(quarters[0]), start_of_quarter(quarters[1]))

    def check(answer: Answer) -> None:
        difference = find_share_difference(world, parts, answer.body["data"], window, batteries)
        assert has_unseen_prize(world) or difference is None, difference

    query = {**as_window(*quarters), "resolution": "daily"}
    return Request(operation, by, "GET", path, query=query, expect=200, check=check)


BUCKETS = {
    "readWholesaleRevenue": "wholesale",
    "readAncillaryRevenue": "ancillary",
    "readTollingRevenue": "tolling",
    "readVirtualBatteryAuctionRevenue": "virtual-battery-auction",
}


@on_virtual(weight=2)
def read_buckets(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    operation = pick.of(list(BUCKETS))
    query = as_window(virtual.first, min(virtual.end, virtual.first + 200))
    path = f"/revenue-reporting/{virtual.id}/{BUCKETS[operation]}"

    def check(answer: Answer) -> None:
        for bucket in answer.body["buckets"]:
            expected = categories(world, virtual, from_text(bucket["start"]), from_text(bucket["end"]))
            for name, said in bucket["figures"].items():
                value = expected.get(name)
                if name in expected and value is not None and said is not None:
                    off = abs(exact(said) - value)
                    assert off <= max(Fraction(1, 10**6), abs(value) / 10**9), (
                        f"{name} of {float(value)} at {bucket['start']}, not {said}"
                    )

    return Request(operation, virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)
