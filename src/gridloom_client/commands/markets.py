"""`gridloom markets`: the markets of a delivery day, and orders at their stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter

from gridloom_client.commands.scheduling.points import read_points
from gridloom_client.commands.terminal.asking import agree, read_text
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_rows, print_thing, report_done
from gridloom_client.commands.terminal.finding import (
    Holding,
    choose_organisation,
    find_id,
    find_portfolio,
    find_virtual,
)
from gridloom_client.commands.terminal.options import (
    USUAL,
    AssetName,
    Confirmed,
    ListedID,
    Options,
    OwnerName,
    connect,
)
from gridloom_client.commands.terminal.progress import waiting
from gridloom_client.commands.terminal.rendering import print_data, print_one, print_table, show_lines
from gridloom_client.commands.terminal.windows import choose_day, read_day, service_time
from gridloom_client.literals import Stage

if TYPE_CHECKING:
    from gridloom_client.answers import MarketStage
    from gridloom_client.client import Client

app = CommandGroup(
    name="markets",
    help="The markets of a day: day, plan, order, orders, cancel; waiting, record.",
    group="Using the platform",
)
OfPortfolio = Annotated[bool, Parameter(negative="", help="The name is that of a portfolio.")]


@app.command
def day(
    asset: AssetName,
    *,
    day: str | None = None,
    portfolio: OfPortfolio = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Show what stands at each stage of a delivery day, and what it earned.

    For example:

        gridloom markets day "Elbe 1"
        gridloom markets day 099a8057 --day 2026-11-17 -o json
        gridloom markets day North --portfolio

    Parameters
    ----------
    day
        Which delivery day: a date, today or tomorrow; tomorrow when left out, or the asset's day nearest to it.
    """
    with connect(options) as client:
        if portfolio:
            _show_portfolio(client, find_portfolio(client, asset, organisation), day, options)
            return
        found = find_virtual(client, asset, organisation)
        seen = client.virtual_assets.get(found.organisation_id, found.id)
        wanted = choose_day(day, service_time(client), (seen.start, seen.end), days_ahead=1)
        stages = client.markets.day(found.organisation_id, found.id, delivery_day=wanted)
    if print_data(stages, options):
        return
    titles = ["Stage", "Gate", "Status", "Earned EUR", "Sold MWh", "Bought MWh", "Reserved kW", "Order"]
    print_table(f"{found.name} on {wanted}", titles, [_list_cells(stage) for stage in stages], options)
    show_lines(*(f"{stage.stage}: {stage.problem.detail}" for stage in stages if stage.problem is not None))


def _show_portfolio(client: Client, found: Holding, day: str | None, options: Options) -> None:
    wanted = choose_day(day, service_time(client), days_ahead=1)
    stages = client.markets.portfolio_day(found.organisation_id, found.id, delivery_day=wanted)
    columns = {
        "Stage": "stage",
        "Gate": "gate",
        "Status": "status",
        "Earned EUR": "earned",
        "Sold MWh": "traded.sold",
        "Bought MWh": "traded.bought",
        "Orders": "#orders",
    }
    print_rows(f"{found.name} on {wanted}", stages, columns, options)


