"""The whole of it, at midnights and at the end: every book, every store, everyone's statements, every event."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.simulation.actors.acting import as_window
from tests.simulation.actors.auctions import collect_prize, results_request
from tests.simulation.actors.balancing import is_capacity
from tests.simulation.actors.books import availability_request, book_request, own_schedule_request
from tests.simulation.actors.delivered import performance_request, position_request
from tests.simulation.actors.documenting import system_entries_request
from tests.simulation.actors.reporting import data_points_request, portfolio_request, raw_points_request, share_request
from tests.simulation.actors.settling import prices_request
from tests.simulation.actors.statement_lines import owner_request
from tests.simulation.actors.stores import (
    adjustments_request,
    past_store_request,
    schedule_request,
    store_request,
)
from tests.simulation.actors.telemetry import raw_request
from tests.simulation.audits.announced import compare_announced
from tests.simulation.audits.delivery import compare_zones
from tests.simulation.audits.events import compare_events
from tests.simulation.audits.levelling import compare_levelling
from tests.simulation.audits.log import compare_audit_log
from tests.simulation.audits.past import compare_past
from tests.simulation.audits.statements import compare_statements
from tests.simulation.calls import Request
from tests.simulation.market import berlin_day, day_of_quarter, quarter_of, quarters_of_day
from tests.simulation.model import Battery, VirtualAsset
from tests.simulation.oracle.announced import find_followed
from tests.simulation.oracle.payments import IMBALANCE_PRICE
from tests.simulation.paging import compare_pages
from tests.simulation.steps import Pick

if TYPE_CHECKING:
    from tests.simulation.life import Life


async def _compare_day(life: Life, virtual: VirtualAsset, first: int, end: int) -> None:
    """Of the part of the last day in which it lived: each quarter-hour's position and categories, and each fact."""
    await life.ask(position_request(life.world, virtual, max(virtual.first, first - 96), end))
    await life.ask(data_points_request(life.world, virtual, first, min(end, first + 24), "15-minute"))
    await life.ask(raw_points_request(life.world, virtual, day_of_quarter(first), 2))


def _list_award_days(battery: Battery, now: int) -> list[range]:
    """The last market day that is over with an award of FCR, and with one of aFRR capacity: results may come so late
    that no audit at a midnight has seen them."""
    days: dict[bool, range] = {}
    for bid in battery.bids.values():
        day = quarters_of_day(bid.day)
        if bid.status == "ACCEPTED" and is_capacity(bid.product) and day.stop <= now:
            days[bid.product.startswith("NEGPOS")] = day
    return list(days.values())


async def _compare_end(life: Life, now: int) -> None:
    """What random reads may have left out: of each battery, of each portfolio, of prices, and page by page."""
    world = life.world
    for battery in world.batteries.values():
        await life.ask(system_entries_request(battery))
        await life.ask(availability_request(world, battery, now - 96, now + 96))
        await life.ask(own_schedule_request(world, battery, now - 96, now + 96))
        await life.ask(share_request(world, battery, (now - 192, now)))
        await life.ask(raw_request(world, battery, as_window(now - 96, now)))
        for day in _list_award_days(battery, now):
            await life.ask(owner_request(world, battery, day.start, day.stop, "hourly"))
    for battery in [one for one in world.batteries.values() if len(one.entries) > 1][:1]:
        path, by = f"{battery.path}/logbook", battery.owner.viewer
        await compare_pages(life, Request("searchLogbook", by, "GET", path, expect=200), size=1)
    for virtual in world.virtuals.values():
        await life.ask(schedule_request(world, virtual))
    for holder in world.traders:
        for portfolio in holder.portfolios:
            await life.ask(portfolio_request(world, holder, portfolio, (now - 192, now + 96), "daily"))
    await life.ask(prices_request(world, IMBALANCE_PRICE, berlin_day(world.now) - timedelta(days=1)))
    by, path = world.operator.trader, "/settlements/wholesale-trades"
    await compare_pages(life, Request("listWholesaleTrades", by, "GET", path, expect=200), size=3)


async def audit(life: Life, *, is_end: bool) -> None:
    """Every promise that can be judged at this moment."""
    world = life.world
    while (prize := collect_prize(world, Pick(()))) is not None:
        await life.ask(prize)
    now = quarter_of(world.now)
    for battery in world.batteries.values():
        await life.ask(book_request(world, battery, now - 8, now + 200))
        if battery.samples.get("active_power"):
            await life.ask(performance_request(world, battery, now - 96, now))
    for virtual in world.virtuals.values():
        await life.ask(store_request(world, virtual, projected=False))
        said = (await life.ask(adjustments_request(world, virtual))).body
        followed = find_followed(world, virtual, now) if virtual.first < now else None
        if followed is not None:
            await life.ask(past_store_request(world, virtual, followed))
            await compare_announced(life, virtual, said, followed)
        first = max(virtual.first, now - 96)
        if first < virtual.end:
            await life.ask(data_points_request(world, virtual, first, min(virtual.end, first + 192), "daily"))
        if first < min(virtual.end, now):
            await _compare_day(life, virtual, first, min(virtual.end, now))
    for auction in world.auctions.values():
        if auction.is_cleared:
            await life.ask(results_request(world, auction))
    await compare_zones(life)
    await compare_levelling(life)
    await compare_statements(life)
    await compare_past(life, is_end=is_end)
    if is_end:
        await _compare_end(life, now)
        await compare_events(life)
        await compare_audit_log(life)
    life.reach.checks["audit"] += 1
