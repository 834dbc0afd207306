"""`gridloom dispatch` and `gridloom performance`: what a battery must do, and what it did."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.fields import print_answer, print_rows, print_thing
from gridloom_client.commands.terminal.finding import find_battery
from gridloom_client.commands.terminal.options import (
    USUAL,
    BatteryName,
    ListEnd,
    ListStart,
    MarketDay,
    Options,
    connect,
)
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.commands.terminal.rendering import show_lines
from gridloom_client.commands.terminal.windows import day_window, open_window, read_instant, service_time
from gridloom_client.literals import AcknowledgementStatus

app = CommandGroup(
    name="dispatch", help="What a battery must do: show, acknowledge, acknowledgements.", group="Using the platform"
)


@app.command
def show(
    asset: BatteryName,
    *,
    day: MarketDay = None,
    plot: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Show what a battery must do on a market day, quarter-hour by quarter-hour; export is positive.

    For example:

        gridloom dispatch show "Husum 1"
        gridloom dispatch show "Husum 1" --day tomorrow --plot
        gridloom dispatch show 099a8057 -o csv > dispatch.csv

    Parameters
    ----------
    plot
        Draw the power instead of listing it.
    """
    with connect(options) as client:
        found = client.physical_assets.dispatch(find_battery(client, asset), **day_window(client, day))
    points = found.dispatch
    if plot and points and options.form == "table":
        plot_lines("Power kW", [one.time for one in points], {"kW": [one.power for one in points]}, utc=options.utc)
        return
    columns = {
        "Time": "time",
        "Power kW": "power",
        "State of charge %": "state_of_charge_percentage",
        "At the site": "acknowledgement.status",
    }
    if print_answer("Dispatch", found, points, columns, options):
        show_lines(f"Version {found.version}. What it did: gridloom performance {shlex.quote(asset)}.")


@app.command
def acknowledgements(
    asset: BatteryName, *, start: ListStart = None, end: ListEnd = None, options: Options = USUAL
) -> None:
    """List what a site said of its dispatch.

    For example:

        gridloom dispatch acknowledgements "Husum 1" --start 2026-11-16
    """
    with connect(options) as client:
        found = client.physical_assets.dispatch_acknowledgements(find_battery(client, asset), **open_window(start, end))
        columns = {"Time": "time", "Status": "status", "At": "at", "Version": "version", "Reason": "reason"}
        print_rows("Acknowledgements", found, columns, options)


@app.command
def acknowledge(
    asset: BatteryName,
    time: datetime,
    status: AcknowledgementStatus,
    *,
    version: int | None = None,
    reason: str | None = None,
    options: Options = USUAL,
) -> None:
    """Say for a site what became of a quarter-hour's dispatch.

    For example:

        gridloom dispatch acknowledge "Husum 1" 2026-11-16T12:00 APPLIED
        gridloom dispatch acknowledge "Husum 1" 2026-11-16T12:00 REJECTED --reason "Inverter 3 is off"

    Parameters
    ----------
    time
        The start of the quarter-hour; without an offset it is market time.
    status
        RECEIVED, APPLIED, NOT_FOLLOWED or REJECTED.
    version
        The version of the dispatch that is meant; the present one when left out.
    reason
        Why, in the site's words.
    """
    with connect(options) as client:
        battery, instant = find_battery(client, asset), read_instant(time)
        meant = version if version is not None else client.physical_assets.dispatch(battery, start=instant).version
        made = client.physical_assets.acknowledge_dispatch(
            battery, version=meant, time=instant, status=status, at=service_time(client), reason=reason
        )
    print_thing("Recorded", made, {"Time": "time", "Status": "status", "Version": "version"}, options)


def performance(asset: BatteryName, *, day: MarketDay = None, options: Options = USUAL) -> None:
    """Show what a battery did of what it had to do on a market day, as measured.

    For example:

        gridloom performance "Husum 1" --day yesterday
        gridloom performance "Husum 1" -o json
    """
    with connect(options) as client:
        found = client.physical_assets.performance(find_battery(client, asset), **day_window(client, day))
    columns = {
        "Time": "time",
        "Asked kW": "dispatched_power",
        "Did kW": "measured_power",
        "Reserve kW": "reserve_response",
        "Deviation kW": "power_deviation",
        "Delivered %": "%availability_delivered",
        "Measured %": "%measured_share",
        "State of charge %": "measured_state_of_charge_percentage",
        "Planned %": "planned_state_of_charge_percentage",
    }
    if not print_answer("Performance", found, found.performance, columns, options):
        return
    summary = {
        "Asked kWh": "asked_energy",
        "Delivered kWh": "delivered_energy",
        "Delivered %": "%availability_delivered",
        "Measured % of the time": "%measured_share",
        "Deviation kWh": "energy_deviation",
        "Charged kWh": "charged_energy",
        "Discharged kWh": "discharged_energy",
        "Assumed kWh": "assumed_energy",
        "Earned EUR per MW": "earned_per_mw",
        "State of charge off by": "state_of_charge_drift",
    }
    print_thing("The whole window", found.summary, summary, options)
    days = {"Cycles of": "start..end", "Cycles": "cycles", "Limit": "cycle_limit", "Throughput kWh": "throughput"}
    print_rows("Cycles", [*found.days, *found.years], days, options)
