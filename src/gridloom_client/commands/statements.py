"""`gridloom statements`: months as they were issued, and issuing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import agree
from gridloom_client.commands.terminal.ending import REFUSED, CommandGroup, Misunderstood, fail
from gridloom_client.commands.terminal.fields import print_answer, print_rows
from gridloom_client.commands.terminal.finding import choose_organisation
from gridloom_client.commands.terminal.options import USUAL, ListEnd, ListStart, Options, OwnerName, connect
from gridloom_client.commands.terminal.progress import pause, share_progress, waiting
from gridloom_client.commands.terminal.rendering import print_data, print_table, show_lines
from gridloom_client.commands.terminal.windows import open_window
from gridloom_client.wire import CSV, EXCEL_CSV, JSON, XLSX

if TYPE_CHECKING:
    from gridloom_client.answers import IssuedStatement, MissingFact, StatementRun
    from gridloom_client.client import Client

app = CommandGroup(name="statements", group="Using the platform")

Format = Literal["pdf", "csv", "excel-csv", "xlsx", "json"]
StatementName = Annotated[str, Parameter(help="Its month, its number or its id.")]
_MEDIA_TYPES = {"pdf": "application/pdf", "csv": CSV, "excel-csv": EXCEL_CSV, "xlsx": XLSX, "json": JSON}


@app.default
@app.command(name="list")
def list_(*, organisation: str | None = None, options: Options = USUAL) -> None:
    """List statements, the newest month first; EUR, and what comes in is positive.

    For example:

        gridloom statements list
        gridloom statements list --organisation "Nordlicht Trading" -o csv

    Parameters
    ----------
    organisation
        Whose, by id or name; your own when left out. The operator reads all.
    """
    with connect(options) as client, waiting("adding up"):
        found = list(client.statements.list(choose_organisation(client, organisation)))
    rows = [
        {"month": one.month, "number": one.number, "status": one.status, "issuedAt": one.issued_at, "total": one.total}
        for one in found
    ]
    if print_data(rows, options):
        return
    shown = [(one.month, one.number, one.status, one.issued_at, f"{one.total:,.2f}") for one in found]
    print_table("Statements", ["Month", "Number", "Status", "Issued", "EUR"], shown, options)


@app.command
def show(statement: StatementName, *, organisation: OwnerName = None, options: Options = USUAL) -> None:
    """Show a statement's lines by day.

    For example:

        gridloom statements show 2026-09
        gridloom statements show 2026-0009 -o csv > september.csv
    """
    with connect(options) as client, waiting("adding up"):
        owner = choose_organisation(client, organisation)
        found = client.statements.get(owner, _find_statement(client, owner, statement).id)
    if print_data(found.lines, options):
        return
    shown = [
        (
            line.day,
            line.line if line.corrects is None else f"{line.line} of {line.corrects.month} {line.corrects.line}",
            f"{line.amount:,.2f}",
            line.counterparty_name or line.counterparty,
        )
        for line in found.lines
    ]
    name = found.number or f"{found.month}, preliminary"
    print_table(f"Statement {name} of {found.organisation_name}", ["Day", "Line", "EUR", "With"], shown, options)
    show_lines(f"Total {found.total:,.2f} EUR")


@app.command
def download(
    statement: StatementName,
    *,
    format: Format = "pdf",
    to: Path | None = None,
    organisation: OwnerName = None,
    options: Options = USUAL,
) -> None:
    """Save a statement as PDF, workbook (XLSX), CSV or JSON.

    For example:

        gridloom statements download 2026-09
        gridloom statements download 2026-0009 --format csv --to september.csv

    Parameters
    ----------
    format
        pdf, csv, excel-csv (semicolons and decimal commas), xlsx or json.
    to
        The file; named after the statement's number when left out.
    """
    with connect(options) as client, waiting("fetching"):
        owner = choose_organisation(client, organisation)
        found = _find_statement(client, owner, statement)
        content: bytes = client.statements.download(owner, found.id, _MEDIA_TYPES[format])
    target = to or Path(f"statement-{found.number or found.month}.{format.removeprefix('excel-')}")
    target.write_bytes(content)
    show_lines(f"{target}: {len(content):,} bytes", to_stderr=options.form != "table")


@app.command
def missing(month: str, *, options: Options = USUAL) -> None:
    """List the facts that a month lacks before it can be issued; for the platform's operator.

    For example:

        gridloom statements missing 2026-09

    Parameters
    ----------
    month
        Such as 2026-09.
    """
    with connect(options) as client, waiting("looking for gaps"):
        found = client.statements.missing(month)
    if print_data(found, options):
        return
    if not found:
        show_lines(f"{month} lacks nothing.")
        return
    shown = [(one.kind, one.day, one.periods, one.delivery_zone or one.product, _name_asset(one)) for one in found]
    print_table("Missing facts", ["Kind", "Day", "Quarter-hours", "Zone or product", "Asset"], shown, options)


def _name_asset(fact: MissingFact) -> str:
    found = fact.physical_asset_id or fact.asset_id
    return "" if found is None else str(found)


@app.command
def summary(*, start: ListStart = None, end: ListEnd = None, options: Options = USUAL) -> None:
    """Sum up issued statements by line and party, and say whether each line adds up to zero; for the operator.

    For example:

        gridloom statements summary --start 2026-09-01 --end 2026-10-01
    """
    with connect(options) as client, waiting("adding up"):
        found = client.statements.summary(**open_window(start, end))
    columns = {"Line": "line", "Party": "party_name", "EUR": "amount", "ID": "party"}
    if print_answer("Lines", found, found.lines, columns, options):
        print_rows("Totals", found.totals, {"Line": "line", "EUR": "amount"}, options)
        months = ", ".join(found.months) or "No month"
        show_lines(f"{months}: {'each line adds up to zero' if found.balanced else 'NOT every line adds up to zero'}.")


@app.command
def issue(
    month: str,
    *,
    allow_missing: Annotated[bool, Parameter(negative="")] = False,
    yes: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Issue a month for all organisations; for the platform's operator. It cannot be taken back.

    For example:

        gridloom statements issue 2026-09
        gridloom statements issue 2026-09 --allow-missing --yes

    Parameters
    ----------
    month
        Such as 2026-09; months are issued in order.
    allow_missing
        Although facts are missing; what comes later is corrected later.
    yes
        Do not ask first.
    """
    with connect(options) as client:
        if not agree(f"Issue {month} for all organisations, for good?", yes=yes):
            return
        run = _wait_for_end(client, client.statements.issue(month, allow_missing=allow_missing or None))
    if run.status == "FAILED":
        fail(f"Nothing was issued: {run.fault}", REFUSED)
    if print_data([run], options):
        return
    show_lines(f"{month} is issued.")


def _wait_for_end(client: Client, run: StatementRun) -> StatementRun:
    with share_progress() as progress:
        task = progress.add_task("statements", total=1.0)
        while run.status == "RUNNING":
            pause(0.3)
            run = client.statements.run(run.id)
            progress.update(task, completed=run.progress)
    return run


def _find_statement(client: Client, organisation_id: UUID, text: str) -> IssuedStatement:
    """By month, number or id, or the end of its id."""
    for one in client.statements.list(organisation_id):
        if text in (one.month, one.number) or (len(text) >= 4 and str(one.id).endswith(text)):
            return one
    raise Misunderstood(f"There is no statement {text}; `gridloom statements list` shows which there are.")
