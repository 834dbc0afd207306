"""The command `gridloom`: what an operator runs, and beside it what a user of the platform runs."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

from cyclopts import App, Parameter

from gridloom.commands.errors import exit_on_known_errors, exit_with

if TYPE_CHECKING:
    from rich.progress import Progress

    from gridloom.settings import Settings
    from gridloom.settlements.rebuilding import RebuildReport

app = App(
    name="gridloom",
    help="The open platform that weaves physical batteries into virtual ones.",
    help_format="plaintext",  # Markdown would be another 0.1 s of CPU for each --help
)


@app.command(group="Running the platform")
def serve() -> None:
    """Serve the platform; the environment and .env say how (docs/operations.md).

    For example:

        gridloom serve
        GRIDLOOM_PORT=9000 GRIDLOOM_SIMULATOR=off gridloom serve
    """
    from gridloom.commands.serving.command import run_service

    run_service()


@app.command(group="Running the platform")
def check() -> None:
    """Validate the settings of this environment before a start: database, rights, clock, disk, secrets, proxy, mail.

    Changes nothing. Ends with 1 if a check fails.

    For example:

        gridloom check
        GRIDLOOM_ENVIRONMENT=production gridloom check
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gridloom.commands.serving.preflight import run_checks
    from gridloom.commands.serving.preflight_database import Verdict

    colours = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.FAILED: "red"}
    results = run_checks()
    table = Table("check", "result", "detail")
    for one in results:
        table.add_row(one.name, Text(one.verdict.value, style=colours[one.verdict]), Text(one.detail))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    if any(one.verdict is Verdict.FAILED for one in results):
        raise SystemExit(1)


@app.command(group="Running the platform")
def migrate() -> None:
    """Bring the database up to this release.

    For example:

        gridloom migrate
    """
    from gridloom.commands.operator import migrate_database

    for name in migrate_database(_read_settings()):
        print(f"applied {name}")
    print("The database is up to date.")


@app.command(name="upgrade-report", group="Running the platform")
def upgrade_report() -> None:
    """List what the settlement of failures changes in the months that are not issued, in EUR by organisation, as CSV.

    Issued months stay as they are. To be run once after an upgrade, beside the service; it changes nothing.

    For example:

        gridloom upgrade-report
        gridloom upgrade-report > changes.csv
    """
    from gridloom.commands.operator import report_upgrade
    from gridloom.platform.http.responses import CSV
    from gridloom.platform.http.spreadsheets import write_csv

    names = ("organisation", "organisationID", "month", "line", "before", "after", "change")
    rows = [
        (one.organisation_name, one.organisation_id, one.month, one.line, one.before, one.after, one.change)
        for one in report_upgrade(_read_settings())
    ]
    sys.stdout.write(write_csv([names, *rows], CSV).decode())


@app.command(group="Running the platform")
def distribute() -> None:
    """Spread the database over the machines of a Citus cluster; may be run again (docs/operations.md).

    For example:

        gridloom distribute
    """
    from gridloom.commands.operator import distribute_database

    for name in distribute_database(_read_settings()):
        print(f"moved {name}")
    print("The database is spread over its cluster.")


