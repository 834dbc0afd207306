"""The commands of the platform's users, as one cyclopts App that `gridloom` mounts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gridloom_client.commands.directory import USER_COMMANDS

if TYPE_CHECKING:
    from gridloom_client.commands.terminal.ending import CommandGroup


def make_app(wanted: str | None = None) -> CommandGroup:
    """All commands, or only the one that is wanted, so that nothing else has to be imported."""
    from gridloom_client.commands.terminal.ending import CommandGroup

    # Markdown would be another 0.1 s of CPU for each --help.
    app = CommandGroup(name="gridloom", help="Use the platform.", help_format="plaintext")
    for name, (group, place, _) in USER_COMMANDS.items():
        if wanted in (None, name):
            module, _, attribute = place.partition(":")
            command: Any = getattr(import_module(f"{__name__}.{module}"), attribute)
            if isinstance(command, CommandGroup):
                app.command(command)
            else:
                app.command(command, name=name, group=group)
    return app


__all__ = ["make_app"]
