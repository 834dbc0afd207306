"""`gridloom unavailability …` and `gridloom availability`: what a battery cannot do, and what it can."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import agree
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.finding import find_battery, find_id
from gridloom_client.commands.terminal.options import (
    USUAL,
    BatteryName,
    Confirmed,
    ListedID,
    MarketDay,
    Options,
    connect,
)
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.commands.terminal.rendering import print_data, print_facts, print_json, print_table, show_lines
from gridloom_client.commands.terminal.windows import choose_day, market_day, read_instant, service_time
from gridloom_client.literals import UnavailabilityKind

if TYPE_CHECKING:
    from gridloom_client.answers import Conflict, UnavailabilityPreview

app = CommandGroup(name="unavailability", help="What batteries cannot do for a while.", group="Using the platform")


@app.command(name="list")
def list_(
    asset: BatteryName, *, start: datetime | None = None, end: datetime | None = None, options: Options = USUAL
) -> None:
    """List a battery's unavailabilities.

    For example:

        gridloom unavailability list "Husum 1"
        gridloom unavailability list "Husum 1" --start 2026-11-01 -o json

    Parameters
    ----------
    start
        Only those that end after it; without an offset it is market time.
    end
        Only those that start before it.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        found = list(
            client.physical_assets.unavailabilities(
                battery, start=read_instant(start) if start else None, end=read_instant(end) if end else None
            )
        )
    if print_data(found, options):
        return
    rows = [
        (
            one.id,
            one.type,
            (one.start, one.end),
            one.volume.power_capacity.charge,
            one.volume.power_capacity.discharge,
            one.volume.energy_capacity,
            one.description,
        )
        for one in found
    ]
    columns = ["ID", "Type", "When", "Charge kW", "Discharge kW", "Energy kWh", "Description"]
    print_table("Unavailabilities", columns, rows, options)


@app.command
def add(
    asset: BatteryName,
    start: datetime,
    end: datetime,
    *,
    type: UnavailabilityKind,
    description: str,
    charge: float = 0.0,
    discharge: float = 0.0,
    energy: float = 0.0,
    yes: Confirmed = False,
    options: Options = USUAL,
) -> None:
    """Report that a battery will miss power or energy; shows who would lose what, and asks first.

    For example:

        gridloom unavailability add "Husum 1" 2026-11-20T06:00 2026-11-20T14:00 \\
            --type MAINTENANCE --description "Inverter 3" --charge 2500 --discharge 2500

    Parameters
    ----------
    start
        From when; without an offset it is market time.
    end
        Until when.
    type
        What kind it is.
    description
        What happens, for others to read.
    charge
        The charge power that is missing, kW.
    discharge
        The discharge power that is missing, kW.
    energy
        The energy that is missing, kWh.
    """
    from gridloom_client.inputs import PowerVolume, Volume

    body: dict[str, Any] = {
        "description": description,
        "type": type,
        "start": read_instant(start),
        "end": read_instant(end),
        "volume": Volume(energy_capacity=energy, power_capacity=PowerVolume(charge=charge, discharge=discharge)),
    }
    with connect(options) as client:
        battery = find_battery(client, asset)
        if options.form == "table":
            _show_effect(client.physical_assets.preview_unavailability(battery, **body), options)
        if not agree("Report it?", yes=yes):
            show_lines("Nothing was reported.", to_stderr=options.form != "table")
            return
        made = client.physical_assets.report_unavailability(battery, **body)
    if print_data([made], options):
        return
    print_facts("Reported", {"ID": made.id, "When": (made.start, made.end)}, options)
    _show_conflicts(made.conflicts, options)


def _show_conflicts(conflicts: Sequence[Conflict], options: Options) -> None:
    if conflicts:
        rows = [(one.kind, (one.start, one.end), one.power, one.available) for one in conflicts]
        print_table("No longer fits", ["What", "When", "Power kW", "Available kW"], rows, options)


