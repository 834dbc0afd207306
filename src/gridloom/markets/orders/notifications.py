"""Events of orders, and the job that tells of those without a result when delivery begins."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import structs

from gridloom.kernel.permission import Permission
from gridloom.markets.orders import store
from gridloom.markets.orders.model import Order, OrderStatus
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.virtual_assets.store import lock_virtual_asset_by_key

OVERDUE_JOB: Final = "markets.overdue"
"""The job, keyed by an order, when the delivery of what it trades begins."""


async def emit(db: Database, type: str, order: Order, **more: Any) -> None:
    """To the order's holder and, but for `order.placed`, to the operator; to no one else who knows the asset."""
    await record_event(
        db,
        type=type,
        organisation_id=order.organisation_id,
        subject=f"orders/{order.id}",
        permission=Permission.READ_VIRTUAL_ASSETS,
        data={
            "orderID": order.id,
            "virtualAssetID": order.virtual_asset_id,
            "stage": order.stage.value,
            "deliveryDay": order.delivery_day,
            **more,
        },
    )


async def emit_result(db: Database, order: Order, status: OrderStatus) -> None:
    """Of an order with its result: whether its position was applied, and what could not be carried out."""
    if status is OrderStatus.NOT_EXECUTED:
        await emit(db, "order.not-executed", order)
        return
    more: dict[str, Any] = {"status": status.value}
    if order.applied is not None:
        more["applied"] = order.applied
    if order.problem is not None:
        more["problem"] = structs.asdict(order.problem)
    await emit(db, "order.executed", order, **more)


async def enqueue_overdue(db: Database, order_id: UUID, due: datetime) -> None:
    await enqueue(db, OVERDUE_JOB, key=str(order_id), due=due, clock="platform")


@job(OVERDUE_JOB, clock="platform")
async def mark_overdue(run: JobRun) -> None:
    """An order that still stands when its delivery begins is overdue; its result is still taken."""
    order_id = UUID(run.key)
    seen = (await store.read_orders(run.db, [order_id])).get(order_id)
    if seen is None or await lock_virtual_asset_by_key(run.db, seen.asset_key) is None:
        return
    order = (await store.read_orders(run.db, [order_id]))[order_id]
    if order.status is not OrderStatus.STANDING:
        return
    await store.set_status(run.db, order.id, OrderStatus.OVERDUE)
    await emit(run.db, "order.overdue", order)