@app.command
def plan(
    asset: AssetName,
    *,
    day: str | None = None,
    stage: Stage | None = None,
    fee: float | None = None,
    hurdle: float | None = None,
    order: Annotated[bool, Parameter(negative="")] = False,
    apply: Annotated[bool, Parameter(negative="")] = False,
    yes: Confirmed = False,
    portfolio: OfPortfolio = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Plan a stage of a delivery day: what to trade or to offer, and what it may earn; orders it if you agree.

    For example:

        gridloom markets plan "Elbe 1" --stage IDA1
        gridloom markets plan "Elbe 1" --stage IDA1 --order --apply
        gridloom markets plan North --portfolio --day 2026-11-17 -o json

    Parameters
    ----------
    day
        Which delivery day; tomorrow when left out.
    stage
        Which one; the next one when left out.
    fee
        EUR/MWh traded.
    hurdle
        EUR/MWh that a trade has to gain after its fee.
    order
        Ask whether to order exactly that; refused where something has changed since it was planned.
    apply
        With --order: schedule the position once it is executed.
    """
    with connect(options) as client:
        find = find_portfolio if portfolio else find_virtual
        found = find(client, asset, organisation)
        read: Any = client.markets.plan_portfolio if portfolio else client.markets.plan
        wanted = choose_day(day, service_time(client), days_ahead=1)
        with waiting("planning"):
            made = read(found.organisation_id, found.id, delivery_day=wanted, stage=stage, fee=fee, hurdle=hurdle)
        plans = {str(one.virtual_asset_id): one for one in made.assets} if portfolio else {str(found.id): made}
        _show_plans(found.name, str(wanted), made, plans, options)
        if order:
            asked = [_make_order(id, one, apply=apply) for id, one in plans.items() if one.trades or one.reserves]
            _place_orders(client, found.organisation_id, asked, yes=yes, options=options)


def _show_plans(name: str, day: str, made: Any, plans: Mapping[str, Any], options: Options) -> None:
    worth = {"Worth EUR": "worth", "P10 EUR": "p10", "P90 EUR": "p90"}
    if not print_thing(f"{name} on {day}", made, worth, options):
        return
    facts = {"Stage": "stage", "Gate": "gate", "Ends at %": "%end_state_of_charge", "At least EUR": "minimum_surplus"}
    for one in plans.values():
        print_thing(str(getattr(one, "virtual_asset_id", name)), one, facts | worth, options)
        if one.forced:
            show_lines("Forced: the battery can no longer run the position before.")
        if one.reserves:
            columns = {"Product": "product", "kW": "capacity", "Price": "capacity_price", "EUR/MWh": "energy_price"}
            print_rows("Reserves", one.reserves, columns, options)
        else:
            print_rows("Trades", one.trades, {"Time": "time", "Power kW": "power"}, options)


def _make_order(asset_id: str, plan: Any, *, apply: bool) -> dict[str, Any]:
    """An order of a plan, with the state of the markets that it was planned on."""
    made = {"virtualAssetID": asset_id, "ifMatch": plan.if_match, "stage": plan.stage}
    made |= {"deliveryDay": plan.delivery_day}
    if plan.reserves:
        return made | {"reserves": plan.reserves}
    return made | {
        "schedule": plan.schedule,
        "minimumSurplus": plan.minimum_surplus,
        "atAnyPrice": bool(plan.at_any_price),
        "apply": apply,
    }


def _place_orders(
    client: Client, organisation_id: Any, asked: Sequence[Mapping[str, Any]], *, yes: bool, options: Options
) -> None:
    is_apart = options.form != "table"
    if not asked:
        show_lines("There is nothing to order.", to_stderr=is_apart)
    elif agree(f"Place {len(asked)} {'order' if len(asked) == 1 else 'orders'} as planned?", yes=yes):
        placed = client.markets.order(organisation_id, asked)
        show_lines(*(f"The order {one.id} stands." for one in placed), to_stderr=is_apart)
    else:
        show_lines("Nothing was ordered.", to_stderr=is_apart)


def _list_cells(stage: MarketStage) -> list[Any]:
    reserved = max((one.capacity for one in stage.reserved), default=None)
    return [
        stage.stage,
        stage.gate,
        stage.status,
        stage.earned,
        stage.traded.sold,
        stage.traded.bought,
        reserved,
        stage.order_id,
    ]


@app.command
def order(
    asset: AssetName,
    stage: Stage,
    file: Path | None = None,
    *,
    day: str | None = None,
    reserve: Annotated[Sequence[str], Parameter(negative="")] = (),
    minimum_surplus: float = 0.0,
    at_any_price: Annotated[bool, Parameter(negative="")] = False,
    fee: float = 0.0,
    apply: Annotated[bool, Parameter(negative="")] = False,
    yes: Confirmed = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Order at a stage: the position after an auction from a CSV file, or reserves; asks first.

    For example:

        gridloom markets order "Elbe 1" IDA1 position.csv --minimum-surplus 50 --apply
        gridloom markets order "Elbe 1" FCR --reserve NEGPOS_08_12:1000:60
        gridloom markets order "Elbe 1" AFRR --reserve POS_08_12:1000:12.5:180 --yes

    Parameters
    ----------
    file
        Two columns, time and power in kW, positive is sold; standard input when left out. Periods left out are held.
    day
        Which delivery day; tomorrow when left out.
    reserve
        Of FCR and AFRR, as PRODUCT:KW:CAPACITYPRICE and for aFRR :ENERGYPRICE; again for further products.
    minimum_surplus
        EUR that it has to earn.
    at_any_price
        Execute it whatever it earns.
    fee
        EUR/MWh traded that its surplus bears.
    apply
        Schedule the position once it is executed.
    """
    asked: dict[str, Any] = {"stage": stage}
    if stage in ("FCR", "AFRR"):
        asked["reserves"] = [_read_reserve(text) for text in reserve]
    else:
        points = read_points(read_text(file, "times and positions"), 1)
        asked |= {"schedule": points, "minimumSurplus": minimum_surplus, "atAnyPrice": at_any_price}
        asked |= {"fee": fee, "apply": apply}
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        wanted = choose_day(day, service_time(client), days_ahead=1)
        seen = client.markets.day.answer(found.organisation_id, found.id, delivery_day=wanted)
        asked |= {"virtualAssetID": found.id, "deliveryDay": wanted, "ifMatch": seen.etag}
        if not agree(f"Order at {stage} for {wanted}?", yes=yes):
            show_lines("Nothing was ordered.", to_stderr=options.form != "table")
            return
        [placed] = client.markets.order(found.organisation_id, [asked])
        made = client.markets.get(found.organisation_id, placed.id)
    if not print_one(made, options):
        show_lines(f"The order {made.id} stands; it can be cancelled until {made.gate:%d %b %H:%M} UTC.")


def _read_reserve(text: str) -> dict[str, Any]:
    product, *numbers = text.split(":")
    names = ("capacity", "capacityPrice", "energyPrice")
    try:
        if not 2 <= len(numbers) <= 3:
            raise ValueError
        return {"product": product, **dict(zip(names, map(float, numbers), strict=False))}
    except ValueError:
        raise Misunderstood(f"{text} is no reserve; expected one such as NEGPOS_08_12:1000:60.") from None


@app.command
def orders(
    *,
    day: str | None = None,
    stage: Stage | None = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """List your organisation's orders.

    For example:

        gridloom markets orders --day tomorrow
        gridloom markets orders --stage IDA1 -o csv

    Parameters
    ----------
    day
        Only those for this delivery day.
    stage
        Only those at this stage.
    """
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        wanted = None if day is None else read_day(day, service_time(client))
        found = list(client.markets.orders(owner, delivery_day=wanted, stage=stage))
    if print_data(found, options):
        return
    rows = [(one.id, one.virtual_asset_id, one.delivery_day, one.stage, one.status, one.placed_at) for one in found]
    print_table("Orders", ["ID", "Virtual asset", "Day", "Stage", "Status", "Placed"], rows, options)


@app.command
def cancel(order: ListedID, *, organisation: OwnerName = None, options: Options = USUAL) -> None:
    """Cancel an order before the gate of its stage.

    For example:

        gridloom markets cancel 099a8057
    """
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        since = (service_time(client) - timedelta(days=1)).date()
        known = [one for one in client.markets.orders(owner) if one.delivery_day >= since]
        found = find_id(order, known, "order")
        client.markets.cancel(owner, found)
    report_done(f"The order {found} is cancelled.", options)


@app.command(name="waiting")
def waiting_(*, stage: Stage | None = None, day: str | None = None, options: Options = USUAL) -> None:
    """List the orders of all organisations that wait for their results; for the platform's operator.

    For example:

        gridloom markets waiting --stage IDA1

    Parameters
    ----------
    stage
        Only those at this stage.
    day
        Only those for this delivery day.
    """
    with connect(options) as client:
        wanted = None if day is None else read_day(day, service_time(client))
        found = client.markets.waiting(stage=stage, delivery_day=wanted)
    columns = {
        "ID": "id",
        "Virtual asset": "virtual_asset_id",
        "Day": "delivery_day",
        "Stage": "stage",
        "Status": "status",
        "Gate": "gate",
    }
    print_rows("Orders", found, columns, options)


@app.command
def record(file: Path | None = None, *, options: Options = USUAL) -> None:
    """Record the results of orders from JSON with the fields of the interface; for the platform's operator.

    For example:

        gridloom markets record results.json

    Parameters
    ----------
    file
        `[{"orderID": …, "executed": true, "trades": […]}]`; standard input when left out.
    """
    try:
        results = msgspec.json.decode(read_text(file, "JSON"), type=list[dict[str, Any]])
    except msgspec.DecodeError as fault:
        raise Misunderstood(f"It is no list of results: {fault}.") from None
    with connect(options) as client:
        made = client.markets.record_results(results)
    columns = {"Order": "order_id", "Status": "status", "Applied": "applied", "Problem": "problem.detail"}
    print_rows("Results", made, columns, options)
