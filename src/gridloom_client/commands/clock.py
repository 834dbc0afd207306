"""`gridloom clock`: the sandbox's time."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.history import mention_history
from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.commands.terminal.progress import waiting
from gridloom_client.commands.terminal.rendering import MARKET_ZONE, print_one
from gridloom_client.commands.terminal.windows import iso_duration


def clock(
    *,
    advance: str | None = None,
    to: datetime | None = None,
    stop: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Show the sandbox's time, or move it forward; what falls due meanwhile happens at once and in order.

    For example:

        gridloom clock
        gridloom clock --advance 1h
        gridloom clock --to 2026-11-16T12:00
        gridloom sandbox clock --advance 1d
        gridloom clock --stop

    Parameters
    ----------
    advance
        By how much: 1h, 90m, 1d, or PT1H; at most 31 days.
    to
        To which instant; without an offset it is market time.
    stop
        End the move that is under way where it has got to; for the operator.
    """
    if (advance is not None) + (to is not None) + stop > 1:
        raise Misunderstood("Give one of --advance, --to and --stop.")
    instant = to.replace(tzinfo=MARKET_ZONE) if to is not None and to.tzinfo is None else to
    moves = instant is not None or advance is not None
    with connect(options, mentions_history=False) as client, waiting("moving on") if moves else nullcontext():
        if instant is not None:
            seen = client.sandbox.set_clock(now=instant)
        elif advance is not None:
            seen = client.sandbox.set_clock(advance=iso_duration(advance))
        else:
            if stop:
                client.sandbox.stop_clock_walk()
            seen = client.sandbox.clock()
        mention_history(client)
    if not print_one(seen, options):
        print(f"{seen.now.astimezone(UTC if options.utc else MARKET_ZONE):%Y-%m-%d %H:%M:%S %Z}")
        if seen.walk is not None:
            print(
                f"on its way to {seen.walk.target.astimezone(UTC if options.utc else MARKET_ZONE):%Y-%m-%d %H:%M:%S %Z}"
            )
