"""Who pays and who earns, over HTTP: statements of virtual assets, portfolios, batteries, fleets and organisations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
from msgspec import UNSET, UnsetType

from gridloom.kernel.market_time import Resolution, format_instant, is_period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import calendar_edges_s, instant_of
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import CSV, JSON, XLSX, Content, Request, ResponseBody, operation
from gridloom.platform.http.fields import parameter_error, to_json
from gridloom.platform.http.operation import H
from gridloom.platform.http.spreadsheets import TooManyCells, check_cells, write_csv
from gridloom.platform.http.tables import TIME, render_workbook
from gridloom.platform.identity.authorization import authorize_asset, authorize_organisation
from gridloom.platform.identity.store.organisations import read_organisation_names
from gridloom.revenue.grid import Grid, days_of, grid_of
from gridloom.revenue.holding_store import read_holdings
from gridloom.revenue.model import SecondsSpan
from gridloom.revenue.routes import MAX_BUCKETS, READ, BucketQuery, require_fleet, require_portfolio
from gridloom.revenue.statement.listing import list_organisation, list_physical, list_virtual, sum_assumed, sum_entries
from gridloom.revenue.statement.model import LineType, Party, StatementEntry
from gridloom.settlements.as_of import MEASURED, PRICES, AsOfTooEarly, check_as_of

TAG = "Revenue reporting"
_CENT = Decimal("0.01")


class StatementQuery(BucketQuery):
    """Of a statement: on quarter-hours."""


class StatementLine(ResponseBody):
    time: datetime
    line: LineType
    amount: Decimal
    counterparty: str
    counterparty_name: str | UnsetType = UNSET
    assumed_energy: float | UnsetType = UNSET


class Statement(ResponseBody):
    """Receipts and payments. Over all parties, each line adds up to zero."""

    start: datetime
    end: datetime
    lines: list[StatementLine]
    total: Decimal
    assumed_energy: float


COLUMNS = 768
"""Values that a statement reads for each of its days: eight a quarter-hour."""


def _declare_statement(path: str, summary: str) -> Callable[[H], H]:
    return operation(
        "GET",
        path,
        summary=summary,
        access=READ,
        problems=(AsOfTooEarly, TooManyCells),
        produces=(JSON, CSV, XLSX),
        response_schema=Statement,
        replica_read=True,
        columns=COLUMNS,
        costly_as=(XLSX,),
    )


@_declare_statement("/revenue-reporting/virtual-assets/{virtualAssetID}/statement", "Statement of a virtual asset")
async def read_virtual_asset_statement(request: Request, virtual_asset_id: UUID, query: StatementQuery) -> Content:
    """From its holder's side: trading and balancing income, less the auction price, tolls and imbalance.

    Whatever the buckets, amounts add up to the same cents. Shares of an amount are rounded towards zero, and what that
    leaves goes to the largest.
    """
    async with _open_statement(request, query) as (db, window, grid):
        authorized = await authorize_asset(db, request.caller, virtual_asset_id, READ, kind="VIRTUAL")
        entries = await list_virtual(db, [authorized.key], window, grid, query.as_of)
    return await _answer_statement(request, window, grid, entries)


@_declare_statement("/revenue-reporting/portfolios/{portfolioID}/statement", "Statement of a portfolio")
async def read_portfolio_statement(request: Request, portfolio_id: UUID, query: StatementQuery) -> Content:
    """The statements of its virtual assets together."""
    async with _open_statement(request, query) as (db, window, grid):
        group = await require_portfolio(db, request.caller, portfolio_id)
        entries = await list_virtual(db, group.asset_keys, window, grid, query.as_of)
    return await _answer_statement(request, window, grid, entries)


@_declare_statement("/revenue-reporting/physical-assets/{physicalAssetID}/statement", "Statement of a physical asset")
async def read_physical_asset_statement(request: Request, physical_asset_id: UUID, query: StatementQuery) -> Content:
    """From its owner's side: its share of auction prices and tolls, its own trades, awards and imbalance."""
    async with _open_statement(request, query) as (db, window, grid):
        authorized = await authorize_asset(db, request.caller, physical_asset_id, READ, kind="PHYSICAL")
        entries = await list_physical(db, [authorized.key], window, grid, query.as_of)
    return await _answer_statement(request, window, grid, entries)


@_declare_statement("/revenue-reporting/fleets/{fleetID}/statement", "Statement of a fleet")
async def read_fleet_statement(request: Request, fleet_id: UUID, query: StatementQuery) -> Content:
    """The statements of its physical assets together."""
    async with _open_statement(request, query) as (db, window, grid):
        group = await require_fleet(db, request.caller, fleet_id)
        entries = await list_physical(db, group.asset_keys, window, grid, query.as_of)
    return await _answer_statement(request, window, grid, entries)


@_declare_statement("/revenue-reporting/organisations/{organisationID}/statement", "Statement of an organisation")
async def read_organisation_statement(request: Request, organisation_id: UUID, query: StatementQuery) -> Content:
    """All that it holds and owns together, in a portfolio or not; what it would pay to itself is left out."""
    async with _open_statement(request, query) as (db, window, grid):
        await authorize_organisation(db, request.caller, organisation_id)
        entries = await list_organisation(
            db, await read_holdings(db, organisation_id, window), window, grid, query.as_of
        )
    return await _answer_statement(request, window, grid, entries)


