"""Recording results: a bid and its result follow each other under the asset's lock, so they end in one state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeAlias
from uuid import UUID

from gridloom.ancillary import result_store, rules, store
from gridloom.ancillary.awards import update_provisional_awards
from gridloom.ancillary.bid_placement import bid_holding
from gridloom.ancillary.model import BidStatus, NewProductResults, NewResult
from gridloom.ancillary.products import AncillaryMarket, ProductKey, capacity_block_around
from gridloom.ancillary.result_store import StoredResult
from gridloom.ancillary.rules import BidNotStanding, ContradictsResult, UnknownBids
from gridloom.ancillary.store import StoredBid
from gridloom.capacity.holding import CapacityRequest, hold_capacity, replace_holdings
from gridloom.capacity.model import HoldingGroup, ReserveMinutes
from gridloom.capacity.store import LockedBatteries, lock_batteries
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.kernel.window import Window
from gridloom.logbook.model import Impact, NewLogbookEntry
from gridloom.logbook.store import write_system_entries
from gridloom.physical_assets.availability.changes import enqueue_following, enqueue_revalidation
from gridloom.platform.database.pool import Database
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.virtual_assets.gate_closure.notifications import (
    AvailabilityBefore,
    emit_availability_changed,
    read_backed_availability,
)

READ = Permission.READ_PHYSICAL_ASSETS

ExistingResults: TypeAlias = dict[tuple[UUID, date, str], StoredResult]
"""The results so far, by bid, delivery day and product."""


@dataclass(frozen=True, slots=True)
class ResultsAsset:
    """The asset whose results are recorded, and who owns it."""

    key: int
    id: UUID
    organisation_id: UUID


@dataclass(frozen=True, slots=True)
class RecordedResults:
    """All results that were given as they are known now, entry by entry, and the corrections among them."""

    by_entry: list[tuple[ProductKey, list[StoredResult]]] = field(default_factory=list)
    corrections: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _SentResult:
    pointer: str
    key: ProductKey
    result: NewResult
    is_correction: bool

    @property
    def natural_key(self) -> tuple[UUID, date, str]:
        return self.result.bid_id, self.key.delivery_day, self.key.product.code


async def record_results(
    db: Database,
    asset: ResultsAsset,
    entries: Sequence[NewProductResults],
    recorded_by: UUID,
    minutes: ReserveMinutes,
) -> RecordedResults:
    """Record them all or none; what is known already changes nothing. `db` is in a transaction.

    What was accepted stays taken, the rest is free again; a correction that takes more is validated against the book.
    """
    by_entry = [_list_given(position, entry) for position, entry in enumerate(entries)]
    given = [one for _, entry in by_entry for one in entry]
    _reject_repeated_results(given)
    locked = await lock_batteries(db, [asset.key])
    bids = await store.read_bids(db, asset.key, {one.result.bid_id for one in given})
    known = await result_store.latest_results(db, asset.key, list(bids))
    new = [one for one in given if not _is_duplicate(known, one)]
    _check_bids(new, bids, known)
    now = locked.since
    recorded = RecordedResults()
    added: list[tuple[_SentResult, StoredResult]] = []
    for one in new:
        before = known.get(one.natural_key)
        bid = bids[one.result.bid_id]
        _check_standing(one, bid, before)
        after = StoredResult(
            *one.natural_key,
            revision=1 if before is None else before.revision + 1,
            accepted=one.result.accepted,
            accepted_capacity_kw=one.result.accepted_capacity,
            settlement_price_eur=one.result.settlement_price,
            recorded_at=now,
        )
        if before is not None:
            recorded.corrections.append(_describe_correction(one, before))
        known[one.natural_key] = after
        added.append((one, after))
    await result_store.insert_results(db, asset.key, [result for _, result in added], recorded_by)
    own = [one for one, _ in added if bids[one.result.bid_id].product == one.key.product.code]
    backed = await _read_backed_availability(db, asset.key, own)
    await _update_holdings(db, locked, asset, own, bids, minutes)
    await store.set_results(
        db,
        asset.key,
        [(one.result.bid_id, rules.status_of(one.result), one.result.accepted_capacity) for one in own],
    )
    await update_provisional_awards(db, asset.key, asset.id, (one.key for one in own), recorded_by)
    if backed is not None and backed.available and backed.window.end > now:
        await enqueue_revalidation(db, locked, asset.key)
        await emit_availability_changed(db, backed, now)
    if added:
        await enqueue_following(db, locked, asset.key)
        await write_system_entries(db, asset.key, [_write_entry(one, result) for one, result in added], recorded_by)
        await record_events(db, [_make_event(asset, one, result) for one, result in added])
    recorded.by_entry.extend((key, [known[one.natural_key] for one in entry]) for key, entry in by_entry)
    return recorded


async def _read_backed_availability(
    db: Database, asset_key: int, own: Sequence[_SentResult]
) -> AvailabilityBefore | None:
    """The availability of virtual assets before results count: accepted capacity bears losses beside them."""
    if not own:
        return None
    windows = [one.key.window for one in own]
    hull = Window(min(window.start for window in windows), max(window.end for window in windows))
    return await read_backed_availability(db, asset_key, hull)


async def _update_holdings(
    db: Database,
    locked: LockedBatteries,
    asset: ResultsAsset,
    own: Sequence[_SentResult],
    bids: dict[UUID, StoredBid],
    minutes: ReserveMinutes,
) -> None:
    """Each bid holds what was accepted of it from now on, validated only where that is more than it held."""
    accepted = [
        bid_holding(one.key, one.result.bid_id, one.result.accepted_capacity, minutes, is_firm=True)
        for one in own
        if one.result.accepted_capacity
    ]
    more = {
        one.result.bid_id for one in own if one.result.accepted_capacity > _capacity_in_book_kw(bids[one.result.bid_id])
    }
    pointers = {one.result.bid_id: f"{one.pointer}/acceptedCapacity" for one in own}
    await replace_holdings(
        db,
        locked,
        asset.key,
        released=[one.result.bid_id for one in own if one.result.bid_id not in more],
        holdings=[holding for holding in accepted if holding.holder_id not in more],
    )
    takings = [
        HoldingGroup((holding,), pointers[holding.holder_id]) for holding in accepted if holding.holder_id in more
    ]
    if takings:
        await hold_capacity(db, locked, [CapacityRequest(asset.key, asset.id, takings, tuple(more))])


def _capacity_in_book_kw(bid: StoredBid) -> float:
    return bid.offered_capacity_kw if bid.status is BidStatus.OFFERED else bid.accepted_capacity_kw or 0.0


def _list_given(position: int, entry: NewProductResults) -> tuple[ProductKey, list[_SentResult]]:
    key = rules.given_key(entry.delivery_day, entry.product, f"/{position}")
    return key, [
        _SentResult(f"/{position}/results/{number}", key, result, entry.correction or result.correction)
        for number, result in enumerate(entry.results)
    ]


def _reject_repeated_results(given: Sequence[_SentResult]) -> None:
    seen = set()
    for one in given:
        if one.natural_key in seen:
            raise BadRequest.at(f"{one.pointer}/bidID", f"The bid {one.result.bid_id} has two results for {one.key}.")
        seen.add(one.natural_key)


def _is_duplicate(known: ExistingResults, one: _SentResult) -> bool:
    before = known.get(one.natural_key)
    return before is not None and before.says_the_same_as(one.result)


def _check_bids(given: Sequence[_SentResult], bids: dict[UUID, StoredBid], known: ExistingResults) -> None:
    faults = [
        FieldError(f"{one.pointer}/bidID", f"{one.result.bid_id} is not a bid of this asset for {one.key}")
        for one in given
        if one.result.bid_id not in bids or not _is_for(bids[one.result.bid_id], one.key)
    ]
    if faults:
        raise UnknownBids("; ".join(error.detail for error in faults[:3]) + ".", errors=faults)
    for one in given:
        rules.check_result(one.result, _max_accepted_kw(bids[one.result.bid_id], one.key, known), one.pointer)


def _max_accepted_kw(bid: StoredBid, key: ProductKey, known: ExistingResults) -> float:
    """The offered capacity; of the quarter-hours behind a capacity bid, what was accepted of it."""
    if bid.product == key.product.code:
        return bid.offered_capacity_kw
    return known[bid.id, bid.delivery_day, bid.product].accepted_capacity_kw


def _is_for(bid: StoredBid, key: ProductKey) -> bool:
    """Its own product; an accepted aFRR capacity bid counts for the quarter-hours of its block as well."""
    if bid.delivery_day != key.delivery_day:
        return False
    if bid.product == key.product.code:
        return True
    if key.product.market is not AncillaryMarket.AFRR_ENERGY or bid.status is not BidStatus.ACCEPTED:
        return False
    return capacity_block_around(key).product.code == bid.product


def _check_standing(one: _SentResult, bid: StoredBid, before: StoredResult | None) -> None:
    if bid.status in (BidStatus.WITHDRAWN, BidStatus.REPLACED):
        raise BidNotStanding.at(f"{one.pointer}/bidID", f"The bid {bid.id} is {bid.status}.")
    if before is not None and not one.is_correction:
        detail = f"The bid {bid.id} has another result for {one.key}, recorded at {format_instant(before.recorded_at)}."
        raise ContradictsResult.at(one.pointer, detail)


def _describe_correction(one: _SentResult, before: StoredResult) -> dict[str, Any]:
    """The details of a corrected result in the audit log."""
    return {
        "bidID": str(before.bid_id),
        "productDateCode": str(one.key),
        "revision": before.revision,
        "accepted": before.accepted,
        "acceptedCapacity": before.accepted_capacity_kw,
        "settlementPrice": None if before.settlement_price_eur is None else str(before.settlement_price_eur),
    }


def _write_entry(one: _SentResult, result: StoredResult) -> NewLogbookEntry:
    """Its text in the logbook."""
    unit = "EUR/MWh" if one.key.product.market is AncillaryMarket.AFRR_ENERGY else "EUR/MW"
    price = "" if result.settlement_price_eur is None else f" at {result.settlement_price_eur} {unit}"
    accepted = say("{} of the bid {} were accepted{}.", kw(result.accepted_capacity_kw), result.bid_id, price)
    return NewLogbookEntry(
        type="ANCILLARY_RESULT",
        title=f"{one.key} {rules.status_of(one.result).lower()}" + (", corrected" if result.revision > 1 else ""),
        description=accepted if result.accepted else f"Nothing of the bid {result.bid_id} was accepted.",
        impact=Impact.POSITIVE if result.accepted else Impact.NEUTRAL,
        start=one.key.window.start,
        end=one.key.window.end,
        tags=["ancillary", one.key.product.market.lower()],
    )


def _make_event(asset: ResultsAsset, one: _SentResult, result: StoredResult) -> NewEvent:
    return NewEvent(
        type="ancillary.result",
        organisation_id=asset.organisation_id,
        subject=f"physical-assets/{asset.id}/ancillary/bids/{result.bid_id}",
        permission=READ,
        asset_key=asset.key,
        data={
            "bidID": result.bid_id,
            "product": result.product,
            "deliveryDay": result.delivery_day,
            "status": rules.status_of(one.result),
        },
    )
