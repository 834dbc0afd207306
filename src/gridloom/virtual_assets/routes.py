"""HTTP for virtual assets: listing, reading, renaming, and allocating one directly or undoing it."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET

from gridloom.capacity.rules import CapacityNotAvailable, CapacityTaken
from gridloom.database.clock import platform_now
from gridloom.database.pool import repeatable_read
from gridloom.edge import Page, Request, Response, operation
from gridloom.identity.authorization import authorize_asset, authorize_organisation
from gridloom.kernel.ids import PhysicalAssetID, PortfolioID
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import FieldError, Forbidden, NotFound, Problem
from gridloom.kernel.window import Window
from gridloom.virtual_assets import store
from gridloom.virtual_assets.asset_lookup import (
    ASSET,
    ASSETS,
    author_of,
    etag_of,
    require_asset,
    require_locked_asset,
)
from gridloom.virtual_assets.backing.allocation import AllocationStands, allocate, undo_allocation
from gridloom.virtual_assets.backing.holdings import (
    BackingAssetInactive,
    CycleLimitExceeded,
    DeliveryZonesDiffer,
    UnknownBackingAsset,
)
from gridloom.virtual_assets.backing.rules import SharesNotWhole, check_shares
from gridloom.virtual_assets.model import AssetTerms, BackingShare, Efficiency
from gridloom.virtual_assets.portfolios import store as portfolio_store
from gridloom.virtual_assets.rules import check_rated, check_window
from gridloom.virtual_assets.views import asset_views
from gridloom.virtual_assets.wire import (
    NewVirtualAsset,
    VirtualAssetChange,
    VirtualAssetsQuery,
    VirtualAssetView,
)

TAG = "Virtual assets"


class UnknownPortfolio(Problem):
    """A virtual asset can be put into a portfolio of its own organisation only."""

    status = 422
    title = "The organisation has no such portfolio"


@operation("GET", ASSETS, summary="List virtual assets", access=Permission.READ_VIRTUAL_ASSETS, replica_read=True)
async def list_virtual_assets(
    request: Request, organisation_id: UUID, query: VirtualAssetsQuery
) -> Page[VirtualAssetView]:
    """The organisation's virtual assets, those whose life overlaps `start` to `end` where given."""
    if query.start and query.end:
        check_window(query.start, query.end, on_grid=False, place="query:")
    after = query.after(UUID)
    async with repeatable_read(request.pool) as db:
        owner = await authorize_organisation(db, request.caller, organisation_id)
        assets = await store.read_assets(
            db, owner, start=query.start, end=query.end, after=after, limit=query.limit + 1
        )
        page = query.page(assets, lambda asset: asset.id)
        return Page(await asset_views(db, page.items, await platform_now(db)), page.next_cursor)


@operation(
    "POST",
    ASSETS,
    summary="Allocate a virtual asset directly",
    access=Permission.MANAGE_AUCTIONS,
    status=201,
    problems=(
        CapacityNotAvailable,
        CapacityTaken,
        BackingAssetInactive,
        CycleLimitExceeded,
        DeliveryZonesDiffer,
        UnknownBackingAsset,
        UnknownPortfolio,
        SharesNotWhole,
    ),
)
async def create_virtual_asset(
    request: Request, organisation_id: UUID, body: NewVirtualAsset
) -> Response[VirtualAssetView]:
    """Outside an auction, by the operator. The asset is born with one wholesale block over its whole life, idle.

    The backing assets must have the capacity free over the whole window; 409 says what is taken. The caller's
    organisation needs `Update:schedules` on each of them.
    """
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    if not request.caller.is_operator:
        raise Forbidden("Only the platform's operator allocates virtual assets.")
    terms = _read_terms(body)
    await _check_portfolio(request, owner, body.portfolio_id)
    for place, share in enumerate(terms.backing):
        try:
            await authorize_asset(request.db, request.caller, share.physical_asset_id, Permission.UPDATE_SCHEDULES)
        except NotFound as unknown:
            raise UnknownBackingAsset(
                unknown.detail, [FieldError(f"/backing/{place}/physicalAssetID", "unknown")]
            ) from None
    asset = await allocate(request.db, owner, terms, author_of(request))
    (view,) = await asset_views(request.db, [asset], asset.created_at)
    return Response(view, headers={"Location": f"{request.path}/{asset.id}"}, etag=etag_of(asset))


