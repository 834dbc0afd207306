"""Auctions over HTTP: the participants' side and the operator's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from msgspec import UNSET, UnsetType

from gridloom.auctions import bid_store, clearing, store
from gridloom.auctions.bid_batching import BidBatcher
from gridloom.auctions.deliverability import load_item_availability
from gridloom.auctions.model import Auction, AuctionState, CancelReason, Item
from gridloom.auctions.offer import OFFER_PROBLEMS, InvitationRefused, check_invited, offer_capacity
from gridloom.auctions.rules import (
    AuctionFrozen,
    AuctionNotOpen,
    BidWithdrawn,
    UnfitAuction,
    check_cancellable,
    check_changeable,
    check_terms,
    unfit,
)
from gridloom.auctions.store import VisibleAuction
from gridloom.auctions.wire import (
    AuctionChange,
    AuctionQuery,
    AuctionView,
    BidView,
    ItemAvailability,
    NewAuction,
    NewBacking,
    NewBid,
    NewItem,
    ParticipantList,
    Participants,
    auction_view,
    bid_view,
    operator_view,
    own_view,
    version_tag,
)
from gridloom.kernel.ids import PhysicalAssetID, uuid7
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, Forbidden, NotFound
from gridloom.kernel.window import Window
from gridloom.platform.audit.recording import entry_of
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.events.model import NewEvent
from gridloom.platform.http import Caller, Page, Paging, Request, Response, operation
from gridloom.platform.http.idempotency import IdempotencyScope, still_running
from gridloom.virtual_assets.model import BackingShare

TAG = "Auctions"

T = TypeVar("T")


@operation("GET", "/auctions", summary="List auctions", access=Permission.READ_AUCTIONS)
async def list_auctions(request: Request, query: AuctionQuery) -> Page[AuctionView]:
    """Those to which your organisation is invited, the newest opening first, each with your own status. A cancelled one
    stays, with when and why.

    The operator's list has all, each with the auction's own state: `SCHEDULED`, `RUNNING` until it is cleared,
    `CLEARED` or `CANCELLED`, and its outcome, winner and price.
    """
    caller = request.caller
    found = await store.list_seen(
        request.db,
        caller.organisation_id,
        sees_all=is_manager(caller),
        statuses=query.status,
        after=query.after(tuple[datetime, UUID]),
        limit=query.limit + 1,
    )
    page = query.page(found, lambda seen: (seen.auction.open.start, seen.auction.id))
    available = await _load_available(request.db, page.items)
    if is_manager(caller):
        return Page([own_view(seen, available.get(seen.auction.id)) for seen in page.items], page.next_cursor)
    own = caller.organisation_id
    return Page([auction_view(seen, own, available.get(seen.auction.id)) for seen in page.items], page.next_cursor)


@operation("GET", "/auctions/{auctionID}", summary="Read an auction", access=Permission.READ_AUCTIONS)
async def read_auction(request: Request, auction_id: UUID) -> Response[AuctionView]:
    """`status` is the caller's own. The operator reads the auction's state instead."""
    seen = await authorize_auction(request.db, request.caller, auction_id)
    return await _show_auction(request, seen)


@operation(
    "POST",
    "/auctions",
    summary="Create an auction",
    access=Permission.MANAGE_AUCTIONS,
    status=201,
    problems=(UnfitAuction, *OFFER_PROBLEMS),
)
async def create_auction(request: Request, body: NewAuction) -> Response[AuctionView]:
    """The operator offers a virtual battery over a delivery window, backed by physical ones, to those invited.

    It takes its capacity out of the batteries' books at once, until it is cleared or cancelled; what they do not have
    free cannot be auctioned. Who owns a backing battery, or may read its revenue, cannot be invited.
    """
    auction = Auction(
        id=uuid7(),
        open=_read_window(body.start, body.end, ""),
        item=_make_item(body.item, uuid7()),
        hurdle_price_eur=body.hurdle_price,
        minimum_availability=body.minimum_availability,
        state=AuctionState.SCHEDULED,
        outcome=None,
        outcome_detail=None,
        winning_bid_id=None,
        winner_id=None,
        winning_price_eur=None,
        virtual_asset_id=None,
        cleared_at=None,
        cancelled=None,
        version=1,
    )
    backing = _list_backing(body.backing)
    check_terms(auction.open, auction.item, backing, await platform_now(request.db))
    await _require_existing(request.db, backing, body.participants)
    await store.insert_auction(request.db, auction)
    await store.replace_backing(request.db, auction.id, backing)
    await offer_capacity(request.db, auction, backing)
    await check_invited(request.db, backing, body.participants)
    await store.replace_participants(request.db, auction.id, body.participants)
    await clearing.enqueue_auction_jobs(request.db, auction)
    seen = await authorize_auction(request.db, request.caller, auction.id)
    return await _show_auction(request, seen)


@operation(
    "PATCH",
    "/auctions/{auctionID}",
    summary="Change an auction before it opens",
    access=Permission.MANAGE_AUCTIONS,
    problems=(AuctionFrozen, UnfitAuction, *OFFER_PROBLEMS),
)
async def update_auction(request: Request, auction_id: UUID, body: AuctionChange) -> Response[AuctionView]:
    """Only before the auction opens. Only the given fields change."""
    seen = await _require_locked(request, auction_id)
    auction = seen.auction
    request.check_if_match(version_tag(auction))
    check_changeable(auction, seen.now)
    changed = replace(
        auction,
        open=_read_window(_unless_unset(body.start, auction.open.start), _unless_unset(body.end, auction.open.end), ""),
        item=auction.item if body.item is UNSET else _make_item(body.item, auction.item.id),
        hurdle_price_eur=_unless_unset(body.hurdle_price, auction.hurdle_price_eur),
        minimum_availability=_unless_unset(body.minimum_availability, auction.minimum_availability),
    )
    before = await store.read_backing(request.db, auction_id)
    backing = before if body.backing is UNSET else _list_backing(body.backing)
    check_terms(changed.open, changed.item, backing, seen.now)
    await _require_existing(request.db, backing, ())
    await store.update_terms(request.db, changed)
    if not (body.item is UNSET and body.backing is UNSET):  # other terms hold no capacity
        await store.replace_backing(request.db, auction_id, backing)
        await offer_capacity(request.db, changed, backing, replaced=before)
    await check_invited(request.db, backing, await store.read_participants(request.db, auction_id))
    await clearing.enqueue_auction_jobs(request.db, changed)
    await clearing.emit_changed(request.db, changed, request.caller)
    return await _show_auction(request, await authorize_auction(request.db, request.caller, auction_id))


@operation(
    "DELETE",
    "/auctions/{auctionID}",
    summary="Cancel an auction before it closes",
    access=Permission.MANAGE_AUCTIONS,
    problems=(AuctionFrozen,),
)
async def cancel_auction(request: Request, auction_id: UUID) -> None:
    """Its participants see when and why, its bids come to nothing, and its capacity is free again."""
    seen = await _require_locked(request, auction_id)
    request.check_if_match(version_tag(seen.auction))
    check_cancellable(seen.auction, seen.now)
    await clearing.cancel_offer(request.db, auction_id, CancelReason.BY_OPERATOR)
    await clearing.cancel_auction_jobs(request.db, auction_id)


@operation(
    "PUT",
    "/auctions/{auctionID}/participants",
    summary="Invite organisations before an auction opens",
    access=Permission.MANAGE_AUCTIONS,
    problems=(AuctionFrozen, UnfitAuction, InvitationRefused),
)
async def replace_participants(
    request: Request, auction_id: UUID, body: ParticipantList | Participants
) -> Response[AuctionView]:
    """Replaces the whole list, given by itself or as `participants`."""
    seen = await _require_locked(request, auction_id)
    request.check_if_match(version_tag(seen.auction))
    check_changeable(seen.auction, seen.now)
    participants = body.participants if isinstance(body, ParticipantList) else body
    await _require_existing(request.db, (), participants)
    await check_invited(request.db, await store.read_backing(request.db, auction_id), participants)
    await store.replace_participants(request.db, auction_id, participants)
    await store.bump_version(request.db, auction_id)
    await clearing.emit_changed(request.db, seen.auction, request.caller)
    return await _show_auction(request, await authorize_auction(request.db, request.caller, auction_id))


@operation(
    "POST",
    "/auctions/{auctionID}/bids",
    summary="Place a bid",
    access=Permission.CREATE_BIDS,
    status=201,
    location="/auctions/{auctionID}/bids",
    transaction="manual",
    problems=(AuctionNotOpen,),
)
async def place_bid(request: Request, auction_id: UUID, body: NewBid) -> BidView:
    """A 201 means that the bid counts. An organisation's latest standing bid is its bid; no other one sees it."""
    bid_id, caller = uuid7(), request.caller
    offer = bid_store.PendingBid(
        auction_id=auction_id,
        organisation_id=caller.organisation_id,
        placed_by=caller.id,
        bid_id=bid_id,
        price_eur=body.price,
        event=NewEvent(
            type="bid.placed",
            organisation_id=caller.organisation_id,
            subject=f"auctions/{auction_id}",
            permission=Permission.READ_AUCTIONS,
            data={"auctionID": auction_id, "bidID": bid_id, "price": float(body.price)},
        ),
        entry=entry_of(request, 201),
        key=request.retry.key if request.retry is not None else None,
        answer=f'{{"id":"{bid_id}","auctionID":"{auction_id}","price":{body.price},',
    )
    placed = await request.resources[BidBatcher].place(offer)
    if request.retry is not None:
        _raise_stored_response(request.retry, placed)
    if placed.verdict == "UNKNOWN":
        raise _reject_unknown(auction_id)
    if placed.verdict == "CANCELLED":
        raise AuctionNotOpen("The auction was cancelled.")
    if placed.verdict == "NOT_INVITED":
        raise _not_invited(auction_id)
    if placed.verdict == "NOT_STARTED":
        raise AuctionNotOpen(f"The auction opens at {_show_instant(placed.opens_at)}.")
    if placed.verdict == "CLOSED":
        raise AuctionNotOpen(f"The auction closed at {_show_instant(placed.closes_at)}.")
    assert placed.placed_at is not None
    assert placed.sequence is not None
    return BidView(
        id=bid_id, auction_id=auction_id, price=body.price, timestamp=placed.placed_at, sequence=placed.sequence
    )


