"""`gridloom schedule optimise` and `repair`: schedules that the service proposes, put once the user confirms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from gridloom_client.commands.scheduling.changes import PlanFile, Unit, put_points
from gridloom_client.commands.scheduling.points import read_points
from gridloom_client.commands.terminal.asking import read_text
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.finding import Holding, find_virtual
from gridloom_client.commands.terminal.options import USUAL, AssetName, Confirmed, Options, OwnerName, connect
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.commands.terminal.progress import pause, waiting
from gridloom_client.commands.terminal.rendering import print_data, print_facts, print_table, show_lines
from gridloom_client.commands.terminal.windows import choose_day, market_day, read_instant, service_time
from gridloom_client.errors import UnprocessableError
from gridloom_client.literals import RepairObjective

if TYPE_CHECKING:
    from gridloom_client.answers import Optimisation
    from gridloom_client.calls import Response
    from gridloom_client.client import Client

Prices: TypeAlias = Literal["auto", "published", "forecast"]
Window: TypeAlias = tuple[datetime, datetime]
_ENDED = ("OPTIMAL", "TIME_LIMIT", "FAILED")


def optimise(
    asset: AssetName,
    *,
    day: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    prices: Prices = "auto",
    price_file: Path | None = None,
    plot: Annotated[bool, Parameter(negative="")] = False,
    why: Annotated[bool, Parameter(negative="")] = False,
    put: Annotated[bool, Parameter(negative=("--no-put",))] = True,
    yes: Confirmed = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Find the schedule that earns most, show what it changes, and put it if you agree.

    For example:

        gridloom schedule optimise "Elbe 1"
        gridloom schedule optimise "Elbe 1" --day 2026-11-17 --prices forecast --plot
        gridloom schedule optimise 099a8057 --price-file my-prices.csv --no-put -o csv

    Parameters
    ----------
    day
        Which market day: a date, today or tomorrow; tomorrow when left out, or the asset's day nearest to it.
    start
        Another window than a day: from when; without an offset it is market time.
    end
        And until when.
    prices
        published (day-ahead), forecast, or auto: published ones, and the forecast where there are none yet.
    price_file
        Your own prices: two columns, time and EUR/MWh.
    plot
        Draw the proposed power and state of charge as well.
    why
        Show which purchase each sale lives on, what it gains, and what keeps it from being larger.
    put
        --no-put only shows the proposal.
    """
    from gridloom_client.inputs import Point

    own = {"values": _read_prices(price_file)} if price_file else None
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        seen = client.virtual_assets.get(found.organisation_id, found.id)
        if start is None and end is None:
            life = seen.start, seen.end
            first, last = market_day(choose_day(day, service_time(client), life, days_ahead=1))
        else:
            first, last = (read_instant(start) if start else seen.start), (read_instant(end) if end else seen.end)
        window = max(first, seen.start), min(last, seen.end)
        with waiting("optimising"):
            answer, basis = _ask_for_best(client, found, window, prices, own)
        best = answer.value
        points = [Point(time=point.time, power=point.power) for point in best.schedule or ()]
        if options.form != "table":
            rows = [{"time": point.time, "power": point.power} for point in points]
            if not put or not yes:
                print_data(rows, options)
                return
        else:
            _show_proposal(best, basis, plot=plot, options=options)
            if why:
                _show_trips(best, options)
        if put:
            put_points(client, found, points, yes=yes, options=options, if_match=answer.etag)


