"""`gridloom auctions …`"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter, Token

from gridloom_client.choices import AuctionStatus
from gridloom_client.commands.ending import ending
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_facts, print_json, print_table

app = App(name="auctions", help="Auctions of virtual batteries.", group="Using the platform")


def _euros(_type: object, tokens: Sequence[Token]) -> Decimal:
    try:
        price = Decimal(tokens[0].value)
    except InvalidOperation:
        raise ValueError(f"{tokens[0].value} is not a price; expected a number such as 1250.50") from None
    if not price.is_finite():
        raise ValueError("a price is finite")
    return price


@app.command(name="list")
@ending
def list_(*, status: AuctionStatus | None = None, options: Options = USUAL) -> None:
    """List the auctions that you are invited to.

    Parameters
    ----------
    status
        Only those: NOT_STARTED, RUNNING, PENDING, WON, LOST or NO_BIDS_SUBMITTED.
    """
    with connect(options) as client:
        auctions = list(client.auctions.list(status=status))
    if options.json:
        print_json(auctions)
        return
    columns = ["ID", "Status", "Opens", "Closes", "Delivery", "Discharge kW", "Energy kWh", "Your bid EUR"]
    rows = [
        (
            auction.id,
            auction.status,
            auction.start,
            auction.end,
            (auction.item.start, auction.item.end),
            auction.item.rated_discharge_power,
            auction.item.energy_capacity,
            auction.current_bid.price if auction.current_bid else None,
        )
        for auction in auctions
    ]
    print_table("Auctions", columns, rows)


@app.command
@ending
def show(auction_id: UUID, *, options: Options = USUAL) -> None:
    """Show one auction, what it offers and how you stand in it."""
    with connect(options) as client:
        auction = client.auctions.get(auction_id)
    if options.json:
        print_json(auction)
        return
    item, current = auction.item, auction.current_bid
    facts = {
        "Status": auction.status,
        "Opens": auction.start,
        "Closes": auction.end,
        "Delivery": (item.start, item.end),
        "Delivery zone": item.delivery_zone,
        "Rated charge kW": item.rated_charge_power,
        "Rated discharge kW": item.rated_discharge_power,
        "Energy kWh": item.energy_capacity,
        "Charge efficiency": item.charge_efficiency,
        "Discharge efficiency": item.discharge_efficiency,
        "Daily cycle limit": item.daily_cycle_limit,
        "Your bid EUR": current.price if current else None,
        "Virtual asset": auction.virtual_asset_id,
    }
    print_facts(f"Auction {auction.id}", facts)


@app.command
@ending
def bid(auction_id: UUID, price: Annotated[Decimal, Parameter(converter=_euros)], *, options: Options = USUAL) -> None:
    """Place a bid. The latest standing bid of your organisation is the one that counts.

    Parameters
    ----------
    price
        In EUR for the whole delivery window, to the cent.
    """
    with connect(options) as client:
        placed = client.auctions.bid(auction_id, price=price)
    if options.json:
        print_json(placed)
        return
    print_facts("The bid is placed.", {"ID": placed.id, "Price EUR": placed.price, "At": placed.timestamp})
