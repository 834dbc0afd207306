"""What bids hold of their battery: power in their directions, and the energy that serves it."""

from __future__ import annotations

from uuid import UUID

from gridloom.ancillary.products import AncillaryMarket, ProductKey
from gridloom.capacity.model import Holding, HoldingKind, ReserveMinutes
from gridloom.kernel.market_time import period_number

_KIND_OF = {
    AncillaryMarket.FCR: HoldingKind.FCR,
    AncillaryMarket.AFRR_CAPACITY: HoldingKind.AFRR_CAPACITY,
    AncillaryMarket.AFRR_ENERGY: HoldingKind.AFRR_ENERGY,
}


def bid_holding(
    key: ProductKey, bid_id: UUID, capacity_kw: float, minutes: ReserveMinutes, *, is_firm: bool = False
) -> Holding:
    """is_firm: whether it was accepted; until then it waits for its result."""
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
