"""Which bids ask for more than will be available when they have to be delivered."""

from __future__ import annotations

from gridloom.ancillary.products import PRODUCTS, product_key
from gridloom.ancillary.rules import deliverable_kw, least_deliverable_kw
from gridloom.ancillary.store import list_to_deliver
from gridloom.database.pool import Database
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import AvailabilitySeries
from gridloom.physical_assets.conflicts import Conflict, ConflictKind, finds_conflicts

# Of products in one direction all have the same limits; only FCR goes both ways.
_BY_DIRECTION = {product.direction: product for product in PRODUCTS.values()}


@finds_conflicts(
    where="""
    from ancillary_bid where asset_key = $1 and status in ('OFFERED', 'ACCEPTED') and delivery_end > $2
      and delivery_start < $3
    order by asset_key, delivery_end
    """,
    last="""
    select max(delivery_end) from ancillary_bid where asset_key = $1 and status in ('OFFERED', 'ACCEPTED')
    """,
)
async def bid_conflicts(db: Database, asset_key: int, window: Window, series: AvailabilitySeries) -> list[Conflict]:
    """Bids that stand, and what was accepted; of a product that the window only touches, the part within it counts."""
    found = []
    always_kw = {direction: least_deliverable_kw(product, series) for direction, product in _BY_DIRECTION.items()}
    for bid in await list_to_deliver(db, asset_key, window):
        if bid.capacity_kw <= always_kw[PRODUCTS[bid.product].direction]:
            continue  # almost every bid: there may be thousands ahead
        key = product_key(bid.delivery_day, bid.product)
        able_kw = deliverable_kw(key, series)
        if bid.capacity_kw <= able_kw:
            continue
        found.append(
            Conflict(
                kind=ConflictKind.ANCILLARY_BID,
                id=bid.id,
                product_date_code=str(key),
                start=key.window.start,
                end=key.window.end,
                power=bid.capacity_kw if key.product.direction.exports else -bid.capacity_kw,
                available=able_kw,
                detail=(
                    f"The bid for {key}, {bid.status.lower()}, is for {bid.capacity_kw:g} kW, "
                    f"and {able_kw:g} kW can be delivered."
                ),
            )
        )
    return found
