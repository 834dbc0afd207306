"""`gridloom delivery`: the runs that turn schedules into dispatch; for the platform's operator."""

from __future__ import annotations

from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.fields import print_rows, print_thing
from gridloom_client.commands.terminal.finding import find_id
from gridloom_client.commands.terminal.options import (
    USUAL,
    ListedID,
    ListEnd,
    ListStart,
    MarketDay,
    Options,
    connect,
)
from gridloom_client.commands.terminal.rendering import print_data, print_table
from gridloom_client.commands.terminal.windows import day_window, open_window
from gridloom_client.literals import DeliveryZone

app = CommandGroup(
    name="delivery",
    help="Runs that turn schedules into dispatch: runs, run, zones; for the operator.",
    group="Using the platform",
)
RUN = {
    "ID": "id",
    "Made": "time",
    "Window": "start..end",
    "Zones": "zones",
    "Unserved MWh": "unserved",
    "Netted MWh": "netted",
    "Spread MWh": "spread",
    "Virtual assets": "virtual_assets",
    "Batteries": "batteries",
    "New dispatches": "changed_dispatches",
}


@app.command
def runs(
    *, zone: DeliveryZone | None = None, start: ListStart = None, end: ListEnd = None, options: Options = USUAL
) -> None:
    """List delivery runs, the newest first.

    For example:

        gridloom delivery runs --zone TenneT --start 2026-11-16

    Parameters
    ----------
    zone
        Only those of this zone.
    """
    with connect(options) as client:
        print_rows("Runs", client.delivery.runs(delivery_zone=zone, **open_window(start, end)), RUN, options)


@app.command
def run(run: ListedID, *, options: Options = USUAL) -> None:
    """Show one delivery run.

    For example:

        gridloom delivery run 099a8057
    """
    with connect(options) as client:
        found = client.delivery.run(find_id(run, client.delivery.runs(), "run"))
    more = {
        "Final until": "final_until",
        "Scheduled exports MWh": "scheduled_export",
        "Scheduled imports MWh": "scheduled_import",
        "Reserve shortfall MW·h": "reserve_shortfall",
        "Forced quarter-hours": "forced_periods",
        "Method": "method",
        "Solved in s": "solver_seconds",
    }
    print_thing("Run", found, RUN | more, options)


@app.command
def zones(*, day: MarketDay = None, options: Options = USUAL) -> None:
    """Show what was scheduled, netted, dispatched and left unserved in each zone, quarter-hour by quarter-hour.

    For example:

        gridloom delivery zones --day today
        gridloom delivery zones -o csv > zones.csv
    """
    with connect(options) as client:
        found = client.delivery.zones(**day_window(client, day))
    if print_data(found, options):
        return
    titles = ["Zone", "Time", "Exports kW", "Imports kW", "Netted kW", "Dispatched kW", "Unserved kW"]
    rows = [
        (
            zone.delivery_zone,
            one.time,
            one.scheduled_export,
            one.scheduled_import,
            one.netted,
            one.dispatched,
            one.unserved,
        )
        for zone in found
        for one in zone.quarters
    ]
    print_table("Zones", titles, rows, options)
