"""Which commands there are, what each is for, and where it is kept: only the one that is called is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, TextIO

ACCOUNT: Final = "Your account"
USING: Final = "Using the platform"
RUNNING: Final = "Running the platform"

USER_COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    "login": (ACCOUNT, "account:login", "Sign in and remember it."),
    "join": (ACCOUNT, "account:join", "Accept an invitation."),
    "logout": (ACCOUNT, "account:logout", "Sign out and forget it."),
    "password": (ACCOUNT, "account:password", "Change your password."),
    "whoami": (ACCOUNT, "account:whoami", "Who you are here."),
    "sessions": (ACCOUNT, "credentials:sessions", "Where you are signed in: list, end."),
    "second-factor": (ACCOUNT, "credentials:second_factor", "One-time codes: enable, disable."),
    "keys": (ACCOUNT, "credentials:keys", "API keys: list, create, revoke."),
    "profile": (ACCOUNT, "profile:app", "Who you are at which service: add, use, list."),
    "auctions": (USING, "auctions:app", "Auctions of virtual batteries: list, bid, withdraw."),
    "virtual": (USING, "virtual_assets:app", "Virtual batteries: list, show, change."),
    "blocks": (USING, "blocks:app", "Parts of a virtual battery, by market."),
    "portfolios": (USING, "portfolios:app", "Groups of virtual batteries."),
    "schedule": (USING, "scheduling.schedule:app", "What a virtual battery does: set, optimise."),
    "position": (USING, "position:app", "What a virtual battery traded and stores."),
    "markets": (USING, "markets:app", "The markets of a day: day, plan, order, orders."),
    "settlements": (USING, "settlements:app", "Recorded trades and awards."),
    "prices": (USING, "prices:app", "A day's prices, published and forecast."),
    "revenue": (USING, "revenue:revenue", "What assets earned."),
    "benchmark": (USING, "benchmark:benchmark", "What days earned beside what they could have."),
    "statement": (USING, "revenue:statement", "Who pays and who earns."),
    "statements": (USING, "statements:app", "Issued months: list, show, download."),
    "sheets": (USING, "sheets:app", "Workbooks for spreadsheets."),
    "lake": (USING, "lake:app", "Market days as Parquet in a directory or a bucket."),
    "backtest": (USING, "backtest:app", "Past days played again."),
    "assets": (USING, "assets:app", "Physical assets: installed batteries."),
    "fleets": (USING, "fleets:app", "Groups of batteries."),
    "dispatch": (USING, "dispatch:app", "What a battery must do: show, acknowledge."),
    "performance": (USING, "dispatch:performance", "What a battery did of it."),
    "reserves": (USING, "reserves:app", "FCR and aFRR of a battery: bid, bids, results."),
    "logbook": (USING, "logbook:app", "What happened to a battery: list, add, correct."),
    "notifications": (USING, "notifications:app", "Market messages of a battery (REMIT)."),
    "grants": (USING, "grants:app", "What others may do with a battery."),
    "availability": (USING, "unavailability:availability", "What a battery can do."),
    "unavailability": (USING, "unavailability:app", "What a battery cannot do for a while."),
    "monitoring": (USING, "monitoring:app", "Telemetry: tail, export, import."),
    "gateway": (USING, "gateway:app", "A site's gateway (MQTT, Modbus): init, check, run, field."),
    "mcp": (USING, "assistants:mcp", "The platform as tools for an AI assistant."),
    "events": (USING, "events:app", "What happens, as it happens."),
    "webhooks": (USING, "webhooks:app", "Events sent to an address of yours."),
    "audit": (USING, "audit:audit", "Who did what, when and from where."),
    "organisations": (USING, "organisations:app", "Who takes part."),
    "members": (USING, "members:app", "People of an organisation, roles, invitations."),
    "identity-provider": (USING, "identity_provider:app", "Where members sign in, by OpenID Connect."),
    "invite": (USING, "organisations:invite", "Invite a person to an organisation."),
    "feeds": (USING, "feeds:app", "Feeds of market data: list, enable, run, backfill."),
    "import": (USING, "imports:app", "Published prices and settlements from files."),
    "delivery": (USING, "delivery:app", "Runs that turn schedules into dispatch."),
    "health": (USING, "health:health", "Whether the service can do its work."),
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


OTHER_WORDS: Final[dict[str, str]] = {
    "afrr": "reserves bid",
    "ancillary": "reserves",
    "battery": "assets",
    "batteries": "assets",
    "fcr": "reserves bid",
    "people": "members",
    "outage": "unavailability add",
    "outages": "unavailability list",
    "remit": "notifications",
    "signin": "login",
    "soc": "position energy",
    "sso": "identity-provider",
    "status": "health",
    "telemetry": "monitoring",
    "trades": "settlements list",
    "users": "members",
}
"""Words that people type for a command of another name."""
SYNONYMS: Final = (
    ("add", "create", "make", "new", "register"),
    ("cancel", "delete", "remove", "revoke", "rm", "withdraw"),
    ("change", "edit", "rename", "set", "update"),
    ("get", "info", "read", "show", "view"),
    ("list", "ls"),
)
"""Words for one job, of which a group has its own."""


def find_help(words: str) -> str | None:
    """The text of a command's `--help`, as `sdk/help_texts.py` wrote it."""
    return read_help_texts().get(words)


