"""`gridloom schedule …`: what a virtual battery does, in one piece over all its wholesale blocks."""

from __future__ import annotations

import csv
import io
import sys
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from cyclopts import App, Parameter

from gridloom_client.client import Client
from gridloom_client.commands.ending import Misunderstood, ending
from gridloom_client.commands.finding import find_id
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.plots import plot_lines
from gridloom_client.commands.rendering import MARKET_ZONE, print_data, print_table
from gridloom_client.commands.service_clock import service_time

app = App(name="schedule", help="What a virtual battery does: show, set.", group="Using the platform")


@app.command
@ending
def show(asset: str, *, day: datetime | None = None, plot: bool = False, options: Options = USUAL) -> None:
    """Show a market day's power and state of charge by quarter-hour.

    Parameters
    ----------
    asset
        Its id, the end of it, or its name.
    day
        Which market day; today by the service's clock when left out.
    plot
        Draw both as well.
    """
    with connect(options) as client:
        owner, id = _find(client, asset)
        start, end = _market_day(client, day)
        points = client.virtual_assets.asset_schedule(owner, id, start=start, end=end).schedule
        charge = {each.time: each for each in client.virtual_assets.state_of_charge(owner, id, start=start, end=end)}
    rows: list[dict[str, Any]] = [
        {
            "time": point.time,
            "power": point.power,
            "state_of_charge": charge[point.time].state_of_charge_percentage if point.time in charge else None,
        }
        for point in points
    ]
    if print_data(rows, options):
        return
    print_table("Schedule", ["Time", "Power kW", "State of charge %"], [list(row.values()) for row in rows], options)
    if plot:
        times = [f"{row['time'].astimezone(UTC if options.utc else MARKET_ZONE):%H:%M}" for row in rows]
        plot_lines(times, {"power kW": [row["power"] for row in rows]})
        plot_lines(times, {"state of charge %": [row["state_of_charge"] or 0.0 for row in rows]})


@app.command(name="set")
@ending
def set_(
    asset: str,
    file: Path | None = None,
    *,
    unit: str = "kW",
    yes: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Put a schedule from a CSV file or a pasted table; shows what changes and asks first.

    Parameters
    ----------
    asset
        Its id, the end of it, or its name.
    file
        Two columns, time and power, separated by commas, semicolons or tabs; standard input when left out.
    unit
        kW or MW: what the powers are in.
    yes
        Do not ask.
    """
    if unit not in ("kW", "MW"):
        raise Misunderstood(f"{unit} is no unit of power here; expected kW or MW.")
    text = file.read_text(encoding="utf-8-sig") if file else sys.stdin.read()
    points = read_points(text, 1000 if unit == "MW" else 1)
    with connect(options) as client:
        owner, id = _find(client, asset)
        window = {"start": points[0]["time"], "end": points[-1]["time"] + timedelta(minutes=15)}
        before = client.virtual_assets.asset_schedule.answer(owner, id, **window)
        stored = {point.time: point.power for point in before.value.schedule}
        changed = [point for point in points if stored.get(point["time"]) != point["power"]]
        rows = [(point["time"], stored.get(point["time"]), point["power"]) for point in changed]
        if options.form == "table":
            print_table("Changes", ["Time", "Stored kW", "New kW"], rows, options)
        if not changed or not _agrees(yes):
            print("Nothing was changed.")
            return
        answer = client.virtual_assets.set_asset_schedule(owner, id, schedule=changed, if_match=before.etag)
    if not print_data([answer], options):
        print(answer.imbalance.feedback)


def read_points(text: str, factor: float) -> list[dict[str, Any]]:
    """Times and powers of a table as spreadsheets write it; a decimal comma is one where commas do not separate."""
    separator = next((mark for mark in ("\t", ";", ",") if mark in text), ",")
    points = []
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator), start=1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells or (number == 1 and not cells[0][:1].isdigit()):
            continue
        if len(cells) < 2:
            raise Misunderstood(f"Line {number} has no power beside its time: {separator.join(row)!r}.")
        power = _read_power(cells[1], separator, number) * factor
        points.append({"time": _read_time(cells[0], number), "power": power})
    if not points:
        raise Misunderstood("There is no time and power in it.")
    return sorted(points, key=lambda point: point["time"])


def _read_time(text: str, number: int) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Misunderstood(f"Line {number}: {text} is no time such as 2026-11-16T12:00:00+01:00.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=MARKET_ZONE)).astimezone(UTC)


def _read_power(text: str, separator: str, number: int) -> float:
    plain = text.replace("\u2212", "-").replace(" ", "")
    plain = plain if separator == "," else plain.replace(".", "").replace(",", ".") if "," in plain else plain
    try:
        return float(plain)
    except ValueError:
        raise Misunderstood(f"Line {number}: {text} is no power.") from None


def _find(client: Client, asset: str) -> tuple[UUID, UUID]:
    owner = client.auth.me().organisation_id
    return owner, find_id(asset, client.virtual_assets.list(owner), "virtual asset")


def _market_day(client: Client, day: datetime | None) -> tuple[datetime, datetime]:
    """A calendar day in Berlin, which has 23, 24 or 25 hours."""
    date = day.date() if day is not None else service_time(client).astimezone(MARKET_ZONE).date()
    midnight = datetime.combine(date, time(), MARKET_ZONE)
    return midnight.astimezone(UTC), (midnight + timedelta(days=1)).astimezone(UTC)


def _agrees(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise Misunderstood("Say --yes where nobody can be asked.")
    return input("Put this schedule? [y/N] ").strip().lower() in ("y", "yes")
