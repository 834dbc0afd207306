"""`gridloom events …`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from gridloom_client.commands.terminal.ending import CommandGroup, strip_controls
from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.commands.terminal.rendering import instant_text, print_followed

if TYPE_CHECKING:
    from gridloom_client.response_types import Event

app = CommandGroup(name="events", help="What happens, as it happens.", group="Using the platform")


@app.command
def tail(
    *, types: str | None = None, after: str | None = None, count: int | None = None, options: Options = USUAL
) -> None:
    """Print events as they happen until you press Ctrl-C; a lost connection is taken up where it was lost.

    For example:

        gridloom events tail
        gridloom events tail --types auction.opened,auction.cleared
        gridloom events tail --after 0 -o ndjson > events.ndjson

    Parameters
    ----------
    types
        Only these, separated by commas: bid.placed,auction.cleared
    after
        Start after this place, the first word of a line, instead of now; 0 for all that is stored.
    count
        Stop after so many.
    """
    wanted = [name.strip() for name in types.split(",")] if types else None
    with connect(options) as client:
        for number, event in enumerate(client.events.follow(types=wanted, last_event_id=after), 1):
            if not print_followed(event, options, is_first=number == 1):
                _print_event(event, options)
            if number == count:
                return


def _print_event(event: Event, options: Options) -> None:
    from rich.console import Console
    from rich.text import Text

    line = Text(f"{event.place} {instant_text(event.time, utc=options.utc)} ", style="dim")
    line.append(event.type, style="bold not dim")
    line.append(f" {strip_controls(event.subject or '')} ", style="not dim")
    line.append(strip_controls(msgspec.json.encode(event.data).decode()))
    Console().print(line, soft_wrap=True)
    sys.stdout.flush()
