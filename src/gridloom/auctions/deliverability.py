"""How much of an auctioned battery the physical ones behind it can deliver, as things stand now."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from gridloom.auctions import store
from gridloom.auctions.model import Auction
from gridloom.capacity.store import load_firm_capacity
from gridloom.market_calendar import window_periods
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing import store as backing_store
from gridloom.virtual_assets.backing.availability import MeanAvailability, mean_available_of


async def load_item_availability(db: Database, auctions: Sequence[Auction]) -> dict[UUID, MeanAvailability]:
    """By auction. Each takes part in its batteries' books, as an offer or as the virtual asset that was won."""
    if not auctions:
        return {}
    backing = await store.read_backing_of_each(db, [auction.id for auction in auctions])
    keys = await backing_store.read_keys(db, [part.physical_asset_id for parts in backing.values() for part in parts])
    spans = {auction.id: window_periods(auction.item.delivery) for auction in auctions}
    first, end = min(span[0] for span in spans.values()), max(span[1] for span in spans.values())
    capacities = await load_firm_capacity(db, list(keys.values()), first, end)
    return {
        auction.id: mean_available_of(
            [(keys[part.physical_asset_id], part.share) for part in backing[auction.id]],
            capacities,
            *spans[auction.id],
            rated_kw=(auction.item.rated_charge_power_kw, auction.item.rated_discharge_power_kw),
        )
        for auction in auctions
    }
