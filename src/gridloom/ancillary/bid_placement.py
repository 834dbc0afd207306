"""Placing and withdrawing bids: validated by the platform's clock and the battery's book, one battery at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from gridloom.ancillary import rules, store
from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.model import BidStatus, NewAncillaryBid, NewProductBids
from gridloom.ancillary.products import AncillaryMarket, ProductKey
from gridloom.ancillary.rules import BidIdTaken, BidNotStanding, ResultKnown
from gridloom.ancillary.store import BidRow, StoredBid
from gridloom.capacity.holding import CapacityRequest, hold_capacity, release_holdings
from gridloom.capacity.model import Holding, HoldingGroup, HoldingKind, ReserveMinutes
from gridloom.capacity.store import lock_batteries
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import period_number
from gridloom.kernel.problem import BadRequest, NotFound
from gridloom.physical_assets.rules import check_active
from gridloom.physical_assets.store import read_status
from gridloom.platform.database.pool import Database

HAS_RESULT = (BidStatus.ACCEPTED, BidStatus.REJECTED)
_KIND_OF = {
    AncillaryMarket.FCR: HoldingKind.FCR,
    AncillaryMarket.AFRR_CAPACITY: HoldingKind.AFRR_CAPACITY,
    AncillaryMarket.AFRR_ENERGY: HoldingKind.AFRR_ENERGY,
}


@dataclass(frozen=True, slots=True)
class PlacedBid:
    """One bid of a request: its index in it, and its present state."""

    key: ProductKey
    bid: StoredBid


@dataclass(frozen=True, slots=True)
class _RequestedBid:
    pointer: str
    key: ProductKey
    bid: NewAncillaryBid


@dataclass(frozen=True, slots=True)
class BiddingRules:
    """The rules of bids besides the battery: the gates, and the energy that a reserve needs."""

    gates: TenderGates
    minutes: ReserveMinutes


async def place_bids(
    db: Database, asset_key: int, asset_id: UUID, entries: Sequence[NewProductBids], placed_by: UUID, desk: BiddingRules
) -> list[list[PlacedBid]]:
    """Let these bids stand, all of them or none, and answer them entry by entry.

    The bids for a product are its price steps: together they replace the bids before them. `db` is in a
    transaction, which ends the battery's lock.
    """
    by_entry = [_list_asked(position, entry) for position, entry in enumerate(entries)]
    asked = [one for entry in by_entry for one in entry]
    _check_ids(asked)
    locked = await lock_batteries(db, [asset_key])
    known = await store.read_bids(db, asset_key, [one.bid.id for one in asked if one.bid.id])
    new = [one for one in asked if not _is_duplicate(known, one)]
    now = locked.since
    rows = [BidRow(one.bid.id or uuid7(), one.key, one.bid, BidStatus.OFFERED) for one in new]
    if new:
        for one in new:
            rules.check_gate(one.key, desk.gates, now, one.pointer.rsplit("/bids", 1)[0])
        check_active(await read_status(db, asset_key))
        standing_steps = await _read_standing_steps(db, asset_key, new)
        given = {one.bid.id for one in asked if one.bid.id}
        replaced = [bid_id for bid_id in standing_steps if bid_id not in given]
        kept = [one for one in asked if one.bid.id in standing_steps]
        pairs = [*((one, one.bid.id) for one in kept if one.bid.id), *zip(new, (row.id for row in rows), strict=True)]
        takings = _list_takings(pairs, desk.minutes)
        await hold_capacity(db, locked, [CapacityRequest(asset_key, asset_id, takings, standing_steps)])
        await store.set_status(db, asset_key, [(bid_id, BidStatus.REPLACED) for bid_id in replaced])
        await store.insert_bids(db, asset_key, rows, now, placed_by)
        known = {
            bid_id: replace(bid, status=BidStatus.REPLACED) if bid_id in replaced else bid
            for bid_id, bid in known.items()
        }
    standing = known | {row.id: _read_bid(row) for row in rows}
    ids = {id(one): row.id for one, row in zip(new, rows, strict=True)}
    return [
        [PlacedBid(one.key, standing[ids.get(id(one)) or one.bid.id]) for one in entry]  # type: ignore[index]
        for entry in by_entry
    ]


def _read_bid(row: BidRow) -> StoredBid:
    return StoredBid(
        row.id,
        row.key.delivery_day,
        row.key.product.code,
        row.bid.capacity_price,
        row.bid.offered_capacity,
        row.bid.energy_price,
        row.status,
    )


def _list_takings(asked: Sequence[tuple[_RequestedBid, UUID]], minutes: ReserveMinutes) -> list[HoldingGroup]:
    """The steps of a product are taken together; `asked` has each bid's id."""
    products: dict[str, list[tuple[_RequestedBid, UUID]]] = {}
    for pair in asked:
        products.setdefault(str(pair[0].key), []).append(pair)
    return [
        HoldingGroup(
            tuple(bid_holding(one.key, bid_id, one.bid.offered_capacity, minutes) for one, bid_id in steps),
            f"{steps[0][0].pointer}/offeredCapacity" if len(steps) == 1 else steps[0][0].pointer.rsplit("/", 1)[0],
        )
        for steps in products.values()
    ]


