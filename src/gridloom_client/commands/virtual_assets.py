"""`gridloom virtual …`"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.allocation import allocate, change, undo
from gridloom_client.commands.completion import remember_names
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.finding import choose_organisation, find_virtual
from gridloom_client.commands.terminal.options import USUAL, AssetName, Options, OwnerName, connect
from gridloom_client.commands.terminal.rendering import print_data, print_facts, print_one, print_table, show_lines
from gridloom_client.commands.terminal.windows import service_time

app = CommandGroup(
    name="virtual", help="Virtual batteries: list, show, change, allocate, undo.", group="Using the platform"
)


@app.command(name="list")
def list_(
    *,
    organisation: OwnerName = None,
    all: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """List virtual assets that deliver now or later; scripts get all of them.

    For example:

        gridloom virtual list
        gridloom virtual list --all
        gridloom virtual list -o csv > assets.csv

    Parameters
    ----------
    all
        Also those that are over.
    """
    with connect(options) as client:
        owner = choose_organisation(client, organisation)
        assets = list(client.virtual_assets.list(owner))
        remember_names("virtual asset", (one.name for one in assets))
        if print_data(assets, options):
            return
        now = service_time(client)
    shown = [asset for asset in assets if all or asset.end > now]
    columns = ["ID", "Name", "Delivery", "Ends at %", "Discharge kW", "Energy kWh", "Zone", "Charge kW"]
    rows = [
        (
            asset.id,
            asset.name,
            (asset.start, asset.end),
            round(asset.end_state_of_charge_percentage, 1),
            asset.rated_discharge_power,
            asset.energy_capacity,
            asset.delivery_zone,
            asset.rated_charge_power,
        )
        for asset in shown
    ]
    print_table("Virtual assets", columns, rows, options)
    if len(shown) < len(assets):
        show_lines(f"{len(assets) - len(shown)} that are over are left out; --all shows them.")


@app.command
def show(asset: AssetName, *, organisation: str | None = None, options: Options = USUAL) -> None:
    """Show one virtual asset, its blocks and its balance.

    For example:

        gridloom virtual show "Elbe 1"
        gridloom virtual show 099a8057 -o json

    Parameters
    ----------
    organisation
        Whose it is, by id or name; your own when left out.
    """
    with connect(options) as client:
        holding = find_virtual(client, asset, organisation)
        found = client.virtual_assets.get(holding.organisation_id, holding.id)
    if print_one(found, options):
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
        "Gate closes before": f"{found.dispatch_gate_closure_seconds // 60} min",
        "Balance": found.feedback,
    }
    print_facts(found.name, facts, options)
    blocks = [(block.id, block.market, (block.start, block.end)) for block in found.block_metadata]
    print_table("Blocks", ["ID", "Market", "Delivery"], blocks, options)


app.command(allocate)
app.command(change)
app.command(undo)
