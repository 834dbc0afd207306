"""`gridloom webhooks`: events sent to an address of yours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.finding import find_id
from gridloom_client.commands.terminal.options import USUAL, ListedID, Options, connect
from gridloom_client.commands.terminal.rendering import print_data, print_one, print_table, show_lines
from gridloom_client.literals import DeliveryState, WebhookFormat

app = CommandGroup(
    name="webhooks", help="Events sent to an address of yours: list, create, test.", group="Using the platform"
)


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List your organisation's webhooks.

    For example:

        gridloom webhooks list
    """
    with connect(options) as client:
        found = list(client.webhooks.list())
    if print_data(found, options):
        return
    rows = [(one.id, "on" if one.enabled else "off", one.url, one.types, one.disabled_because) for one in found]
    print_table("Webhooks", ["ID", "State", "Address", "Types", "Off because"], rows, options)


@app.command
def create(
    address: str,
    types: Annotated[Sequence[str], Parameter(negative="")] = (),
    *,
    description: str | None = None,
    format: WebhookFormat | None = None,
    options: Options = USUAL,
) -> None:
    """Send events to an address; the secret that signs them is printed this once.

    For example:

        gridloom webhooks create https://example.org/gridloom bid.placed auction.cleared

    Parameters
    ----------
    address
        Where events are posted to.
    types
        Which events; all when left out.
    description
        What it is for.
    format
        What is sent: GRIDLOOM, the platform's own events, or CLOUDEVENTS.
    """
    with connect(options) as client:
        made = client.webhooks.create(url=address, types=list(types), description=description, format=format)
    if print_one(made, options):
        return
    show_lines(f"Events go to {made.url}. This secret signs them, shown this once:", to_stderr=True)
    print(made.secret)


@app.command
def rotate(webhook: ListedID, *, options: Options = USUAL) -> None:
    """Replace a webhook's secret; the old one stays valid for a while.

    For example:

        gridloom webhooks rotate 099a8057
    """
    with connect(options) as client:
        made = client.webhooks.rotate_secret(find_id(webhook, client.webhooks.list(), "webhook"))
    if print_one(made, options):
        return
    show_lines("This is the new secret, shown this once:", to_stderr=True)
    print(made.secret)


@app.command
def delete(webhook: ListedID, *, options: Options = USUAL) -> None:
    """Delete a webhook.

    For example:

        gridloom webhooks delete 099a8057
    """
    with connect(options) as client:
        found = client.webhooks.get.answer(find_id(webhook, client.webhooks.list(), "webhook"))
        client.webhooks.delete(found.value.id, if_match=found.etag)
    show_lines("Deleted.", to_stderr=options.form != "table")


@app.command
def deliveries(webhook: ListedID, *, state: DeliveryState | None = None, options: Options = USUAL) -> None:
    """List what was sent to a webhook, the newest first.

    For example:

        gridloom webhooks deliveries 099a8057 --state FAILED

    Parameters
    ----------
    state
        Only those: PENDING, DELIVERED or FAILED.
    """
    with connect(options) as client:
        found = list(client.webhooks.deliveries(find_id(webhook, client.webhooks.list(), "webhook"), state=state))
    if print_data(found, options):
        return
    rows = [(one.id, one.state, one.type, one.created_at, len(one.attempts), one.next_attempt_at) for one in found]
    print_table("Deliveries", ["ID", "State", "Event", "Made", "Attempts", "Next"], rows, options)