@app.command
def change(
    asset: BatteryName,
    unavailability: ListedID,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    type: UnavailabilityKind | None = None,
    description: str | None = None,
    charge: float | None = None,
    discharge: float | None = None,
    energy: float | None = None,
    options: Options = USUAL,
) -> None:
    """Change an unavailability: its times, its kind, or what is missing; what is not named stays.

    For example:

        gridloom unavailability change "Husum 1" 4f3ac221 --end 2026-11-20T16:00
        gridloom unavailability change "Husum 1" 4f3ac221 --discharge 1000

    Parameters
    ----------
    start
        From when; without an offset it is market time.
    end
        Until when.
    type
        What kind it is.
    description
        What happens, for others to read.
    charge
        The charge power that is missing, kW.
    discharge
        The discharge power that is missing, kW.
    energy
        The energy that is missing, kWh.
    """
    from gridloom_client.inputs import PowerVolume, Volume

    named = {
        "start": read_instant(start) if start else None,
        "end": read_instant(end) if end else None,
        "type": type,
        "description": description,
    }
    changes: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    with connect(options) as client:
        battery = find_battery(client, asset)
        id = find_id(unavailability, client.physical_assets.unavailabilities(battery), "unavailability")
        seen = client.physical_assets.unavailability.answer(battery, id)
        if (charge, discharge, energy) != (None, None, None):
            before = seen.value.volume
            power = PowerVolume(
                charge=before.power_capacity.charge if charge is None else charge,
                discharge=before.power_capacity.discharge if discharge is None else discharge,
            )
            changes["volume"] = Volume(
                energy_capacity=before.energy_capacity if energy is None else energy, power_capacity=power
            )
        if not changes:
            raise Misunderstood("Say what to change, such as --end; --help lists it.")
        changed = client.physical_assets.change_unavailability(battery, id, **changes, if_match=seen.etag)
    if print_data([changed], options):
        return
    print_facts("Changed", {"ID": changed.id, "When": (changed.start, changed.end)}, options)
    _show_conflicts(changed.conflicts, options)


@app.command
def withdraw(
    asset: BatteryName,
    unavailability: str,
    *,
    yes: Confirmed = False,
    options: Options = USUAL,
) -> None:
    """Withdraw an unavailability: what was missing is there again.

    For example:

        gridloom unavailability withdraw "Husum 1" 4f3ac221

    Parameters
    ----------
    unavailability
        Its id, or the end of it as the list shows it.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        id = find_id(unavailability, client.physical_assets.unavailabilities(battery), "unavailability")
        seen = client.physical_assets.unavailability.answer(battery, id)
        if not agree(f"Withdraw {seen.value.type} “{seen.value.description}”?", yes=yes):
            show_lines("Nothing was changed.", to_stderr=options.form != "table")
            return
        client.physical_assets.cancel_unavailability(battery, id, if_match=seen.etag)
    if options.form == "json":
        print_json({"withdrawn": str(id)})
    else:
        show_lines("Withdrawn.", to_stderr=options.form != "table")


def availability(
    asset: BatteryName,
    *,
    day: MarketDay = None,
    plot: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Show what a battery can do on a market day, after all unavailabilities.

    For example:

        gridloom availability "Husum 1"
        gridloom availability "Husum 1" --day 2026-11-20 --plot

    Parameters
    ----------
    plot
        Draw the available power instead of listing it.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        start, end = market_day(choose_day(day, service_time(client)))
        points = client.physical_assets.availability(battery, start=start, end=end).availability
    if print_data(points, options):
        return
    if plot and points:
        lines: dict[str, Sequence[float | None]] = {
            "discharge": [point.available_discharge_power for point in points],
            "charge": [-point.available_charge_power for point in points],
        }
        plot_lines("Available power kW", [point.time for point in points], lines, utc=options.utc)
        return
    spans: list[tuple[datetime, tuple[float, float, float]]] = []
    for point in points:
        values = (point.available_charge_power, point.available_discharge_power, point.available_energy)
        if not spans or spans[-1][1] != values:
            spans.append((point.time, values))
    ends = [*(start for start, _ in spans[1:]), end]
    rows = [((start, until), *values) for (start, values), until in zip(spans, ends, strict=False)]
    print_table("Available", ["When", "Charge kW", "Discharge kW", "Energy kWh"], rows, options)


def _show_effect(preview: UnavailabilityPreview, options: Options) -> None:
    """Who would lose what."""
    losing = [one for one in preview.holders if one.before != one.after]
    if not losing:
        show_lines(f"No promise is broken; {preview.free:,.0f} kW of free capacity are lost.")
        return
    show_lines(f"{preview.free:,.0f} kW of free capacity are lost, and {preview.cut:,.0f} kW that are held:")
    rows = [
        (
            one.kind,
            str(one.virtual_asset_id or one.auction_id or "")[-8:],
            one.before,
            one.after,
        )
        for one in losing
    ]
    print_table("Holders", ["What", "ID", "Before kW", "After kW"], rows, options)
    if preview.expected_cuts:
        show_lines(f"{len(preview.expected_cuts)} scheduled quarter-hours would be cut.")
