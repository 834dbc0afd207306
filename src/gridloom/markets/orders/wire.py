"""Orders and their results as they cross the wire."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import period_start
from gridloom.kernel.money import Euro
from gridloom.markets.orders.model import MAX_ORDERS, MAX_RESULTS, Order, OrderProblem, OrderStatus, Side
from gridloom.physical_assets.model import MAX_POWER_KW
from gridloom.platform.http import Instant, Paging, QueryParameters, RequestBody, ResponseBody
from gridloom.virtual_assets.schedule.points import SchedulePoint
from gridloom.virtual_assets.schedule.views import ScheduledPower

CapacityPrice = Annotated[Decimal, Euro(Decimal(-15_000), Decimal(15_000))]
Fee = Annotated[Decimal, Euro(Decimal(0), Decimal(10_000))]
Surplus = Annotated[Decimal, Euro(Decimal(-1_000_000_000), Decimal(1_000_000_000))]
TradePrice = Annotated[Decimal, Euro(Decimal(-1_000_000), Decimal(1_000_000))]
ProductCode = Annotated[str, Meta(min_length=1, max_length=40)]
MAX_POINTS = 100


class NewReserve(RequestBody):
    """Capacity offered in one block of the delivery day."""

    product: ProductCode
    capacity: Annotated[float, Meta(gt=0, le=MAX_POWER_KW)]
    capacity_price: CapacityPrice
    energy_price: CapacityPrice | None = None


class NewOrder(RequestBody):
    """At an auction a `schedule`: the position after the stage, periods left out are held. At FCR and aFRR
    `reserves`."""

    virtual_asset_id: UUID
    stage: Stage
    delivery_day: date
    if_match: Annotated[str, Meta(max_length=200)] | None = None
    schedule: Annotated[list[SchedulePoint], Meta(min_length=1, max_length=MAX_POINTS)] | None = None
    reserves: Annotated[list[NewReserve], Meta(min_length=1, max_length=12)] | None = None
    minimum_surplus: Surplus = Decimal(0)
    at_any_price: bool = False
    fee: Fee = Decimal(0)
    apply: bool = False


NewOrders = Annotated[list[NewOrder], Meta(min_length=1, max_length=MAX_ORDERS)]


class PlacedOrder(ResponseBody):
    id: UUID
    status: OrderStatus


class OrdersQuery(Paging):
    """In the order in which they were placed."""

    delivery_day: date | None = None
    stage: Stage | None = None


class WaitingOrdersQuery(QueryParameters):
    """All that wait for their results."""

    stage: Stage | None = None
    delivery_day: date | None = None


class OrderVolumeView(ResponseBody):
    time: datetime
    side: Side
    volume: float


class OrderTradeView(OrderVolumeView):
    price: Decimal


class OrderedReserve(ResponseBody):
    product: str
    capacity: float
    capacity_price: Decimal
    energy_price: Decimal | UnsetType = UNSET
    accepted_capacity: float | UnsetType = UNSET
    price: Decimal | UnsetType = UNSET


class OrderProblemView(ResponseBody):
    type: str
    title: str
    detail: str


class OrderView(ResponseBody):
    """`volumes` is what it trades, `trades` what was traded; `reserves` have what was accepted of them."""

    id: UUID
    organisation_id: UUID
    virtual_asset_id: UUID
    delivery_zone: str
    stage: Stage
    delivery_day: date
    gate: datetime
    status: OrderStatus
    placed_at: datetime
    minimum_surplus: Decimal
    at_any_price: bool
    fee: Decimal
    apply: bool
    schedule: list[ScheduledPower] | UnsetType = UNSET
    volumes: list[OrderVolumeView] | UnsetType = UNSET
    reserves: list[OrderedReserve] | UnsetType = UNSET
    executed: bool | UnsetType = UNSET
    trades: list[OrderTradeView] | UnsetType = UNSET
    applied: bool | UnsetType = UNSET
    problem: OrderProblemView | UnsetType = UNSET


def problem_view(problem: OrderProblem | None) -> OrderProblemView | UnsetType:
    if problem is None:
        return UNSET
    return OrderProblemView(type=problem.type, title=problem.title, detail=problem.detail)


def order_view(order: Order) -> OrderView:
    view = OrderView(
        id=order.id,
        organisation_id=order.organisation_id,
        virtual_asset_id=order.virtual_asset_id,
        delivery_zone=order.delivery_zone,
        stage=order.stage,
        delivery_day=order.delivery_day,
        gate=order.gate_at,
        status=order.status,
        placed_at=order.placed_at,
        minimum_surplus=order.minimum_surplus_eur,
        at_any_price=order.at_any_price,
        fee=order.fee_eur_mwh,
        apply=order.applies,
        problem=problem_view(order.problem),
        applied=UNSET if order.applied is None else order.applied,
        executed=UNSET if order.result is None else order.result.executed,
    )
    if order.stage.is_reserve:
        view.reserves = _list_reserves(order)
        return view
    view.schedule = [
        ScheduledPower(time=period_start(order.first_period + index), power=power)
        for index, power in enumerate(order.position_kw.tolist())
    ]
    view.volumes = [
        OrderVolumeView(time=one.time, side=one.side, volume=float(one.volume_mwh)) for one in order.volumes()
    ]
    if order.result is not None:
        view.trades = [
            OrderTradeView(time=one.time, side=one.side, volume=float(one.volume_mwh), price=one.price_eur_mwh)
            for one in order.result.trades
        ]
    return view


def _list_reserves(order: Order) -> list[OrderedReserve]:
    awards = {} if order.result is None else {one.product: one for one in order.result.reserves}
    shown = []
    for bid in order.reserves:
        one = OrderedReserve(product=bid.product, capacity=bid.capacity_kw, capacity_price=bid.capacity_price_eur_mw)
        if bid.energy_price_eur_mwh is not None:
            one.energy_price = bid.energy_price_eur_mwh
        if order.result is not None:
            award = awards.get(bid.product)
            one.accepted_capacity = 0.0 if award is None else award.capacity_kw
            if award is not None:
                one.price = award.price_eur_mw
        shown.append(one)
    return shown


class NewTradePrice(RequestBody):
    """The trade of one quarter-hour."""

    time: Instant
    side: Literal["BUY", "SELL"]
    volume: Annotated[float, Meta(gt=0, le=1_000_000)]
    price: TradePrice


class NewAward(RequestBody):
    """The accepted part of a reserve; the price in the unit of its bid."""

    product: ProductCode
    accepted_capacity: Annotated[float, Meta(ge=0, le=MAX_POWER_KW)]
    price: CapacityPrice


class NewOrderResult(RequestBody):
    """The result of an order: trades that equal its volumes, or the accepted parts of its reserves."""

    order_id: UUID
    executed: bool
    trades: Annotated[list[NewTradePrice], Meta(max_length=MAX_POINTS)] | None = None
    reserves: Annotated[list[NewAward], Meta(max_length=12)] | None = None
    correction: bool = False


NewOrderResults = Annotated[list[NewOrderResult], Meta(min_length=1, max_length=MAX_RESULTS)]


class RecordedOrderResult(ResponseBody):
    order_id: UUID
    status: OrderStatus
    applied: bool | UnsetType = UNSET
    problem: OrderProblemView | UnsetType = UNSET
