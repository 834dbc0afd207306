"""HTTP for the schedules of several assets of a portfolio at once, all or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.kernel.ids import OrganisationID, PortfolioID
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import (
    BadRequest,
    FieldError,
    NotFound,
    PreconditionFailed,
    PreconditionRequired,
    Problem,
    first_refusal,
)
from gridloom.platform.database.pool import Database
from gridloom.platform.http import BULK, Request, RequestBody, ResponseBody, operation
from gridloom.platform.identity.authorization import authorize_organisation
from gridloom.virtual_assets.asset_lookup import MAX_LOCK_S, author_of, etag_at, etag_of, organisation_lock
from gridloom.virtual_assets.model import LockedAsset
from gridloom.virtual_assets.portfolio_store import read_portfolio
from gridloom.virtual_assets.portfolios import PORTFOLIOS, UnknownVirtualAsset
from gridloom.virtual_assets.schedule.change.apply import put_asset_schedule
from gridloom.virtual_assets.schedule.change.store import lock_with_context
from gridloom.virtual_assets.schedule.points import NewSchedule, SchedulePoint, points_of, touched_days
from gridloom.virtual_assets.schedule.rules import EnergyOutOfBounds, GateClosed, PowerBeyondAvailable, linking_repair
from gridloom.virtual_assets.schedule.views import ExpectedCut, ImbalanceView, expected_cuts, imbalance_view
from gridloom.virtual_assets.store import lock_virtual_asset_by_key, read_asset

TAG = "Virtual assets"
MAX_ASSETS = 50


class NewAssetSchedule(RequestBody):
    """The periods to replace of one asset, over all its wholesale blocks together."""

    virtual_asset_id: UUID
    schedule: list[SchedulePoint]
    if_match: Annotated[str, Meta(max_length=200)] | None = None


class NewPortfolioSchedules(RequestBody):
    schedules: Annotated[list[NewAssetSchedule], Meta(min_length=1, max_length=MAX_ASSETS)]


class AcceptedAssetSchedule(ResponseBody):
    """An asset after its schedule was accepted: its ETag, the imbalance at the end of its life, and cuts to expect."""

    virtual_asset_id: UUID
    version: int
    etag: str
    imbalance: ImbalanceView
    expected_cuts: list[ExpectedCut]


@operation(
    "PUT",
    PORTFOLIOS + "/{portfolioID}/schedules",
    summary="Schedule a portfolio's assets",
    access=Permission.UPDATE_SCHEDULES,
    transaction="manual",
    problems=(GateClosed, PowerBeyondAvailable, EnergyOutOfBounds, UnknownVirtualAsset, PreconditionRequired),
)
async def schedule_portfolio(
    request: Request, organisation_id: UUID, portfolio_id: UUID, body: Annotated[NewPortfolioSchedules, BULK]
) -> list[AcceptedAssetSchedule]:
    """Replace exactly the periods given of each asset, or of none. Each asset names the ETag that was read.

    A refusal lists the assets at fault under `assets`, each with its problem, and those that have changed meanwhile
    with their present `etag`. Its status is the first of 412, 409 and 422 that occurs.
    """
    owner = await authorize_organisation(request.pool, request.caller, organisation_id)
    portfolio = await read_portfolio(request.pool, owner, portfolio_id)
    if portfolio is None:
        raise NotFound(f"The organisation has no portfolio {portfolio_id}.")
    _check_body(body.schedules)
    async with organisation_lock(owner):
        return await _schedule_all(request, owner, portfolio.id, body.schedules)


async def _schedule_all(
    request: Request, owner: OrganisationID, portfolio_id: PortfolioID, schedules: Sequence[NewAssetSchedule]
) -> list[AcceptedAssetSchedule]:
    db = await request.begin()
    assets = await _lock_assets(db, owner, schedules)
    request.set_commit_deadline(MAX_LOCK_S)
    accepted: list[AcceptedAssetSchedule] = []
    refused: list[tuple[str, Mapping[str, object], Problem]] = []
    for index, one in enumerate(schedules):
        try:
            asset = _require_in_portfolio(assets, one.virtual_asset_id, portfolio_id)
            accepted.append(await _put_schedule(request, db, asset, one))
        except Problem as problem:
            refused.append((f"/schedules/{index}", {"virtualAssetID": str(one.virtual_asset_id)}, problem))
    if refused:
        raise first_refusal(refused, "assets")
    request.audit_details["versions"] = {str(one.virtual_asset_id): one.version for one in accepted}
    return accepted


def _check_body(schedules: Sequence[NewAssetSchedule]) -> None:
    seen: set[UUID] = set()
    doubled = []
    for index, one in enumerate(schedules):
        if one.virtual_asset_id in seen:
            doubled.append(FieldError(f"/schedules/{index}/virtualAssetID", "Expected each asset once; it is doubled."))
        seen.add(one.virtual_asset_id)
    if doubled:
        raise BadRequest(f"{len(doubled)} assets are listed twice.", doubled)
    missing = [index for index, one in enumerate(schedules) if one.if_match is None]
    if missing:
        raise PreconditionRequired(
            "Each asset names the ETag that was read.",
            [FieldError(f"/schedules/{index}/ifMatch", "is missing") for index in missing],
        )


async def _lock_assets(
    db: Database, organisation_id: UUID, schedules: Sequence[NewAssetSchedule]
) -> dict[UUID, LockedAsset]:
    """Those of the organisation, in the order of their keys."""
    seen = [await read_asset(db, organisation_id, one.virtual_asset_id) for one in schedules]
    keys = sorted(asset.key for asset in seen if asset is not None)
    locked = [await lock_virtual_asset_by_key(db, key) for key in keys]
    return {asset.id: asset for asset in locked if asset is not None}


def _require_in_portfolio(assets: Mapping[UUID, LockedAsset], asset_id: UUID, portfolio_id: PortfolioID) -> LockedAsset:
    asset = assets.get(asset_id)
    if asset is None or asset.terms.portfolio_id != portfolio_id:
        raise UnknownVirtualAsset.at("/virtualAssetID", f"The portfolio has no virtual asset {asset_id}.", "unknown")
    return asset


async def _put_schedule(
    request: Request, db: Database, asset: LockedAsset, new: NewAssetSchedule
) -> AcceptedAssetSchedule:
    etag = etag_of(asset)
    if new.if_match is not None and new.if_match.strip('"') != etag:
        raise PreconditionFailed(
            f"The virtual asset {asset.id} has changed: its ETag is {etag} now.",
            [FieldError("/ifMatch", "Expected the present ETag.")],
            etag=etag,
        )
    body = NewSchedule(schedule=new.schedule)
    points = await points_of(body, asset.periods, "asset")
    found = await lock_with_context(db, asset.organisation_id, asset, touched_days(body, asset))
    assert found is not None, "a locked asset exists"
    with linking_repair(asset):
        accepted = await put_asset_schedule(db, found[0], points, author_of(request), found[1])
    return AcceptedAssetSchedule(
        virtual_asset_id=asset.id,
        version=accepted.version,
        etag=etag_at(asset, accepted.version),
        imbalance=imbalance_view(accepted.imbalance),
        expected_cuts=expected_cuts(accepted.expected_cuts),
    )
