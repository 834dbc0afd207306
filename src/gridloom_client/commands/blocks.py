"""`gridloom blocks`: parts of a virtual battery that are set apart for a market."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from gridloom_client.commands.scheduling.points import read_points
from gridloom_client.commands.terminal.asking import confirm, read_text
from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.fields import print_answer, print_rows, print_thing, report_done
from gridloom_client.commands.terminal.finding import Holding, find_id, find_virtual
from gridloom_client.commands.terminal.options import (
    USUAL,
    AssetName,
    Confirmed,
    ListedID,
    ListEnd,
    ListStart,
    Options,
    OwnerName,
    connect,
)
from gridloom_client.commands.terminal.rendering import show_lines
from gridloom_client.commands.terminal.windows import open_window, read_instant
from gridloom_client.literals import Market

app = CommandGroup(
    name="blocks",
    help="Parts of a virtual battery set apart for a market: list, show, add, schedule, remove.",
    group="Using the platform",
)
FACTS = {
    "ID": "id",
    "Market": "market",
    "Delivery": "start..end",
    "Charge kW": "rated_charge_power",
    "Discharge kW": "rated_discharge_power",
}
POINTS = {"Time": "time", "Power kW": "power"}


@app.command(name="list")
def list_(
    asset: AssetName,
    *,
    start: ListStart = None,
    end: ListEnd = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """List the blocks of a virtual battery.

    For example:

        gridloom blocks list "Elbe 1"
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        listed = client.virtual_assets.blocks(found.organisation_id, found.id, **open_window(start, end))
        print_rows(f"Blocks of {found.name}", listed, FACTS, options)


@app.command
def show(asset: AssetName, block: ListedID, *, organisation: OwnerName = None, options: Options = USUAL) -> None:
    """Show one block with its schedule.

    For example:

        gridloom blocks show "Elbe 1" 099a8057
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        seen = client.virtual_assets.block(*_find_block(client, found, block))
    if print_thing("Block", seen, FACTS, options):
        print_rows("Schedule", seen.schedule, POINTS, options)


@app.command
def add(
    asset: AssetName,
    market: Market,
    start: datetime,
    end: datetime,
    *,
    charge: float,
    discharge: float,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Set part of a virtual battery apart for a market.

    For example:

        gridloom blocks add "Elbe 1" FCR 2026-11-20T08:00 2026-11-20T12:00 --charge 1000 --discharge 1000

    Parameters
    ----------
    market
        WHOLESALE, FCR, AFRR_POS or AFRR_NEG.
    start
        From when; without an offset it is market time.
    end
        Until when.
    charge
        Its charge power, kW.
    discharge
        Its discharge power, kW.
    """
    with connect(options) as client:
        found = find_virtual(client, asset, organisation)
        made = client.virtual_assets.create_block(
            found.organisation_id,
            found.id,
            start=read_instant(start),
            end=read_instant(end),
            market=market,
            rated_charge_power=charge,
            rated_discharge_power=discharge,
        )
    print_thing("Block", made, FACTS, options)


@app.command
def schedule(
    asset: AssetName,
    block: ListedID,
    file: Path | None = None,
    *,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Put the schedule of one block; `gridloom schedule set` puts that of the whole battery.

    For example:

        gridloom blocks schedule "Elbe 1" 099a8057 plan.csv

    Parameters
    ----------
    file
        Two columns, time and power in kW; standard input when left out.
    """
    points = read_points(read_text(file, "times and powers"))
    with connect(options) as client:
        where = _find_block(client, find_virtual(client, asset, organisation), block)
        etag = client.virtual_assets.block.answer(*where).etag
        made = client.virtual_assets.set_schedule(*where, schedule=points, if_match=etag)
    if print_answer("Schedule", made, made.schedule, POINTS, options):
        show_lines(made.imbalance.feedback)


@app.command
def remove(
    asset: AssetName,
    block: ListedID,
    *,
    yes: Confirmed = False,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Give a block back to the rest of its virtual battery; its schedule is lost.

    For example:

        gridloom blocks remove "Elbe 1" 099a8057 --yes
    """
    with connect(options) as client:
        where = _find_block(client, find_virtual(client, asset, organisation), block)
        seen = client.virtual_assets.block.answer(*where)
        if not confirm(f"Give the block of {seen.value.market} back?", yes=yes):
            return
        client.virtual_assets.delete_block(*where, if_match=seen.etag)
    report_done("Given back.", options)


def _find_block(client: Any, found: Holding, text: str) -> tuple[Any, Any, Any]:
    where = (found.organisation_id, found.id)
    return (*where, find_id(text, client.virtual_assets.blocks(*where), "block"))
