"""`gridloom assets …`"""

from __future__ import annotations

from uuid import UUID

from cyclopts import App

from gridloom_client.answers.physical_assets import PhysicalAsset
from gridloom_client.commands.ending import ending
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_facts, print_json, print_table

app = App(name="assets", help="Physical assets: batteries that stand somewhere.", group="Using the platform")


@app.command(name="list")
@ending
def list_(*, options: Options = USUAL) -> None:
    """List the physical assets within your reach."""
    with connect(options) as client:
        assets = list(client.physical_assets.list())
    if options.json:
        print_json(assets)
        return
    columns = ["ID", "Name", "Zone", "Charge kW", "Discharge kW", "Energy kWh", "Status"]
    print_table("Physical assets", columns, [_row(asset) for asset in assets])


@app.command
@ending
def show(asset_id: UUID, *, options: Options = USUAL) -> None:
    """Show one physical asset with the parameters in force."""
    with connect(options) as client:
        asset = client.physical_assets.get(asset_id)
    if options.json:
        print_json(asset)
        return
    parameters = asset.parameters
    facts = {
        "ID": asset.id,
        "Organisation": asset.organisation_id,
        "Fleet": asset.fleet_id,
        "Delivery zone": asset.delivery_zone,
        "Control area": asset.control_area,
        "EIC": asset.eic_code,
        "Commissioned on": asset.commissioned_on,
        "Status": asset.status,
        "Rated charge kW": parameters.rated_charge_power,
        "Rated discharge kW": parameters.rated_discharge_power,
        "Energy kWh": parameters.energy_capacity,
        "Charge efficiency": parameters.charge_efficiency,
        "Discharge efficiency": parameters.discharge_efficiency,
        "Daily cycle limit": parameters.daily_cycle_limit,
        "FCR limit ratio": parameters.fcr_limit_ratio,
    }
    print_facts(asset.name, facts)


def _row(asset: PhysicalAsset) -> tuple[object, ...]:
    parameters = asset.parameters
    return (
        asset.id,
        asset.name,
        asset.delivery_zone,
        parameters.rated_charge_power,
        parameters.rated_discharge_power,
        parameters.energy_capacity,
        asset.status,
    )
