"""Rules of orders and of their results; pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from gridloom.kernel.balancing import PRODUCT_OF_BLOCK, ReserveProduct
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, format_period
from gridloom.markets.orders.model import Order, OrderResult, OrderStatus, OrderTrade, ReserveAward
from gridloom.markets.orders.wire import NewOrder, NewOrderResult
from gridloom.markets.position import LOT_KW


class NotALot(Problem, status=422, title="A volume is not a whole number of lots"):
    """An order trades whole lots of 0.1 MW in each quarter-hour: its position less the one before is a multiple of
    100 kW. `firstPeriod` is the first period at fault; `errors` points at those that were given."""


class OutsideStage(Problem, status=422, title="The stage does not trade that period"):
    """The third intraday auction trades the second half of the delivery day, from noon in Berlin on: an order there
    keeps the position before it. `firstPeriod` is the first period at fault."""


class LaterOrderStanding(Problem, status=409, title="An order of a later stage stands"):
    """An order changes the position that orders of later stages rest on. `orderID` and `stage` name the one that
    stands; cancel it first."""


class OrderNotWaiting(Problem, status=409, title="The order does not wait for a result"):
    """An order can be cancelled while it stands, and a cancelled one takes no result."""


class UnknownOrder(Problem, status=422, title="A result names an unknown order"):
    """A result names an order that does not exist. `errors` points at each; nothing was recorded."""


class ContradictsOrderResult(Problem, status=409, title="The order has another result"):
    """An order has one result. The same again changes nothing; another one needs `correction: true`."""


class ExecutionMismatch(Problem, status=422, title="The result does not fit the order"):
    """The trades of a result equal the volumes of its order in every quarter-hour; what is accepted of a reserve is at
    most what was offered. `errors` points at what differs; nothing was recorded."""


def check_shapes(orders: Sequence[NewOrder]) -> None:
    """One 400 that points at every order whose fields do not fit its stage."""
    errors: list[FieldError] = []
    seen = set()
    for index, order in enumerate(orders):
        key = (order.virtual_asset_id, order.stage, order.delivery_day)
        if key in seen:
            errors.append(FieldError(f"/{index}/virtualAssetID", "has another order at that stage and day here"))
        seen.add(key)
        errors += [FieldError(f"/{index}{error.pointer}", error.detail) for error in _find_shape_errors(order)]
    if errors:
        raise BadRequest(f"{len(errors)} fields do not fit their orders.", errors)


def _find_shape_errors(order: NewOrder) -> list[FieldError]:
    if order.stage.is_reserve:
        return _find_reserve_errors(order)
    errors = []
    if order.reserves is not None:
        errors.append(FieldError("/reserves", f"Expected a schedule: {order.stage} is an auction."))
    if order.schedule is None:
        errors.append(FieldError("/schedule", f"Expected the position after {order.stage}."))
    return errors


def _find_reserve_errors(order: NewOrder) -> list[FieldError]:
    errors = []
    if order.schedule is not None:
        errors.append(FieldError("/schedule", f"Expected reserves: {order.stage} takes capacity."))
    if order.reserves is None:
        errors.append(FieldError("/reserves", "Expected at least one reserve."))
    for name, given in (("apply", order.apply), ("atAnyPrice", order.at_any_price)):
        if given:
            errors.append(FieldError(f"/{name}", "Expected false: it is about a schedule."))
    if order.minimum_surplus:
        errors.append(FieldError("/minimumSurplus", "Expected 0: it is about a schedule."))
    seen = set()
    for index, reserve in enumerate(order.reserves or ()):
        pointer = f"/reserves/{index}"
        product = PRODUCT_OF_BLOCK.get(reserve.product)
        is_fcr = product is ReserveProduct.FCR
        if product is None or is_fcr != (order.stage is Stage.FCR):
            blocks = "NEGPOS_00_04 to NEGPOS_20_24" if order.stage is Stage.FCR else "POS_00_04 to NEG_20_24"
            errors.append(FieldError(f"{pointer}/product", f"Expected one of {blocks}."))
            continue
        if reserve.product in seen:
            errors.append(FieldError(f"{pointer}/product", "Expected each product once; it is doubled."))
        seen.add(reserve.product)
        if is_fcr and reserve.capacity_price < 0:
            errors.append(FieldError(f"{pointer}/capacityPrice", "Expected at least 0: FCR is never paid for."))
        if is_fcr == (reserve.energy_price is not None):
            wanted = "no energy price: FCR has none" if is_fcr else "the price of activated energy, EUR/MWh"
            errors.append(FieldError(f"{pointer}/energyPrice", f"Expected {wanted}."))
    return errors


def check_volumes(
    stage: Stage, first: int, own: tuple[int, int], before_kw: Floats, position_kw: Floats, given: dict[int, int]
) -> None:
    """Whole lots, in periods that the stage trades. `given`: where each period stands in the request."""
    change_kw = position_kw - before_kw
    periods = first + np.arange(len(change_kw))
    outside = (np.abs(change_kw) > POWER_TOLERANCE_KW) & ((periods < own[0]) | (periods >= own[1]))
    if outside.any():
        period = int(periods[np.argmax(outside)])
        raise OutsideStage(
            f"{stage} trades from {format_period(own[0])} to {format_period(own[1])}, and the position in the period "
            f"{format_period(period)} would change.",
            _point_at(periods[outside].tolist(), given, "Expected the position before the stage."),
            firstPeriod=format_period(period),
        )
    lots = change_kw / LOT_KW
    odd = np.abs(lots - np.rint(lots)) * LOT_KW > POWER_TOLERANCE_KW * 10
    if odd.any():
        index = int(np.argmax(odd))
        period = int(periods[index])
        raise NotALot(
            say(
                "In the period {} the position is {}, and {} is {} away, no multiple of {}.",
                format_period(period),
                kw(before_kw[index]),
                kw(position_kw[index]),
                kw(change_kw[index]),
                kw(LOT_KW),
            ),
            _point_at(
                periods[odd].tolist(), given, say("Expected a multiple of {} from the position before.", kw(LOT_KW))
            ),
            firstPeriod=format_period(period),
        )


def _point_at(periods: Sequence[int], given: dict[int, int], detail: str) -> list[FieldError]:
    return [FieldError(f"/schedule/{given[period]}/power", detail) for period in periods if period in given][:50]


def check_result_shapes(results: Sequence[NewOrderResult]) -> None:
    """One 400 that points at every fault of the results by themselves."""
    errors, seen = [], set()
    for index, result in enumerate(results):
        if result.order_id in seen:
            errors.append(FieldError(f"/{index}/orderID", "has another result here"))
        seen.add(result.order_id)
        accepted = [one for one in result.reserves or () if one.accepted_capacity]
        if not result.executed and (result.trades or accepted):
            name = "trades" if result.trades else "reserves"
            errors.append(FieldError(f"/{index}/{name}", "Expected none: the order was not executed."))
    if errors:
        raise BadRequest(f"{len(errors)} results are at fault.", errors)


def read_result(order: Order, given: NewOrderResult) -> tuple[OrderResult, list[FieldError]]:
    """The result as it is kept, and what of it does not fit the order, pointers within the result."""
    if order.stage.is_reserve:
        return _read_awards(order, given)
    if given.reserves:
        return OrderResult(False), [FieldError("/reserves", f"Expected trades: {order.stage} is an auction.")]
    trades = tuple(
        sorted(
            (
                OrderTrade(one.time, one.side, Decimal(repr(one.volume)).quantize(Decimal("0.00000001")), one.price)
                for one in given.trades or ()
            ),
            key=lambda one: (one.time, one.side),
        )
    )
    if not given.executed:
        return OrderResult(False), []
    return OrderResult(True, trades), _find_volume_errors(order, given)


def _find_volume_errors(order: Order, given: NewOrderResult) -> list[FieldError]:
    wanted = {one.time: one for one in order.volumes()}
    errors, seen = [], set()
    for index, trade in enumerate(given.trades or ()):
        expected = wanted.get(trade.time)
        pointer = f"/trades/{index}"
        if expected is None:
            errors.append(FieldError(f"{pointer}/time", "The order trades nothing then."))
        elif trade.time in seen:
            errors.append(FieldError(f"{pointer}/time", "Expected each quarter-hour once."))
        elif trade.side != expected.side:
            errors.append(FieldError(f"{pointer}/side", f"Expected {expected.side}."))
        elif abs(trade.volume - float(expected.volume_mwh)) > 1e-9:
            errors.append(FieldError(f"{pointer}/volume", f"Expected {float(expected.volume_mwh):g} MWh."))
        seen.add(trade.time)
    missing = [time for time in wanted if time not in seen]
    if missing:
        errors.append(FieldError("/trades", f"{len(missing)} quarter-hours of the order are missing."))
    return errors


def _read_awards(order: Order, given: NewOrderResult) -> tuple[OrderResult, list[FieldError]]:
    if given.trades:
        return OrderResult(False), [FieldError("/trades", f"Expected reserves: {order.stage} takes capacity.")]
    offered = {bid.product: bid.capacity_kw for bid in order.reserves}
    errors, awards = [], {}
    for index, one in enumerate(given.reserves or ()):
        pointer = f"/reserves/{index}"
        if one.product not in offered:
            errors.append(FieldError(f"{pointer}/product", "The order does not offer it."))
        elif one.product in awards:
            errors.append(FieldError(f"{pointer}/product", "Expected each product once; it is doubled."))
        elif one.accepted_capacity > offered[one.product] + POWER_TOLERANCE_KW:
            errors.append(
                FieldError(f"{pointer}/acceptedCapacity", say("Expected at most {}.", kw(offered[one.product])))
            )
        awards[one.product] = ReserveAward(one.product, one.accepted_capacity, one.price)
    if given.executed and not errors and not any(one.capacity_kw for one in awards.values()):
        errors.append(FieldError("/reserves", "Expected what was accepted of an executed order."))
    kept = tuple(awards[product] for product in sorted(awards))
    return OrderResult(given.executed, (), kept), errors


def status_of(order: Order, result: OrderResult) -> OrderStatus:
    if not result.executed:
        return OrderStatus.NOT_EXECUTED
    accepted = {one.product: one.capacity_kw for one in result.reserves}
    if all(accepted.get(bid.product, 0.0) >= bid.capacity_kw - POWER_TOLERANCE_KW for bid in order.reserves):
        return OrderStatus.EXECUTED
    return OrderStatus.PARTLY_EXECUTED