def _raise_stored_response(retry: IdempotencyScope, placed: bid_store.PlacementResult) -> None:
    """Where an earlier attempt of this bid is known."""
    if placed.verdict == "IN_PROGRESS":
        raise still_running()
    if placed.verdict == "KNOWN":
        assert placed.stored_fingerprint is not None
        assert placed.stored_status is not None
        assert placed.stored_headers is not None
        assert placed.stored_body is not None
        raise retry.stored_response(
            placed.stored_fingerprint, placed.stored_status, placed.stored_headers, placed.stored_body
        )


@operation(
    "GET",
    "/auctions/{auctionID}/bids",
    summary="List your own bids",
    access=Permission.READ_AUCTIONS,
    replica_read=True,
)
async def list_bids(request: Request, auction_id: UUID, query: Paging) -> Page[BidView]:
    """Newest first, withdrawn ones included."""
    await authorize_auction(request.db, request.caller, auction_id)
    bids = await bid_store.read_own_bids(
        request.db, auction_id, request.caller.organisation_id, before=query.after(int), limit=query.limit + 1
    )
    return query.page([bid_view(auction_id, bid) for bid in bids], lambda bid: bid.sequence)


@operation(
    "DELETE",
    "/auctions/{auctionID}/bids/{bidID}",
    summary="Withdraw a bid while the auction is open",
    access=Permission.CREATE_BIDS,
    problems=(AuctionNotOpen, BidWithdrawn),
)
async def withdraw_bid(request: Request, auction_id: UUID, bid_id: UUID) -> None:
    """An earlier bid of yours that was not withdrawn counts again."""
    await store.lock(request.db, auction_id)
    seen = await authorize_auction(request.db, request.caller, auction_id)
    bid = await bid_store.read_own_bid(request.db, auction_id, request.caller.organisation_id, bid_id)
    if bid is None:
        raise NotFound(f"Your organisation has no bid {bid_id} in this auction.")
    if seen.now not in seen.auction.open or seen.auction.state is not AuctionState.SCHEDULED:
        raise AuctionNotOpen("Bids can be withdrawn while the auction is open.")
    if bid.is_withdrawn:
        raise BidWithdrawn(f"The bid {bid_id} was withdrawn before.")
    await bid_store.withdraw(request.db, auction_id, bid.position)


