"""`gridloom clock`: the sandbox's time."""

from __future__ import annotations

from gridloom_client.commands.ending import ending
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_json


@ending
def clock(*, advance: str | None = None, options: Options = USUAL) -> None:
    """Show the sandbox's time, or move it forward; what falls due meanwhile happens at once and in order.

    Parameters
    ----------
    advance
        By how much, as an ISO 8601 duration: PT1H, P1D.
    """
    with connect(options) as client:
        seen = client.sandbox.clock() if advance is None else client.sandbox.set_clock(advance=advance)
    if options.json:
        print_json(seen)
    else:
        print(f"{seen.now:%Y-%m-%d %H:%M:%SZ}")
