"""`gridloom position`: what a virtual battery bought and sold, delivers and has in store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.fields import print_rows, print_thing
from gridloom_client.commands.terminal.finding import find_virtual
from gridloom_client.commands.terminal.options import (
    USUAL,
    AssetName,
    ListEnd,
    ListStart,
    MarketDay,
    Options,
    OwnerName,
    connect,
)
from gridloom_client.commands.terminal.rendering import print_one, print_table
from gridloom_client.commands.terminal.windows import day_window, open_window

app = CommandGroup(
    name="position",
    help="What a virtual battery traded, delivers and stores: show, energy, series, adjustments.",
    group="Using the platform",
)


@app.command
def show(asset: AssetName, *, day: MarketDay = None, organisation: OwnerName = None, options: Options = USUAL) -> None:
    """Show what was bought and sold, what is delivered and what stays open, quarter-hour by quarter-hour.

    For example:

        gridloom position show "Elbe 1"
        gridloom position show "Elbe 1" --day yesterday -o csv > position.csv
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        points = client.virtual_assets.position(found.organisation_id, found.id, **day_window(client, day))
    columns = {
        "Time": "time",
        "Open MWh": "open",
        "Sold MWh": "sold",
        "Bought MWh": "bought",
        "Scheduled MWh": "scheduled",
        "Delivered MWh": "delivered",
        "Imbalance EUR": "imbalance_cost",
        "EUR/MWh": "imbalance_price",
        "Activated MWh": "activated",
        "Netted MWh": "netted",
    }
    print_rows(f"Position of {found.name}", points, columns, options)


@app.command
def energy(
    asset: AssetName,
    *,
    projected: Annotated[bool, Parameter(negative="")] = False,
    day: MarketDay = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Show the energy in store now, or as it is projected for a market day.

    For example:

        gridloom position energy "Elbe 1"
        gridloom position energy "Elbe 1" --projected --day tomorrow

    Parameters
    ----------
    projected
        The energy to come, quarter-hour by quarter-hour, with the cuts to expect.
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        where = (found.organisation_id, found.id)
        if projected or day is not None:
            points = client.virtual_assets.projected_state_of_energy(*where, **day_window(client, day))
            columns = {
                "Time": "time",
                "Energy kWh": "energy",
                "Left kW": "expected_cut.adjusted_schedule",
                "Of kW": "expected_cut.accepted_schedule",
                "Since": "expected_cut.reason",
                "Unexplained kWh": "unexplained_energy",
            }
            print_rows(f"Energy of {found.name}", points, columns, options)
            return
        latest = client.virtual_assets.state_of_energy(*where)
    facts = {
        "Time": "time",
        "Energy kWh": "energy",
        "State of charge %": "state_of_charge_percentage",
        "Unexplained kWh": "unexplained_energy",
    }
    print_thing(found.name, latest, facts, options)


@app.command
def series(
    asset: AssetName,
    categories: Annotated[Sequence[str], Parameter(negative="")] = (),
    *,
    day: MarketDay = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Show operational series of a market day, such as what was dispatched for the virtual battery.

    For example:

        gridloom position series "Elbe 1" --day yesterday
        gridloom position series "Elbe 1" accepted_schedule -o json

    Parameters
    ----------
    categories
        Which series; all when left out.
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        seen = client.virtual_assets.operational(
            found.organisation_id, found.id, categories=list(categories) or None, **day_window(client, day)
        )
    if options.form == "json":
        print_one(seen, options)
        return
    units = {one.data_point_name: one.unit for one in seen.meta_data}
    rows = [
        {"time": point.time, "series": name, "value": point.value, "unit": units.get(name)}
        for name, points in seen.data.items()
        for point in points
    ]
    if options.form == "table":
        print_table("Series", ["Time", "Series", "Value", "Unit"], [list(row.values()) for row in rows], options)
        return
    print_rows("Series", rows, {}, options)


@app.command
def adjustments(
    asset: AssetName,
    *,
    start: ListStart = None,
    end: ListEnd = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """List the quarter-hours in which less is delivered than was accepted, and why.

    For example:

        gridloom position adjustments "Elbe 1" --start 2026-11-01
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        listed = client.virtual_assets.adjustments(found.organisation_id, found.id, **open_window(start, end))
        columns = {
            "Time": "timestamp",
            "Accepted kW": "accepted_schedule",
            "Left kW": "adjusted_schedule",
            "Reason": "reason",
        }
        print_rows("Adjustments", listed, columns, options)
