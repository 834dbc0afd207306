"""Revenue reporting over HTTP: data points of five kinds of subjects, and revenue by bucket of a virtual asset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

import numpy as np

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.kernel.window import Window
from gridloom.market_calendar import calendar_edges_s, instant_of
from gridloom.platform.database.pool import Database
from gridloom.platform.http import (
    ARROW,
    CSV,
    JSON,
    PARQUET,
    XLSX,
    Caller,
    Instant,
    QueryParameters,
    Request,
    ResponseBody,
    Stream,
    operation,
)
from gridloom.platform.http.fields import parameter_error
from gridloom.platform.http.operation import H
from gridloom.platform.http.spreadsheets import TooManyCells
from gridloom.platform.http.tables import stream_table
from gridloom.platform.identity.authorization import authorize_asset, authorize_organisation
from gridloom.revenue import store
from gridloom.revenue.categories import CATEGORIES
from gridloom.revenue.holding_store import read_holdings, read_subject
from gridloom.revenue.model import Contribution, Subject
from gridloom.revenue.rendering import DataPointMetaData, json_chunks, record_batches, schema_of
from gridloom.revenue.reporting import Part, Report, all_categories, begun, report_parts
from gridloom.settlements.as_of import AsOf, check_as_of

TAG: Final = "Revenue reporting"
READ: Final = Permission.READ_REVENUE
FORMATS: Final = (JSON, CSV, XLSX, ARROW, PARQUET)
MAX_BUCKETS: Final = 40_000

ReportResolution = Literal["raw", "15-minute", "hourly", "daily"]
if TYPE_CHECKING:
    CategoryName = str
else:
    CategoryName = Literal[tuple(CATEGORIES)]


class DataPointQuery(QueryParameters):
    start: Instant
    end: Instant
    resolution: ReportResolution = "15-minute"
    datapoints: tuple[CategoryName, ...] | None = None
    as_of: AsOf = None


class RevenuePoint(ResponseBody):
    time: datetime
    value: float | None


class RevenuePoints(ResponseBody):
    """Every category's values in order of time; null where there is none, such as a price without volume."""

    meta_data: list[DataPointMetaData]
    data: dict[str, list[RevenuePoint]]


def _declare_data_points(path: str, summary: str) -> Callable[[H], H]:
    return operation(
        "GET",
        path,
        summary=summary,
        access=READ,
        produces=FORMATS,
        response_schema=RevenuePoints,
        replica_read=True,
        columns=len(CATEGORIES),
        costly_as=(XLSX,),
        problems=(TooManyCells,),
    )


@_declare_data_points(
    "/revenue-reporting/virtual-assets/{virtualAssetID}/data-points", "Data points of a virtual asset"
)
async def read_virtual_asset_data_points(request: Request, virtual_asset_id: UUID, query: DataPointQuery) -> Stream:
    """Buckets at the edges of the window hold the part of them that lies within it, so sums agree at any resolution."""
    return await _answer_report(request, await _virtual_asset(request, virtual_asset_id), query)


@_declare_data_points("/revenue-reporting/portfolios/{portfolioID}/data-points", "Data points of a portfolio")
async def read_portfolio_data_points(request: Request, portfolio_id: UUID, query: DataPointQuery) -> Stream:
    """The figures of its virtual assets together, as if all their facts were one asset's."""
    group = await require_portfolio(request.db, request.caller, portfolio_id)
    parts = tuple(Contribution(key) for key in group.asset_keys)
    return await _answer_report(request, Subject(f"portfolio-{portfolio_id}", parts, group.asset_keys), query)


@_declare_data_points("/revenue-reporting/fleets/{fleetID}/data-points", "Data points of a fleet")
async def read_fleet_data_points(request: Request, fleet_id: UUID, query: DataPointQuery) -> Stream:
    """The figures of its physical assets together: their own facts, and their shares in the virtual ones they back."""
    group = await require_fleet(request.db, request.caller, fleet_id)
    parts = await store.read_backed(request.db, group.asset_keys)
    return await _answer_report(request, Subject(f"fleet-{fleet_id}", parts, group.asset_keys), query)


