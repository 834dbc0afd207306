"""Carving out the reserves that were accepted, with their provisional awards."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final
from uuid import UUID

from msgspec import structs

from gridloom.ancillary.awards import ProvisionalAward
from gridloom.ancillary.products import AncillaryMarket
from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.problem import Problem
from gridloom.markets.orders.model import Order, OrderProblem, OrderResult, ReserveAward, ReserveBid, block_hours
from gridloom.platform.database.pool import Database
from gridloom.settlements.provisional import record_provisional_awards
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.blocks.carving import carve_block, remove_block_with_schedule
from gridloom.virtual_assets.model import Market
from gridloom.virtual_assets.store import lock_virtual_asset_by_key

_MICRO: Final = Decimal("0.000001")


async def settle_reserves(
    db: Database, order: Order, result: OrderResult, now: datetime, minutes: ReserveMinutes, by: UUID
) -> tuple[OrderResult, OrderProblem | None]:
    """Book every award and carve out its block; the result with its blocks, and why one could not be carved.

    A correction returns the blocks of the result before it that no longer fit, and carves out what does.
    """
    before = {} if order.result is None else {one.product: one for one in order.result.reserves}
    after = {one.product: one for one in result.reserves}
    settled, problem = [], None
    for bid in order.reserves:
        known = before.get(bid.product)
        award = after.get(bid.product) or ReserveAward(bid.product, 0.0, Decimal(0))
        try:
            award = structs.replace(award, block_id=await _carve_award(db, order, bid, known, award, now, minutes))
        except Problem as refusal:
            problem = problem or OrderProblem(refusal.type, refusal.title, f"{bid.product}: {refusal.detail}")
        settled.append(award)
    awards = [_provisional_award(order, one) for one in settled if one.capacity_kw or one.product in before]
    if awards:
        await record_provisional_awards(db, order.virtual_asset_id, awards, by)
    named = tuple(award for award in settled if award.product in after)
    return structs.replace(result, reserves=tuple(sorted(named, key=lambda one: one.product))), problem


async def _carve_award(
    db: Database,
    order: Order,
    bid: ReserveBid,
    known: ReserveAward | None,
    award: ReserveAward,
    now: datetime,
    minutes: ReserveMinutes,
) -> UUID | None:
    """The block of what is accepted now, None for nothing."""
    if known is not None and known.capacity_kw == award.capacity_kw and (known.block_id or not award.capacity_kw):
        return known.block_id
    if known is not None and known.block_id is not None:
        await _remove_block(db, order, known.block_id, now)
    if not award.capacity_kw:
        return None
    asset = await lock_virtual_asset_by_key(db, order.asset_key)
    assert asset is not None, "it is locked"
    power_kw = structs.replace(bid, capacity_kw=award.capacity_kw).power_kw()
    span = bid.periods(order.delivery_day)
    block, _ = await carve_block(db, asset, span, Market(bid.reserve.value), power_kw, minutes, order.author, now)
    return block.id


async def _remove_block(db: Database, order: Order, block_id: UUID, now: datetime) -> None:
    asset = await lock_virtual_asset_by_key(db, order.asset_key)
    assert asset is not None, "it is locked"
    for block in await block_store.read_blocks(db, asset.key):
        if block.id == block_id:
            await remove_block_with_schedule(db, asset, block, order.author, now)


def _provisional_award(order: Order, award: ReserveAward) -> ProvisionalAward:
    """FCR prices are for the whole block, which lasts three, four or five hours; those of aFRR are per hour."""
    is_fcr = order.stage is Stage.FCR
    hours = block_hours(award.product, order.delivery_day) if is_fcr else 1
    price = (award.price_eur_mw / hours).quantize(_MICRO, ROUND_HALF_EVEN)
    market = AncillaryMarket.FCR if is_fcr else AncillaryMarket.AFRR_CAPACITY
    return ProvisionalAward(market, order.delivery_day, award.product, award.capacity_kw, price)
