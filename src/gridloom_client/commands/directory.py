"""Which commands there are, what each is for, and where it is kept: only the one that is called is imported."""

from __future__ import annotations

import os
import sys
from typing import Final, TextIO

ACCOUNT: Final = "Your account"
USING: Final = "Using the platform"
RUNNING: Final = "Running the platform"

USER_COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    "login": (ACCOUNT, "account:login", "Sign in and remember it."),
    "join": (ACCOUNT, "account:join", "Accept an invitation."),
    "logout": (ACCOUNT, "account:logout", "Sign out and forget it."),
    "whoami": (ACCOUNT, "account:whoami", "Who you are here."),
    "sessions": (ACCOUNT, "credentials:sessions", "Where you are signed in: list, end."),
    "second-factor": (ACCOUNT, "credentials:second_factor", "One-time codes: enable, disable."),
    "keys": (ACCOUNT, "credentials:keys", "API keys: list, create, revoke."),
    "profile": (ACCOUNT, "profile:app", "Who you are at which service: add, use, list."),
    "auctions": (USING, "auctions:app", "Auctions of virtual batteries: list, bid, withdraw."),
    "virtual": (USING, "virtual_assets:app", "Virtual batteries of your organisation."),
    "portfolios": (USING, "portfolios:app", "Groups of virtual batteries."),
    "schedule": (USING, "scheduling.schedule:app", "What a virtual battery does: set, optimise."),
    "markets": (USING, "markets:app", "The markets of a day: day, order, orders, cancel."),
    "prices": (USING, "prices:prices", "A day's prices, published and forecast."),
    "revenue": (USING, "revenue:revenue", "What assets earned."),
    "statement": (USING, "revenue:statement", "Who pays and who earns."),
    "statements": (USING, "statements:app", "Issued months: list, show, download."),
    "sheets": (USING, "sheets:app", "Workbooks for spreadsheets."),
    "lake": (USING, "lake:app", "Market days as Parquet in a directory or a bucket."),
    "backtest": (USING, "backtest:app", "Past days played again."),
    "assets": (USING, "assets:app", "Physical assets: installed batteries."),
    "grants": (USING, "grants:app", "What others may do with a battery."),
    "availability": (USING, "unavailability:availability", "What a battery can do."),
    "unavailability": (USING, "unavailability:app", "What a battery cannot do for a while."),
    "monitoring": (USING, "monitoring:app", "Telemetry: tail, export, import."),
    "gateway": (USING, "gateway:app", "A site's gateway, by MQTT and Modbus: init, check, run, field."),
    "events": (USING, "events:app", "What happens, as it happens."),
    "webhooks": (USING, "webhooks:app", "Events sent to an address of yours."),
    "audit": (USING, "audit:audit", "Who did what, when and from where."),
    "organisations": (USING, "organisations:app", "Who takes part."),
    "invite": (USING, "organisations:invite", "Invite a person to an organisation."),
    "feeds": (USING, "feeds:app", "Feeds of market data: list, enable, run, backfill."),
    "import": (USING, "imports:app", "Published prices and settlements from files."),
    "call": (USING, "call:call", "Any operation of the interface."),
    "clock": (USING, "clock:clock", "The sandbox's time, shown or moved."),
    "sandbox": (USING, "sandbox:app", "The sandbox: its clock, its world, starting over."),
}
"""Group, where to find it beside this module, and its purpose in a line."""

OPERATOR_COMMANDS: Final[dict[str, str]] = {
    "serve": "Serve the platform.",
    "check": "Validate the settings before a start.",
    "migrate": "Bring the database up to this release.",
    "let-in": "Invite a person without signing in.",
    "distribute": "Spread the database over a Citus cluster.",
    "jobs": "Jobs that need attention.",
    "backup": "Write the whole database to a file.",
    "restore": "Fill an empty database from a backup.",
    "upgrade-report": "List what an upgrade changes in open months.",
    "rebuild": "Recompute revenue aggregates from settled facts.",
    "openapi": "Print the interface as OpenAPI 3.1.",
    "rotate-signing-key": "Sign tokens with a new key.",
    "rotate-secrets": "Seal the secrets in the database anew.",
    "reset-second-factor": "Remove a user's second factor.",
}


def find_help(words: str) -> str | None:
    """The text of a command's `--help`, as `sdk/help_texts.py` wrote it."""
    path = os.path.join(os.path.dirname(__file__), "help.txt")  # noqa: PTH118, PTH120 — pathlib takes longer than the rest
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            texts = file.read().split("\f")
    except OSError:
        return None
    return next((text.partition("\n")[2] for text in texts if text.partition("\n")[0] == words), None)


def describe_unknown(name: str) -> str:
    """The message for a word that is no command: the nearest that this installation has."""
    from difflib import get_close_matches
    from importlib.util import find_spec

    usable = [*USER_COMMANDS, *(OPERATOR_COMMANDS if find_spec("asyncpg") else ())]
    nearest = get_close_matches(name, usable, n=1, cutoff=0.5)
    hint = f"did you mean gridloom {nearest[0]}?" if nearest else "gridloom --help lists them."
    return f"There is no command {name}; {hint}"


def write_help(stream: TextIO) -> None:
    """The text of `gridloom` alone, within 80 columns."""
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
