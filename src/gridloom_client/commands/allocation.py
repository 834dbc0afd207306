"""`gridloom virtual allocate`, `change` and `undo`: virtual batteries without an auction, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.auction_making import read_part
from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.fields import print_thing, report_done
from gridloom_client.commands.terminal.finding import find_organisation, find_portfolio, find_virtual
from gridloom_client.commands.terminal.options import (
    USUAL,
    AssetName,
    Confirmed,
    CycleLimit,
    EachWay,
    NewName,
    Options,
    OwnerName,
    connect,
)
from gridloom_client.commands.terminal.windows import read_instant
from gridloom_client.literals import DeliveryZone

FACTS = {
    "ID": "id",
    "Delivery": "start..end",
    "Delivery zone": "delivery_zone",
    "Charge kW": "rated_charge_power",
    "Discharge kW": "rated_discharge_power",
    "Energy kWh": "energy_capacity",
}


def allocate(
    organisation: Annotated[str, Parameter(help="Who gets it, by id or name.")],
    name: NewName,
    start: datetime,
    end: datetime,
    *,
    backing: Annotated[Sequence[str], Parameter(negative="")],
    power: float,
    energy: float,
    charge_power: float | None = None,
    efficiency: EachWay = 0.95,
    cycles: CycleLimit = None,
    zone: DeliveryZone | None = None,
    options: Options = USUAL,
) -> None:
    """Give an organisation a virtual battery without an auction; for the platform's operator.

    For example:

        gridloom virtual allocate "Hanse Energiehandel" "Elbe 1" 2026-12-01 2027-01-01 \\
            --backing "Husum 1" --power 5000 --energy 10000

    Parameters
    ----------
    start
        From when it delivers; without an offset it is market time.
    end
        Until when.
    backing
        A battery behind it by id or name, with its share where there are several, as in "Husum 1=0.6"; again for more.
    power
        Its discharge power, kW; charge power too where that is not given.
    energy
        Its energy, kWh.
    charge_power
        Its charge power, kW.
    zone
        The delivery zone; that of its batteries when left out.
    """
    with connect(options) as client:
        owner = find_organisation(client, organisation)
        batteries = list(client.physical_assets.list())
        parts = [read_part(text, batteries, len(backing)) for text in backing]
        body: dict[str, Any] = {
            "name": name,
            "start": read_instant(start),
            "end": read_instant(end),
            "deliveryZone": zone or parts[0][0].delivery_zone,
            "ratedChargePower": power if charge_power is None else charge_power,
            "ratedDischargePower": power,
            "energyCapacity": energy,
            "chargeEfficiency": efficiency,
            "dischargeEfficiency": efficiency,
            "backing": [{"physicalAssetID": battery.id, "share": share} for battery, share in parts],
        }
        made = client.virtual_assets.allocate(owner, body | ({"dailyCycleLimit": cycles} if cycles else {}))
    print_thing(made.name, made, FACTS, options)


def change(
    asset: AssetName,
    *,
    name: str | None = None,
    portfolio: str | None = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Rename a virtual battery, or move it to a portfolio.

    For example:

        gridloom virtual change "Elbe 1" --name "Elbe North"
        gridloom virtual change "Elbe 1" --portfolio North

    Parameters
    ----------
    name
        What it is called from now on.
    portfolio
        The portfolio that it is in from now on, by id or name.
    """
    if name is None and portfolio is None:
        raise Misunderstood("Say what to change: --name, --portfolio or both.")
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        target = None if portfolio is None else find_portfolio(client, portfolio, organisation).id
        etag = client.virtual_assets.get.answer(found.organisation_id, found.id).etag
        changed = client.virtual_assets.change(
            found.organisation_id, found.id, name=name, portfolio_id=target, if_match=etag
        )
    print_thing(changed.name, changed, FACTS, options)


def undo(asset: AssetName, *, yes: Confirmed = False, organisation: OwnerName = None, options: Options = USUAL) -> None:
    """Undo an allocation before it delivers; for the platform's operator.

    For example:

        gridloom virtual undo "Elbe 1" --organisation "Hanse Energiehandel" --yes
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        etag = client.virtual_assets.get.answer(found.organisation_id, found.id).etag
        if not confirm(f"Take {found.name} back?", yes=yes):
            return
        client.virtual_assets.undo_allocation(found.organisation_id, found.id, if_match=etag)
    report_done("Taken back.", options)
