"""HTTP for virtual assets: listing, reading, renaming, and allocating one directly or undoing it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import UNSET

from gridloom.capacity.rules import CapacityNotAvailable, CapacityTaken
from gridloom.kernel.codes import ControlArea
from gridloom.kernel.ids import PhysicalAssetID, PortfolioID
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import FieldError, Forbidden, NotFound, Problem
from gridloom.kernel.window import Window
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import Page, Request, Response, operation
from gridloom.platform.http.fields import view_of
from gridloom.platform.identity.authorization import authorize_asset, authorize_organisation
from gridloom.virtual_assets import block_store, portfolio_store, store
from gridloom.virtual_assets.allocation import AllocationStands, allocate, undo_allocation
from gridloom.virtual_assets.asset_lookup import ASSET, ASSETS, author_of, etag_of, require_asset, require_locked_asset
from gridloom.virtual_assets.backing.availability import load_available_energy
from gridloom.virtual_assets.backing.holdings import (
    BackingAssetInactive,
    CycleLimitExceeded,
    DeliveryZonesDiffer,
    UnknownBackingAsset,
)
from gridloom.virtual_assets.energy.imbalance import Imbalance
from gridloom.virtual_assets.model import AssetTerms, BackingShare, Block, Efficiency, VirtualAsset
from gridloom.virtual_assets.rules import SharesNotWhole, check_rated, check_shares, check_window
from gridloom.virtual_assets.schedule.projection_loading import read_imbalances
from gridloom.virtual_assets.wire import (
    BackingView,
    BlockMetadata,
    NewVirtualAsset,
    VirtualAssetChange,
    VirtualAssetsQuery,
    VirtualAssetView,
)

TAG = "Virtual assets"


class UnknownPortfolio(Problem, status=422, title="The organisation has no such portfolio"):
    """A virtual asset can be put into a portfolio of its own organisation only."""


@operation("GET", ASSETS, summary="List virtual assets", access=Permission.READ_VIRTUAL_ASSETS, replica_read=True)
async def list_virtual_assets(
    request: Request, organisation_id: UUID, query: VirtualAssetsQuery
) -> Page[VirtualAssetView]:
    """The organisation's virtual assets, those whose life overlaps `start` to `end` where given."""
    if query.start and query.end:
        check_window(query.start, query.end, on_grid=False, prefix="query:")
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
    for index, share in enumerate(terms.backing):
        try:
            await authorize_asset(request.db, request.caller, share.physical_asset_id, Permission.UPDATE_SCHEDULES)
        except NotFound as unknown:
            raise UnknownBackingAsset(
                unknown.detail, [FieldError(f"/backing/{index}/physicalAssetID", "unknown")]
            ) from None
    asset = await allocate(request.db, owner, terms, author_of(request))
    (view,) = await asset_views(request.db, [asset], asset.created_at)
    return Response(view, etag=etag_of(asset))


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
    """With its blocks, its backing and the imbalance at the end of its life by the current schedules."""
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


async def asset_views(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> list[VirtualAssetView]:
    """The assets with their blocks and what is available of them now, in a fixed number of statements."""
    if not assets:
        return []
    keys = [asset.key for asset in assets]
    blocks = await block_store.read_blocks_of(db, keys)
    available = await load_available_energy(db, assets, now)
    imbalances = await read_imbalances(db, assets, blocks, now)
    return [
        _asset_view(
            asset, blocks[asset.key], available[asset.key] * asset.terms.energy_capacity_kwh, imbalances[asset.key]
        )
        for asset in assets
    ]


def _asset_view(
    asset: VirtualAsset, blocks: Sequence[Block], available_kwh: float, imbalance: Imbalance
) -> VirtualAssetView:
    terms = asset.terms
    return view_of(
        VirtualAssetView,
        terms,
        id=asset.id,
        organisation_id=asset.organisation_id,
        created_at=asset.created_at,
        start=terms.window.start,
        end=terms.window.end,
        delivery_zone=ControlArea(terms.delivery_zone),
        rated_charge_power=terms.charge_kw,
        rated_discharge_power=terms.discharge_kw,
        available_energy_capacity=available_kwh,
        charge_efficiency=terms.efficiency.charge,
        discharge_efficiency=terms.efficiency.discharge,
        ramp_rate=UNSET if terms.ramp_rate_kw_s is None else terms.ramp_rate_kw_s,
        dispatch_gate_closure_seconds=terms.gate_closure_s,
        initial_state_of_charge_percentage=round(100 * terms.initial_soc, 10),  # 57 % is 57, not 56.99999999999999
        end_state_of_charge_percentage=imbalance.end_state_of_charge_percentage,
        imbalance_charge=imbalance.imbalance_charge_kwh,
        imbalance_discharge=imbalance.imbalance_discharge_kwh,
        feedback=imbalance.feedback,
        block_ids=[block.id for block in blocks],
        block_metadata=[
            BlockMetadata(id=b.id, start=b.window.start, end=b.window.end, market=b.market) for b in blocks
        ],
        backing=[BackingView(physical_asset_id=b.physical_asset_id, share=b.share) for b in terms.backing],
    )
