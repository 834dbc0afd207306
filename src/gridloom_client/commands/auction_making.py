"""`gridloom auctions create`: for the platform's operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import agree
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.finding import find_organisation, find_thing
from gridloom_client.commands.terminal.options import USUAL, Confirmed, CycleLimit, EachWay, Options, connect
from gridloom_client.commands.terminal.rendering import instant_text, print_facts, print_one, short_id, show_lines
from gridloom_client.commands.terminal.windows import choose_day, market_day, read_instant, service_time
from gridloom_client.errors import ConflictError, GridloomError
from gridloom_client.literals import DeliveryZone

if TYPE_CHECKING:
    from gridloom_client.answers import Auction
    from gridloom_client.client import Client
    from gridloom_client.inputs import Item


def create(
    *,
    backing: Annotated[list[str], Parameter(negative="")],
    invite: Annotated[list[str], Parameter(negative="")],
    power: float,
    energy: float,
    day: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    opens: datetime | None = None,
    closes: datetime | None = None,
    charge_power: float | None = None,
    efficiency: EachWay = 0.95,
    cycles: CycleLimit = None,
    hurdle: Decimal | None = None,
    minimum_availability: float | None = None,
    zone: DeliveryZone | None = None,
    yes: Confirmed = False,
    options: Options = USUAL,
) -> None:
    """Offer a virtual battery to the organisations that you invite; for the platform's operator. Asks first.

    For example:

        gridloom auctions create --backing "Husum 1" --invite "Hanse Energiehandel" \\
            --power 10000 --energy 20000 --day 2026-11-18
        gridloom auctions create --backing "Husum 1=0.6" --backing "Husum 2=0.4" --invite 4f3ac221 \\
            --power 10000 --energy 20000 --hurdle 900 --closes 2026-11-17T10:00

    Parameters
    ----------
    backing
        A battery behind it by id or name, with its share where there are several; may be repeated.
    invite
        An organisation that may bid, by id or name; may be repeated.
    power
        Its discharge power, kW; charge power too where that is not given.
    energy
        Its energy, kWh.
    day
        The market day of delivery; two days ahead by the service's clock when left out.
    start
        Another delivery window than a day: from when; without an offset it is market time.
    end
        And until when.
    opens
        From when bids are taken; a minute ahead when left out.
    closes
        Until when; six hours later when left out.
    charge_power
        Its charge power, kW.
    hurdle
        The lowest price that is taken, EUR.
    minimum_availability
        The least share of it that must be deliverable when the auction closes, 0 to 1; a half when left out.
    zone
        The delivery zone; that of its batteries when left out.
    """
    from gridloom_client.inputs import Backing, Item

    with connect(options) as client:
        now = service_time(client)
        batteries = list(client.physical_assets.list())
        parts = [read_part(text, batteries, len(backing)) for text in backing]
        if abs(sum(share for _, share in parts) - 1) > 1e-9:
            raise Misunderstood("The shares of the batteries do not sum to 1.")
        first, last = market_day(choose_day(day, now, days_ahead=2))
        opening = read_instant(opens) if opens else now + timedelta(minutes=1)
        item = Item(
            start=read_instant(start) if start else first,
            end=read_instant(end) if end else last,
            delivery_zone=zone or parts[0][0].delivery_zone,
            rated_charge_power=power if charge_power is None else charge_power,
            rated_discharge_power=power,
            energy_capacity=energy,
            charge_efficiency=efficiency,
            discharge_efficiency=efficiency,
            daily_cycle_limit=cycles,
        )
        body: dict[str, Any] = {
            "start": opening,
            "end": read_instant(closes) if closes else opening + timedelta(hours=6),
            "item": item,
            "backing": [Backing(physical_asset_id=battery.id, share=share) for battery, share in parts],
            "participants": [find_organisation(client, name) for name in invite],
            "hurdle_price": hurdle,
            "minimum_availability": minimum_availability,
        }
        standing = _find_standing(client, item, [battery.id for battery, _ in parts])
        if standing is not None:
            raise GridloomError(f"Nothing was created: {_describe_auction(standing, options)} exists already.")
        if options.form == "table":
            _show_offer(body, parts, invite, options)
        if not agree("Create this auction?", yes=yes):
            show_lines("Nothing was created.", to_stderr=options.form != "table")
            return
        made = _create_auction(client, body, options)
    if not print_one(made, options):
        print_facts("The auction is created.", {"ID": made.id, "Opens": made.start, "Closes": made.end}, options)


def read_part(text: str, batteries: Sequence[Any], count: int) -> tuple[Any, float]:
    """`NAME=0.4`; the share of the only one is 1, of several without shares equal ones."""
    name, _, share = text.rpartition("=") if "=" in text else (text, "", "")
    battery = find_thing(name, batteries, "physical asset")
    try:
        return battery, float(share) if share else 1 / count
    except ValueError:
        raise Misunderstood(f"{share} is no share of {name}; expected a number such as 0.4.") from None


def _find_standing(client: Client, item: Item, batteries: Iterable[Any]) -> Auction | None:
    """An auction of the same delivery on the same batteries, as there is when a command is run again."""
    wanted = set(batteries)
    return next(
        (
            auction
            for auction in _list_overlapping(client, item)
            if (auction.item.start, auction.item.end) == (item.start, item.end)
            and {part.physical_asset_id for part in auction.backing} == wanted
        ),
        None,
    )


def _list_overlapping(client: Client, item: Item) -> Iterator[Auction]:
    """Auctions of the same time that hold or gave away capacity, each with its batteries."""
    for auction in client.auctions.list():
        is_near = auction.item.start < item.end and item.start < auction.item.end
        if is_near and auction.status != "CANCELLED" and auction.outcome in (None, "ALLOCATED"):
            yield client.auctions.get(auction.id)


def _create_auction(client: Client, body: dict[str, Any], options: Options) -> Auction:
    try:
        return client.auctions.create(**body)
    except ConflictError as refusal:
        wanted = {part.physical_asset_id for part in body["backing"]}
        others = [
            auction
            for auction in _list_overlapping(client, body["item"])
            if wanted & {part.physical_asset_id for part in auction.backing}
        ]
        if others:
            existing = "; ".join(_describe_auction(auction, options) for auction in others[:3])
            refusal.args = (f"{refusal} What exists already: {existing}.",)
        raise


def _describe_auction(auction: Auction, options: Options) -> str:
    delivery = instant_text((auction.item.start, auction.item.end), utc=options.utc)
    closes = instant_text(auction.end, utc=options.utc)
    return f"auction {short_id(auction.id)} of {delivery} on these batteries ({auction.status}, closes {closes})"


def _show_offer(
    body: dict[str, Any], parts: Sequence[tuple[Any, float]], invited: Sequence[str], options: Options
) -> None:
    item: Item = body["item"]
    facts = {
        "Opens": body["start"],
        "Closes": body["end"],
        "Delivery": (item.start, item.end),
        "Delivery zone": item.delivery_zone,
        "Charge kW": item.rated_charge_power,
        "Discharge kW": item.rated_discharge_power,
        "Energy kWh": item.energy_capacity,
        "Hurdle EUR": body["hurdle_price"],
        "Batteries": ", ".join(f"{battery.name} {share:.0%}" for battery, share in parts),
        "Invited": ", ".join(invited),
    }
    print_facts("The auction", facts, options)