def read_help_texts() -> dict[str, str]:
    path = os.path.join(os.path.dirname(__file__), "help.txt")  # noqa: PTH118, PTH120 — pathlib takes longer than the rest
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            texts = file.read().split("\f")
    except OSError:
        return {}
    return {words: help for words, _, help in (text.partition("\n") for text in texts)}


def is_unknown(words: Sequence[str]) -> bool:
    """Whether the words name no command; known before any library is loaded."""
    if words[0] not in USER_COMMANDS:
        return words[0] not in OPERATOR_COMMANDS and not words[0].startswith("-")
    further = words[1] if len(words) > 1 else "-"
    texts = {} if further.startswith("-") else read_help_texts()
    if not texts.get(words[0], "").startswith(f"Usage: gridloom {words[0]} COMMAND\n"):
        return (
            False  # it is no group, or one that does something by itself, as `gridloom backtest 2026-10-01 2026-11-01`
        )
    return f"{words[0]} {further}" not in texts


def asks_for_json(words: Sequence[str]) -> bool:
    """Where the options of a command could not be read."""
    pairs = zip(words, [*words[1:], ""], strict=True)
    return any(
        word in ("--json", "--output=json", "-ojson") or (word in ("-o", "--output") and value == "json")
        for word, value in pairs
    )


def describe_unknown(words: Sequence[str]) -> str:
    """The message for words that are no command: the nearest ones that this installation has."""
    from importlib.util import find_spec

    group, further = words[0], words[1] if len(words) > 1 else ""
    usable = [name for name in read_help_texts() if name.partition(" ")[0] in USER_COMMANDS or find_spec("asyncpg")]
    if group in USER_COMMANDS:
        inner = [name for name in usable if name.startswith(f"{group} ")]
        names = [name.split()[1] for name in inner]
        same_job = [name for name in names for job in SYNONYMS if name in job and further in job]
        nearest = [f"{group} {name}" for name in same_job or _find_nearest(further, names)]
        typed, rest = f"{group} {further}", f"gridloom {group} --help lists them."
    else:
        same = [name for name in usable if name.endswith(f" {group}")]
        same = same or [name for name in usable if name.endswith(f" {group.removesuffix('s')}")]
        other = [OTHER_WORDS[group.lower()]] if group.lower() in OTHER_WORDS else []
        nearest = other or same or _find_nearest(group, [name for name in usable if " " not in name])
        typed, rest = group, "gridloom --help lists them."
    named = [f"gridloom {name}" for name in nearest[:4]]
    hint = f"did you mean {' or '.join(named)}?" if named else rest
    return f"There is no command {typed}; {hint}"


def _find_nearest(word: str, names: Sequence[str]) -> list[str]:
    from difflib import get_close_matches

    return [name for name in names if name.startswith(word)][:2] or get_close_matches(word, names, n=1, cutoff=0.6)


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
