"""Which commands there are, what each is for, and where it is kept: only the one that is called is imported."""

from __future__ import annotations

import sys
from typing import Final, TextIO

ACCOUNT: Final = "Your account"
USING: Final = "Using the platform"
RUNNING: Final = "Running the platform"

USER_COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    "login": (ACCOUNT, "gridloom_client.commands.account:login", "Sign in and remember it."),
    "join": (ACCOUNT, "gridloom_client.commands.account:join", "Accept an invitation."),
    "logout": (ACCOUNT, "gridloom_client.commands.account:logout", "Sign out and forget it."),
    "whoami": (ACCOUNT, "gridloom_client.commands.account:whoami", "Who you are here."),
    "profile": (ACCOUNT, "gridloom_client.commands.profile:app", "Who you are at which service: add, use, list."),
    "auctions": (USING, "gridloom_client.commands.auctions:app", "Auctions of virtual batteries: list, watch, bid."),
    "virtual": (USING, "gridloom_client.commands.virtual_assets:app", "Virtual batteries of your organisation."),
    "schedule": (USING, "gridloom_client.commands.schedule:app", "What a virtual battery does: set, optimise."),
    "prices": (USING, "gridloom_client.commands.prices:prices", "A day's prices, published and forecast."),
    "revenue": (USING, "gridloom_client.commands.revenue:revenue", "What assets earned."),
    "statement": (USING, "gridloom_client.commands.revenue:statement", "Who pays and who earns."),
    "backtest": (USING, "gridloom_client.commands.backtest:app", "Past days played again."),
    "assets": (USING, "gridloom_client.commands.assets:app", "Physical assets: batteries that stand somewhere."),
    "availability": (USING, "gridloom_client.commands.unavailability:availability", "What a battery can do."),
    "unavailability": (USING, "gridloom_client.commands.unavailability:app", "What a battery cannot do for a while."),
    "monitoring": (USING, "gridloom_client.commands.monitoring:app", "Telemetry: tail, export, import."),
    "events": (USING, "gridloom_client.commands.events:app", "What happens, as it happens."),
    "organisations": (USING, "gridloom_client.commands.organisations:app", "Who takes part."),
    "invite": (USING, "gridloom_client.commands.organisations:invite", "Invite somebody to an organisation."),
    "import": (USING, "gridloom_client.commands.imports:app", "Published prices and settlements from files."),
    "call": (USING, "gridloom_client.commands.call:call", "Any operation of the interface."),
    "clock": (USING, "gridloom_client.commands.clock:clock", "The sandbox's time, shown or moved."),
    "sandbox": (USING, "gridloom_client.commands.sandbox:app", "The sandbox: its clock, its world, starting over."),
}
"""Group, where to find it, and its purpose in a line."""

OPERATOR_COMMANDS: Final[dict[str, str]] = {
    "serve": "Serve the platform.",
    "migrate": "Bring the database up to this release.",
    "let-in": "Invite somebody without signing in.",
    "distribute": "Spread the database over a Citus cluster.",
    "jobs": "Jobs that need attention.",
    "backup": "Write the whole database to a file.",
    "restore": "Fill an empty database from a backup.",
    "rebuild": "Make kept sums anew from the facts.",
    "openapi": "Print the interface as OpenAPI 3.1.",
    "rotate-signing-key": "Sign tokens with a new key.",
}


def write_help(stream: TextIO) -> None:
    """What `gridloom` alone says, within 80 columns."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if stream.isatty() and sys.platform != "win32" else ("", "")
    lines = ["The open platform that weaves physical batteries into virtual ones.", "", "Usage: gridloom COMMAND …", ""]
    for group in (USING, ACCOUNT):
        lines += [f"{bold}{group}{plain}"]
        lines += [f"  {name:19} {purpose}" for name, (of, _, purpose) in USER_COMMANDS.items() if of == group]
        lines += [""]
    lines += [f"{bold}{RUNNING}{plain}"]
    lines += [f"  {name:19} {purpose}" for name, purpose in OPERATOR_COMMANDS.items()]
    lines += [
        "",
        "gridloom COMMAND --help says more. gridloom --version tells the version.",
        "gridloom --install-completion [bash|zsh|fish] completes commands with Tab.",
    ]
    stream.write("\n".join(lines) + "\n")
