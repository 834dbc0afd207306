"""Placing orders, all or none: each is judged by the platform's clock and the position under the lock of its asset."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from msgspec import structs

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.ids import BlockID, uuid7
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import format_instant, period_number, period_start
from gridloom.kernel.problem import FieldError, PreconditionFailed, PreconditionRequired, Problem, first_refusal
from gridloom.market_calendar import Floats, utc_days_of
from gridloom.markets.orders import notifications, store
from gridloom.markets.orders.feasibility import PositionNotRunnable, check_position, check_reserve_limits
from gridloom.markets.orders.model import Order, OrderStatus, ReserveBid
from gridloom.markets.orders.rules import LaterOrderStanding, check_shapes, check_volumes
from gridloom.markets.orders.wire import NewOrder
from gridloom.markets.position import MarketState, load_market_state
from gridloom.markets.stage_calendar import NoDeliveryDay, OrderGates, later_stages, tradable_periods
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request
from gridloom.virtual_assets.asset_lookup import MAX_LOCK_S, author_of
from gridloom.virtual_assets.blocks.carving import check_reserves_fit, reserve_minutes
from gridloom.virtual_assets.model import Author, Block, LockedAsset, Market
from gridloom.virtual_assets.portfolios import UnknownVirtualAsset
from gridloom.virtual_assets.schedule.points import read_points
from gridloom.virtual_assets.schedule.store import read_day_range, total_power_kw
from gridloom.virtual_assets.store import lock_virtual_asset_by_key, read_asset, set_holds


async def place_orders(request: Request, organisation_id: UUID, orders: Sequence[NewOrder]) -> list[Order]:
    """One problem names every order that cannot be placed; then none is."""
    check_shapes(orders)
    db = await request.begin()
    await store.share_gates(db, [(one.stage, one.delivery_day) for one in orders])
    assets = await _lock_assets(db, organisation_id, orders)
    request.set_commit_deadline(MAX_LOCK_S)
    placing = _Placing(
        db,
        request.resources[OrderGates],
        request.resources[ReserveMinutes],
        author_of(request),
        await platform_now(db),
        assets,
    )
    placed: list[Order] = []
    refused: list[tuple[str, dict[str, object], Problem]] = []
    for index, one in enumerate(orders):
        try:
            placed.append(await placing.place(one))
        except Problem as problem:
            refused.append((f"/{index}", {"index": index, "virtualAssetID": str(one.virtual_asset_id)}, problem))
    if refused:
        raise first_refusal(refused, "orders")
    return placed


async def _lock_assets(db: Database, organisation_id: UUID, orders: Sequence[NewOrder]) -> dict[UUID, LockedAsset]:
    """In the order of their keys."""
    seen = {one.virtual_asset_id: await read_asset(db, organisation_id, one.virtual_asset_id) for one in orders}
    keys = sorted(asset.key for asset in seen.values() if asset is not None)
    locked = [await lock_virtual_asset_by_key(db, key) for key in keys]
    assets: dict[UUID, LockedAsset] = {asset.id: asset for asset in locked if asset is not None}
    unknown = [index for index, one in enumerate(orders) if one.virtual_asset_id not in assets]
    if unknown:
        listed = ", ".join(str(orders[index].virtual_asset_id) for index in unknown[:20])
        raise UnknownVirtualAsset(
            f"Not virtual assets of the organisation: {listed}.",
            [FieldError(f"/{index}/virtualAssetID", "unknown") for index in unknown],
        )
    return assets


@dataclass(slots=True)
class _Placing:
    """One transaction that places orders; `assets` are locked, and follow what it has placed on them already."""

    db: Database
    gates: OrderGates
    minutes: ReserveMinutes
    author: Author
    now: datetime
    assets: dict[UUID, LockedAsset]

    async def place(self, new: NewOrder) -> Order:
        asset = self.assets[new.virtual_asset_id]
        stage, day = new.stage, new.delivery_day
        _check_day(asset, new)
        self.gates.check_open(stage, day, self.now)
        state = await load_market_state(self.db, asset, day)
        _check_given_tag(new)
        state.check_results(stage)
        _check_later_stages(state, stage)
        _check_if_match(new, state)
        replaced = await store.read_waiting_order(self.db, asset.key, stage, day)
        if replaced is not None:
            asset = structs.replace(asset, holds=tuple(hold for hold in asset.holds if hold.id != replaced.id))
        order = await self._make_order(new, asset, state)
        holds: tuple[Block, ...] = ()
        if stage.is_reserve:
            holds = self._list_holds(order)
            await self._check_reserves(asset, state, holds)
        else:
            own = tradable_periods(asset, stage, day)
            given = {period_number(point.time): index for index, point in enumerate(new.schedule or ())}
            check_volumes(stage, state.first, own, order.before_kw, order.position_kw, given)
            await check_position(self.db, asset, self.now, state.first, own, order.position_kw)
        await self._write(asset, order, replaced, holds)
        return order

    async def _make_order(self, new: NewOrder, asset: LockedAsset, state: MarketState) -> Order:
        own = tradable_periods(asset, new.stage, new.delivery_day)
        powers = await read_day_range(self.db, asset.key, utc_days_of(state.first, state.end))
        return Order(
            id=uuid7(),
            asset_key=asset.key,
            virtual_asset_id=asset.id,
            organisation_id=asset.organisation_id,
            delivery_zone=asset.terms.delivery_zone,
            stage=new.stage,
            delivery_day=new.delivery_day,
            gate_at=self.gates.gate(new.stage, new.delivery_day),
            delivery_at=period_start(own[0]),
            status=OrderStatus.STANDING,
            placed_at=self.now,
            author=self.author,
            first_period=state.first,
            before_kw=state.position_kw,
            position_kw=_overlay_schedule(new, state),
            scheduled_kw=total_power_kw(powers, state.first, state.end),
            reserves=tuple(
                ReserveBid(one.product, one.capacity, one.capacity_price, one.energy_price)
                for one in new.reserves or ()
            ),
            minimum_surplus_eur=new.minimum_surplus,
            at_any_price=new.at_any_price,
            fee_eur_mwh=new.fee,
            applies=new.apply,
        )

    def _list_holds(self, order: Order) -> tuple[Block, ...]:
        """The blocks that its reserves would be."""
        holds = []
        for bid in order.reserves:
            market = Market(bid.reserve.value)
            first, end = bid.periods(order.delivery_day)
            minutes = reserve_minutes(market, self.minutes)
            holds.append(Block(BlockID(order.id), -1, first, end, market, *bid.power_kw(), minutes))
        return tuple(holds)

    async def _check_reserves(self, asset: LockedAsset, state: MarketState, holds: Sequence[Block]) -> None:
        for index, hold in enumerate(holds):
            if hold.first < asset.first or hold.end > asset.end:
                raise NoDeliveryDay(
                    f"The block from {format_instant(period_start(hold.first))} on is not within the asset's life.",
                    [FieldError(f"/reserves/{index}/product", "Expected a block within the asset's life.")],
                )
        await check_reserve_limits(self.db, asset, holds, state.blocks)
        await check_reserves_fit(self.db, asset, holds, self.now)
        if not state.position_kw.any():
            return
        beside = structs.replace(asset, holds=(*asset.holds, *holds))
        if await self._can_run(asset, state):
            await check_position(self.db, beside, self.now, state.first, (state.first, state.end), state.position_kw)

    async def _can_run(self, asset: LockedAsset, state: MarketState) -> bool:
        """Whether the position before the stage can be run without what is offered now."""
        with suppress(PositionNotRunnable):
            await check_position(self.db, asset, self.now, state.first, (state.first, state.end), state.position_kw)
            return True
        return False

    async def _write(self, asset: LockedAsset, order: Order, replaced: Order | None, holds: tuple[Block, ...]) -> None:
        if replaced is not None:
            await store.set_status(self.db, replaced.id, OrderStatus.CANCELLED)
            await notifications.emit(self.db, "order.cancelled", replaced)
        await store.insert_order(self.db, order)
        if order.stage.is_reserve:
            asset = structs.replace(asset, holds=(*asset.holds, *holds))
            await set_holds(self.db, asset, asset.holds)
        self.assets[asset.id] = asset
        await notifications.enqueue_overdue(self.db, order.id, order.delivery_at)
        await notifications.emit(self.db, "order.placed", order)


def _check_day(asset: LockedAsset, new: NewOrder) -> None:
    try:
        tradable_periods(asset, new.stage, new.delivery_day)
    except NoDeliveryDay as refusal:
        refusal.errors = (FieldError("/deliveryDay", "Expected a day on which the asset lives."),)
        raise


def _check_given_tag(new: NewOrder) -> None:
    if new.if_match is None:
        raise PreconditionRequired(
            "An order names the ETag of the markets that it was made for.", [FieldError("/ifMatch", "is missing")]
        )


def _check_if_match(new: NewOrder, state: MarketState) -> None:
    assert new.if_match is not None, "it was checked"
    if new.if_match.strip('"') != state.etag:
        raise PreconditionFailed(
            f"The markets of {state.day} have changed: their ETag is {state.etag} now.",
            [FieldError("/ifMatch", "Expected the present ETag.")],
            etag=state.etag,
        )


def _check_later_stages(state: MarketState, stage: Stage) -> None:
    later = state.waiting_at(later_stages(stage))
    if later:
        raise LaterOrderStanding(
            f"The order {later[0].id} at {later[0].stage} for {state.day} stands.",
            orderID=str(later[0].id),
            stage=later[0].stage.value,
        )


def _overlay_schedule(new: NewOrder, state: MarketState) -> Floats:
    """The position after the stage: what is given, the position before it where nothing is."""
    position_kw = state.position_kw.copy()
    if new.schedule is not None:
        times, powers_kw = [point.time for point in new.schedule], [point.power for point in new.schedule]
        points = read_points(times, np.array(powers_kw), (state.first, state.end), "delivery day")
        position_kw[points.periods - state.first] = points.power_kw
    return position_kw
