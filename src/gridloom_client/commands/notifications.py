"""`gridloom notifications`: market messages of a battery (REMIT)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_rows, print_thing
from gridloom_client.commands.terminal.finding import find_battery, find_id
from gridloom_client.commands.terminal.options import (
    USUAL,
    BatteryName,
    ListedID,
    ListEnd,
    ListStart,
    Options,
    connect,
)
from gridloom_client.commands.terminal.rendering import show_lines
from gridloom_client.commands.terminal.windows import open_window, read_instant
from gridloom_client.literals import DocumentFormat, NotificationStatus, UnavailabilityType

if TYPE_CHECKING:
    from gridloom_client.client import Client

app = CommandGroup(
    name="notifications",
    help="Market messages of a battery: list, show, publish, revise, download.",
    group="Using the platform",
)
FACTS = {
    "ID": "id",
    "Message": "message_id",
    "Version": "version",
    "Status": "event_status",
    "Type": "unavailability_type",
    "Event": "event_start..event_end",
    "Missing kW": "unavailable_capacity",
    "Available kW": "available_capacity",
    "Installed kW": "installed_capacity",
    "Cause": "cause",
    "Published": "published_at",
    "Remarks": "remarks",
}


@app.command(name="list")
def list_(
    asset: BatteryName,
    *,
    status: NotificationStatus | None = None,
    start: ListStart = None,
    end: ListEnd = None,
    options: Options = USUAL,
) -> None:
    """List a battery's market messages.

    For example:

        gridloom notifications list "Husum 1" --status ACTIVE

    Parameters
    ----------
    status
        Only those: ACTIVE, DISMISSED or INACTIVE.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        found = client.physical_assets.notifications(battery, event_status=status, **open_window(start, end))
        columns = {
            "ID": "id",
            "Status": "event_status",
            "Event": "event_start..event_end",
            "Missing kW": "unavailable_capacity",
            "Cause": "cause",
            "Published": "published_at",
            "Version": "version",
        }
        print_rows("Messages", found, columns, options)


@app.command
def show(asset: BatteryName, notification: ListedID, *, version: int | None = None, options: Options = USUAL) -> None:
    """Show one market message.

    For example:

        gridloom notifications show "Husum 1" 099a8057

    Parameters
    ----------
    version
        Another version than the latest one.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        id = _find_message(client, battery, notification)
        found = client.physical_assets.notification(battery, id, version=version)
    print_thing("Message", found, FACTS, options)


@app.command
def publish(
    asset: BatteryName,
    start: datetime,
    end: datetime,
    *,
    missing: float,
    cause: str,
    type: UnavailabilityType = "PLANNED",
    remarks: str | None = None,
    options: Options = USUAL,
) -> None:
    """Publish that a battery will miss power, as the market's transparency rules demand.

    For example:

        gridloom notifications publish "Husum 1" 2026-11-20T06:00 2026-11-20T14:00 --missing 2500 --cause Inverter

    Parameters
    ----------
    start
        From when; without an offset it is market time.
    end
        Until when.
    missing
        The power that is missing, kW.
    cause
        Why, in words.
    type
        PLANNED or UNPLANNED.
    remarks
        Anything else, in words.
    """
    body: dict[str, Any] = {
        "unavailabilityType": type,
        "eventStart": read_instant(start),
        "eventEnd": read_instant(end),
        "unavailableCapacity": missing,
        "cause": cause,
    }
    with connect(options) as client:
        battery = find_battery(client, asset)
        made = client.physical_assets.publish_notification(battery, body | ({"remarks": remarks} if remarks else {}))
    print_thing("Published", made, FACTS, options)


@app.command
def revise(
    asset: BatteryName,
    notification: ListedID,
    *,
    status: NotificationStatus | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    missing: float | None = None,
    cause: str | None = None,
    remarks: str | None = None,
    options: Options = USUAL,
) -> None:
    """Publish a further version of a market message, or dismiss it.

    For example:

        gridloom notifications revise "Husum 1" 099a8057 --end 2026-11-20T16:00
        gridloom notifications revise "Husum 1" 099a8057 --status DISMISSED

    Parameters
    ----------
    status
        ACTIVE, DISMISSED or INACTIVE.
    start
        From when; without an offset it is market time.
    end
        Until when.
    missing
        The power that is missing, kW.
    cause
        Why, in words.
    remarks
        Anything else, in words.
    """
    named = {
        "eventStatus": status,
        "eventStart": read_instant(start) if start else None,
        "eventEnd": read_instant(end) if end else None,
        "unavailableCapacity": missing,
        "cause": cause,
        "remarks": remarks,
    }
    changes = {name: value for name, value in named.items() if value is not None}
    if not changes:
        raise Misunderstood("Say what to change, such as --end; --help lists it.")
    with connect(options) as client:
        battery = find_battery(client, asset)
        id = _find_message(client, battery, notification)
        made = client.physical_assets.revise_notification(battery, id, changes)
    print_thing("Published", made, FACTS, options)


@app.command
def download(
    asset: BatteryName,
    notification: ListedID,
    *,
    format: DocumentFormat = "acer-umm",
    to: Annotated[Path | None, Parameter(help="The file; named after the message when left out.")] = None,
    options: Options = USUAL,
) -> None:
    """Save a market message as the XML of ACER or ENTSO-E.

    For example:

        gridloom notifications download "Husum 1" 099a8057 --format entsoe --to message.xml

    Parameters
    ----------
    format
        acer-umm or entsoe.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        id = _find_message(client, battery, notification)
        content = client.physical_assets.notification_document(battery, id, format=format)
    target = to or Path(f"{id}.xml")
    target.write_bytes(content)
    show_lines(f"{target}: {len(content):,} bytes", to_stderr=options.form != "table")


def _find_message(client: Client, battery: Any, text: str) -> Any:
    return find_id(text, client.physical_assets.notifications(battery), "message")
