"""HTTP for portfolios: groups of an organisation's virtual assets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.ids import PortfolioID, uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, NotFound, Problem
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import Name, Page, Paging, Request, RequestBody, Response, ResponseBody, operation
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.virtual_assets import portfolio_store
from gridloom.virtual_assets.portfolio_store import Portfolio


class NewPortfolio(RequestBody):
    name: Name
    virtual_asset_ids: Annotated[list[UUID], Meta(max_length=10_000)] | UnsetType = UNSET


class PortfolioChange(RequestBody):
    """Members that are left out do not change; a list of assets replaces the one before."""

    name: Name | UnsetType = UNSET
    virtual_asset_ids: Annotated[list[UUID], Meta(max_length=10_000)] | UnsetType = UNSET


class PortfolioView(ResponseBody):
    id: UUID
    organisation_id: UUID
    name: str
    virtual_asset_ids: list[UUID]
    created_at: datetime


class PortfoliosQuery(Paging):
    """In the order in which they were made."""


TAG = "Virtual assets"


PORTFOLIOS = ORGANISATION + "/portfolios"


class UnknownVirtualAsset(Problem, status=422, title="The organisation has no such virtual asset"):
    """A portfolio holds virtual assets of its own organisation only. The detail lists the ids at fault."""


@operation("GET", PORTFOLIOS, summary="List portfolios", access=Permission.READ_VIRTUAL_ASSETS, replica_read=True)
async def list_portfolios(request: Request, organisation_id: UUID, query: PortfoliosQuery) -> Page[PortfolioView]:
    """Of one organisation, in the order in which they were created."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    found = await portfolio_store.read_portfolios(request.db, owner, after=query.after(UUID), limit=query.limit + 1)
    page = query.page(found, lambda portfolio: portfolio.id)
    return Page([portfolio_view(portfolio) for portfolio in page.items], page.next_cursor)


@operation(
    "POST",
    PORTFOLIOS,
    summary="Create a portfolio",
    access=Permission.UPDATE_SCHEDULES,
    status=201,
    problems=(UnknownVirtualAsset,),
)
async def create_portfolio(request: Request, organisation_id: UUID, body: NewPortfolio) -> Response[PortfolioView]:
    """A group of the organisation's virtual assets. An asset that is in another portfolio moves over."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    portfolio_id = PortfolioID(uuid7())
    await lock_organisation(request.db, owner)
    await portfolio_store.insert_portfolio(request.db, portfolio_id, owner, body.name)
    if body.virtual_asset_ids is not UNSET:
        await _fill_portfolio(request, portfolio_id, owner, body.virtual_asset_ids)
    portfolio = await _require_portfolio(request, owner, portfolio_id)
    return Response(
        portfolio_view(portfolio),
        etag=_portfolio_etag(portfolio),
    )


@operation("GET", PORTFOLIOS + "/{portfolioID}", summary="Read a portfolio", access=Permission.READ_VIRTUAL_ASSETS)
async def read_portfolio(request: Request, organisation_id: UUID, portfolio_id: UUID) -> Response[PortfolioView]:
    """With the identifiers of its virtual assets."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    portfolio = await _require_portfolio(request, owner, portfolio_id)
    return Response(portfolio_view(portfolio), etag=_portfolio_etag(portfolio))


@operation(
    "PATCH",
    PORTFOLIOS + "/{portfolioID}",
    summary="Rename or refill a portfolio",
    access=Permission.UPDATE_SCHEDULES,
    problems=(UnknownVirtualAsset,),
)
async def update_portfolio(
    request: Request, organisation_id: UUID, portfolio_id: UUID, body: PortfolioChange
) -> Response[PortfolioView]:
    """A list of assets replaces the one before; those left out are in no portfolio then."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    await lock_organisation(request.db, owner)
    portfolio = await _require_portfolio(request, owner, portfolio_id)
    request.check_if_match(_portfolio_etag(portfolio))
    if body.name is UNSET and body.virtual_asset_ids is UNSET:
        raise BadRequest("There is nothing to change.", [FieldError("", "Expected name or virtualAssetIDs.")])
    await portfolio_store.update_portfolio(
        request.db, portfolio_id, owner, portfolio.name if body.name is UNSET else body.name
    )
    if body.virtual_asset_ids is not UNSET:
        await _fill_portfolio(request, portfolio_id, owner, body.virtual_asset_ids)
    await record_event(
        request.db,
        type="portfolio.changed",
        organisation_id=owner,
        subject=f"organisations/{owner}/portfolios/{portfolio_id}",
        permission=Permission.READ_VIRTUAL_ASSETS,
        data={"portfolioID": portfolio_id, "authorID": request.caller.id},
    )
    changed = await _require_portfolio(request, owner, portfolio_id)
    return Response(portfolio_view(changed), etag=_portfolio_etag(changed))


async def _require_portfolio(request: Request, owner: UUID, portfolio_id: UUID) -> Portfolio:
    portfolio = await portfolio_store.read_portfolio(request.db, owner, portfolio_id)
    if portfolio is None:
        raise NotFound(f"The organisation has no portfolio {portfolio_id}.")
    return portfolio


async def _fill_portfolio(request: Request, portfolio_id: UUID, owner: UUID, asset_ids: list[UUID]) -> None:
    unknown_ids = await portfolio_store.set_portfolio_assets(request.db, portfolio_id, owner, asset_ids)
    if unknown_ids:
        listed = ", ".join(str(unknown_id) for unknown_id in unknown_ids[:20])
        raise UnknownVirtualAsset(
            f"Not virtual assets of the organisation: {listed}.",
            [
                FieldError(f"/virtualAssetIDs/{asset_ids.index(unknown_id)}", "unknown")
                for unknown_id in unknown_ids[:20]
            ],
        )


def _portfolio_etag(portfolio: Portfolio) -> str:
    """An asset can move to another portfolio without this one being changed, so its assets count as well."""
    return entity_tag(portfolio.version, *portfolio.virtual_asset_ids)


def portfolio_view(portfolio: Portfolio) -> PortfolioView:
    return copy_fields(PortfolioView, portfolio)
