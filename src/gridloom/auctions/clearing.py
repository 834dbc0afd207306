"""Opening and clearing: what happens to an auction by itself, exactly once, when its time has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from gridloom.auctions import bid_store, store
from gridloom.auctions.deliverability import load_item_availability
from gridloom.auctions.model import (
    Auction,
    AuctionBid,
    AuctionState,
    AuctionStatus,
    Cancellation,
    CancelReason,
    ClearingOutcome,
    ClearingResult,
    Item,
)
from gridloom.auctions.rules import status_for, winning_bid
from gridloom.capacity.store import lock_batteries
from gridloom.kernel.ids import AuctionID
from gridloom.kernel.market_time import market_day_of
from gridloom.kernel.permission import Permission
from gridloom.kernel.units import KW_PER_MW
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Connection, Database
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.platform.http import Caller
from gridloom.platform.jobs import JobRun, cancel, enqueue, job
from gridloom.virtual_assets.allocation import allocate
from gridloom.virtual_assets.backing import store as backing_store
from gridloom.virtual_assets.backing.holdings import lock_backing, release_backing
from gridloom.virtual_assets.gate_closure.notifications import emit_availability_changed, read_available_of_backed
from gridloom.virtual_assets.model import PLATFORM, AssetTerms, BackingShare, Efficiency
from gridloom.virtual_assets.rules import SHARE_TOLERANCE

OPENING = "auction.open"
CLEARING = "auction.clear"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


async def enqueue_auction_jobs(db: Database, auction: Auction) -> None:
    """Have the auction opened and cleared at its times; called again, the times move."""
    await enqueue(db, OPENING, key=str(auction.id), due=auction.open.start, clock="platform")
    await enqueue(db, CLEARING, key=str(auction.id), due=auction.open.end, clock="platform")


async def cancel_auction_jobs(db: Database, auction_id: UUID) -> None:
    await cancel(db, OPENING, str(auction_id))
    await cancel(db, CLEARING, str(auction_id))


@job(OPENING)
async def open_auction(run: JobRun) -> None:
    """Notify the participants; the auction itself is open by the clock alone.

    An operator's change that began just before the opening is waited for: it may have moved it.
    """
    auction_id = UUID(run.key)
    auction = await store.read_locked_terms(run.db, auction_id)
    if auction is None or auction.state is not AuctionState.SCHEDULED:
        return
    if await platform_now(run.db) < auction.open.start:
        await enqueue(run.db, OPENING, key=run.key, due=auction.open.start, clock="platform")
        return
    data = {"auctionID": auction_id, "start": auction.open.start, "end": auction.open.end}
    participants = await store.read_participants(run.db, auction_id)
    await record_events(run.db, [_make_event("auction.opened", auction_id, one, data) for one in participants])


@job(CLEARING)
async def clear_auction(run: JobRun) -> None:
    await clear(run.db, UUID(run.key))


async def clear(db: Connection, auction_id: UUID) -> None:
    """Find the winner and give it its virtual battery, all in the caller's transaction; again, it does nothing.

    Under the auction's lock no bid can come any more: every acknowledged one is seen here.
    """
    if not await store.lock(db, auction_id):
        return
    auction = await store.read_auction(db, auction_id)
    assert auction is not None
    if auction.state is not AuctionState.SCHEDULED:
        return
    if await platform_now(db) < auction.open.end:
        # Moved by the operator, or the machine's clock was set back: what closes later is cleared later.
        await enqueue(db, CLEARING, key=str(auction_id), due=auction.open.end, clock="platform")
        return
    standing = await bid_store.read_standing_bids(db, auction_id)
    if not await is_deliverable(db, auction):
        await cancel_offer(db, auction_id, CancelReason.NOT_DELIVERABLE)
        return
    winner = winning_bid(standing, auction.hurdle_price_eur)
    if winner is None:
        await release_offer(db, auction_id)
        detail = "No bid reached the hurdle price." if standing else "No bid stood when the auction closed."
        conclusion = ClearingResult(ClearingOutcome.NO_VALID_BID, detail)
    else:
        conclusion = await _allocate_offer(db, auction, winner)
    await store.store_result(db, auction_id, conclusion)
    await _emit_cleared(db, auction_id, {bid.organisation_id for bid in standing})


async def is_deliverable(db: Database, auction: Auction) -> bool:
    """Whether as much of the item is there as the auction asks for; its batteries stay locked."""
    backing = await store.read_backing(db, auction.id)
    keys = await backing_store.read_keys(db, [part.physical_asset_id for part in backing])
    await lock_batteries(db, keys.values())
    found = (await load_item_availability(db, [auction]))[auction.id]
    return found.deliverable >= auction.minimum_availability - SHARE_TOLERANCE


async def cancel_offer(db: Database, auction_id: UUID, reason: CancelReason) -> None:
    """There is no winner and no payment, and its capacity is released; the caller holds the auction's lock."""
    cancelled = Cancellation(await platform_now(db), reason)
    await store.cancel_auction(db, auction_id, cancelled)
    await release_offer(db, auction_id)
    bidders = {bid.organisation_id for bid in await bid_store.read_standing_bids(db, auction_id)}
    await record_events(
        db,
        [
            _make_event(
                "auction.cancelled",
                auction_id,
                one,
                {
                    "auctionID": auction_id,
                    "reason": reason,
                    "status": AuctionStatus.LOST if one in bidders else AuctionStatus.NO_BIDS_SUBMITTED,
                },
            )
            for one in await store.read_participants(db, auction_id)
        ],
    )