def repair(
    asset: AssetName,
    file: PlanFile = None,
    *,
    unit: Unit = "kW",
    objective: RepairObjective = "NEAREST",
    put: Annotated[bool, Parameter(negative=("--no-put",))] = True,
    yes: Confirmed = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Find the nearest schedule that is accepted and ends balanced, show what moves, and put it if you agree.

    For example:

        gridloom schedule repair "Elbe 1" plan.csv
        gridloom schedule repair "Elbe 1" plan.csv --objective BEST_VALUE --no-put

    Parameters
    ----------
    objective
        NEAREST moves least, BEST_VALUE earns most in the same quarter-hours.
    put
        --no-put only shows it.
    """
    from gridloom_client.inputs import Point

    points = read_points(read_text(file, "times and powers"), 1000 if unit == "MW" else 1)
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        with waiting("repairing"):
            answer = client.optimisations.repair.answer(
                found.organisation_id, found.id, schedule=points, objective=objective
            )
        repaired = answer.value
        proposed = [Point(time=point.time, power=point.power) for point in repaired.schedule]
        if options.form == "table":
            moved = [(point.time, point.asked, point.power) for point in repaired.moved]
            print_table("Moved quarter-hours", ["Time", "Asked kW", "Proposed kW"], moved, options)
            show_lines(
                f"{repaired.moved_energy:,.0f} kWh are moved; the battery ends its life at "
                f"{repaired.end_state_of_charge_percentage:.1f}%."
            )
        elif not put or not yes:
            print_data([{"time": point.time, "power": point.power} for point in proposed], options)
            return
        if put:
            put_points(client, found, proposed, yes=yes, options=options, if_match=answer.etag)


def _ask_for_best(
    client: Client, found: Holding, window: Window, prices: Prices, own: Mapping[str, Any] | None
) -> tuple[Response[Optimisation], str]:
    """The best schedule and on which prices; a long one is waited for."""
    published, forecast = {"series": "DAY_AHEAD_DE_LU"}, {"forecast": True}
    if own is not None:
        return _wait_for_best(client, found, window, own), "your prices"
    if prices != "forecast":
        try:
            return _wait_for_best(client, found, window, published), "published prices"
        except UnprocessableError as refusal:
            if prices == "published" or refusal.name != "prices-missing":
                raise
    return _wait_for_best(client, found, window, forecast), "the forecast, since no prices are published yet"


def _wait_for_best(client: Client, found: Holding, window: Window, prices: Mapping[str, Any]) -> Response[Optimisation]:
    answer = client.optimisations.optimise.answer(
        found.organisation_id, found.id, prices=prices, start=window[0], end=window[1]
    )
    while answer.value.status not in _ENDED and answer.value.id is not None:
        pause(1)
        answer = client.optimisations.get.answer(found.organisation_id, found.id, answer.value.id)
    if answer.value.status == "FAILED":
        raise Misunderstood(f"There is no such schedule: {(answer.value.problem or {}).get('detail', 'it failed')}")
    return answer


def _show_proposal(best: Optimisation, basis: str, *, plot: bool, options: Options) -> None:
    facts = {
        "Status": best.status,
        "Value EUR": round(best.value or 0.0, 2),
        "At most EUR": round(best.bound or 0.0, 2),
        "On": basis,
    }
    print_facts("The best schedule", facts, options)
    if plot and best.schedule:
        times = [point.time for point in best.schedule]
        plot_lines("Power kW", times, {"kW": [point.power for point in best.schedule]}, utc=options.utc)
        levels: Sequence[float | None] = [point.state_of_charge_percentage for point in best.state_of_charge]
        times = [point.time for point in best.state_of_charge]
        plot_lines("State of charge %", times, {"%": levels}, utc=options.utc)


def _show_trips(best: Optimisation, options: Options) -> None:
    """First in, first out: the gains of all add up to the value."""
    rows = [
        (
            None if trip.bought is None else trip.bought.start,
            None if trip.sold is None else trip.sold.start,
            None if trip.bought is None else round(trip.bought.price, 2),
            None if trip.sold is None else round(trip.sold.price, 2),
            max(round(leg.energy, 1) for leg in (trip.bought, trip.sold) if leg is not None),
            round(trip.gain, 2),
            ", ".join(trip.limited_by),
        )
        for trip in best.trips or ()
    ]
    columns = ("Bought", "Sold", "Bought at", "Sold at", "kWh", "Gain EUR", "Limited by")
    print_table("Trips of energy", columns, rows, options)
    if best.wear_price is not None:
        show_lines(f"Wear of the year's cycles counts {best.wear_price:.2f} EUR per MWh discharged.")


def _read_prices(file: Path) -> list[dict[str, Any]]:
    return [
        {"time": point.time, "price": round(point.power, 2)}
        for point in read_points(read_text(file, "times and prices"))
    ]
