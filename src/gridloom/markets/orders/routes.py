"""HTTP for orders: placed and cancelled by their holders, listed and given their results by the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final
from uuid import UUID

from msgspec import UNSET

from gridloom.kernel.market_time import format_instant
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.markets.orders import notifications, store
from gridloom.markets.orders.feasibility import PositionNotRunnable, ReserveBeyondBatteries
from gridloom.markets.orders.model import Order, OrderStatus
from gridloom.markets.orders.placing import place_orders
from gridloom.markets.orders.results import record_results
from gridloom.markets.orders.rules import (
    ContradictsOrderResult,
    ExecutionMismatch,
    LaterOrderStanding,
    NotALot,
    OrderNotWaiting,
    OutsideStage,
    UnknownOrder,
)
from gridloom.markets.orders.wire import (
    NewOrderResults,
    NewOrders,
    OrdersQuery,
    OrderView,
    PlacedOrder,
    RecordedOrderResult,
    WaitingOrdersQuery,
    order_view,
    problem_view,
)
from gridloom.markets.position import ResultOutstanding
from gridloom.markets.stage_calendar import GatePassed, NoDeliveryDay, OrderGates
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.platform.audit.recording import record_audit
from gridloom.platform.database.clock import platform_now
from gridloom.platform.http import CSV, JSON, Content, Page, Request, Response, operation, to_json
from gridloom.platform.http.spreadsheets import write_csv
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.virtual_assets.blocks.carving import ScheduleInTheWay
from gridloom.virtual_assets.blocks.rules import NoWholesalePower
from gridloom.virtual_assets.portfolios import UnknownVirtualAsset
from gridloom.virtual_assets.schedule.rules import GateClosed
from gridloom.virtual_assets.store import lock_virtual_asset_by_key

TAG = "Markets"
MAX_UNQUEUED_ORDERS: Final = 5
"""Each is judged over the whole life of its asset, in a transaction: many at once take a place of the organisation's
computations first, so that connections are left to others."""
ORDERS = ORGANISATION + "/orders"
TRADE, READ, SETTLE = Permission.CREATE_TRADES, Permission.READ_VIRTUAL_ASSETS, Permission.CREATE_SETTLEMENTS


@operation(
    "POST",
    ORDERS,
    summary="Place orders",
    access=TRADE,
    status=201,
    transaction="manual",
    problems=(
        GatePassed,
        GateClosed,
        ResultOutstanding,
        LaterOrderStanding,
        NoWholesalePower,
        ScheduleInTheWay,
        NoDeliveryDay,
        NotALot,
        OutsideStage,
        PositionNotRunnable,
        ReserveBeyondBatteries,
        UnknownVirtualAsset,
    ),
)
async def create_orders(request: Request, organisation_id: UUID, body: NewOrders) -> list[PlacedOrder]:
    """All of them or none. An order is executed as a whole where its surplus, Σ price × volume − fee × Σ|volume|, is at
    least `minimumSurplus`, or at any price where it says so.

    `ifMatch` is the ETag of the asset's markets of that day. An order at a stage replaces the one that stands there.
    Reserves hold power and energy from now on until their result. With `apply`, which needs `Update:schedules` too,
    the result puts the position into the schedule.
    """
    if any(one.apply for one in body) and Permission.UPDATE_SCHEDULES not in request.caller.permissions:
        raise Forbidden(f"An order that applies its position needs {Permission.UPDATE_SCHEDULES}.")
    owner = await authorize_organisation(request.pool, request.caller, organisation_id)
    if len(body) <= MAX_UNQUEUED_ORDERS:
        placed = await place_orders(request, owner, body)
    else:
        async with request.resources[SolverQueue].turn(request, is_long=True):
            placed = await place_orders(request, owner, body)
    request.audit_details["orders"] = [str(order.id) for order in placed]
    return [PlacedOrder(id=order.id, status=order.status) for order in placed]


@operation("GET", ORDERS, summary="List orders", access=READ)
async def list_orders(request: Request, organisation_id: UUID, query: OrdersQuery) -> Page[OrderView]:
    """In the order in which they were placed."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    found = await store.list_orders(
        request.db, owner, query.delivery_day, query.stage, query.after(UUID), query.limit + 1
    )
    page = query.page(found, lambda order: order.id)
    return Page([order_view(order) for order in page.items], page.next_cursor)