async def release_offer(db: Database, auction_id: UUID) -> None:
    """Releases the auction's holdings; the caller holds the auction's lock.

    Where that gives capacity back under an outage, the holders of the rest are notified.
    """
    ids = [part.physical_asset_id for part in await store.read_backing(db, auction_id)]
    await lock_backing(db, ids)
    window = await store.read_delivery_window(db, auction_id)
    before = await read_available_of_backed(db, ids, window)
    locked = await release_backing(db, ids, auction_id)
    await emit_availability_changed(db, before, locked.since)


async def _allocate_offer(db: Connection, auction: Auction, winner: AuctionBid) -> ClearingResult:
    """Transfers the auction's holdings to the winner: nothing is left to validate."""
    backing = await store.read_backing(db, auction.id)
    asset = await allocate(db, winner.organisation_id, terms_of(auction, backing), PLATFORM)
    return ClearingResult(ClearingOutcome.ALLOCATED, None, winner, asset.id)


def terms_of(auction: Auction, backing: Sequence[BackingShare]) -> AssetTerms:
    item = auction.item
    return AssetTerms(
        name=name_of(item),
        window=item.delivery,
        delivery_zone=item.delivery_zone,
        charge_kw=item.rated_charge_power_kw,
        discharge_kw=item.rated_discharge_power_kw,
        energy_capacity_kwh=item.energy_capacity_kwh,
        efficiency=Efficiency(item.charge_efficiency, item.discharge_efficiency),
        backing=tuple(backing),
        daily_cycle_limit=item.daily_cycle_limit,
        annual_cycle_limit=item.annual_cycle_limit,
        initial_soc=item.initial_soc,
        final_soc_target=item.last_soc_target,
        final_soc_tolerance=item.final_soc_tolerance,
        auction_id=AuctionID(auction.id),
    )


def name_of(item: Item) -> str:
    """The virtual asset's first name: where, how large, and on which market days."""
    first, last = market_day_of(item.delivery.start), market_day_of(item.delivery.end - timedelta(milliseconds=1))
    days = f"{last.day} {_MONTHS[last.month - 1]}"
    if (first.year, first.month) != (last.year, last.month):
        days = f"{first.day} {_MONTHS[first.month - 1]} – {days}"
    elif first != last:
        days = f"{first.day}–{days}"
    return f"{item.delivery_zone} {item.rated_discharge_power_kw / KW_PER_MW:g} MW, {days}"


async def emit_changed(db: Database, auction: Auction, caller: Caller) -> None:
    """To the participants, and with the author to the organisation that changed it."""
    data = {"auctionID": auction.id, "start": auction.open.start, "end": auction.open.end}
    participants = set(await store.read_participants(db, auction.id)) - {caller.organisation_id}
    authored = _make_event("auction.changed", auction.id, caller.organisation_id, data | {"authorID": caller.id})
    others = [_make_event("auction.changed", auction.id, one, data) for one in sorted(participants)]
    await record_events(db, [authored, *others])


async def _emit_cleared(db: Database, auction_id: UUID, bidders: set[UUID]) -> None:
    """Each participant learns its own outcome and nothing else."""
    auction = await store.read_auction(db, auction_id)
    assert auction is not None
    now = await platform_now(db)
    events = []
    for organisation_id in await store.read_participants(db, auction_id):
        status = status_for(
            auction, now=now, organisation_id=organisation_id, has_standing_bid=organisation_id in bidders
        )
        data: dict[str, object] = {"auctionID": auction_id, "status": status}
        if status is AuctionStatus.WON:
            data["virtualAssetID"] = auction.virtual_asset_id
        events.append(_make_event("auction.cleared", auction_id, organisation_id, data))
    await record_events(db, events)


def _make_event(type: str, auction_id: UUID, organisation_id: UUID, data: Mapping[str, object]) -> NewEvent:
    return NewEvent(
        type=type,
        organisation_id=organisation_id,
        subject=f"auctions/{auction_id}",
        permission=Permission.READ_AUCTIONS,
        data=data,
    )
