"""`gridloom schedule …`: what a virtual battery does, in one piece over all its wholesale blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.scheduling.changes import (
    PlanFile,
    Unit,
    foresee_end,
    put_points,
    read_stored,
    show_changes,
)
from gridloom_client.commands.scheduling.past import headroom, history
from gridloom_client.commands.scheduling.planning import optimise, repair
from gridloom_client.commands.scheduling.points import changed_points, read_points
from gridloom_client.commands.terminal.asking import read_text
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.finding import find_virtual
from gridloom_client.commands.terminal.options import USUAL, AssetName, Confirmed, Options, OwnerName, connect
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.commands.terminal.rendering import print_data, print_table, show_lines
from gridloom_client.commands.terminal.windows import choose_day, market_day, service_time

app = CommandGroup(
    name="schedule",
    help="What a virtual battery does: show, set, diff, optimise, repair, history, headroom.",
    group="Using the platform",
)


@app.command
def show(
    asset: AssetName,
    *,
    day: str | None = None,
    plot: Annotated[bool, Parameter(negative="")] = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Show a market day's power and state of charge by quarter-hour.

    For example:

        gridloom schedule show "Elbe 1" --plot
        gridloom schedule show 099a8057 --day 2026-11-16 -o csv > day.csv

    Parameters
    ----------
    day
        Which market day: a date, yesterday, today or tomorrow; today when left out, or the asset's day nearest to it.
    plot
        Draw power and state of charge instead of listing them.
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        seen = client.virtual_assets.get(found.organisation_id, found.id)
        start, end = market_day(choose_day(day, service_time(client), (seen.start, seen.end)))
        points = client.virtual_assets.asset_schedule(found.organisation_id, found.id, start=start, end=end).schedule
        charged = client.virtual_assets.state_of_charge(found.organisation_id, found.id, start=start, end=end)
    charge = {each.time: each.state_of_charge_percentage for each in charged}
    inside = [point for point in points if start <= point.time < end]
    rows = [{"time": point.time, "power": point.power, "state_of_charge": charge.get(point.time)} for point in inside]
    if print_data(rows, options):
        return
    if plot and inside:
        times = [point.time for point in inside]
        plot_lines(f"{found.name}: power kW", times, {"kW": [point.power for point in inside]}, utc=options.utc)
        plot_lines("state of charge %", times, {"%": [charge.get(time) for time in times]}, utc=options.utc)
    else:
        shown = [list(row.values()) for row in rows]
        print_table("Schedule", ["Time", "Power kW", "State of charge %"], shown, options)
    show_lines(seen.feedback)


@app.command(name="set")
def set_(
    asset: AssetName,
    file: Path | None = None,
    *,
    unit: Unit = "kW",
    yes: Confirmed = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Put a schedule from a CSV file or a pasted table; shows what changes and where that leads, and asks first.

    For example:

        gridloom schedule set "Elbe 1" plan.csv
        gridloom schedule set "Elbe 1" --unit MW        (then paste it from a spreadsheet)
        gridloom schedule set 099a8057 plan.csv --yes -o json

    Parameters
    ----------
    file
        Two columns, time and power, separated by commas, semicolons or tabs; standard input when left out.
        Export is positive; a time without an offset is market time.
    """
    points = read_points(read_text(file, "times and powers"), 1000 if unit == "MW" else 1)
    with connect(options) as client:
        put_points(client, find_virtual(client, asset, organisation), points, yes=yes, options=options)


@app.command
def diff(
    asset: AssetName,
    file: PlanFile = None,
    *,
    unit: Unit = "kW",
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Show what a CSV file or a pasted table would change; changes nothing.

    For example:

        gridloom schedule diff "Elbe 1" plan.csv
        gridloom schedule diff "Elbe 1" plan.csv -o csv > changes.csv
    """
    points = read_points(read_text(file, "times and powers"), 1000 if unit == "MW" else 1)
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        stored, _ = read_stored(client, found, points)
        seen = client.virtual_assets.get(found.organisation_id, found.id)
    changed = changed_points(points, stored)
    rows = [{"time": point.time, "stored": stored.get(point.time), "new": point.power} for point in changed]
    if not print_data(rows, options):
        show_changes(changed, stored, options)
        show_lines(foresee_end(seen, stored, changed))


app.command(optimise)
app.command(repair)
app.command(history)
app.command(headroom)
