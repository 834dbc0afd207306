"""Placing and withdrawing bids: judged by the platform's clock and the asset's availability, one asset at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from gridloom.ancillary import rules, store
from gridloom.ancillary.gates import GateClosures
from gridloom.ancillary.model import BidStatus, NewAncillaryBid, NewProductBids
from gridloom.ancillary.products import ProductKey
from gridloom.ancillary.rules import BidIdTaken, BidNotStanding, ResultKnown
from gridloom.ancillary.store import BidRow, StoredBid
from gridloom.database.pool import Database
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import market_day_window
from gridloom.kernel.problem import BadRequest, FieldError, NotFound
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import availability, load_circumstances
from gridloom.physical_assets.rules import check_active
from gridloom.physical_assets.store import lock_asset, platform_now, read_status

HAS_RESULT = (BidStatus.ACCEPTED, BidStatus.REJECTED)


@dataclass(frozen=True, slots=True)
class PlacedBid:
    """One bid of a request: where it stood in it, and how it stands now."""

    key: ProductKey
    bid: StoredBid


@dataclass(frozen=True, slots=True)
class _Asked:
    pointer: str
    key: ProductKey
    bid: NewAncillaryBid


async def place_bids(
    db: Database, asset_key: int, entries: Sequence[NewProductBids], placed_by: UUID, gates: GateClosures
) -> list[list[PlacedBid]]:
    """Let these bids stand, all of them or none, and answer them entry by entry.

    A bid takes the place of the one that stood for its product. `db` is in a transaction, which ends the asset's lock.
    """
    by_entry = [_asked(position, entry) for position, entry in enumerate(entries)]
    asked = [one for entry in by_entry for one in entry]
    _check_ids(asked)
    await lock_asset(db, asset_key)
    known = await store.read_bids(db, asset_key, [one.bid.id for one in asked if one.bid.id])
    new = [one for one in asked if not _is_known(known, one)]
    now = await platform_now(db)
    await _check_new(db, asset_key, new, now, gates)
    rows = await _replace(db, asset_key, new, now, placed_by)
    now_standing = _after_replacement(known, rows) | {
        row.id: StoredBid(
            row.id,
            row.key.delivery_day,
            row.key.product.code,
            row.bid.capacity_price,
            row.bid.offered_capacity,
            row.bid.energy_price,
            row.status,
        )
        for row in rows
    }
    ids = {id(one): row.id for one, row in zip(new, rows, strict=True)}
    return [
        [PlacedBid(one.key, now_standing[ids.get(id(one)) or one.bid.id]) for one in entry]  # type: ignore[index]
        for entry in by_entry
    ]


def _asked(position: int, entry: NewProductBids) -> list[_Asked]:
    key = rules.given_key(entry.delivery_day, entry.product, f"/{position}")
    asked = [_Asked(f"/{position}/bids/{number}", key, bid) for number, bid in enumerate(entry.bids)]
    for one in asked:
        rules.check_bid(key, one.bid, one.pointer)
    return asked


def _check_ids(asked: Sequence[_Asked]) -> None:
    seen: set[UUID] = set()
    for one in asked:
        if not one.bid.id:
            continue
        if one.bid.id in seen:
            detail = f"{one.bid.id} is given twice."
            raise BadRequest(detail, errors=[FieldError(f"{one.pointer}/id", detail)])
        seen.add(one.bid.id)


def _is_known(known: dict[UUID, StoredBid], one: _Asked) -> bool:
    """Whether this very bid was placed before; under its id there may be no other."""
    bid = known.get(one.bid.id) if one.bid.id else None
    if bid is None:
        return False
    if not bid.says_the_same_as(one.key, one.bid):
        detail = f"The asset has another bid under the id {one.bid.id}."
        raise BidIdTaken(detail, errors=[FieldError(f"{one.pointer}/id", detail)])
    return True


def _after_replacement(known: dict[UUID, StoredBid], rows: Sequence[BidRow]) -> dict[UUID, StoredBid]:
    """The bids that were placed before, as they stand now that these rows have taken their products."""
    taken = {(row.key.delivery_day, row.key.product.code) for row in rows}
    return {
        bid_id: replace(bid, status=BidStatus.REPLACED)
        if bid.status is BidStatus.OFFERED and (bid.delivery_day, bid.product) in taken
        else bid
        for bid_id, bid in known.items()
    }


async def _check_new(db: Database, asset_key: int, new: Sequence[_Asked], now: datetime, gates: GateClosures) -> None:
    """Gate, asset and availability, as they are now that nobody else changes this asset."""
    if not new:
        return
    for one in new:
        rules.check_gate(one.key, gates.closure(one.key), now, one.pointer.rsplit("/bids", 1)[0])
    check_active(await read_status(db, asset_key))
    days = {day: market_day_window(day) for day in sorted({one.key.delivery_day for one in new})}
    hull = Window(min(day.start for day in days.values()), max(day.end for day in days.values()))
    circumstances = (await load_circumstances(db, [asset_key], hull))[asset_key]
    series = {day: availability(circumstances.ratings, circumstances.outages, window) for day, window in days.items()}
    for one in new:
        rules.check_deliverable(one.key, one.bid, series[one.key.delivery_day], one.pointer)


async def _replace(db: Database, asset_key: int, new: Sequence[_Asked], now: datetime, placed_by: UUID) -> list[BidRow]:
    """Write the bids; of several for a product the last one stands."""
    keys = {str(one.key): one.key for one in new}
    standing = {
        (bid.delivery_day, bid.product): bid
        for bid in await store.list_of_products(db, asset_key, list(keys.values()), (BidStatus.OFFERED, *HAS_RESULT))
    }
    for one in new:
        bid = standing.get((one.key.delivery_day, one.key.product.code))
        if bid is not None and bid.status in HAS_RESULT:
            detail = f"The bid {bid.id} for {one.key} is {bid.status}."
            raise ResultKnown(detail, errors=[FieldError(one.pointer, detail)])
    last = {str(one.key): position for position, one in enumerate(new)}
    rows = [
        BidRow(
            one.bid.id or uuid7(),
            one.key,
            one.bid,
            BidStatus.OFFERED if last[str(one.key)] == position else BidStatus.REPLACED,
        )
        for position, one in enumerate(new)
    ]
    await store.set_status(db, asset_key, [(bid.id, BidStatus.REPLACED) for bid in standing.values()])
    await store.insert_bids(db, asset_key, rows, now, placed_by)
    return rows


async def withdraw_bid(db: Database, asset_key: int, bid_id: UUID, gates: GateClosures) -> None:
    """Take a bid back before its gate closes; one that was withdrawn already stays so."""
    await lock_asset(db, asset_key)
    bid = (await store.read_bids(db, asset_key, [bid_id])).get(bid_id)
    if bid is None:
        raise NotFound(f"The asset has no bid {bid_id}.")
    if bid.status is BidStatus.WITHDRAWN:
        return
    if bid.status is not BidStatus.OFFERED:
        raise BidNotStanding(f"The bid {bid_id} is {bid.status}.")
    key = rules.given_key(bid.delivery_day, bid.product, "")
    rules.check_gate(key, gates.closure(key), await platform_now(db))
    await store.set_status(db, asset_key, [(bid_id, BidStatus.WITHDRAWN)])
