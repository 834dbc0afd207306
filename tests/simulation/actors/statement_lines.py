"""Reading who owes whom: statements of assets and of groups of them, on random windows and resolutions."""

from __future__ import annotations

from tests.simulation.actors.acting import action, as_window, pick_battery, pick_virtual, pick_window
from tests.simulation.actors.reporting import RESOLUTIONS, has_unseen_prize, list_backed
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.market import start_of_quarter
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.payments import find_owner_difference, find_statement_difference
from tests.simulation.steps import Pick


def check_total(answer: Answer) -> None:
    cents = sum(round(100 * line["amount"]) for line in answer.body["lines"])
    assert cents == round(100 * answer.body["total"]), f"a total of {cents} cents, not {answer.body['total']}"


def holder_request(world: World, virtual: VirtualAsset, first: int, end: int, resolution: str) -> Request:
    """A virtual asset's statement, every line of it that follows from the facts."""
    window = (start_of_quarter(first), start_of_quarter(end))

    def check(answer: Answer) -> None:
        check_total(answer)
        difference = find_statement_difference(world, virtual, answer.body["lines"], window, resolution)
        assert difference is None, difference

    path = f"/revenue-reporting/virtual-assets/{virtual.id}/statement"
    query = {**as_window(first, end), "resolution": resolution}
    by = virtual.holder.viewer
    return Request("readVirtualAssetStatement", by, "GET", path, query=query, expect=200, check=check)


def owner_request(world: World, battery: Battery, first: int, end: int, resolution: str) -> Request:
    """A battery's statement: its shares of prices and tolls."""
    window = (start_of_quarter(first), start_of_quarter(end))

    def check(answer: Answer) -> None:
        check_total(answer)
        difference = find_owner_difference(world, battery, list_backed(world, battery), answer.body["lines"], window)
        assert has_unseen_prize(world) or difference is None, difference

    path = f"/revenue-reporting/physical-assets/{battery.id}/statement"
    query = {**as_window(first, end), "resolution": resolution}
    by = battery.owner.viewer
    return Request("readPhysicalAssetStatement", by, "GET", path, query=query, expect=200, check=check)


@action(weight=4)
def read_statement(world: World, pick: Pick) -> Request | None:
    first, end = pick_window(world, pick, -5, 1)
    resolution = pick.of(RESOLUTIONS)
    kind = pick.below(4)
    virtual, battery = pick_virtual(world, pick), pick_battery(world, pick)
    if kind < 2 and virtual is not None:
        return holder_request(world, virtual, first, end, resolution)
    if kind == 2 and battery is not None:
        return owner_request(world, battery, first, end, resolution)
    holder, owner = pick.of(world.traders), pick.of(world.owners)
    query = {**as_window(first, end), "resolution": resolution}
    if holder.portfolios and pick.chance(50):
        path = f"/revenue-reporting/portfolios/{pick.of(list(holder.portfolios))}/statement"
        return _group("readPortfolioStatement", holder.viewer, path, query)
    if owner.fleets:
        path = f"/revenue-reporting/fleets/{pick.of(list(owner.fleets))}/statement"
        return _group("readFleetStatement", owner.viewer, path, query)
    return None


def _group(operation: str, by: Person, path: str, query: dict[str, str]) -> Request:
    return Request(operation, by, "GET", path, query=query, expect=200, check=check_total)
