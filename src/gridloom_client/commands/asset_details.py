"""`gridloom assets change`, `parameters`, `schedule`, `metadata`, `commitments` and what sets them."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from gridloom_client.commands.scheduling.points import read_points
from gridloom_client.commands.terminal.asking import confirm, read_text
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.fields import print_answer, print_rows, print_thing
from gridloom_client.commands.terminal.finding import find_battery, find_fleet
from gridloom_client.commands.terminal.options import (
    USUAL,
    BatteryName,
    Confirmed,
    MarketDay,
    Options,
    connect,
)
from gridloom_client.commands.terminal.rendering import as_record, print_facts, print_json
from gridloom_client.commands.terminal.windows import day_window, read_instant
from gridloom_client.literals import AssetStatus, DeliveryZone, MetadataCategory

PARAMETERS = {
    "Valid from": "valid_from",
    "Version": "version",
    "Charge kW": "rated_charge_power",
    "Discharge kW": "rated_discharge_power",
    "Energy kWh": "energy_capacity",
    "Charge efficiency": "charge_efficiency",
    "Discharge efficiency": "discharge_efficiency",
    "Least charged %": "%min_state_of_charge",
    "Most charged %": "%max_state_of_charge",
    "Daily cycles": "daily_cycle_limit",
    "Yearly cycles": "annual_cycle_limit",
    "FCR limit ratio": "fcr_limit_ratio",
    "Ramp kW/s": "ramp_rate",
    "Recorded": "recorded_at",
}


def change(
    asset: BatteryName,
    *,
    name: str | None = None,
    status: AssetStatus | None = None,
    fleet: str | None = None,
    zone: DeliveryZone | None = None,
    control_area: DeliveryZone | None = None,
    eic: str | None = None,
    commissioned_on: date | None = None,
    yes: Confirmed = False,
    options: Options = USUAL,
) -> None:
    """Change what a battery is called, its status, fleet, zone or code. Taking it out of service asks first.

    For example:

        gridloom assets change "Husum 1" --name "Husum North"
        gridloom assets change "Husum 1" --fleet North
        gridloom assets change "Husum 1" --status DECOMMISSIONED --yes

    Parameters
    ----------
    name
        What it is called from now on.
    status
        ACTIVE, INACTIVE or DECOMMISSIONED.
    fleet
        The fleet that it belongs to, by id or name.
    zone
        Where it delivers.
    control_area
        The control area that it is connected in.
    eic
        Its EIC.
    commissioned_on
        Since when it is in service.
    """
    named = {
        "name": name,
        "status": status,
        "delivery_zone": zone,
        "control_area": control_area,
        "eic_code": eic,
        "commissioned_on": commissioned_on,
    }
    changes: dict[str, Any] = {field: value for field, value in named.items() if value is not None}
    if not changes and fleet is None:
        raise Misunderstood("Say what to change, such as --name; --help lists it.")
    with connect(options) as client:
        seen = client.physical_assets.get.answer(find_battery(client, asset))
        if fleet is not None:
            changes["fleet_id"] = find_fleet(client, fleet)
        if status == "DECOMMISSIONED" and not confirm(f"Take {seen.value.name} out of service?", yes=yes):
            return
        changed = client.physical_assets.update(seen.value.id, **changes, if_match=seen.etag)
    facts = {"ID": "id", "Status": "status", "Delivery zone": "delivery_zone", "Fleet": "fleet_id", "EIC": "eic_code"}
    print_thing(changed.name, changed, facts, options)


def parameters(
    asset: BatteryName,
    *,
    at: datetime | None = None,
    history: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Show a battery's ratings and limits in force, at another time, or all versions of them.

    For example:

        gridloom assets parameters "Husum 1"
        gridloom assets parameters "Husum 1" --history

    Parameters
    ----------
    at
        Those in force then; without an offset it is market time.
    history
        All versions.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        if history:
            print_rows("Versions", client.physical_assets.parameters_history(battery), PARAMETERS, options)
            return
        found = client.physical_assets.parameters(battery, at=read_instant(at) if at else None)
    print_thing("Parameters", found, PARAMETERS, options)


def set_parameters(
    asset: BatteryName,
    *,
    power: float | None = None,
    charge_power: float | None = None,
    energy: float | None = None,
    charge_efficiency: float | None = None,
    discharge_efficiency: float | None = None,
    daily_cycles: float | None = None,
    annual_cycles: float | None = None,
    fcr_limit_ratio: float | None = None,
    valid_from: datetime | None = None,
    options: Options = USUAL,
) -> None:
    """Add a version of a battery's ratings and limits; what is not named stays as it is, and so does the past.

    For example:

        gridloom assets set-parameters "Husum 1" --energy 19000 --valid-from 2026-12-01

    Parameters
    ----------
    power
        Its rated discharge power, kW.
    charge_power
        Its rated charge power, kW.
    energy
        Its energy, kWh.
    charge_efficiency
        Energy stored by energy taken from the grid, 0 to 1.
    discharge_efficiency
        Energy given to the grid by energy taken from the store, 0 to 1.
    daily_cycles
        At most so many full cycles a market day.
    annual_cycles
        At most so many full cycles a calendar year.
    fcr_limit_ratio
        The share of its power that may be offered as FCR.
    valid_from
        From when; without an offset it is market time. Now when left out.
    """
    named = {
        "ratedDischargePower": power,
        "ratedChargePower": charge_power,
        "energyCapacity": energy,
        "chargeEfficiency": charge_efficiency,
        "dischargeEfficiency": discharge_efficiency,
        "dailyCycleLimit": daily_cycles,
        "annualCycleLimit": annual_cycles,
        "fcrLimitRatio": fcr_limit_ratio,
    }
    changes: dict[str, Any] = {field: value for field, value in named.items() if value is not None}
    if not changes:
        raise Misunderstood("Say what to change, such as --energy; --help lists it.")
    with connect(options) as client:
        battery = find_battery(client, asset)
        seen = client.physical_assets.parameters.answer(battery, at=read_instant(valid_from) if valid_from else None)
        kept = {name: value for name, value in as_record(seen.value).items() if value is not None}
        for name in ("version", "recordedAt", "validFrom"):
            kept.pop(name, None)
        body = kept | changes | ({"validFrom": read_instant(valid_from)} if valid_from else {})
        made = client.physical_assets.set_parameters(battery, body, if_match=seen.etag)
    print_thing("Parameters", made, PARAMETERS, options)


def schedule(asset: BatteryName, *, day: MarketDay = None, options: Options = USUAL) -> None:
    """Show the schedule that a battery's owner set for its own use; export is positive.

    For example:

        gridloom assets schedule "Husum 1" --day tomorrow
    """
    with connect(options) as client:
        found = client.physical_assets.schedule(find_battery(client, asset), **day_window(client, day))
    print_answer("Own schedule", found, found.schedule, {"Time": "time", "Power kW": "power"}, options)


def set_schedule(asset: BatteryName, file: Path | None = None, *, options: Options = USUAL) -> None:
    """Set the schedule of a battery for its owner's own use, from a CSV file or a pasted table.

    For example:

        gridloom assets set-schedule "Husum 1" own.csv

    Parameters
    ----------
    file
        Two columns, time and power in kW; standard input when left out. Other quarter-hours stay as they are.
    """
    points = read_points(read_text(file, "times and powers"))
    with connect(options) as client:
        battery = find_battery(client, asset)
        window = {"start": points[0].time, "end": points[-1].time}
        seen = client.physical_assets.schedule.answer(battery, **window)
        made = client.physical_assets.set_schedule(battery, schedule=points, if_match=seen.etag)
    print_answer("Own schedule", made, made.schedule, {"Time": "time", "Power kW": "power"}, options)


def metadata(asset: BatteryName, category: MetadataCategory | None = None, *, options: Options = USUAL) -> None:
    """Show what is known of a battery's contract, grid, market, site and technology, or one of them.

    For example:

        gridloom assets metadata "Husum 1"
        gridloom assets metadata "Husum 1" site -o json

    Parameters
    ----------
    category
        contract, grid, market, site or technical.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        read = client.physical_assets
        found = read.metadata(battery) if category is None else read.metadata_of(battery, category)
    _show_record(found, options)


