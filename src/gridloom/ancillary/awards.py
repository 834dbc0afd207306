"""Provisional awards of accepted bids for balancing capacity until they are settled, one for each product."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final
from uuid import UUID

from gridloom.ancillary import result_store
from gridloom.ancillary.products import AncillaryMarket, ProductKey
from gridloom.ancillary.result_store import AcceptedStep
from gridloom.kernel.dependency import Dependency
from gridloom.platform.database.pool import Database

_MICRO: Final = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class ProvisionalAward:
    """Capacity of one asset in one block; 0 where a correction has taken it back."""

    market: AncillaryMarket
    delivery_day: date
    product: str
    capacity_kw: float
    price_eur_mw_h: Decimal


RECORD_AWARDS: Dependency[Callable[[Database, UUID, Sequence[ProvisionalAward], UUID], Awaitable[None]]] = Dependency(
    "where provisional awards are recorded"
)
"""From the asset's id, its awards and who recorded their results; what the operator has settled stays."""


async def update_provisional_awards(
    db: Database, asset_key: int, asset_id: UUID, keys: Iterable[ProductKey], by: UUID
) -> None:
    """Have the awards follow the results of these products, in the transaction that records them."""
    blocks = sorted({key for key in keys if key.product.market is not AncillaryMarket.AFRR_ENERGY}, key=str)
    if not blocks:
        return
    products = [(key.delivery_day, key.product.code) for key in blocks]
    steps = await result_store.read_accepted_steps(db, asset_key, products)
    awards = [provisional_award_of(key, steps[product]) for key, product in zip(blocks, products, strict=True)]
    await RECORD_AWARDS.get()(db, asset_id, awards, by)


def provisional_award_of(key: ProductKey, steps: Sequence[AcceptedStep]) -> ProvisionalAward:
    """All accepted price steps of a product together, their prices weighted by capacity.

    FCR prices are for the whole block, which lasts three, four or five hours; aFRR prices are per hour. A result
    without a price is paid as bid.
    """
    quarter_hours = key.window.duration // timedelta(minutes=15) if key.product.market is AncillaryMarket.FCR else 4
    capacity_kw = sum(step.capacity_kw for step in steps)
    price = Decimal(0)
    if capacity_kw:
        paid = sum((Decimal(str(step.capacity_kw)) * step.price_eur for step in steps), Decimal(0))
        price = (paid / Decimal(str(capacity_kw)) * 4 / quarter_hours).quantize(_MICRO, ROUND_HALF_EVEN)
    return ProvisionalAward(key.product.market, key.delivery_day, key.product.code, capacity_kw, price)