@app.command(group="Running the platform")
def jobs(*, revive: Annotated[tuple[str, str] | None, Parameter(negative="")] = None) -> None:
    """List the jobs that need attention: they fail again and again, or killed their process and are dead-lettered.

    For example:

        gridloom jobs
        gridloom jobs --revive KIND KEY

    Parameters
    ----------
    revive
        Kind and key of one that is to be tried at once, as if it had never failed.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gridloom.commands.operator import failing_jobs

    table = Table("kind", "key", "attempts", "failed at", "next attempt", "last error")
    for one in failing_jobs(_read_settings(), revive):
        failed_at = f"{one['failed_at']:%Y-%m-%d %H:%M:%S}"
        again_at = "dead-lettered"
        if one["state"] == "WAITING":
            again_at = f"{one['not_before']:%Y-%m-%d %H:%M:%S}" if one["not_before"] else "now"
        table.add_row(one["kind"], one["key"], str(one["attempts"]), failed_at, again_at, Text(one["last_error"]))
    Console().print(table if table.row_count else "No job needs attention.")


@app.command(group="Running the platform")
def openapi() -> None:
    """Print the interface as OpenAPI 3.1.

    For example:

        gridloom openapi > openapi.json
    """
    from gridloom.commands.operator import openapi_json

    sys.stdout.write(openapi_json(_settings_for_documents()))


@app.command(group="Running the platform")
def let_in(
    email: str,
    *,
    role: Literal["ADMIN", "TRADER", "ENGINEER", "VIEWER"] = "ADMIN",
    organisation: Annotated[UUID | None, Parameter(name="--organisation-id")] = None,
) -> None:
    """Invite a person without signing in, on the server's machine: the way back when no ADMIN can sign in any more.

    For example:

        gridloom let-in you@example.com
        gridloom let-in ada@example.com --role VIEWER --organisation-id 01890a5d-ac96-774b-bcce-b302099a8057

    Parameters
    ----------
    email
        Where the invitation would go; the token is printed here.
    role
        What the new member may do.
    organisation
        The organisation to join; the operator's when left out.
    """
    from gridloom.commands.operator import invite_member

    invitation, token, name = invite_member(_read_settings(), email, role, organisation)
    until = f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC"
    print(f"{email} may join {name} as {role} until {until}. gridloom join asks for this token:\n")
    print(token)


@app.command(group="Running the platform")
def rotate_signing_key(*, distrust: bool = False) -> None:
    """Replace the key that signs access tokens; users stay signed in.

    For example:

        gridloom rotate-signing-key
        gridloom rotate-signing-key --distrust

    Parameters
    ----------
    distrust
        The present key has leaked: accept no token signed with it from now on.
    """
    from gridloom.commands.operator import rotate_key

    print(f"The new key is {rotate_key(_read_settings(), distrust=distrust)}.")


@app.command(group="Running the platform")
def rotate_secrets() -> None:
    """Seal the secrets in the database with the present GRIDLOOM_SECRETS_KEY, once all replicas have it.

    Signing keys, second factors, secrets of webhooks and identity providers. To change the key: set the new one, and
    the old one in GRIDLOOM_FORMER_SECRETS_KEYS, on all replicas, run this, then remove the old one.

    For example:

        gridloom rotate-secrets
    """
    from gridloom.commands.accounts import rotate_secrets as run

    done = run(_read_settings())
    print(
        f"Sealed anew: {done.signing_keys} signing keys, secrets of {done.webhooks} webhooks, "
        f"{done.second_factors} second factors, secrets of {done.identity_providers} identity providers."
    )


@app.command(group="Running the platform")
def reset_second_factor(username: str) -> None:
    """Remove a user's second factor without signing in, on the server's machine: for the last ADMIN who has lost it.

    For example:

        gridloom reset-second-factor ada

    Parameters
    ----------
    username
        Whose second factor is removed; the password stays.
    """
    from gridloom.commands.accounts import reset_second_factor as run

    print(f"{run(_read_settings(), username)} signs in with the password alone until a second factor is set up again.")


rebuild = App(name="rebuild", help="Make anew what is computed from recorded facts.", group="Running the platform")
app.command(rebuild)


@rebuild.command
def revenue(*, asset: Annotated[list[UUID] | None, Parameter(negative="")] = None, check: bool = False) -> None:
    """Compare the aggregates of revenue with the settled facts, repair them, and say what differed.

    The service may run meanwhile. Ends with 1 if --check finds a difference.

    For example:

        gridloom rebuild revenue --check
        gridloom rebuild revenue --asset 01890a5d-ac96-774b-bcce-b302099a8057

    Parameters
    ----------
    asset
        Only this asset; may be repeated.
    check
        Only compare, change nothing.
    """
    from gridloom.commands.operator import rebuild_revenue

    with _progress_bar() as bar:
        task = bar.add_task("days", total=None)

        def watch(outcome: RebuildReport) -> None:
            bar.update(task, total=outcome.total_days, completed=outcome.compared_days)

        outcome = rebuild_revenue(_read_settings(), asset or (), only_check=check, watch=watch)
    _print_differences(outcome)
    done = "differ" if check else "differed and were made anew"
    print(f"{outcome.compared_days} asset-days compared with their facts; {outcome.differing_days} {done}.")
    if check and outcome.differing_days:
        raise SystemExit(1)


def _progress_bar() -> Progress:
    """On a terminal, beside the answer; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)


def _print_differences(outcome: RebuildReport) -> None:
    if not outcome.differences:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("asset", "day", "measure", "where", "stored", "from the facts")
    for one in outcome.differences:
        where = "day" if one.differing is None else f"{one.differing} periods or blocks"
        stored = "unreadable" if one.stored is None else f"{one.stored:.6f}"
        table.add_row(str(one.asset_id), str(one.day), one.measure, where, stored, f"{one.from_facts:.6f}")
    Console(width=None if sys.stdout.isatty() else 200).print(table)


