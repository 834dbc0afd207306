"""Statements over HTTP: issuing a month, how that goes, and reading what was issued or is preliminary."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import UNSET

from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, Forbidden, NotFound
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.database.clock import platform_now_to_the_ms, real_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import (
    CSV,
    JSON,
    XLSX,
    Content,
    Instant,
    Page,
    Paging,
    QueryParameters,
    Request,
    Response,
    operation,
    plain_type,
)
from gridloom.platform.http.fields import parameter_error, to_json, view_of
from gridloom.platform.http.spreadsheets import TooManyCells
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.jobs import enqueue
from gridloom.statements import store
from gridloom.statements.assembling import assemble
from gridloom.statements.computing import compute_amounts, list_open_months, load_figures, load_naming
from gridloom.statements.document.pdf import render_pdf
from gridloom.statements.document.tables import render_table
from gridloom.statements.issuing import KIND
from gridloom.statements.missing import MissingFact, find_gaps
from gridloom.statements.model import IssuedMonth, Month, RunStatus, StatementRun, statement_id
from gridloom.statements.rules import (
    AlreadyIssued,
    BeingIssued,
    EarlierMonthOpen,
    FactsMissing,
    MonthNotOver,
    check_month,
    sum_over_parties,
    sum_parties,
)
from gridloom.statements.store import Letterhead
from gridloom.statements.views import (
    IssuedStatement,
    LineTotal,
    MonthText,
    NewStatementRun,
    PartyLine,
    StatementRunView,
    StatementSummary,
)

TAG = "Statements"
ISSUE = Permission.CREATE_SETTLEMENTS
READ = Permission.READ_REVENUE
PDF = "application/pdf"


def check_operator(request: Request) -> None:
    if not request.caller.is_operator:
        raise Forbidden("Only the platform's operator issues statements.")


@operation(
    "POST",
    "/statements",
    summary="Issue a month",
    access=ISSUE,
    status=202,
    problems=(MonthNotOver, AlreadyIssued, EarlierMonthOpen, BeingIssued, FactsMissing),
)
async def issue_statements(request: Request, body: NewStatementRun) -> Response[StatementRunView]:
    """One statement for each organisation with lines, all of them or none; a job does it. The operator only.

    Months are issued in order, and the first sets the first month. Facts count as of the instant the run starts; what
    changes afterwards is a CORRECTION of the earliest open month.
    """
    check_operator(request)
    month = _read_month(body.month)
    issued = [one.month for one in await store.list_months(request.db)]
    now = await platform_now_to_the_ms(request.db)
    check_month(month, issued, now)
    await _check_none_running(request.db)
    gaps = await find_gaps(request.db, month)
    if gaps and not body.allow_missing:
        shown = msgspec.to_builtins(msgspec.json.decode(to_json(gaps)))
        raise FactsMissing(f"{month} lacks {len(gaps)} facts, the first of kind {gaps[0].kind}.", missing=shown)
    run = StatementRun(uuid7(), month, RunStatus.RUNNING, bool(body.allow_missing), now, None, 0, 0, None)
    running = await store.add_run(request.db, run, request.caller.id, to_json(gaps).decode())
    if running is not None:
        raise BeingIssued("Another run is under way.", runID=str(running))
    await enqueue(request.db, KIND, key=str(run.id), due=await real_now(request.db))
    request.audit_details.update(month=str(month), runID=str(run.id), missing=len(gaps))
    return Response(_view_run(run), headers={"Location": f"/statements/runs/{run.id}", "Retry-After": "1"})


async def _check_none_running(db: Database) -> None:
    """A run whose job was given up, since its process died again and again, has failed and blocks no other."""
    running = await store.read_running(db)
    if running is None:
        return
    if await store.is_job_waiting(db, KIND, str(running)):
        raise BeingIssued("A run is under way.", runID=str(running))
    fault = "The processes that ran it were killed, or lost the database."
    await store.end_run(db, running, RunStatus.FAILED, await platform_now_to_the_ms(db), fault)


def _read_month(text: str, pointer: str = "/month") -> Month:
    try:
        return Month.parse(text)
    except ValueError:
        expected = "Expected a month, such as 2026-09"
        raise BadRequest(f"{pointer}: {expected}.", [FieldError(pointer, expected)]) from None


class MissingQuery(QueryParameters):
    month: MonthText


@operation(
    "GET",
    "/statements/missing",
    summary="List the facts that a month lacks",
    access=ISSUE,
    replica_read=True,
    costly_as=(JSON,),
)
async def list_missing_facts(request: Request, query: MissingQuery) -> list[MissingFact]:
    """For which issuing it would be refused (409 `facts-missing`); empty where nothing is missing, at most a thousand.
    The operator only."""
    check_operator(request)
    month = _read_month(query.month, "query:month")
    async with repeatable_read(request.pool) as db:
        return await find_gaps(db, month)


@operation("GET", "/statements/runs/{runID}", summary="Read how issuing goes", access=ISSUE)
async def read_statement_run(request: Request, run_id: UUID) -> StatementRunView:
    """The operator only."""
    check_operator(request)
    run = await store.read_run(request.db, run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    return _view_run(run)


def _view_run(run: StatementRun) -> StatementRunView:
    return view_of(StatementRunView, run, month=str(run.month), progress=round(run.progress, 4))


class SummaryQuery(QueryParameters):
    start: Instant | None = None
    end: Instant | None = None


@operation(
    "GET",
    "/statements/summary",
    summary="Sum up issued statements",
    access=ISSUE,
    replica_read=True,
    costly_as=(JSON,),
)
async def summarise_statements(request: Request, query: SummaryQuery) -> StatementSummary:
    """By line and party, with the proof that each line adds up to zero over all parties. The operator only."""
    check_operator(request)
    check_order(query.start, query.end)
    async with repeatable_read(request.pool) as db:
        months = [
            one.month
            for one in await store.list_months(db)
            if (query.start is None or one.month.window.start >= query.start)
            and (query.end is None or one.month.window.start < query.end)
        ]
        letterheads = await store.read_letterheads(db)
        summaries = await store.read_summaries(db, months[0], months[-1]) if months else []
    return await asyncio.to_thread(_sum_summaries, months, summaries, letterheads)


def _sum_summaries(
    months: Sequence[Month], summaries: Sequence[tuple[UUID, Month, bytes]], letterheads: Mapping[UUID, Letterhead]
) -> StatementSummary:
    statements = (msgspec.json.decode(body, type=IssuedStatement) for _, _, body in summaries)
    sums = sum_parties(
        (one.organisation_id, line.line, line.counterparty, line.amount) for one in statements for line in one.lines
    )
    totals = sum_over_parties(sums)
    return StatementSummary(
        months=[str(month) for month in months],
        lines=[
            PartyLine(
                line=line,
                party=party,
                amount=amount,
                party_name=letterheads[UUID(party)].name if len(party) == 36 else UNSET,
            )
            for (line, party), amount in sums.items()
        ],
        totals=[LineTotal(line=line, amount=amount) for line, amount in totals.items()],
        balanced=not any(totals.values()),
    )


class StatementsQuery(Paging):
    month: MonthText | None = None
    status: Literal["PRELIMINARY", "ISSUED"] | None = None


@operation(
    "GET",
    ORGANISATION + "/statements",
    summary="List an organisation's statements",
    access=READ,
    replica_read=True,
    costly_as=(JSON,),
)
async def list_statements(request: Request, organisation_id: UUID, query: StatementsQuery) -> Page[IssuedStatement]:
    """The newest month first: a PRELIMINARY one for each open month with lines, then those that are ISSUED.

    Here, lines are summed over the month; a statement by itself has them by day. An open month is computed when it is
    asked for: name the month, or ask for ISSUED ones only, where no other is needed.
    """
    only = None if query.month is None else _read_month(query.month, "query:month")
    after = query.after(str)
    before = None if after is None else _read_cursor(after)
    async with repeatable_read(request.pool) as db:
        await authorize_organisation(db, request.caller, organisation_id)
        issued = await store.list_months(db)
        found: list[IssuedStatement] = []
        open_months = [] if query.status == "ISSUED" else await list_open_months(db, organisation_id, issued)
        for month in open_months:
            if only in (None, month) and (before is None or month < before) and len(found) <= query.limit:
                statement = await _compute_preliminary(db, organisation_id, month, issued, by_day=False)
                found += [] if statement is None else [statement]
        rest = 0 if query.status == "PRELIMINARY" else query.limit + 1 - len(found)
        summaries = await store.list_summaries(db, organisation_id, before, rest, only) if rest > 0 else []
    found += [msgspec.json.decode(summary, type=IssuedStatement) for _, summary in summaries]
    page = query.page(found, lambda one: one.month)
    return Page(page.items, page.next_cursor)


def _read_cursor(text: str) -> Month:
    try:
        return Month.parse(text)
    except ValueError:
        raise parameter_error("query", "cursor", "is not one that this list has given") from None


@operation(
    "GET",
    ORGANISATION + "/statements/{statementID}",
    summary="Read a statement",
    access=READ,
    produces=(JSON, CSV, XLSX, PDF),
    response_schema=IssuedStatement,
    costly_as=(XLSX,),
    problems=(TooManyCells,),
    replica_read=True,
)
async def read_statement(request: Request, organisation_id: UUID, statement_id: UUID) -> Content:
    """Once it is ISSUED it never changes, to the byte; its id is that of the PRELIMINARY one before.

    As `application/pdf` it is a document in English and German: totals and the amount to be paid, then lines by day. It
    is a statement, no tax invoice.
    """
    body = None
    if request.caller.organisation_id == organisation_id:
        body = await store.read_body(request.db, organisation_id, statement_id)
    if body is None:
        body = await _read_other(request, organisation_id, statement_id)
    if request.accepts == JSON:
        return Content(body, JSON)
    statement = msgspec.json.decode(body, type=IssuedStatement)
    name = f"statement-{statement.month if statement.number is UNSET else statement.number}"
    suffix = {CSV: "csv", XLSX: "xlsx", PDF: "pdf"}[plain_type(request.accepts)]
    headers = {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}
    body = await asyncio.to_thread(_render_statement, statement, request.accepts)
    return Content(body, request.accepts, headers)


def _render_statement(statement: IssuedStatement, media_type: str) -> bytes:
    return render_pdf(statement) if media_type == PDF else render_table(statement, media_type)


async def _read_other(request: Request, organisation_id: UUID, id: UUID) -> bytes:
    async with repeatable_read(request.pool) as db:
        await authorize_organisation(db, request.caller, organisation_id)
        body = await store.read_body(db, organisation_id, id)
        if body is not None:
            return body
        issued = await store.list_months(db)
        for month in await list_open_months(db, organisation_id, issued):
            if statement_id(organisation_id, month) == id:
                statement = await _compute_preliminary(db, organisation_id, month, issued, by_day=True)
                if statement is not None:
                    return to_json(statement)
    raise NotFound(f"There is no statement {id} of this organisation.")


async def _compute_preliminary(
    db: Database, organisation_id: UUID, month: Month, issued: list[IssuedMonth], *, by_day: bool
) -> IssuedStatement | None:
    amounts = await compute_amounts(db, organisation_id, month, issued)
    if amounts.is_empty:
        return None
    naming = await load_naming(db, [organisation_id], [one.month for one in issued])
    if not by_day:
        return assemble(amounts, naming, None, by_day=False)
    return assemble(amounts, naming, None, (await load_figures(db, [amounts]))[organisation_id])
