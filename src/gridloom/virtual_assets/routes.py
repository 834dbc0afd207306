"""HTTP for virtual assets: listing, reading, and allocating one directly."""

from __future__ import annotations

from uuid import UUID

from gridloom.capacity.rules import CapacityNotAvailable, CapacityTaken
from gridloom.database.pool import snapshot
from gridloom.edge import Answer, Call, Page, operation
from gridloom.identity.reach import asset_reach, organisation_reach
from gridloom.kernel.ids import PhysicalAssetID, PortfolioID
from gridloom.kernel.problem import FieldError, Forbidden, NotFound, Problem
from gridloom.kernel.window import Window
from gridloom.virtual_assets import store
from gridloom.virtual_assets.asset_lookup import ASSETS, TAG, author_of, etag_of, known_asset
from gridloom.virtual_assets.backing.allocation import allocate
from gridloom.virtual_assets.backing.promising import BackingAssetInactive, DeliveryZonesDiffer, UnknownBackingAsset
from gridloom.virtual_assets.backing.rules import SharesNotWhole, check_shares
from gridloom.virtual_assets.model import AssetTerms, BackingShare, Efficiency
from gridloom.virtual_assets.portfolios import store as portfolio_store
from gridloom.virtual_assets.rules import check_rated, check_window
from gridloom.virtual_assets.views import asset_views
from gridloom.virtual_assets.wire import (
    NewVirtualAsset,
    VirtualAssetsQuery,
    VirtualAssetView,
)


class UnknownPortfolio(Problem):
    """A virtual asset can be put into a portfolio of its own organisation only."""

    status = 422
    title = "The organisation has no such portfolio"


@operation("GET", ASSETS, summary="List virtual assets", tag=TAG, access="Read:virtual-assets")
async def list_virtual_assets(call: Call, organisation_id: UUID, query: VirtualAssetsQuery) -> Page[VirtualAssetView]:
    """The organisation's virtual assets, those whose life overlaps `start` to `end` where given."""
    if query.start and query.end:
        check_window(query.start, query.end, on_grid=False, place="query:")
    after = query.after(UUID)
    async with snapshot(call.pool) as db:
        owner = await organisation_reach(db, call.caller, organisation_id)
        assets = await store.read_assets(
            db, owner, start=query.start, end=query.end, after=after, limit=query.limit + 1
        )
        page = query.page(assets, lambda asset: asset.id)
        return Page(await asset_views(db, page.items, await store.platform_now(db)), page.next_cursor)


@operation(
    "POST",
    ASSETS,
    summary="Allocate a virtual asset directly",
    tag=TAG,
    access="Manage:auctions",
    status=201,
    problems=(
        CapacityNotAvailable,
        CapacityTaken,
        BackingAssetInactive,
        DeliveryZonesDiffer,
        UnknownBackingAsset,
        UnknownPortfolio,
        SharesNotWhole,
    ),
)
async def create_virtual_asset(call: Call, organisation_id: UUID, body: NewVirtualAsset) -> Answer[VirtualAssetView]:
    """Outside an auction, by the operator. The asset is born with one wholesale block over its whole life, idle.

    The backing assets must have the capacity free over the whole window; 409 says what is taken. The caller's
    organisation needs `Update:schedules` on each of them.
    """
    owner = await organisation_reach(call.db, call.caller, organisation_id)
    if not call.caller.is_operator:
        raise Forbidden("Only the platform's operator allocates virtual assets.")
    terms = _terms(body)
    if (
        body.portfolio_id is not None
        and await portfolio_store.read_portfolio(call.db, owner, body.portfolio_id) is None
    ):
        raise UnknownPortfolio(
            f"The organisation has no portfolio {body.portfolio_id}.", [FieldError("/portfolioID", "unknown")]
        )
    for place, share in enumerate(terms.backing):
        try:
            await asset_reach(call.db, call.caller, share.physical_asset_id, "Update:schedules")
        except NotFound as unknown:
            raise UnknownBackingAsset(
                unknown.detail, [FieldError(f"/backing/{place}/physicalAssetID", "unknown")]
            ) from None
    asset = await allocate(call.db, owner, terms, author_of(call))
    (view,) = await asset_views(call.db, [asset], asset.created_at)
    return Answer(view, headers={"Location": f"{call.path}/{asset.id}"}, etag=etag_of(asset))


def _terms(body: NewVirtualAsset) -> AssetTerms:
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


@operation("GET", ASSETS + "/{virtualAssetID}", summary="Read a virtual asset", tag=TAG, access="Read:virtual-assets")
async def read_virtual_asset(call: Call, organisation_id: UUID, virtual_asset_id: UUID) -> Answer[VirtualAssetView]:
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        (view,) = await asset_views(db, [asset], await store.platform_now(db))
    return Answer(view, etag=etag_of(asset))
