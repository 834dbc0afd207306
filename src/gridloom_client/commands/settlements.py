"""`gridloom settlements`: what was traded and awarded, as recorded."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.fields import print_rows
from gridloom_client.commands.terminal.finding import find_reported
from gridloom_client.commands.terminal.options import USUAL, ListEnd, ListStart, Options, connect
from gridloom_client.commands.terminal.windows import open_window

app = CommandGroup(name="settlements", help="What was traded and awarded: list.", group="Using the platform")
Kind: TypeAlias = Literal["wholesale-trades", "fcr", "afrr-capacity", "afrr-energy", "net-off", "tolling-contracts"]
_WHERE: Final = {"Asset": "asset_id"}
COLUMNS: Final[dict[str, dict[str, str]]] = {
    "wholesale-trades": {
        "Time": "time",
        "Trade": "trade_id",
        "Side": "side",
        "MWh": "volume",
        "EUR/MWh": "price",
        "Market": "market",
    },
    "fcr": {"Day": "delivery_day", "Product": "product", "MW": "capacity", "EUR/MW per hour": "settlement_price"},
    "afrr-capacity": {"Day": "delivery_day", "Product": "product", "MW": "capacity", "EUR/MW per hour": "price"},
    "afrr-energy": {"Time": "time", "Direction": "direction", "MWh": "volume", "EUR/MWh": "price"},
    "net-off": {"Time": "time", "MWh": "volume"},
    "tolling-contracts": {"Contract": "contract_id", "When": "start..end", "EUR per MW and year": "annual_price"},
}


@app.command(name="list")
def list_(
    kind: Annotated[Kind, Parameter(help="What to list.")],
    *,
    asset: str | None = None,
    versions: Annotated[bool, Parameter(negative="")] = False,
    start: ListStart = None,
    end: ListEnd = None,
    options: Options = USUAL,
) -> None:
    """List recorded trades, awards, activations, netted volumes or tolling contracts; gridloom import records them.

    For example:

        gridloom settlements list wholesale-trades --asset "Elbe 1" --start 2026-11-01
        gridloom settlements list fcr -o csv > fcr.csv

    Parameters
    ----------
    asset
        Only those of this virtual or physical battery, by id or name.
    versions
        Also those that were corrected since.
    """
    with connect(options) as client:
        query: dict[str, Any] = {**open_window(start, end), "versions": versions or None}
        if asset is not None:
            query["asset_id"] = find_reported(client, asset).id
        found = getattr(client.settlements, kind.replace("-", "_"))(**query)
        print_rows("Settlements", found, COLUMNS[kind] | _WHERE, options)
