"""Putting the position of an executed order into the schedule of its asset."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from gridloom.kernel.problem import Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import format_period, utc_days_of
from gridloom.markets.orders.model import Order, OrderProblem
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.apply import put_asset_schedule
from gridloom.virtual_assets.schedule.change.store import lock_with_context
from gridloom.virtual_assets.schedule.points import SchedulePoints
from gridloom.virtual_assets.schedule.rules import check_gate
from gridloom.virtual_assets.schedule.store import read_day_range, total_power_kw
from gridloom.virtual_assets.store import lock_virtual_asset_by_key


class ScheduleChanged(Problem, status=409, title="The schedule has changed since the order was placed"):
    """An executed order puts its position into the schedule that stood when it was placed, and into no other."""


async def apply_position(db: Database, order: Order, now: datetime) -> OrderProblem | None:
    """Schedule the position in the periods of the day whose gates are open; why not, where the schedule stays.

    `db` is in a transaction that has locked the asset. What refuses does so before anything is written.
    """
    asset = await lock_virtual_asset_by_key(db, order.asset_key)
    assert asset is not None, "it is locked"
    first_open = first_open_period(now, asset.terms.gate_closure_s)
    first, end = max(order.first_period, first_open), order.first_period + len(order.position_kw)
    try:
        check_gate(end - 1, first_open)
        days = utc_days_of(first, end)
        scheduled_kw = total_power_kw(await read_day_range(db, asset.key, days), first, end)
        moved = np.abs(scheduled_kw - order.scheduled_kw[first - order.first_period :]) > POWER_TOLERANCE_KW
        if moved.any():
            raise ScheduleChanged(
                f"The period {format_period(first + int(np.argmax(moved)))} is scheduled otherwise since."
            )
        periods = np.arange(first, end)
        points = SchedulePoints(periods, order.position_kw[first - order.first_period :], np.arange(len(periods)))
        found = await lock_with_context(db, asset.organisation_id, asset, list(days))
        assert found is not None, "a locked asset exists"
        await put_asset_schedule(db, found[0], points, order.author, found[1])
    except Problem as refusal:
        return OrderProblem(refusal.type, refusal.title, refusal.detail)
    return None