def is_manager(caller: Caller) -> bool:
    return Permission.MANAGE_AUCTIONS in caller.permissions


async def authorize_auction(db: Database, caller: Caller, auction_id: UUID) -> VisibleAuction:
    """The auction, if the caller manages auctions or its organisation is invited."""
    seen = await store.read_visible(db, auction_id, caller.organisation_id)
    if seen is None:
        raise _reject_unknown(auction_id)
    if is_manager(caller):
        return seen
    if not seen.is_invited:
        raise _not_invited(auction_id)
    return seen


async def _load_available(db: Database, seen: Sequence[VisibleAuction]) -> dict[UUID, ItemAvailability]:
    """Of items that are offered still, or won and not yet delivered to their end."""
    asked = [
        one.auction
        for one in seen
        if one.auction.state is AuctionState.SCHEDULED
        or (one.auction.virtual_asset_id is not None and one.now < one.auction.item.delivery.end)
    ]
    found = await load_item_availability(db, asked)
    return {key: ItemAvailability(power=round(one.power, 6), energy=round(one.energy, 6)) for key, one in found.items()}


async def _require_locked(request: Request, auction_id: UUID) -> VisibleAuction:
    await store.lock(request.db, auction_id)
    await store.lock_terms(request.db, auction_id)
    return await authorize_auction(request.db, request.caller, auction_id)


