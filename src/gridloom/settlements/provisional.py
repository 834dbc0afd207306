"""Awards that follow from accepted bids until they are settled."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from gridloom.ancillary.awards import ProvisionalAward
from gridloom.ancillary.products import AncillaryMarket
from gridloom.kernel.units import mw_from_kw
from gridloom.platform.database.pool import Database
from gridloom.settlements import store
from gridloom.settlements.model import AFRR_CAPACITY_AWARDS, FCR_AWARDS, AFRRCapacityAward, FCRAward, Origin
from gridloom.settlements.recording import Recorder, record_settlements


async def record_provisional_awards(db: Database, asset_id: UUID, awards: Sequence[ProvisionalAward], by: UUID) -> None:
    """Marked so, and replaced by a settlement of the same key; what is settled already stays."""
    known = await store.awarded_products(db, asset_id)
    kept = [one for one in awards if one.capacity_kw or (one.delivery_day, one.product) in known]
    recorder = Recorder(by=by, origin=Origin.PROVISIONAL)
    fcr = [
        FCRAward(
            asset_id=str(asset_id),
            delivery_day=one.delivery_day,
            product=one.product,
            capacity=mw_from_kw(one.capacity_kw),
            settlement_price=float(one.price_eur_mw_h),
        )
        for one in kept
        if one.market is AncillaryMarket.FCR
    ]
    afrr = [
        AFRRCapacityAward(
            asset_id=str(asset_id),
            delivery_day=one.delivery_day,
            product=one.product,
            capacity=mw_from_kw(one.capacity_kw),
            price=float(one.price_eur_mw_h),
        )
        for one in kept
        if one.market is AncillaryMarket.AFRR_CAPACITY
    ]
    if fcr:
        await record_settlements(db, FCR_AWARDS, fcr, recorder)
    if afrr:
        await record_settlements(db, AFRR_CAPACITY_AWARDS, afrr, recorder)
