"""`gridloom feeds`: market data that the platform pulls by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup
from gridloom_client.commands.terminal.options import USUAL, MarketDay, Options, connect
from gridloom_client.commands.terminal.progress import count_progress, pause
from gridloom_client.commands.terminal.rendering import print_data, print_facts, print_one, print_table
from gridloom_client.commands.terminal.windows import choose_day, market_day, service_time
from gridloom_client.errors import GridloomError
from gridloom_client.literals import FeedName

if TYPE_CHECKING:
    from gridloom_client.answers import FeedRun
    from gridloom_client.client import Client

app = CommandGroup(
    name="feeds", help="Market data that the platform pulls: list, enable, run, backfill.", group="Using the platform"
)
Feed = Annotated[FeedName, Parameter(help="The source.")]
POLL_S: Final = 0.5
_ENDED: Final = ("DONE", "FAILED")


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List the sources and how each of their series stands.

    For example:

        gridloom feeds list
    """
    with connect(options) as client:
        found = list(client.feeds.list())
    if print_data(found, options):
        return
    rows = [
        (feed.name, one.series, one.status, one.source, one.complete_until, one.next_at, one.detail)
        for feed in found
        for one in feed.series
    ]
    print_table("Feeds", ["Feed", "Series", "Status", "Value of", "Complete until", "Next", "Detail"], rows, options)


@app.command
def enable(feed: Feed, *, off: Annotated[bool, Parameter(negative="")] = False, options: Options = USUAL) -> None:
    """Switch a source on, or off.

    For example:

        gridloom feeds enable smard
        gridloom feeds enable smard --off

    Parameters
    ----------
    off
        Switch it off.
    """
    with connect(options) as client:
        found = client.feeds.switch(feed, enabled=not off)
    if not print_one(found, options):
        print_facts(found.name, {"enabled": found.enabled})


@app.command
def run(feed: Feed, *, options: Options = USUAL) -> None:
    """Look at a source now, and show what came of it.

    For example:

        gridloom feeds run smard
    """
    with connect(options) as client:
        asked = client.feeds.run(feed)
        _show_run(_wait_for_run(client, feed, asked), options)


@app.command
def backfill(feed: Feed, *, first: MarketDay, last: MarketDay = None, options: Options = USUAL) -> None:
    """Fill past days, at most 366, month by month; what is recorded already stays.

    For example:

        gridloom feeds backfill smard --first 2026-10-01 --last 2026-10-31

    Parameters
    ----------
    first
        The first market day.
    last
        The last one; today when left out.
    """
    with connect(options) as client:
        now = service_time(client)
        start, _ = market_day(choose_day(first, now))
        _, end = market_day(choose_day(last, now))
        asked = client.feeds.run(feed, start=start, end=end)
        _show_run(_wait_for_run(client, feed, asked), options)


def _wait_for_run(client: Client, feed: FeedName, asked: FeedRun) -> FeedRun:
    """With a bar; the run goes on in the service when this is interrupted."""
    with count_progress() as progress:
        task = progress.add_task("filling", total=100)
        while True:
            found = next((one for one in client.feeds.runs(feed) if one.id == asked.id), None)
            if found is None:
                raise GridloomError("The run is no longer among the last hundred of its feed.")
            progress.update(task, completed=100 * found.progress)
            if found.status in _ENDED:
                return found
            pause(POLL_S)


def _show_run(run: FeedRun, options: Options) -> None:
    if print_one(run, options):
        return
    facts = {
        "status": run.status,
        "asked": run.asked,
        "rows new": run.rows_new,
        "rows changed": run.rows_changed,
        "HTTP status": run.http_status,
        "fault": run.fault,
    }
    print_facts(f"Run of {run.start:%Y-%m-%d} to {run.end:%Y-%m-%d}", facts)
    if run.status == "FAILED":
        raise GridloomError(run.fault or "The run failed.")