async def _show_auction(request: Request, seen: VisibleAuction) -> Response[AuctionView]:
    auction, own = seen.auction, request.caller.organisation_id
    available = (await _load_available(request.db, [seen])).get(auction.id)
    if not is_manager(request.caller):
        return Response(auction_view(seen, own, available), etag=version_tag(auction))
    backing = await store.read_backing(request.db, auction.id)
    participants = await store.read_participants(request.db, auction.id)
    return Response(operator_view(seen, available, backing, participants), etag=version_tag(auction))


async def _require_existing(db: Database, backing: Sequence[BackingShare], participants: Sequence[UUID]) -> None:
    unknown_ids = await store.unknown_physical_assets(db, [part.physical_asset_id for part in backing])
    if unknown_ids:
        raise unfit("/backing", f"there is no physical asset {', '.join(map(str, unknown_ids))}")
    unknown_ids = await store.unknown_organisations(db, participants)
    if unknown_ids:
        raise unfit("/participants", f"there is no organisation {', '.join(map(str, unknown_ids))}")


def _read_window(start: datetime, end: datetime, pointer: str) -> Window:
    if start >= end:
        raise BadRequest.at(f"{pointer}/end", f"{pointer}/end: comes at or before the start.", "is not after start")
    return Window(start, end)


def _make_item(body: NewItem, item_id: UUID) -> Item:
    return Item(
        id=item_id,
        delivery=_read_window(body.start, body.end, "/item"),
        delivery_zone=body.delivery_zone.value,
        rated_charge_power_kw=body.rated_charge_power,
        rated_discharge_power_kw=body.rated_discharge_power,
        energy_capacity_kwh=body.energy_capacity,
        charge_efficiency=body.charge_efficiency,
        discharge_efficiency=body.discharge_efficiency,
        daily_cycle_limit=body.daily_cycle_limit,
        is_daily_cycle_limit_named=body.daily_cycle_limit is not None,
        initial_soc=body.initial_soc,
        last_soc_target=body.last_soc_target,
        final_soc_tolerance=body.final_soc_tolerance,
    )


def _list_backing(parts: Sequence[NewBacking]) -> list[BackingShare]:
    return [BackingShare(PhysicalAssetID(part.physical_asset_id), part.share) for part in parts]


def _unless_unset(value: T | UnsetType, otherwise: T) -> T:
    return otherwise if isinstance(value, UnsetType) else value


def _reject_unknown(auction_id: UUID) -> NotFound:
    return NotFound(f"There is no auction {auction_id}.")


def _not_invited(auction_id: UUID) -> Forbidden:
    return Forbidden(f"Your organisation is not invited to the auction {auction_id}.")


def _show_instant(instant: datetime | None) -> str:
    assert instant is not None
    return format_instant(instant)