def _list_asked(position: int, entry: NewProductBids) -> list[_RequestedBid]:
    key = rules.given_key(entry.delivery_day, entry.product, f"/{position}")
    asked = [_RequestedBid(f"/{position}/bids/{number}", key, bid) for number, bid in enumerate(entry.bids)]
    for one in asked:
        rules.check_bid(key, one.bid, one.pointer)
    return asked


def _check_ids(asked: Sequence[_RequestedBid]) -> None:
    seen: set[UUID] = set()
    for one in asked:
        if not one.bid.id:
            continue
        if one.bid.id in seen:
            raise BadRequest.at(f"{one.pointer}/id", f"{one.bid.id} is given twice.")
        seen.add(one.bid.id)


def _is_duplicate(known: dict[UUID, StoredBid], one: _RequestedBid) -> bool:
    """Whether this very bid was placed before; under its id there may be no other."""
    bid = known.get(one.bid.id) if one.bid.id else None
    if bid is None:
        return False
    if not bid.says_the_same_as(one.key, one.bid):
        raise BidIdTaken.at(f"{one.pointer}/id", f"The asset has another bid under the id {one.bid.id}.")
    return True


async def _read_standing_steps(db: Database, asset_key: int, new: Sequence[_RequestedBid]) -> list[UUID]:
    """The bids that stand for the products of new ones; a product that has a result takes no more."""
    keys = {str(one.key): one.key for one in new}
    standing = await store.list_of_products(db, asset_key, list(keys.values()), (BidStatus.OFFERED, *HAS_RESULT))
    with_result = {(bid.delivery_day, bid.product): bid for bid in standing if bid.status in HAS_RESULT}
    for one in new:
        bid = with_result.get((one.key.delivery_day, one.key.product.code))
        if bid is not None:
            raise ResultKnown.at(one.pointer, f"The bid {bid.id} for {one.key} is {bid.status}.")
    return [bid.id for bid in standing]


async def withdraw_bid(db: Database, asset_key: int, bid_id: UUID, gates: TenderGates) -> None:
    """Take a bid back before its gate closes; one that was withdrawn already stays so."""
    locked = await lock_batteries(db, [asset_key])
    bid = (await store.read_bids(db, asset_key, [bid_id])).get(bid_id)
    if bid is None:
        raise NotFound(f"The asset has no bid {bid_id}.")
    if bid.status is BidStatus.WITHDRAWN:
        return
    if bid.status is not BidStatus.OFFERED:
        raise BidNotStanding(f"The bid {bid_id} is {bid.status}.")
    key = rules.given_key(bid.delivery_day, bid.product, "")
    rules.check_not_closed(key, gates, locked.since)
    await release_holdings(db, locked, asset_key, [bid_id])
    await store.set_status(db, asset_key, [(bid_id, BidStatus.WITHDRAWN)])


def bid_holding(
    key: ProductKey, bid_id: UUID, capacity_kw: float, minutes: ReserveMinutes, *, is_firm: bool = False
) -> Holding:
    """The holding of a bid: power in its directions, and the energy that serves it.

    is_firm: whether it was accepted; until then it waits for its result.
    """
    kind, direction, window = _KIND_OF[key.product.market], key.product.direction, key.window
    charge_kw = capacity_kw if direction.imports else 0.0
    discharge_kw = capacity_kw if direction.exports else 0.0
    return Holding(
        kind,
        bid_id,
        period_number(window.start),
        period_number(window.end),
        charge_kw,
        discharge_kw,
        minutes.energy_kwh(kind, charge_kw, discharge_kw),
        is_firm,
        product=key.product.code,
    )