async def require_portfolio(db: Database, caller: Caller, portfolio_id: UUID) -> store.Group:
    group = await store.read_portfolio(db, portfolio_id)
    if group is None:
        raise NotFound(f"There is no portfolio {portfolio_id}.")
    await authorize_organisation(db, caller, group.organisation_id)
    return group


async def require_fleet(db: Database, caller: Caller, fleet_id: UUID) -> store.Group:
    """For its owner, the platform's operator, and organisations with a grant on every asset of it."""
    group = await store.read_fleet(db, fleet_id)
    if group is None:
        raise NotFound(f"There is no fleet {fleet_id}.")
    may_read = caller.organisation_id == group.organisation_id or caller.is_operator
    if not may_read and not await store.are_granted(db, group.asset_keys, caller.organisation_id, READ):
        raise Forbidden(f"Your organisation has no grant of {READ} on every asset of the fleet {fleet_id}.")
    return group


@_declare_data_points(
    "/revenue-reporting/physical-assets/{physicalAssetID}/data-points", "Data points of a physical asset"
)
async def read_physical_asset_data_points(request: Request, physical_asset_id: UUID, query: DataPointQuery) -> Stream:
    """Its own facts, and its share in those of the virtual assets that it backs.

    A share of a fact is that share of its energy, capacity and euros; prices and hours stay as they are.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ, kind="PHYSICAL")
    parts = await store.read_backed(request.db, [authorized.key])
    return await _answer_report(
        request, Subject(f"physical-asset-{physical_asset_id}", parts, (authorized.key,)), query
    )


@_declare_data_points("/revenue-reporting/organisations/{organisationID}/data-points", "Data points of an organisation")
async def read_organisation_data_points(request: Request, organisation_id: UUID, query: DataPointQuery) -> Stream:
    """All that it holds and owns, each fact once: what it won counts whether or not it is in a portfolio.

    Others' virtual assets count by the shares of its batteries behind them. The rated power is that of its virtual
    assets and of its batteries that back none of them.
    """
    await authorize_organisation(request.db, request.caller, organisation_id)
    holdings = await read_holdings(request.db, organisation_id, read_report_window(query.start, query.end))
    return await _answer_report(request, await read_subject(request.db, holdings), query)


async def _virtual_asset(request: Request, virtual_asset_id: UUID) -> Subject:
    authorized = await authorize_asset(request.db, request.caller, virtual_asset_id, READ, kind="VIRTUAL")
    return Subject(f"virtual-asset-{virtual_asset_id}", (Contribution(authorized.key),), (authorized.key,))


async def _answer_report(request: Request, subject: Subject, query: DataPointQuery) -> Stream:
    names = query.datapoints or ()
    window = read_report_window(query.start, query.end)
    await check_as_of(request.db, query.as_of)
    report = Report(
        subject=subject,
        window=window,
        resolution=Resolution(query.resolution),
        categories=all_categories(names),
        as_of=query.as_of,
        provisional_sources=await store.read_provisional_sources(request.db, subject.keys, window, query.as_of),
    )
    parts = await begun(report_parts(request.pool, report))
    if request.accepts == JSON:
        return Stream(json_chunks(report, parts), JSON)
    schema = schema_of(report.categories)
    name = f"{subject.name}-{query.resolution}"
    return stream_table(request.accepts, schema, record_batches(report, parts), file_name=name)


def read_report_window(start: datetime, end: datetime) -> Window:
    first_s, end_s = calendar_edges_s()
    if start >= end:
        raise parameter_error("query", "end", "is not after start")
    if start < instant_of(first_s):
        raise parameter_error("query", "start", "is before the year 2000")
    if end > instant_of(end_s):
        raise parameter_error("query", "end", "is after the year 2099")
    return Window(start, end)


# --- revenue by bucket -----------------------------------------------------------------------------------------------


class BucketQuery(QueryParameters):
    start: Instant
    end: Instant
    resolution: Literal["15-minute", "hourly", "daily"] = "daily"
    as_of: AsOf = None


class RevenueBucket(ResponseBody):
    """The part of a bucket that lies within the window; `figures` are the categories that its revenue is made of."""

    start: datetime
    end: datetime
    revenue: float
    figures: dict[str, float | None]


class RevenueBuckets(ResponseBody):
    virtual_asset_id: UUID
    start: datetime
    end: datetime
    resolution: str
    revenue: float
    buckets: list[RevenueBucket]


def _declare_buckets(path: str, summary: str) -> Callable[[H], H]:
    return operation("GET", path, summary=summary, access=READ, replica_read=True)


@_declare_buckets("/revenue-reporting/{virtualAssetID}/wholesale", "Wholesale revenue by bucket")
async def read_wholesale_revenue(request: Request, virtual_asset_id: UUID, query: BucketQuery) -> RevenueBuckets:
    """Proceeds of what was sold minus the cost of what was bought, with volumes and average prices."""
    figures = (
        "buy_volume_wholesale",
        "sell_volume_wholesale",
        "net_volume_wholesale",
        "net_off_volume_wholesale",
        "buy_vwap_wholesale",
        "sell_vwap_wholesale",
    )
    return await _view_buckets(request, virtual_asset_id, query, ("revenue_wholesale",), figures)


@_declare_buckets("/revenue-reporting/{virtualAssetID}/ancillary", "Ancillary revenue by bucket")
async def read_ancillary_revenue(request: Request, virtual_asset_id: UUID, query: BucketQuery) -> RevenueBuckets:
    """FCR and aFRR capacity, and aFRR energy in both directions."""
    revenues = ("revenue_fcr", "revenue_afrr_capacity", "revenue_afrr_energy")
    figures = (*revenues, "revenue_afrr_energy_pos", "revenue_afrr_energy_neg", "capacity_fcr", "settlement_price_fcr")
    return await _view_buckets(request, virtual_asset_id, query, revenues, figures)


@_declare_buckets("/revenue-reporting/{virtualAssetID}/tolling", "Tolling revenue by bucket")
async def read_tolling_revenue(request: Request, virtual_asset_id: UUID, query: BucketQuery) -> RevenueBuckets:
    """The toll as it accrues over the calendar year, with its annual price."""
    return await _view_buckets(request, virtual_asset_id, query, ("revenue_tolling",), ("annual_price_tolling",))


@_declare_buckets("/revenue-reporting/{virtualAssetID}/virtual-battery-auction", "Auction revenue by bucket")
async def read_virtual_battery_auction_revenue(
    request: Request, virtual_asset_id: UUID, query: BucketQuery
) -> RevenueBuckets:
    """The price for which the asset was won, spread evenly over its delivery window, with the hurdle price."""
    return await _view_buckets(request, virtual_asset_id, query, ("revenue_vba",), ("hurdle_price_vba",))


async def _view_buckets(
    request: Request, virtual_asset_id: UUID, query: BucketQuery, revenues: Sequence[str], figures: Sequence[str]
) -> RevenueBuckets:
    await check_as_of(request.db, query.as_of)
    report = Report(
        subject=await _virtual_asset(request, virtual_asset_id),
        window=read_report_window(query.start, query.end),
        resolution=Resolution(query.resolution),
        categories=all_categories((*revenues, *figures)),
        as_of=query.as_of,
    )
    step_s = {Resolution.QUARTER_HOUR: 900, Resolution.HOUR: 3600}.get(report.resolution, 82_800)
    if report.window.duration.total_seconds() / step_s > MAX_BUCKETS:
        raise parameter_error("query", "end", f"leads to more than {MAX_BUCKETS} buckets; ask for data points")
    buckets = [
        bucket async for part in report_parts(request.pool, report) for bucket in _show_part(part, revenues, figures)
    ]
    return RevenueBuckets(
        virtual_asset_id=virtual_asset_id,
        start=report.window.start,
        end=report.window.end,
        resolution=query.resolution,
        revenue=float(np.sum([bucket.revenue for bucket in buckets])),
        buckets=buckets,
    )


def _show_part(part: Part, revenues: Sequence[str], figures: Sequence[str]) -> list[RevenueBucket]:
    revenue = np.sum([part.values(CATEGORIES[name]) for name in revenues], axis=0).tolist()
    columns = {name: part.values(CATEGORIES[name]).tolist() for name in figures}
    buckets = part.buckets
    return [
        RevenueBucket(
            start=instant_of(buckets.starts_s[n]),
            end=instant_of(buckets.ends_s[n]),
            revenue=revenue[n],
            figures={name: None if values[n] != values[n] else values[n] for name, values in columns.items()},
        )
        for n in range(len(buckets))
    ]
