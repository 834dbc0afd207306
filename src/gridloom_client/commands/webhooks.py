"""`gridloom webhooks`: events sent to an address of yours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_thing
from gridloom_client.commands.terminal.finding import find_id
from gridloom_client.commands.terminal.options import USUAL, Confirmed, ListedID, Options, connect
from gridloom_client.commands.terminal.rendering import print_data, print_one, print_table, show_lines
from gridloom_client.literals import DeliveryState, WebhookFormat

app = CommandGroup(
    name="webhooks",
    help="Events sent to an address of yours: list, show, create, change, deliveries, replay, rotate, delete.",
    group="Using the platform",
)

FACTS = {
    "ID": "id",
    "Address": "url",
    "On": "enabled",
    "Types": "types",
    "Description": "description",
    "Off because": "disabled_because",
}


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
def delete(webhook: ListedID, *, yes: Confirmed = False, options: Options = USUAL) -> None:
    """Delete a webhook.

    For example:

        gridloom webhooks delete 099a8057 --yes
    """
    with connect(options) as client:
        found = client.webhooks.get.answer(find_id(webhook, client.webhooks.list(), "webhook"))
        if not confirm(f"Delete the webhook to {found.value.url}?", yes=yes):
            return
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


@app.command
def show(webhook: ListedID, *, options: Options = USUAL) -> None:
    """Show one webhook.

    For example:

        gridloom webhooks show 099a8057
    """
    with connect(options) as client:
        found = client.webhooks.get(find_id(webhook, client.webhooks.list(), "webhook"))
    print_thing("Webhook", found, FACTS, options)


@app.command
def change(
    webhook: ListedID,
    *,
    address: str | None = None,
    types: Annotated[Sequence[str] | None, Parameter(negative="")] = None,
    description: str | None = None,
    enabled: bool | None = None,
    options: Options = USUAL,
) -> None:
    """Change a webhook, or switch it on or off.

    For example:

        gridloom webhooks change 099a8057 --enabled
        gridloom webhooks change 099a8057 --types bid.placed --types auction.cleared

    Parameters
    ----------
    address
        Where events are posted to.
    types
        Which events; may be repeated.
    description
        What it is for.
    enabled
        --no-enabled sends it nothing until it is enabled again.
    """
    named = {"url": address, "types": types, "description": description, "enabled": enabled}
    changes: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if not changes:
        raise Misunderstood("Say what to change, such as --enabled; --help lists it.")
    with connect(options) as client:
        seen = client.webhooks.get.answer(find_id(webhook, client.webhooks.list(), "webhook"))
        changed = client.webhooks.update(seen.value.id, **changes, if_match=seen.etag)
    print_thing("Webhook", changed, FACTS, options)


@app.command
def replay(webhook: ListedID, delivery: ListedID, *, options: Options = USUAL) -> None:
    """Send an event to a webhook again.

    For example:

        gridloom webhooks replay 099a8057 4f3ac221
    """
    with connect(options) as client:
        id = find_id(webhook, client.webhooks.list(), "webhook")
        found = find_id(delivery, client.webhooks.deliveries(id), "delivery")
        made = client.webhooks.replay(id, found)
    print_thing("Sent again", made, {"ID": "id", "Event": "type", "State": "state", "Made": "created_at"}, options)
