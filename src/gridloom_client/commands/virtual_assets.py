"""`gridloom virtual-assets …`"""

from __future__ import annotations

from uuid import UUID

from cyclopts import App

from gridloom_client.commands.ending import ending
from gridloom_client.commands.finding import find_id
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_data, print_facts, print_json, print_table

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
    if print_data(assets, options):
        return
    columns = ["ID", "Name", "Delivery", "Ends at %", "Discharge kW", "Energy kWh", "Zone", "Charge kW"]
    rows = [
        (
            asset.id,
            asset.name,
            (asset.start, asset.end),
            asset.end_state_of_charge_percentage,
            asset.rated_discharge_power,
            asset.energy_capacity,
            asset.delivery_zone,
            asset.rated_charge_power,
        )
        for asset in assets
    ]
    print_table("Virtual assets", columns, rows, options)


@app.command
@ending
def show(asset: str, *, organisation: UUID | None = None, options: Options = USUAL) -> None:
    """Show one virtual asset, its blocks and its balance.

    Parameters
    ----------
    asset
        Its id, the end of it, or its name.
    organisation
        Whose it is; your own when left out.
    """
    with connect(options) as client:
        owner = organisation or client.auth.me().organisation_id
        wanted = find_id(asset, client.virtual_assets.list(owner), "virtual asset")
        found = client.virtual_assets.get(owner, wanted)
    if options.form == "json":
        print_json(found)
        return
    facts = {
        "ID": found.id,
        "Delivery": (found.start, found.end),
        "Delivery zone": found.delivery_zone,
        "Rated charge kW": found.rated_charge_power,
        "Rated discharge kW": found.rated_discharge_power,
        "Energy kWh": found.energy_capacity,
        "Available energy kWh": found.available_energy_capacity,
        "Ends at %": found.end_state_of_charge_percentage,
        "Balance": found.feedback,
    }
    print_facts(found.name, facts, options)
    blocks = [(block.id, block.market, block.start, block.end) for block in found.block_metadata]
    print_table("Blocks", ["ID", "Market", "From", "To"], blocks, options)
