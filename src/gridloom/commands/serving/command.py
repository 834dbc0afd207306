"""`gridloom serve`: the service, and what a person is shown once it answers. Loads nothing of the other commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gridloom.commands.errors import is_for_people

if TYPE_CHECKING:
    from gridloom.commands.serving.serve import StartupReport


def run_service() -> None:
    """Serve the platform as the environment and .env say."""
    from gridloom.platform.worker.prometheus_multiprocess import set_metrics_directory
    from gridloom.settings import describe_unknown_variable, find_unknown_variables, read_settings

    settings = read_settings()
    set_metrics_directory(settings)
    from structlog import get_logger

    from gridloom.commands.serving.logs import configure_logs
    from gridloom.commands.serving.serve import serve

    configure_logs(settings.log_format, settings.log_level.upper())
    for name, nearest in find_unknown_variables().items():
        get_logger().warning("settings.unknown", advice=describe_unknown_variable(name, nearest))
    try:
        serve(settings, announce_start)
    except Exception as error:
        if settings.log_format != "json" or not is_for_people(error):
            raise
        get_logger().error("service.failed", reason=str(error))
        raise SystemExit(1) from None


def announce_start(started: StartupReport) -> None:
    """For the person at the keyboard; a production has its log."""
    if started.settings.environment == "production":
        return
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table

    settings = started.settings
    facts = Table.grid(padding=(0, 2))
    facts.add_row("Address", f"[bold]{started.address}[/]")
    facts.add_row("Docs", f"{started.address}/docs")
    facts.add_row("Database", str(settings.home.absolute()) if started.embedded else "your PostgreSQL")
    facts.add_row("Workers", str(settings.workers))
    if started.bootstrap is not None:
        facts.add_row("Username", f"[bold]{started.bootstrap.username}[/]")
        if started.bootstrap.is_made_up:
            facts.add_row("Password", f"[bold]{started.bootstrap.password}[/]")
    for sign_in in started.sign_ins:
        facts.add_row(f"Or as {sign_in.username}", f"[bold]{sign_in.password}[/]  [dim]({sign_in.shown_as})[/]")
    if started.history is not None:
        facts.add_row("World", started.history)
    title = f"Gridloom {settings.environment}, ready in {started.seconds:.1f} s"
    console = Console(soft_wrap=not sys.stdout.isatty())
    console.print(Panel(facts, title=title, title_align="left", expand=False, padding=(1, 2)))
    if started.bootstrap is None:
        console.print("No ADMIN can sign in? gridloom let-in EMAIL, then gridloom join.", style="dim")
    console.print("Ctrl-C stops it.", style="dim")
    sys.stdout.flush()
