"""`gridloom logbook`: what happened to a battery, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup
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
from gridloom_client.commands.terminal.windows import open_window, read_instant, service_time
from gridloom_client.literals import LogbookImpact, LogbookSource

if TYPE_CHECKING:
    from gridloom_client.client import Client

app = CommandGroup(
    name="logbook", help="What happened to a battery: list, show, add, correct.", group="Using the platform"
)
EntryType = Annotated[str, Parameter(help="A word of your own, such as inspection.")]
EntryText = Annotated[str | None, Parameter(help="More of it, in words.")]
EntryImpact = Annotated[LogbookImpact | None, Parameter(help="NEGATIVE, NEUTRAL or POSITIVE for the battery.")]
EntryStart = Annotated[datetime | None, Parameter(help="When it was or began, in market time; now when left out.")]
EntryEnd = Annotated[datetime | None, Parameter(help="When it was over.")]
EntryTags = Annotated[
    Sequence[str], Parameter(negative="", name="--tag", help="A word to find it by; may be repeated.")
]
FACTS = {
    "ID": "id",
    "When": "start",
    "Until": "end",
    "Type": "type",
    "Impact": "impact",
    "Tags": "tags",
    "Description": "description",
    "Written": "created_at",
    "By": "author_id",
    "Corrects": "corrects_id",
}


@app.command(name="list")
def list_(
    asset: BatteryName,
    *,
    text: str | None = None,
    type: str | None = None,
    tag: str | None = None,
    impact: LogbookImpact | None = None,
    source: LogbookSource | None = None,
    start: ListStart = None,
    end: ListEnd = None,
    options: Options = USUAL,
) -> None:
    """List a battery's entries, or search them.

    For example:

        gridloom logbook list "Husum 1" --text inverter
        gridloom logbook list "Husum 1" --impact NEGATIVE --start 2026-11-01

    Parameters
    ----------
    text
        Only those with these words.
    type
        Only those of this type.
    tag
        Only those with this tag.
    impact
        Only those: NEGATIVE, NEUTRAL or POSITIVE.
    source
        Only those that a USER or the SYSTEM wrote.
    """
    with connect(options) as client:
        found = client.physical_assets.logbook(
            find_battery(client, asset),
            text=text,
            type=type,
            tag=tag,
            impact=impact,
            source=source,
            **open_window(start, end),
        )
        columns = {"ID": "id", "When": "start", "Title": "title", "Type": "type", "Impact": "impact", "Tags": "tags"}
        print_rows("Entries", found, columns, options)


@app.command
def show(asset: BatteryName, entry: ListedID, *, options: Options = USUAL) -> None:
    """Show one entry.

    For example:

        gridloom logbook show "Husum 1" 099a8057
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        found = client.physical_assets.logbook_entry(battery, _find_entry(client, battery, entry))
    print_thing(found.title, found, FACTS, options)


@app.command
def add(
    asset: BatteryName,
    title: str,
    *,
    type: EntryType = "note",
    text: EntryText = None,
    impact: EntryImpact = None,
    start: EntryStart = None,
    end: EntryEnd = None,
    tags: EntryTags = (),
    options: Options = USUAL,
) -> None:
    """Write an entry into a battery's logbook; it stays, and may be corrected.

    For example:

        gridloom logbook add "Husum 1" "Inverter 3 replaced" --type repair --impact POSITIVE --tag inverter

    Parameters
    ----------
    title
        What happened, in one line.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        body = _describe_event(client, title, type, text, impact, start, end, tags)
        made = client.physical_assets.write_logbook(battery, **body)
    print_thing(made.title, made, FACTS, options)


@app.command
def correct(
    asset: BatteryName,
    entry: ListedID,
    title: str,
    *,
    type: EntryType = "note",
    text: EntryText = None,
    impact: EntryImpact = None,
    start: EntryStart = None,
    end: EntryEnd = None,
    tags: EntryTags = (),
    options: Options = USUAL,
) -> None:
    """Correct an entry by another that says so; the first one stays.

    For example:

        gridloom logbook correct "Husum 1" 099a8057 "Inverter 2 replaced, not 3"

    Parameters
    ----------
    title
        What happened, in one line.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        body = _describe_event(client, title, type, text, impact, start, end, tags)
        made = client.physical_assets.correct_logbook(battery, _find_entry(client, battery, entry), **body)
    print_thing(made.title, made, FACTS, options)


def _find_entry(client: Client, battery: Any, text: str) -> Any:
    return find_id(text, client.physical_assets.logbook(battery), "entry")


def _describe_event(
    client: Client,
    title: str,
    type: str,
    text: str | None,
    impact: LogbookImpact | None,
    start: datetime | None,
    end: datetime | None,
    tags: Sequence[str],
) -> dict[str, Any]:
    return {
        "title": title,
        "type": type,
        "start": read_instant(start) if start else service_time(client),
        "end": read_instant(end) if end else None,
        "description": text,
        "impact": impact,
        "tags": list(tags) or None,
    }
