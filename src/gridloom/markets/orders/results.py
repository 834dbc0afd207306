"""Recording results of orders: each once, with its trades or blocks, its schedule and its event in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from msgspec import structs

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.problem import FieldError
from gridloom.markets.orders import notifications, store
from gridloom.markets.orders.application import apply_position
from gridloom.markets.orders.carving import settle_reserves
from gridloom.markets.orders.model import Order, OrderProblem, OrderResult, OrderStatus
from gridloom.markets.orders.rules import (
    ContradictsOrderResult,
    ExecutionMismatch,
    OrderNotWaiting,
    UnknownOrder,
    check_result_shapes,
    read_result,
    status_of,
)
from gridloom.markets.orders.wire import NewOrderResult
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request
from gridloom.settlements.model import WHOLESALE_TRADES, WholesaleTrade
from gridloom.settlements.recording import Recorder, record_settlements
from gridloom.settlements.rules import ORDER_PREFIX
from gridloom.settlements.store import lock_assets
from gridloom.virtual_assets.asset_lookup import MAX_LOCK_S
from gridloom.virtual_assets.store import lock_virtual_asset_by_key


@dataclass(frozen=True, slots=True)
class _GivenResult:
    """A result that changes its order."""

    order: Order
    result: OrderResult

    @property
    def is_correction(self) -> bool:
        return self.order.result is not None


async def record_results(request: Request, given: Sequence[NewOrderResult]) -> list[Order]:
    """All or nothing; the orders as they are then. What an order knows already changes nothing."""
    check_result_shapes(given)
    db = await request.begin()
    ids = [one.order_id for one in given]
    keys = await _lock_assets(db, await _require_orders(db, ids), given)
    orders = await _require_orders(db, ids)
    new = _find_new_results(orders, given, keys)
    if any(one.is_correction for one in new):
        request.audit_details["corrected"] = [str(one.order.id) for one in new if one.is_correction]
    await _book_trades(db, new, request.caller.id)
    request.set_commit_deadline(MAX_LOCK_S)  # from here on gates of schedules are judged
    now, minutes = await platform_now(db), request.resources[ReserveMinutes]
    for one in new:
        await _settle_result(db, one, now, minutes, request.caller.id)
    return list((await _require_orders(db, ids)).values())


async def _require_orders(db: Database, ids: Sequence[UUID]) -> dict[UUID, Order]:
    """In the order in which they are asked for."""
    found = await store.read_orders(db, ids)
    unknown = [index for index, order_id in enumerate(ids) if order_id not in found]
    if unknown:
        raise UnknownOrder(
            f"There is no order {ids[unknown[0]]}.", [FieldError(f"/{index}/orderID", "unknown") for index in unknown]
        )
    return {order_id: found[order_id] for order_id in ids}


async def _lock_assets(db: Database, orders: dict[UUID, Order], given: Sequence[NewOrderResult]) -> set[int]:
    """The settlements of the assets on which something is booked, then the assets; the keys of those that exist.

    Settlements come first, as where activations are recorded; each in the order of their keys.
    """
    booked = {orders[one.order_id].asset_key for one in given if one.executed or orders[one.order_id].result}
    if booked:
        await lock_assets(db, sorted(booked))
    keys = sorted({order.asset_key for order in orders.values()})
    return {key for key in keys if await lock_virtual_asset_by_key(db, key) is not None}


def _find_new_results(orders: dict[UUID, Order], given: Sequence[NewOrderResult], keys: set[int]) -> list[_GivenResult]:
    """Those that are not known; one refusal for all that do not fit their orders, or that contradict."""
    mismatches: list[FieldError] = []
    contradictions: list[FieldError] = []
    not_waiting: list[FieldError] = []
    new = []
    for index, one in enumerate(given):
        order = orders[one.order_id]
        result, errors = read_result(order, one)
        mismatches += [FieldError(f"/{index}{error.pointer}", error.detail) for error in errors]
        if order.status is OrderStatus.CANCELLED or order.asset_key not in keys:
            not_waiting.append(FieldError(f"/{index}/orderID", f"is {order.status}"))
        elif order.result is None:
            new.append(_GivenResult(order, result))
        elif not order.result.says_the_same_as(result):
            new.append(_GivenResult(order, result))
            if not one.correction:
                contradictions.append(FieldError(f"/{index}", f"is {order.status}, and this result differs"))
    if mismatches:
        raise ExecutionMismatch(f"Nothing was recorded: {len(mismatches)} entries differ.", mismatches[:100])
    if not_waiting:
        raise OrderNotWaiting(f"Nothing was recorded: {len(not_waiting)} orders take no result.", not_waiting)
    if contradictions:
        raise ContradictsOrderResult(
            f"Nothing was recorded: {len(contradictions)} orders have other results.", contradictions
        )
    return new


async def _book_trades(db: Database, new: Sequence[_GivenResult], by: UUID) -> None:
    """The trades of all orders together; a correction that takes an execution back leaves volumes of 0."""
    rows = [row for one in new if not one.order.stage.is_reserve for row in _list_trades(one)]
    if rows:
        await record_settlements(db, WHOLESALE_TRADES, rows, Recorder(by))


def _list_trades(one: _GivenResult) -> list[WholesaleTrade]:
    order, trades = one.order, one.result.trades
    volume_factor = 1.0
    if not one.result.executed:
        trades, volume_factor = (order.result.trades if order.result is not None else ()), 0.0
    stage = order.stage
    rows = [
        WholesaleTrade(
            asset_id=str(order.virtual_asset_id),
            trade_id=f"{ORDER_PREFIX}{order.id}",
            time=trade.time,
            side=trade.side,
            volume=float(trade.volume_mwh) * volume_factor,
            price=float(trade.price_eur_mwh),
            market="DAY_AHEAD" if stage is Stage.DAY_AHEAD else "INTRADAY_AUCTION",
        )
        for trade in trades
    ]
    if stage is Stage.DAY_AHEAD:
        return rows
    assert stage in (Stage.IDA1, Stage.IDA2, Stage.IDA3)
    return [structs.replace(row, stage=stage.value) for row in rows]


async def _settle_result(db: Database, one: _GivenResult, now: datetime, minutes: ReserveMinutes, by: UUID) -> None:
    order, result = one.order, one.result
    status = status_of(order, result)
    applied: bool | None = None
    problem: OrderProblem | None = None
    if order.stage.is_reserve:
        await store.release_holds(db, order)
        result, problem = await settle_reserves(db, order, result, now, minutes, by)
    elif order.applies and result.executed and (order.result is None or not order.result.executed):
        problem = await apply_position(db, order, now)
        applied = problem is None
    elif one.is_correction:
        applied, problem = order.applied, order.problem
    await store.set_result(db, order, status, result, applied, problem)
    after = replace(order, status=status, result=result, applied=applied, problem=problem)
    await notifications.emit_result(db, after, status)