@operation("GET", ORDERS + "/{orderID}", summary="Read an order", access=READ)
async def read_order(request: Request, organisation_id: UUID, order_id: UUID) -> Response[OrderView]:
    """With its result, once it has one."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    order = await _require_order(request, owner, order_id)
    return Response(order_view(order), etag=order.etag)


async def _require_order(request: Request, owner: UUID, order_id: UUID) -> Order:
    order = await store.read_order(request.db, owner, order_id)
    if order is None:
        raise NotFound(f"The organisation has no order {order_id}.")
    return order


@operation(
    "DELETE", ORDERS + "/{orderID}", summary="Cancel an order", access=TRADE, problems=(GatePassed, OrderNotWaiting)
)
async def cancel_order(request: Request, organisation_id: UUID, order_id: UUID) -> None:
    """Until the gate of its stage. What it held is free again; cancelling it again changes nothing."""
    owner = await authorize_organisation(request.db, request.caller, organisation_id)
    seen = await _require_order(request, owner, order_id)
    asset = await lock_virtual_asset_by_key(request.db, seen.asset_key)
    order = await _require_order(request, owner, order_id)
    request.check_if_match(order.etag)
    if order.status is OrderStatus.CANCELLED:
        return
    if asset is None or order.status is not OrderStatus.STANDING:
        raise OrderNotWaiting(f"The order {order.id} is {order.status}.")
    gates = request.resources[OrderGates]
    gates.check_open(order.stage, order.delivery_day, await platform_now(request.db))
    await store.release_holds(request.db, order)
    await store.set_status(request.db, order.id, OrderStatus.CANCELLED)
    await notifications.emit(request.db, "order.cancelled", order)


@operation(
    "GET",
    "/orders",
    summary="List the orders that wait for their results",
    access=SETTLE,
    produces=(JSON, CSV),
    response_schema=list[OrderView],
)
async def list_waiting_orders(request: Request, query: WaitingOrdersQuery) -> Content:
    """For the operator, who executes them. With `stage` and `delivery-day` the list is complete once the gate has
    passed. Each read is in the audit log. As CSV a line for each quarter-hour or reserve."""
    if not request.caller.is_operator:
        raise Forbidden("Only the platform's operator lists the orders of all organisations.")
    async with request.pool.acquire() as db, db.transaction():
        if query.stage is not None and query.delivery_day is not None:
            gate = request.resources[OrderGates].gate(query.stage, query.delivery_day)
            if await platform_now(db) >= gate:
                await store.wait_for_gate(db, query.stage, query.delivery_day)
        orders = await store.list_waiting(db, query.stage, query.delivery_day)
        request.audit_details["orders"] = len(orders)
        await record_audit(db, request, 200)
    if request.accepts != JSON:
        body = write_csv([_COLUMNS, *_list_cells(orders)], request.accepts)
        return Content(body, request.accepts, {"Content-Disposition": 'attachment; filename="orders.csv"'})
    return Content(to_json([order_view(order) for order in orders]), JSON)


_COLUMNS = (
    *("orderID", "organisationID", "virtualAssetID", "deliveryZone", "stage", "deliveryDay", "gate", "status"),
    *("time", "side", "volume", "product", "capacity", "capacityPrice", "energyPrice"),
    *("minimumSurplus", "atAnyPrice", "fee"),
)


def _list_cells(orders: Sequence[Order]) -> Iterator[list[object]]:
    for order in orders:
        head = {
            "orderID": order.id,
            "organisationID": order.organisation_id,
            "virtualAssetID": order.virtual_asset_id,
            "deliveryZone": order.delivery_zone,
            "stage": order.stage.value,
            "deliveryDay": order.delivery_day.isoformat(),
            "gate": format_instant(order.gate_at),
            "status": order.status.value,
            "minimumSurplus": order.minimum_surplus_eur,
            "atAnyPrice": str(order.at_any_price).lower(),
            "fee": order.fee_eur_mwh,
        }
        for line in _list_lines(order):
            cells = {**head, **line}
            yield [cells.get(column) for column in _COLUMNS]


def _list_lines(order: Order) -> Iterator[dict[str, object]]:
    for one in order.volumes():
        yield {"time": format_instant(one.time), "side": one.side, "volume": Decimal(f"{one.volume_mwh.normalize():f}")}
    for bid in order.reserves:
        yield {
            "product": bid.product,
            "capacity": Decimal(f"{bid.capacity_kw:g}"),
            "capacityPrice": bid.capacity_price_eur_mw,
            "energyPrice": "" if bid.energy_price_eur_mwh is None else bid.energy_price_eur_mwh,
        }


@operation(
    "POST",
    "/orders/results",
    summary="Record results of orders",
    access=SETTLE,
    transaction="manual",
    problems=(UnknownOrder, ExecutionMismatch, OrderNotWaiting, ContradictsOrderResult),
)
async def record_order_results(request: Request, body: NewOrderResults) -> list[RecordedOrderResult]:
    """All or nothing, by the operator. A result books its trades, or carves out what was accepted with a provisional
    award; with `apply` it schedules the position. The same again changes nothing; another one needs `correction`."""
    if not request.caller.is_operator:
        raise Forbidden("Only the platform's operator records results of orders.")
    return [
        RecordedOrderResult(
            order_id=order.id,
            status=order.status,
            applied=UNSET if order.applied is None else order.applied,
            problem=problem_view(order.problem),
        )
        for order in await record_results(request, body)
    ]
