"""`gridloom assets …`"""

from __future__ import annotations

from cyclopts import App

from gridloom_client.answers.physical_assets import PhysicalAsset
from gridloom_client.commands.ending import ending
from gridloom_client.commands.finding import find_id
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_data, print_facts, print_json, print_table

app = App(name="assets", help="Physical assets: batteries that stand somewhere.", group="Using the platform")


@app.command(name="list")
@ending
def list_(*, options: Options = USUAL) -> None:
    """List the physical assets within your reach."""
    with connect(options) as client:
        assets = list(client.physical_assets.list())
    if print_data(assets, options):
        return
    columns = ["ID", "Name", "Zone", "Status", "Discharge kW", "Energy kWh", "Charge kW"]
    print_table("Physical assets", columns, [_row(asset) for asset in assets], options)


@app.command
@ending
def show(asset: str, *, options: Options = USUAL) -> None:
    """Show one physical asset with the parameters in force."""
    with connect(options) as client:
        found = client.physical_assets.get(find_id(asset, client.physical_assets.list(), "physical asset"))
    if options.form == "json":
        print_json(found)
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
        "Rated charge kW": parameters.rated_charge_power,
        "Rated discharge kW": parameters.rated_discharge_power,
        "Energy kWh": parameters.energy_capacity,
        "Charge efficiency": parameters.charge_efficiency,
        "Discharge efficiency": parameters.discharge_efficiency,
        "Daily cycle limit": parameters.daily_cycle_limit,
        "FCR limit ratio": parameters.fcr_limit_ratio,
    }
    print_facts(found.name, facts, options)


def _row(asset: PhysicalAsset) -> tuple[object, ...]:
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
