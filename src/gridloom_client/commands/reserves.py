"""`gridloom reserves`: a battery's bids for FCR and aFRR, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import report_done
from gridloom_client.commands.terminal.finding import find_battery, find_thing
from gridloom_client.commands.terminal.options import USUAL, BatteryName, Confirmed, ListedID, Options, connect
from gridloom_client.commands.terminal.rendering import print_data, print_table
from gridloom_client.commands.terminal.windows import read_day, service_time
from gridloom_client.literals import BidStatus

if TYPE_CHECKING:
    from gridloom_client.answers import AncillaryEntry
    from gridloom_client.client import Client

app = CommandGroup(
    name="reserves",
    help="A battery's bids for FCR and aFRR: bid, bids, withdraw, results, record.",
    group="Using the platform",
)
Product = Annotated[str, Parameter(help="Such as NEGPOS_00_04 of FCR, POS_00_04 of aFRR or POS_001 of aFRR energy.")]
OnlyProduct = Annotated[str | None, Parameter(help="Only those for this product, such as NEGPOS_00_04.")]
OnlyDay = Annotated[str | None, Parameter(help="Only those for this delivery day: a date, today or tomorrow.")]
Keys = Annotated[
    Sequence[str], Parameter(negative="", help="Only these product keys, such as 2026-11-20_NEGPOS_00_04.")
]


@app.command
def bid(asset: BatteryName, day: str, product: Product, steps: Sequence[str], *, options: Options = USUAL) -> None:
    """Offer a battery's power as a reserve, in one or several price steps.

    For example:

        gridloom reserves bid "Husum 1" tomorrow NEGPOS_08_12 2000:60
        gridloom reserves bid "Husum 1" 2026-11-20 POS_08_12 1000:12.50:180 1000:15:200

    Parameters
    ----------
    day
        The delivery day: a date, today or tomorrow.
    steps
        KW:CAPACITYPRICE, and of aFRR :ENERGYPRICE. Whole MW; the capacity price is EUR/MW for the block of FCR and per
        hour of aFRR, and 0 for aFRR energy; the energy price is EUR/MWh.
    """
    bids = [_read_step(text) for text in steps]
    with connect(options) as client:
        offer = {"deliveryDay": read_day(day, service_time(client)), "product": product, "bids": bids}
        _show_bids(client.physical_assets.offer(find_battery(client, asset), [offer]), options)


def _read_step(text: str) -> dict[str, float]:
    names = ("offeredCapacity", "capacityPrice", "energyPrice")
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 3:
        raise Misunderstood(f"{text} is no price step; expected one such as 2000:60 or 1000:12.50:180.")
    return dict(zip(names, numbers, strict=False))


@app.command
def bids(
    asset: BatteryName,
    *,
    day: OnlyDay = None,
    product: OnlyProduct = None,
    status: BidStatus | None = None,
    keys: Keys = (),
    waiting: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """List a battery's bids for reserves.

    For example:

        gridloom reserves bids "Husum 1" --day tomorrow
        gridloom reserves bids "Husum 1" --waiting --keys 2026-11-20_NEGPOS_00_04

    Parameters
    ----------
    status
        Only those: OFFERED, ACCEPTED, REJECTED, REPLACED or WITHDRAWN.
    waiting
        Only those that wait for their result; with --keys.
    """
    if waiting and not keys:
        raise Misunderstood("Say of which products: --keys 2026-11-20_NEGPOS_00_04.")
    with connect(options) as client:
        battery = find_battery(client, asset)
        entries: Iterable[AncillaryEntry]
        if keys:
            read = (
                client.physical_assets.bids_without_result if waiting else client.physical_assets.bids_by_product_keys
            )
            entries = read(battery, product_keys=list(keys))
        else:
            wanted = _read_day(client, day)
            entries = client.physical_assets.ancillary_bids(
                battery, delivery_day=wanted, product=product, status=status
            )
        _show_bids(entries, options)


def _show_bids(entries: Iterable[AncillaryEntry], options: Options) -> None:
    listed = list(entries)
    if print_data(listed, options):
        return
    titles = ["ID", "Day", "Product", "Status", "kW", "Accepted kW", "Price EUR/MW", "Energy EUR/MWh"]
    rows = [
        (
            one.id,
            entry.delivery_day,
            entry.product,
            one.status,
            one.offered_capacity,
            one.accepted_capacity,
            one.capacity_price,
            one.energy_price,
        )
        for entry in listed
        for one in entry.bids
    ]
    print_table("Bids", titles, rows, options)


@app.command
def withdraw(asset: BatteryName, bid: ListedID, *, yes: Confirmed = False, options: Options = USUAL) -> None:
    """Withdraw a bid for a reserve before its gate.

    For example:

        gridloom reserves withdraw "Husum 1" 099a8057
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        _, found = _find_bid(client, battery, bid)
        if not confirm(f"Withdraw the bid of {found.offered_capacity:,.0f} kW?", yes=yes):
            return
        client.physical_assets.withdraw_offer(battery, found.id)
    report_done("Withdrawn.", options)


@app.command
def results(asset: BatteryName, *, day: OnlyDay = None, product: OnlyProduct = None, options: Options = USUAL) -> None:
    """List the results of a battery's bids for reserves.

    For example:

        gridloom reserves results "Husum 1" --day yesterday
    """
    with connect(options) as client:
        battery, wanted = find_battery(client, asset), _read_day(client, day)
        _show_results(client.physical_assets.results(battery, delivery_day=wanted, product=product), options)


@app.command
def record(
    asset: BatteryName,
    bid: ListedID,
    *,
    accepted: float,
    price: float | None = None,
    correction: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Record the result of a bid.

    For example:

        gridloom reserves record "Husum 1" 099a8057 --accepted 2000 --price 61.20
        gridloom reserves record "Husum 1" 099a8057 --accepted 0

    Parameters
    ----------
    accepted
        The accepted power in kW; 0 where nothing was.
    price
        What it is settled at: EUR/MW for the block of FCR, per hour of aFRR; EUR/MWh of aFRR energy.
    correction
        It replaces a result that was recorded before.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        entry, found = _find_bid(client, battery, bid)
        result = {"bidID": found.id, "accepted": accepted > 0, "acceptedCapacity": accepted, "settlementPrice": price}
        body = {"deliveryDay": entry.delivery_day, "product": entry.product, "results": [result]}
        made = client.physical_assets.report_results(battery, [body | ({"correction": True} if correction else {})])
        _show_results(made, options)


def _show_results(entries: Iterable[Any], options: Options) -> None:
    listed = list(entries)
    if print_data(listed, options):
        return
    titles = ["Bid", "Day", "Product", "Accepted kW", "Price EUR/MW", "Recorded", "Revision"]
    rows = [
        (
            one.bid_id,
            entry.delivery_day,
            entry.product,
            one.accepted_capacity,
            one.settlement_price,
            one.recorded_at,
            one.revision,
        )
        for entry in listed
        for one in entry.results
    ]
    print_table("Results", titles, rows, options)


def _find_bid(client: Client, battery: Any, text: str) -> tuple[Any, Any]:
    """A bid with the product and day that it is for."""
    known = {one.id: (entry, one) for entry in client.physical_assets.ancillary_bids(battery) for one in entry.bids}
    return known[find_thing(text, [one for _, one in known.values()], "bid").id]


def _read_day(client: Client, day: str | None) -> date | None:
    return None if day is None else read_day(day, service_time(client))
