"""`gridloom events …`"""

from __future__ import annotations

import sys

import msgspec
from cyclopts import App
from rich.console import Console
from rich.markup import escape

from gridloom_client.answers.events import Event
from gridloom_client.commands.ending import ending
from gridloom_client.commands.options import USUAL, Options, connect

app = App(name="events", help="What happens, as it happens.", group="Using the platform")


@app.command
@ending
def tail(
    *, types: str | None = None, after: str | None = None, count: int | None = None, options: Options = USUAL
) -> None:
    """Print events as they happen until you press Ctrl-C; a lost connection is taken up where it was lost.

    Parameters
    ----------
    types
        Only these, separated by commas: bid.placed,auction.cleared
    after
        Start after this event instead of now.
    count
        Stop after so many.
    """
    wanted = [name.strip() for name in types.split(",")] if types else None
    with connect(options) as client:
        for number, event in enumerate(client.events.follow(types=wanted, last_event_id=after), 1):
            _print(event, options)
            if number == count:
                return


def _print(event: Event, options: Options) -> None:
    data = msgspec.json.encode(event.data).decode()
    if options.json:
        sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
    else:
        when = event.time.strftime("%H:%M:%S")
        Console().print(
            f"[dim]{when}[/] [bold]{escape(event.type)}[/] {escape(event.subject or '')} [dim]{escape(data)}[/]",
            soft_wrap=True,
            highlight=False,
        )
    sys.stdout.flush()
