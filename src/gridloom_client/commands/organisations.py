"""`gridloom organisations …`"""

from __future__ import annotations

from cyclopts import App

from gridloom_client.commands.ending import ending
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_data, print_table

app = App(name="organisations", help="Who takes part.", group="Using the platform")


@app.command(name="list")
@ending
def list_(*, options: Options = USUAL) -> None:
    """List the organisations that you may see."""
    with connect(options) as client:
        organisations = list(client.organisations.list())
    if print_data(organisations, options):
        return
    rows = [(one.id, one.name, one.kind) for one in organisations]
    print_table("Organisations", ["ID", "Name", "Kind"], rows, options)