@asynccontextmanager
async def _open_statement(request: Request, query: StatementQuery) -> AsyncIterator[tuple[Database, Window, Grid]]:
    """The snapshot that a statement is read from, its window and its buckets."""
    window, grid = _read_asked(query)
    async with repeatable_read(request.pool) as db:
        await check_as_of(db, query.as_of, PRICES, MEASURED)
        yield db, window, grid


def _read_asked(query: StatementQuery) -> tuple[Window, Grid]:
    if query.start >= query.end:
        raise parameter_error("query", "end", "is not after start")
    for name, instant in (("start", query.start), ("end", query.end)):
        if not is_period_start(instant):
            raise parameter_error("query", name, "is not on a quarter-hour")
    span = SecondsSpan(query.start.timestamp(), query.end.timestamp())
    first_s, end_s = calendar_edges_s()
    if span.start_s < first_s:
        raise parameter_error("query", "start", f"is before {instant_of(first_s):%Y-%m-%d}")
    if span.end_s > end_s:
        raise parameter_error("query", "end", f"is after {instant_of(end_s):%Y-%m-%d}")
    grid = grid_of(days_of(span), Resolution(query.resolution), span)
    if len(grid.buckets) > MAX_BUCKETS:
        raise parameter_error("query", "resolution", f"makes more than {MAX_BUCKETS} buckets of this window")
    return Window(query.start, query.end), grid


_COLUMN_NAMES = ("time", "line", "amount", "counterparty", "counterpartyName", "assumedEnergy")
_COLUMN_TYPES = (TIME, pa.string(), pa.decimal128(24, 2), pa.string(), pa.string(), pa.float64())
_SCHEMA = pa.schema(zip(_COLUMN_NAMES, _COLUMN_TYPES, strict=True))


async def _answer_statement(request: Request, window: Window, grid: Grid, entries: Sequence[StatementEntry]) -> Content:
    statement = _make_statement(window, grid, entries, await _read_party_names(request.db, entries))
    if request.accepts == JSON:
        return Content(to_json(statement), JSON)
    if request.accepts == XLSX:
        check_cells((len(statement.lines) + 1) * len(_COLUMN_NAMES))
        table = await asyncio.to_thread(_make_table, statement)
        body = await render_workbook(_SCHEMA, [table], "Statement")
    else:
        body = await asyncio.to_thread(_write_csv_lines, statement, request.accepts)
    suffix = "xlsx" if request.accepts == XLSX else "csv"
    return Content(body, request.accepts, {"Content-Disposition": f'attachment; filename="statement.{suffix}"'})


def _write_csv_lines(statement: Statement, media_type: str) -> bytes:
    """A line a row."""
    lines = (
        (
            format_instant(line.time),
            line.line.value,
            line.amount,
            line.counterparty,
            _name_of(line),
            _assumed_energy_of(line),
        )
        for line in statement.lines
    )
    return write_csv([_COLUMN_NAMES, *lines], media_type)


def _make_table(statement: Statement) -> pa.RecordBatch:
    """The same for a workbook, in which times are dates."""
    lines = statement.lines
    columns = (
        [line.time for line in lines],
        [line.line.value for line in lines],
        [line.amount for line in lines],
        [line.counterparty for line in lines],
        [_name_of(line) for line in lines],
        [_assumed_energy_of(line) for line in lines],
    )
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=_SCHEMA)


def _name_of(line: StatementLine) -> str | None:
    return None if line.counterparty_name is UNSET else line.counterparty_name


def _assumed_energy_of(line: StatementLine) -> float | None:
    return None if line.assumed_energy is UNSET else line.assumed_energy


async def _read_party_names(db: Database, entries: Sequence[StatementEntry]) -> dict[str, str]:
    """Of counterparties that are organisations."""
    parties = {entry.counterparty for entry in entries} - {*Party}
    names = await read_organisation_names(db, map(UUID, parties))
    return {str(organisation_id): name for organisation_id, name in names.items()}


def _make_statement(
    window: Window, grid: Grid, entries: Sequence[StatementEntry], names: Mapping[str, str]
) -> Statement:
    """Entries of the same line and counterparty are one."""
    sums = sum_entries(entries)
    assumed = sum_assumed(entries)
    lines = [
        StatementLine(
            time=instant_of(grid.buckets.labels_s[index]),
            line=name[0],
            amount=_show_euros(int(sums[name][index])),
            counterparty=name[1],
            counterparty_name=names.get(name[1], UNSET),
            assumed_energy=_show_energy(assumed[name][index]) or UNSET if name in assumed else UNSET,
        )
        for index in range(len(grid.buckets))
        for name in sums
        if sums[name][index]
    ]
    total = sum(int(cents.sum()) for cents in sums.values())
    return Statement(
        start=window.start,
        end=window.end,
        lines=lines,
        total=_show_euros(total),
        assumed_energy=_show_energy(sum(float(energy.sum()) for energy in assumed.values())),
    )


def _show_energy(energy_mwh: float) -> float:
    return round(float(energy_mwh), 6)


def _show_euros(cents: int) -> Decimal:
    return Decimal(cents) * _CENT
