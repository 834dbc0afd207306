"""How far a sandbox has played its history, in words."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gridloom_client.errors import NotFoundError, ProblemError

if TYPE_CHECKING:
    from gridloom_client.answers import Simulator
    from gridloom_client.client import Client


def history_text(seen: Simulator) -> str:
    """For example `31 %, about 80 s left`."""
    if seen.history_complete:
        return "complete"
    share = f"{seen.progress * 100:.0f} %"
    left_s = seen.history_seconds_left
    return share if left_s is None else f"{share}, about {left_s} s left"


def mention_history(client: Client) -> None:
    """Beside the answer, never in it: that the world's past is still being played."""
    try:
        seen = client.sandbox.simulator()
    except NotFoundError:
        return
    if not seen.history_complete:
        sys.stderr.write(f"history {history_text(seen)}\n")


def mention_history_to_people(client: Client) -> None:
    """The same before the answer of any command, where a person reads it: figures of an unfinished past change. A
    service that refuses this question answers the command's own."""
    if sys.stderr.isatty():
        with suppress(ProblemError):
            mention_history(client)
