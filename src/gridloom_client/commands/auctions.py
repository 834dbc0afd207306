"""`gridloom auctions …`"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, Token

from gridloom_client.commands.auction_making import create
from gridloom_client.commands.auction_running import bids, cancel, change, invite, results
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.finding import find_id
from gridloom_client.commands.terminal.options import USUAL, ListedID, Options, connect
from gridloom_client.commands.terminal.progress import pause, waiting
from gridloom_client.commands.terminal.rendering import (
    print_data,
    print_facts,
    print_one,
    print_table,
    short_id,
    show_lines,
)
from gridloom_client.commands.terminal.windows import service_time
from gridloom_client.literals import AuctionStatus, ValuationBasis

if TYPE_CHECKING:
    from gridloom_client.answers import Auction

app = CommandGroup(
    name="auctions",
    help="Auctions: list, show, watch, bid, bids, withdraw, value; create, change, invite, cancel, results.",
    group="Using the platform",
)

_COMING = ("NOT_STARTED", "SCHEDULED")
_OPEN = (*_COMING, "RUNNING", "PENDING")


def read_euros(_type: object, tokens: Sequence[Token]) -> Decimal:
    try:
        price = Decimal(tokens[0].value)
    except InvalidOperation:
        raise ValueError(f"{tokens[0].value} is not a price; expected a number such as 1250.50") from None
    if not price.is_finite():
        raise ValueError("a price is finite")
    return price


@app.command(name="list")
def list_(
    *,
    status: AuctionStatus | None = None,
    all: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """List the auctions that you are invited to: open and coming ones and those of the last day; scripts get all.

    For example:

        gridloom auctions list
        gridloom auctions list --status WON
        gridloom auctions list -o ndjson | jq .item.energyCapacity

    Parameters
    ----------
    status
        Only those, however old: NOT_STARTED, RUNNING, PENDING, WON, LOST or NO_BIDS_SUBMITTED.
    all
        Also those that closed more than a day ago.
    """
    with connect(options) as client:
        known = list(client.auctions.list(status=status))
        if print_data(known, options):
            return
        recent = service_time(client) - timedelta(days=1)
    auctions = [auction for auction in known if all or status or auction.end > recent]
    columns = ["ID", "Status", "Closes", "Delivery", "Your bid EUR", "Zone", "Discharge kW", "Energy kWh", "Opens"]
    rows = [
        (
            auction.id,
            auction.status,
            auction.end,
            (auction.item.start, auction.item.end),
            auction.current_bid.price if auction.current_bid else None,
            auction.item.delivery_zone,
            auction.item.rated_discharge_power,
            auction.item.energy_capacity,
            auction.start,
        )
        for auction in auctions
    ]
    print_table("Auctions", columns, rows, options)
    if len(auctions) < len(known):
        show_lines(f"{len(known) - len(auctions)} that closed earlier are left out; --all shows them.")


@app.command
def show(auction: ListedID, *, options: Options = USUAL) -> None:
    """Show one auction, what it offers and how you stand in it.

    For example:

        gridloom auctions show 099a8057
        gridloom auctions show 099a8057 -o json
    """
    with connect(options) as client:
        seen = client.auctions.get(find_id(auction, client.auctions.list(), "auction"))
    if print_one(seen, options):
        return
    item, current = seen.item, seen.current_bid
    facts = {
        "Status": seen.status,
        "Opens": seen.start,
        "Closes": seen.end,
        "Delivery": (item.start, item.end),
        "Delivery zone": item.delivery_zone,
        "Rated charge kW": item.rated_charge_power,
        "Rated discharge kW": item.rated_discharge_power,
        "Energy kWh": item.energy_capacity,
        "Charge efficiency": item.charge_efficiency,
        "Discharge efficiency": item.discharge_efficiency,
        "Daily cycle limit": item.daily_cycle_limit,
        "Deliverable power": item.availability.power if item.availability else None,
        "Deliverable energy": item.availability.energy if item.availability else None,
        "Cancelled": (seen.cancelled.at, seen.cancelled.reason) if seen.cancelled else None,
        "Your bid EUR": current.price if current else None,
        "Virtual asset": seen.virtual_asset_id,
        "Hurdle EUR": seen.hurdle_price,
        "Outcome": seen.outcome,
        "Winner": seen.winner_id,
        "Price EUR": seen.price,
        "Batteries": tuple(f"{short_id(part.physical_asset_id)} {part.share:.0%}" for part in seen.backing),
        "Invited": tuple(short_id(id) for id in seen.participants),
    }
    print_facts(f"Auction {seen.id}", facts, options)


@app.command
def bid(
    auction: ListedID, price: Annotated[Decimal, Parameter(converter=read_euros)], *, options: Options = USUAL
) -> None:
    """Place a bid. The latest standing bid of your organisation is the one that counts.

    For example:

        gridloom auctions bid 099a8057 125000.00

    Parameters
    ----------
    price
        In EUR for the whole delivery window, to the cent.
    """
    with connect(options) as client:
        placed = client.auctions.bid(find_id(auction, client.auctions.list(), "auction"), price=price)
    if print_one(placed, options):
        return
    print_facts("The bid is placed.", {"ID": placed.id, "Price EUR": placed.price, "At": placed.timestamp}, options)


@app.command
def withdraw(auction: ListedID, *, options: Options = USUAL) -> None:
    """Withdraw your organisation's standing bid while the auction is open.

    For example:

        gridloom auctions withdraw 099a8057
    """
    with connect(options) as client:
        id = find_id(auction, client.auctions.list(), "auction")
        current = client.auctions.get(id).current_bid
        if current is None:
            raise Misunderstood("Your organisation has no standing bid in this auction.")
        client.auctions.withdraw(id, current.id)
    if print_one({"bidID": current.id, "price": current.price, "withdrawn": True}, options):
        return
    show_lines(f"The bid of {current.price:,.2f} EUR is withdrawn.")


@app.command
def value(auction: ListedID, *, basis: ValuationBasis = "POLICY", options: Options = USUAL) -> None:
    """Show what an auction's battery may be worth, from past prices; no other party sees the request.

    For example:

        gridloom auctions value 099a8057
        gridloom auctions value 099a8057 --basis FORESIGHT -o json

    Parameters
    ----------
    basis
        POLICY: what a plan made on forecasts earns. FORESIGHT: what perfect knowledge would have earned.
    """
    with connect(options) as client, waiting("valuing"):
        worth = client.auctions.value(find_id(auction, client.auctions.list(), "auction"), basis=basis)
    if print_one(worth, options):
        return
    facts = {
        "P10 EUR": worth.p10,
        "P50 EUR": worth.p50,
        "P90 EUR": worth.p90,
        "Mean EUR": worth.mean,
        "EUR per MW and year": worth.per_mw_per_year,
        "Past windows": worth.calibration.windows,
        "Of them between P10 and P90": worth.calibration.coverage,
    }
    print_facts("What it may be worth", facts, options)


@app.command
def watch(auction: ListedID, *, options: Options = USUAL) -> None:
    """Count down to an auction's end on the service's clock, and say how it went; Ctrl-C stops.

    For example:

        gridloom auctions watch 099a8057
    """
    from rich.console import Console
    from rich.live import Live

    with connect(options) as client:
        id = find_id(auction, client.auctions.list(), "auction")
        with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
            while (seen := client.auctions.get.answer(id)).value.status in _OPEN:
                now = service_time(client)
                live.update(_describe_countdown(seen.value, now), refresh=True)
                pause(1)
    print_facts(f"Auction {id}", {"Status": seen.value.status, "Virtual asset": seen.value.virtual_asset_id}, options)


def _describe_countdown(auction: Auction, now: datetime) -> str:
    target, word = (auction.start, "opens in") if auction.status in _COMING else (auction.end, "closes in")
    left = max(timedelta(), target - now) // timedelta(seconds=1)
    bid = f", your bid {auction.current_bid.price:,.2f} EUR stands" if auction.current_bid else ""
    if auction.status == "PENDING":
        return "closed; the result is being made"
    return f"{word} {left // 3600}:{left // 60 % 60:02}:{left % 60:02}{bid}"


app.command(create)
app.command(change)
app.command(invite)
app.command(cancel)
app.command(bids)
app.command(results)
