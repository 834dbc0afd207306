"""Completion with Tab: commands and options from their help, names from what was listed last. Loads no library."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from gridloom_client.commands.directory import read_help_texts

NAMES_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(("assets", "availability", "dispatch", "grants", "logbook", "monitoring"), "physical asset"),
    **dict.fromkeys(("notifications", "performance", "reserves", "unavailability"), "physical asset"),
    **dict.fromkeys(("blocks", "markets", "position", "schedule", "virtual"), "virtual asset"),
    **dict.fromkeys(("identity-provider", "members", "organisations"), "organisation"),
    "fleets": "fleet",
    "portfolios": "portfolio",
}
"""The kind of thing that is named after a command; after any other command, names of all kinds."""
NAMES_AFTER: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--organisation", "--invite"), "organisation"),
    **dict.fromkeys(("--backing", "--assets"), "physical asset"),
    **{"--fleet": "fleet", "--portfolio": "portfolio"},
}
SCRIPTS: Final[Mapping[str, str]] = {
    "bash": """_gridloom() {
    local IFS=$'\\n'
    COMPREPLY=($(gridloom --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [ ${#COMPREPLY[@]} -gt 0 ] && compopt -o filenames
}
complete -o default -F _gridloom gridloom
""",
    "zsh": """#compdef gridloom
_gridloom() {
    local -a found
    found=("${(@f)$(gridloom --complete "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    [[ -n $found ]] && compadd -a found || _files
}
compdef _gridloom gridloom
""",
    "fish": """complete -c gridloom -a '(gridloom --complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}


def complete(words: Sequence[str]) -> list[str]:
    """Words that may stand in place of the last one."""
    typed = words[-1].lstrip("\"'") if words else ""
    found = sorted(set(_list_candidates(list(words[:-1]), typed)))
    return [each for each in found if each.casefold().startswith(typed.casefold())]


def _list_candidates(before: list[str], typed: str) -> Iterator[str]:
    texts = read_help_texts()
    plain = [word for word in before if not word.startswith("-")]
    group = next((" ".join(plain[:count]) for count in (2, 1) if " ".join(plain[:count]) in texts), "")
    if typed.startswith("-"):
        yield from re.findall(r"(?<![\w-])--[a-z][a-z-]*", texts.get(group, ""))
        return
    if not before:
        yield from (name for name in texts if " " not in name)
    elif len(before) == 1:
        yield from (name.partition(" ")[2] for name in texts if name.startswith(f"{before[0]} "))
    inner = any(name.startswith(f"{group} ") for name in texts)
    if before and not inner:
        names = read_names()
        kind = NAMES_AFTER.get(before[-1]) or NAMES_OF.get(before[0])
        yield from names.get(kind, ()) if kind else (each for kinds in names.values() for each in kinds)


def names_path() -> str:
    """Beside the profiles, readable only by their owner."""
    directory = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")  # noqa: PTH111, PTH118
    return os.path.join(directory, "gridloom", "names.json")  # noqa: PTH118 — pathlib takes longer than the rest


def read_names() -> dict[str, list[str]]:
    try:
        with open(names_path(), encoding="utf-8") as file:  # noqa: PTH123
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember_names(kind: str, names: Iterable[str | None]) -> None:
    """Of a kind of things those that were listed last; a directory that cannot be written to is no fault."""
    listed, known = sorted({name for name in names if name}), read_names()
    if not listed or known.get(kind) == listed:
        return
    with suppress(OSError):
        os.makedirs(os.path.dirname(names_path()), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        handle = os.open(names_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(known | {kind: listed}, file)


def forget_names() -> None:
    with suppress(OSError):
        os.remove(names_path())  # noqa: PTH107
