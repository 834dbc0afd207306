"""`gridloom assets …`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridloom_client.commands.asset_details import (
    change,
    commitments,
    metadata,
    parameters,
    schedule,
    set_metadata,
    set_parameters,
    set_schedule,
)
from gridloom_client.commands.completion import remember_names
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.finding import find_battery, find_organisation
from gridloom_client.commands.terminal.options import USUAL, AssetName, EachWay, NewName, Options, connect
from gridloom_client.commands.terminal.rendering import (
    as_record,
    print_data,
    print_facts,
    print_one,
    print_table,
    show_lines,
)
from gridloom_client.literals import DeliveryZone

if TYPE_CHECKING:
    from gridloom_client.answers import PhysicalAsset

app = CommandGroup(name="assets", help="Physical assets: installed batteries.", group="Using the platform")


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List the physical assets within your reach.

    For example:

        gridloom assets list
        gridloom assets list -o csv > batteries.csv
    """
    with connect(options) as client:
        assets = list(client.physical_assets.list())
        remember_names("physical asset", (one.name for one in assets))
    if print_data(assets, options):
        return
    columns = ["ID", "Name", "Zone", "Status", "Discharge kW", "Energy kWh", "Charge kW"]
    print_table("Physical assets", columns, [_make_row(asset) for asset in assets], options)


@app.command
def show(asset: AssetName, *, options: Options = USUAL) -> None:
    """Show one physical asset with the parameters in force and how it is.

    For example:

        gridloom assets show "Husum 1"
        gridloom assets show 099a8057 -o json
    """
    with connect(options) as client:
        found = client.physical_assets.get(find_battery(client, asset))
        health = client.physical_assets.health(found.id)
    if print_one({**as_record(found), "health": health}, options):
        return
    parameters = found.parameters
    facts = {
        "ID": found.id,
        "Organisation": found.organisation_id,
        "Fleet": found.fleet_id,
        "Delivery zone": found.delivery_zone,
        "Control area": found.control_area,
        "EIC": found.eic_code,
        "Commissioned on": found.commissioned_on,
        "Status": found.status,
        "Health": health.status,
        "State of charge %": None if health.state_of_charge is None else 100 * health.state_of_charge,
        "Rated charge kW": parameters.rated_charge_power,
        "Rated discharge kW": parameters.rated_discharge_power,
        "Energy kWh": parameters.energy_capacity,
        "Charge efficiency": parameters.charge_efficiency,
        "Discharge efficiency": parameters.discharge_efficiency,
        "Daily cycle limit": parameters.daily_cycle_limit,
        "FCR limit ratio": parameters.fcr_limit_ratio,
    }
    print_facts(found.name, facts, options)


@app.command
def create(
    name: NewName,
    *,
    organisation: str,
    zone: DeliveryZone,
    power: float,
    energy: float,
    charge_power: float | None = None,
    efficiency: EachWay = 0.95,
    options: Options = USUAL,
) -> None:
    """Register a battery; for the platform's operator. One of that name that the owner has already is named.

    For example:

        gridloom assets create "Husum 1" --organisation "Nordlicht Speicher" --zone TenneT \\
            --power 10000 --energy 20000

    Parameters
    ----------
    organisation
        Whose it is, by id or name.
    zone
        Where it delivers.
    power
        Its rated discharge power, kW; charge power too where that is not given.
    energy
        Its energy, kWh.
    charge_power
        Its rated charge power, kW.
    """
    from gridloom_client.inputs import Parameters

    parameters = Parameters(
        rated_charge_power=power if charge_power is None else charge_power,
        rated_discharge_power=power,
        energy_capacity=energy,
        charge_efficiency=efficiency,
        discharge_efficiency=efficiency,
    )
    with connect(options) as client:
        owner = find_organisation(client, organisation)
        known = client.physical_assets.list(organisation_id=owner)
        same = next((asset for asset in known if asset.name == name), None)
        made = same or client.physical_assets.create(
            name=name, organisation_id=owner, delivery_zone=zone, parameters=parameters
        )
    if same is not None:
        show_lines(f"{name} exists already; nothing was created.", to_stderr=True)
    if not print_one(made, options):
        print_facts(made.name, {"ID": made.id, "Delivery zone": made.delivery_zone}, options)


def _make_row(asset: PhysicalAsset) -> tuple[object, ...]:
    parameters = asset.parameters
    return (
        asset.id,
        asset.name,
        asset.delivery_zone,
        asset.status,
        parameters.rated_discharge_power,
        parameters.energy_capacity,
        parameters.rated_charge_power,
    )


for _command in (change, parameters, set_parameters, schedule, set_schedule, metadata, set_metadata, commitments):
    app.command(_command)