@app.command(group="Running the platform")
def backup(
    file: Path,
    *,
    continuous: Annotated[bool, Parameter(negative="")] = False,
    verify: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Write the whole database to FILE while the service runs on.

    For example:

        gridloom backup tonight.backup
        gridloom backup tonight.backup --verify
        gridloom backup /backups/gridloom --continuous

    Parameters
    ----------
    file
        Written whole or not at all, readable only by you.
    continuous
        FILE is a directory: copy the embedded server's files there, then every change for as long as this runs, so that
        any instant from now on can be restored.
    verify
        Restore the copy into a scratch server and compare rows and checksums of every table with the database. Not of a
        continuous copy.
    force
        Overwrite FILE where it exists.
    """
    settings = _read_settings()
    if continuous:
        if verify:
            exit_with(
                "--verify compares a copy that is whole, and --continuous writes one that goes on. Restore an instant "
                "of it to see that it can be: gridloom restore DIRECTORY --at TIME."
            )
        _back_up_continuously(settings, file)
        return
    from gridloom.platform.backups.dump import back_up

    size = back_up(settings, file, verify=verify, overwrite=force)
    print(f"{file}: {size / 1e6:.1f} MB{', restored and compared' if verify else ''}")


def _back_up_continuously(settings: Settings, directory: Path) -> None:
    from gridloom.platform.backups.continuous import back_up_continuously, receive_until_signalled

    if settings.database_url is not None:
        exit_with(
            "--continuous copies the embedded server. For the PostgreSQL at GRIDLOOM_DATABASE_URL use its own: "
            "pg_basebackup with WAL archiving, pgBackRest, or your provider's point-in-time recovery "
            "(docs/operations.md#point-in-time-recovery-of-an-external-postgresql)."
        )
    began = datetime.now(UTC)  # noqa: TID251  # the real time names a copy
    receiving = back_up_continuously(settings.home, directory, began=began)
    print(f"{directory}: copied. Every change is written down as long as this runs; Ctrl-C ends it.", flush=True)
    sys.exit(receive_until_signalled(receiving))


@app.command(group="Running the platform")
def restore(file: Path, *, at: datetime | None = None) -> None:
    """Fill an empty database from a file that `gridloom backup` wrote.

    For example:

        gridloom restore tonight.backup
        gridloom restore /backups/gridloom --at 2026-11-15T12:00

    Parameters
    ----------
    file
        What `gridloom backup` wrote.
    at
        The instant to restore from a continuous backup (UTC where no offset is given), into a new home.
    """
    if at is not None:
        from gridloom.platform.backups.continuous import restore_to

        instant = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        restore_to(_read_settings().home, file, instant)
        print(f"The database is as it was at {instant.isoformat()}.")
        return
    from gridloom.platform.backups.dump import restore as run

    run(_read_settings(), file)
    print("The database is restored.")


def main() -> None:
    """Run one command of the operator's, and end with a sentence instead of a stack trace."""
    with exit_on_known_errors():
        app()


def install_completion(shell: str | None) -> None:
    """Write a script that completes commands for bash, zsh or fish, the caller's own when none is named."""
    from gridloom_client.commands.completion import SCRIPTS

    shells: dict[str, Any] = {"bash": "bash", "zsh": "zsh", "fish": "fish"}
    if shell is not None and shell not in shells:
        exit_with(f"There is no completion for {shell}; there is for bash, zsh and fish.")
    try:
        path = app.install_completion(shell=shells[shell] if shell else None)
    except Exception as error:
        if type(error).__name__ != "ShellDetectionError":
            raise
        exit_with("Which shell? Say gridloom --install-completion bash, zsh or fish.")
    path.write_text(SCRIPTS[shell or _name_shell(path)])
    print(f"Completion is in {path}. It works in shells that you open from now on.")


def _name_shell(path: Path) -> str:
    """The shell that was found, by where its completions are."""
    return next((shell for shell in ("fish", "zsh") if shell in str(path) or path.name.startswith("_")), "bash")


def _read_settings() -> Settings:
    from gridloom.settings import read_settings

    return read_settings()


def _settings_for_documents() -> Settings:
    """The defaults whatever this machine's environment says, so that the committed document is the same everywhere."""
    from gridloom.settings import read_settings

    return read_settings(environ={}, env_file=Path(os.devnull))


if __name__ == "__main__":
    main()
