"""`gridloom virtual-assets …`"""

from __future__ import annotations

from uuid import UUID

from cyclopts import App

from gridloom_client.commands.ending import ending
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_facts, print_json, print_table

app = App(name="virtual-assets", help="Virtual batteries of your organisation.", group="Using the platform")


@app.command(name="list")
@ending
def list_(*, organisation: UUID | None = None, options: Options = USUAL) -> None:
    """List virtual assets.

    Parameters
    ----------
    organisation
        Whose; your own when left out.
    """
    with connect(options) as client:
        owner = organisation or client.auth.me().organisation_id
        assets = list(client.virtual_assets.list(owner))
    if options.json:
        print_json(assets)
        return
    columns = ["ID", "Name", "From", "To", "Charge kW", "Discharge kW", "Energy kWh", "Ends at %"]
    rows = [
        (
            asset.id,
            asset.name,
            asset.start,
            asset.end,
            asset.rated_charge_power,
            asset.rated_discharge_power,
            asset.energy_capacity,
            asset.end_state_of_charge_percentage,
        )
        for asset in assets
    ]
    print_table("Virtual assets", columns, rows)


@app.command
@ending
def show(asset_id: UUID, *, organisation: UUID | None = None, options: Options = USUAL) -> None:
    """Show one virtual asset, its blocks and its balance.

    Parameters
    ----------
    organisation
        Whose it is; your own when left out.
    """
    with connect(options) as client:
        owner = organisation or client.auth.me().organisation_id
        asset = client.virtual_assets.get(owner, asset_id)
    if options.json:
        print_json(asset)
        return
    facts = {
        "ID": asset.id,
        "Delivery": (asset.start, asset.end),
        "Delivery zone": asset.delivery_zone,
        "Rated charge kW": asset.rated_charge_power,
        "Rated discharge kW": asset.rated_discharge_power,
        "Energy kWh": asset.energy_capacity,
        "Available energy kWh": asset.available_energy_capacity,
        "Ends at %": asset.end_state_of_charge_percentage,
        "Balance": asset.feedback,
    }
    print_facts(asset.name, facts)
    blocks = [(block.id, block.market, block.start, block.end) for block in asset.block_metadata]
    print_table("Blocks", ["ID", "Market", "From", "To"], blocks)