def set_metadata(
    asset: BatteryName, category: MetadataCategory, file: Path | None = None, *, options: Options = USUAL
) -> None:
    """Replace one category of what is known of a battery by a JSON file.

    For example:

        gridloom assets metadata "Husum 1" site -o json > site.json
        gridloom assets set-metadata "Husum 1" site site.json

    Parameters
    ----------
    category
        contract, grid, market, site or technical.
    file
        Its fields as JSON; standard input when left out.
    """
    try:
        body = msgspec.json.decode(read_text(file, "JSON"), type=dict[str, Any])
    except msgspec.DecodeError as fault:
        raise Misunderstood(f"It is no JSON object: {fault}.") from None
    with connect(options) as client:
        battery = find_battery(client, asset)
        seen = client.physical_assets.metadata_of.answer(battery, category)
        made = client.physical_assets.set_metadata(battery, category, body, if_match=seen.etag)
    _show_record(made, options)


def _show_record(found: Any, options: Options) -> None:
    if options.form != "table":
        print_json(found)
        return
    facts = dict(_flatten_record(as_record(found)))
    print_facts("Metadata", facts, options)


def _flatten_record(record: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in record.items():
        found += _flatten_record(value, f"{before}{name}.") if isinstance(value, dict) else [(before + name, value)]
    return found


def commitments(asset: BatteryName, *, day: MarketDay = None, options: Options = USUAL) -> None:
    """Show what of a battery is held on a market day and what is free, quarter-hour by quarter-hour.

    For example:

        gridloom assets commitments "Husum 1"
        gridloom assets commitments "Husum 1" --day tomorrow -o csv > held.csv
    """
    with connect(options) as client:
        found = client.physical_assets.commitments(find_battery(client, asset), **day_window(client, day))
    columns = {
        "Time": "time",
        "Free discharge kW": "discharge.free",
        "Free charge kW": "charge.free",
        "Free energy kWh": "energy.free",
        "Promised kW": "discharge.promised",
        "Offered kW": "discharge.offered",
        "FCR kW": "discharge.ancillary.fcr",
        "Missing kW": "discharge.missing",
    }
    print_answer("Commitments", found, found.commitments, columns, options)