def _read_terms(body: NewVirtualAsset) -> AssetTerms:
    check_window(body.start, body.end)
    check_rated(body.rated_charge_power, body.rated_discharge_power)
    check_shares([(entry.physical_asset_id, entry.share) for entry in body.backing])
    return AssetTerms(
        name=body.name,
        window=Window(body.start, body.end),
        delivery_zone=body.delivery_zone.value,
        charge_kw=body.rated_charge_power,
        discharge_kw=body.rated_discharge_power,
        energy_capacity_kwh=body.energy_capacity,
        efficiency=Efficiency(body.charge_efficiency, body.discharge_efficiency),
        backing=tuple(BackingShare(PhysicalAssetID(entry.physical_asset_id), entry.share) for entry in body.backing),
        portfolio_id=None if body.portfolio_id is None else PortfolioID(body.portfolio_id),
        daily_cycle_limit=body.daily_cycle_limit,
        annual_cycle_limit=body.annual_cycle_limit,
        ramp_rate_kw_s=body.ramp_rate,
        gate_closure_s=body.dispatch_gate_closure_seconds,
        initial_soc=body.initial_state_of_charge_percentage / 100,
        final_soc_tolerance=body.final_soc_tolerance,
    )


@operation("GET", ASSETS + "/{virtualAssetID}", summary="Read a virtual asset", access=Permission.READ_VIRTUAL_ASSETS)
async def read_virtual_asset(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID
) -> Response[VirtualAssetView]:
    """With its blocks, its backing and the imbalance at the end of its life as things stand now."""
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        (view,) = await asset_views(db, [asset], await platform_now(db))
    return Response(view, etag=etag_of(asset))


@operation(
    "PATCH",
    ASSET,
    summary="Rename a virtual asset or move it to a portfolio",
    access=Permission.UPDATE_SCHEDULES,
    problems=(UnknownPortfolio,),
)
async def update_virtual_asset(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, body: VirtualAssetChange
) -> Response[VirtualAssetView]:
    """By its holder. What is left out stays; `portfolioID: null` takes it out of its portfolio."""
    asset = await require_locked_asset(request, organisation_id, virtual_asset_id)
    if request.caller.organisation_id != asset.organisation_id:
        raise Forbidden("Only its holder renames a virtual asset.")
    request.check_if_match(etag_of(asset))
    if body.portfolio_id is not UNSET:
        await _check_portfolio(request, asset.organisation_id, body.portfolio_id)
    name = asset.terms.name if body.name is UNSET else body.name
    portfolio_id = asset.terms.portfolio_id if body.portfolio_id is UNSET else body.portfolio_id
    await store.update_description(request.db, asset, name, portfolio_id)
    changed = await require_asset(request.db, request.caller, organisation_id, virtual_asset_id)
    (view,) = await asset_views(request.db, [changed], await platform_now(request.db))
    return Response(view, etag=etag_of(changed))


@operation(
    "DELETE",
    ASSET,
    summary="Undo an allocation",
    access=Permission.MANAGE_AUCTIONS,
    problems=(AllocationStands,),
)
async def delete_virtual_asset(request: Request, organisation_id: UUID, virtual_asset_id: UUID) -> None:
    """By the operator, before the asset's first gate closes, while nothing is traded on it, and unless it was won in an
    auction. Its batteries have the capacity free again."""
    if not request.caller.is_operator:
        raise Forbidden("Only the platform's operator undoes allocations.")
    seen = await require_asset(request.db, request.caller, organisation_id, virtual_asset_id)
    await undo_allocation(request.db, seen, lambda asset: request.check_if_match(etag_of(asset)))


async def _check_portfolio(request: Request, owner: UUID, portfolio_id: UUID | None) -> None:
    if portfolio_id is not None and await portfolio_store.read_portfolio(request.db, owner, portfolio_id) is None:
        raise UnknownPortfolio(
            f"The organisation has no portfolio {portfolio_id}.", [FieldError("/portfolioID", "unknown")]
        )
