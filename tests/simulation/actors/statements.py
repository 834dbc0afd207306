"""Months are closed: statements are issued by the operator, read by everyone they are for, and summed up."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, as_window, exact, pick_window
from tests.simulation.actors.statement_lines import check_total
from tests.simulation.calls import Answer, Request
from tests.simulation.market import berlin_day
from tests.simulation.model import Organisation, StatementRun, World
from tests.simulation.oracle.statements import find_unbalanced_line
from tests.simulation.steps import Pick

FORMS = ("application/json", "text/csv", "application/pdf")


def month_before(month: str, count: int = 1) -> str:
    year, number = (int(part) for part in month.split("-"))
    months = year * 12 + number - 1 - count
    return f"{months // 12}-{months % 12 + 1:02}"


def current_month(world: World) -> str:
    return f"{berlin_day(world.now):%Y-%m}"


def judge_month(world: World, month: str, *, allows_missing: bool) -> Any:
    """What must be said to a month that is to be issued: over, in order, once."""
    issued = world.issued_months
    if month >= current_month(world):
        return (409, "month-not-over")
    if issued and month <= max(issued):
        return (409, "already-issued")
    if issued and month_before(month) != max(issued):
        return (409, "earlier-month-open")
    return 202 if allows_missing else (202, 409)


@action(weight=3)
def issue_month(world: World, pick: Pick) -> Request | None:
    """The next in turn, one too early, one too late, or one that was issued."""
    turn = find_next_month(world, pick.one_of(1, 2))
    month = pick.one_of(turn, turn, current_month(world), month_before(turn, -1), month_before(turn))
    return _issue(world, month, allows_missing=pick.chance(70))


def issue_next_month(world: World) -> Request:
    return _issue(world, find_next_month(world, 1), allows_missing=True)


def find_next_month(world: World, count: int) -> str:
    """After the last that was issued; before the first, so many months ago."""
    issued = world.issued_months
    return month_before(max(issued), -1) if issued else month_before(current_month(world), count)


def _issue(world: World, month: str, *, allows_missing: bool) -> Request:
    body = {"month": month, "allowMissing": allows_missing}
    expect = judge_month(world, month, allows_missing=allows_missing)

    def remember(answer: Answer) -> None:
        world.runs.append(StatementRun(answer.body["id"], month))

    by = world.operator.trader
    return Request("issueStatements", by, "POST", "/statements", body, expect=expect, on_success=remember)


@action(weight=1)
def issue_incomplete_month(world: World, pick: Pick) -> Request | None:
    """Something was allocated in the month, and no price was ever published for it."""
    month = month_before(current_month(world))
    touched = {f"{berlin_day(world.now) - timedelta(days=days):%Y-%m}" for days in range(1, 32)}
    if judge_month(world, month, allows_missing=True) != 202 or month not in touched or not world.virtuals:
        return None
    body = {"month": month}

    def remember(answer: Answer) -> None:
        world.runs.append(StatementRun(answer.body["id"], month))

    return Request("issueStatements", world.operator.trader, "POST", "/statements", body, on_success=remember)


@action(weight=2)
def read_statements(world: World, pick: Pick) -> Request | None:
    """An issued one is what it was; every one's total is the sum of its lines."""
    one = pick.of(world.owners + world.traders)
    path = f"/organisations/{one.id}/statements"
    known = [key for key, (name, _) in world.statements.items() if name == one.name]
    by = pick.one_of(one.viewer, world.operator.viewer)
    if not known or pick.chance(40):
        return Request("listStatements", by, "GET", path, expect=200, check=lambda answer: _compare(world, one, answer))
    statement = pick.of(known)
    form = pick.of(FORMS)
    before = world.statements[statement][1]

    def check(answer: Answer) -> None:
        if form == "application/json":
            compare_statement(before, answer.body)

    headers = {"Accept": form}
    return Request("readStatement", by, "GET", f"{path}/{statement}", headers=headers, expect=(200, 404), check=check)


def _compare(world: World, one: Organisation, answer: Answer) -> None:
    """Of all statements of an organisation: issued ones stay, and their numbers have no gaps within a year."""
    said = {statement["id"]: statement for statement in answer.body}
    numbers = sorted(statement["number"] for statement in said.values() if "number" in statement)
    by_year: dict[str, list[int]] = {}
    for number in numbers:
        by_year.setdefault(number[:4], []).append(int(number[5:]))
    for year, counted in by_year.items():
        assert counted == list(range(1, len(counted) + 1)), f"numbers without gaps in {year}, not {counted}"
    for key, (name, before) in list(world.statements.items()):
        if name == one.name and before["status"] == "ISSUED":
            assert key in said, f"the issued statement {before['number']} in the list"
    for key, statement in said.items():
        if key in world.statements:
            compare_statement(world.statements[key][1], statement, is_listed=True)
        world.statements[key] = (one.name, statement)


def compare_statement(before: dict[str, Any], now: dict[str, Any], *, is_listed: bool = False) -> None:
    total = sum((exact(line["amount"]) for line in now["lines"]), Fraction(0))
    assert total == exact(now["total"]), f"a total of {float(total)}, not {now['total']}"
    if before["status"] == "ISSUED":
        names = ("id", "number", "month", "status", "total", "issuedAt") + (("lines",) if is_listed else ())
        off = {name: (before[name], now[name]) for name in names if before[name] != now[name]}
        assert not off, f"an issued statement as it was, not {off}"


@action(weight=1)
def sum_up_statements(world: World, pick: Pick) -> Request | None:
    def check(answer: Answer) -> None:
        assert answer.body["balanced"], "each line adds up to zero"
        off = find_unbalanced_line(answer.body["lines"])
        assert off is None, f"each line adds up to zero over all parties, not {off}"
        assert answer.body["months"] == sorted(world.issued_months), f"the issued months {world.issued_months}"

    return Request("summariseStatements", world.operator.trader, "GET", "/statements/summary", expect=200, check=check)


@action(weight=1)
def list_missing_facts(world: World, pick: Pick) -> Request | None:
    month = month_before(current_month(world), pick.one_of(0, 1))
    by, path = world.operator.trader, "/statements/missing"
    return Request("listMissingFacts", by, "GET", path, query={"month": month}, expect=200)


@action(weight=1)
def read_statement_run(world: World, pick: Pick) -> Request | None:
    if not world.runs:
        return None
    run = pick.of(world.runs)
    path = f"/statements/runs/{run.id}"
    return Request("readStatementRun", world.operator.trader, "GET", path, expect=200)


@action(weight=2)
def read_organisation_report(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    first, end = pick_window(world, pick, -5, 1)
    query = {**as_window(first, end), "resolution": pick.one_of("daily", "hourly")}
    path = f"/revenue-reporting/organisations/{one.id}"
    if pick.chance(50):
        return Request("readOrganisationDataPoints", one.viewer, "GET", f"{path}/data-points", query=query, expect=200)
    path = f"{path}/statement"
    return Request("readOrganisationStatement", one.viewer, "GET", path, query=query, expect=200, check=check_total)
