"""Orders in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

import msgspec
import numpy as np

from gridloom.kernel.market_stages import Stage
from gridloom.markets.orders.model import Order, OrderProblem, OrderResult, OrderStatus, ReserveBid
from gridloom.markets.store import WAITING
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.virtual_assets.model import Author
from gridloom.virtual_assets.store import lock_virtual_asset_by_key, set_holds

_GATE_LOCK = 7_108_600
"""Of advisory locks: placing shares the one of its stage and day, so that a reader can wait for what was in time."""

_SELECT = "select * from market_order"


async def share_gates(db: Database, stages: Sequence[tuple[Stage, date]]) -> None:
    """Until the transaction ends, who asks for all orders that were in time at these gates waits for it."""
    for key in sorted({_gate_key(stage, day) for stage, day in stages}):
        await db.execute("select pg_advisory_xact_lock_shared($1, $2)", _GATE_LOCK, key)


async def wait_for_gate(db: Database, stage: Stage, day: date) -> None:
    """Once this returns after a gate has passed, what was placed in time is committed or will never be."""
    await db.execute("select pg_advisory_xact_lock($1, $2)", _GATE_LOCK, _gate_key(stage, day))


def _gate_key(stage: Stage, day: date) -> int:
    return day.toordinal() * 8 + stage.place


_INSERT = NamedStatement("""
insert into market_order (
  id, asset_key, virtual_asset_id, organisation_id, delivery_zone, stage, delivery_day, gate_at, delivery_at, status,
  placed_at, author_kind, author_id, first_period, before_kw, position_kw, scheduled_kw, reserves, minimum_surplus_eur,
  at_any_price, fee_eur_mwh, applies)
values (
  :id, :asset_key, :virtual_asset_id, :organisation_id, :delivery_zone, :stage, :delivery_day, :gate_at, :delivery_at,
  :status, :placed_at, :author_kind, :author_id, :first_period, :before_kw, :position_kw, :scheduled_kw, :reserves,
  :minimum_surplus_eur, :at_any_price, :fee_eur_mwh, :applies)
""")


async def insert_order(db: Database, order: Order) -> None:
    await _INSERT.execute(
        db,
        order,
        author_kind=order.author.kind,
        author_id=order.author.id,
        before_kw=order.before_kw.tolist(),
        position_kw=order.position_kw.tolist(),
        scheduled_kw=order.scheduled_kw.tolist(),
        reserves=msgspec.json.encode(order.reserves).decode(),
    )


async def release_holds(db: Database, order: Order) -> None:
    """Hold back nothing for the order any more; its asset is locked by this transaction."""
    asset = await lock_virtual_asset_by_key(db, order.asset_key)
    assert asset is not None, "it is locked"
    kept = [hold for hold in asset.holds if hold.id != order.id]
    if len(kept) < len(asset.holds):
        await set_holds(db, asset, kept)


async def set_status(db: Database, order_id: UUID, status: OrderStatus) -> None:
    await db.execute("update market_order set status = $2, version = version + 1 where id = $1", order_id, status)


async def set_result(
    db: Database,
    order: Order,
    status: OrderStatus,
    result: OrderResult,
    applied: bool | None,
    problem: OrderProblem | None,
) -> None:
    await db.execute(
        """update market_order set status = $2, result = $3, applied = $4, problem = $5, version = version + 1
           where id = $1""",
        order.id,
        status,
        msgspec.json.encode(result).decode(),
        applied,
        None if problem is None else msgspec.json.encode(problem).decode(),
    )


async def read_orders(db: Database, ids: Sequence[UUID]) -> dict[UUID, Order]:
    """Those that there are."""
    rows = await db.fetch(_SELECT + " where id = any($1::uuid[])", list(ids))
    return {row["id"]: _read_order(row) for row in rows}


async def read_order(db: Database, organisation_id: UUID, order_id: UUID) -> Order | None:
    row = await db.fetchrow(_SELECT + " where id = $1 and organisation_id = $2", order_id, organisation_id)
    return None if row is None else _read_order(row)


async def read_waiting_order(db: Database, asset_key: int, stage: Stage, day: date) -> Order | None:
    row = await db.fetchrow(
        _SELECT + " where asset_key = $1 and stage = $2 and delivery_day = $3 and status = any($4::text[])",
        asset_key,
        stage,
        day,
        list(WAITING),
    )
    return None if row is None else _read_order(row)


async def list_orders(
    db: Database, organisation_id: UUID, day: date | None, stage: Stage | None, after: UUID | None, limit: int
) -> list[Order]:
    """In the order in which they were placed."""
    rows = await db.fetch(
        _SELECT
        + """ where organisation_id = $1 and ($2::date is null or delivery_day = $2)
               and ($3::text is null or stage = $3) and ($4::uuid is null or id > $4)
             order by id limit $5""",
        organisation_id,
        day,
        stage,
        after,
        limit,
    )
    return [_read_order(row) for row in rows]


async def list_waiting(db: Database, stage: Stage | None, day: date | None) -> list[Order]:
    rows = await db.fetch(
        _SELECT
        + """ where status in ('STANDING', 'OVERDUE') and ($1::text is null or stage = $1)
               and ($2::date is null or delivery_day = $2)
             order by delivery_day, gate_at, id""",
        stage,
        day,
    )
    return [_read_order(row) for row in rows]


_decode_reserves = msgspec.json.Decoder(tuple[ReserveBid, ...]).decode
_decode_result = msgspec.json.Decoder(OrderResult).decode
_decode_problem = msgspec.json.Decoder(OrderProblem).decode


def _read_order(row: Any) -> Order:
    return read_row(
        Order,
        row,
        stage=Stage(row["stage"]),
        status=OrderStatus(row["status"]),
        author=Author(row["author_kind"], row["author_id"]),
        before_kw=np.array(row["before_kw"], dtype=np.float64),
        position_kw=np.array(row["position_kw"], dtype=np.float64),
        scheduled_kw=np.array(row["scheduled_kw"], dtype=np.float64),
        reserves=_decode_reserves(row["reserves"]),
        result=None if row["result"] is None else _decode_result(row["result"]),
        problem=None if row["problem"] is None else _decode_problem(row["problem"]),
    )
