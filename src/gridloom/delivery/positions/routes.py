"""Open positions of virtual assets over HTTP."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import numpy as np
from msgspec import UNSET, UnsetType

from gridloom.delivery.positions.position import Position, load_position
from gridloom.delivery.wire import TABLES, AsOfWindowQuery, stream_periods, stream_points
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import Floats
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import repeatable_read
from gridloom.platform.http import JSON, XLSX, Request, ResponseBody, Stream, operation
from gridloom.platform.http.spreadsheets import TooManyCells
from gridloom.settlements.as_of import PRICES, AsOfTooEarly, check_as_of
from gridloom.virtual_assets.asset_lookup import ASSET, require_asset
from gridloom.virtual_assets.rules import requested_periods

TAG = "Virtual assets"


class PositionPoint(ResponseBody):
    """One quarter-hour. `open` = sold − bought + activated − delivered."""

    time: datetime
    bought: float
    sold: float
    scheduled: float
    netted: float
    activated: float
    delivered: float
    open: float
    imbalance_price: float | UnsetType = UNSET
    imbalance_cost: float | UnsetType = UNSET


@operation(
    "GET",
    ASSET + "/position",
    summary="Read the open position",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=(*TABLES, XLSX),
    response_schema=list[PositionPoint],
    problems=(AsOfTooEarly, TooManyCells),
    costly_as=(XLSX,),
    replica_read=True,
    columns=10,
)
async def read_position(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: AsOfWindowQuery
) -> Stream:
    """Traded against delivered energy, in each quarter-hour of its life that starts in the window.

    Cuts that are known to come count as made. An open volume costs the published imbalance price (`REBAP_DE`). As of an
    earlier instant only what was recorded until then counts, and no cut that was still to come.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*requested_periods(query.start, query.end, await platform_now(db)))
        await check_as_of(db, query.as_of, PRICES)
        position = await load_position(db, asset, first, end, query.as_of)
    columns = _position_columns(position)
    if request.accepts != JSON:
        return stream_periods(request.accepts, first, columns, f"position-{virtual_asset_id}")
    return Stream(stream_points(None, first, columns, np.arange(end - first)), JSON)


def _position_columns(position: Position) -> dict[str, Floats]:
    columns = {
        "bought": position.bought_mwh,
        "sold": position.sold_mwh,
        "scheduled": position.scheduled_mwh,
        "netted": position.netted_mwh,
        "activated": position.activated_mwh,
        "delivered": position.delivered_mwh,
        "open": position.open_mwh,
        "imbalancePrice": position.price_eur_mwh,
        "imbalanceCost": position.cost_eur,
    }
    return {name: np.round(column, 8) for name, column in columns.items()}
