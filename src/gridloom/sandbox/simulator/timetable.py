"""Actions by quarter-hour of the market's day, in the order in which it happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any, Final

from gridloom.kernel.market_stages import Stage
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.participants import failures, operator, owners, reserves, traders, trading
from gridloom.sandbox.simulator.step_context import StepContext

_DAY = timedelta(days=1)

Item = Callable[[StepContext], Awaitable[None]]


def _for_day(days_ahead: int, act: Callable[..., Awaitable[None]], *more: Any) -> Item:
    """An action about the market day so many days after the present one."""

    async def item(context: StepContext) -> None:
        await act(context, context.today + days_ahead * _DAY, *more)

    return item


async def begin_day(context: StepContext) -> None:
    context.memory.forget_before(context.today - 2 * _DAY, context.step)
    failures.draw_outages(context, context.today)


async def renew_tolls(context: StepContext) -> None:
    """Two days before the fortnight is over."""
    ends = {one.end for one in context.memory.holdings if one.is_tolled}
    if ends and max(ends) - context.step <= 2 * _DAY:
        await operator.renew_tolls(context, (max(ends) + _DAY / 4).date())


async def publish_intraday(context: StepContext) -> None:
    await operator.publish_intraday(context, context.step, hours=4)


publish_imbalance_prices: Final = _for_day(-1, operator.publish_imbalance_prices)
issue_statements: Final = _for_day(0, operator.issue_statements)
settle_yesterday: Final = _for_day(-1, operator.settle_day)
publish_fcr: Final = _for_day(1, operator.publish_fcr)
publish_afrr: Final = _for_day(1, operator.publish_afrr)


async def trade_awaited_day(context: StepContext) -> None:
    """Publish and trade the day that waited for a feed, with its prices or without."""
    day = context.today + _DAY
    if context.memory.awaited_day != day.isoformat():
        return
    context.memory.awaited_day = None
    await operator.learn_published_days(context.operator, context.market_data, day, day)
    await operator.publish_day_ahead(context, day)
    await operator.clear_orders(context, day, Stage.DAY_AHEAD)
    await trading.sell_day_ahead(context, day)


learn_day_ahead: Final = _for_day(1, operator.learn_day_ahead)
publish_day_ahead: Final = _for_day(1, operator.publish_day_ahead)
publish_first_auction: Final = _for_day(1, operator.publish_auction, IntradayAuction.FIRST)
publish_second_auction: Final = _for_day(1, operator.publish_auction, IntradayAuction.SECOND)
publish_third_auction: Final = _for_day(0, operator.publish_auction, IntradayAuction.THIRD)
"""For the hours from noon on, on the day itself."""
sell_at_first_auction: Final = _for_day(1, trading.sell_at_auction, IntradayAuction.FIRST)
sell_at_second_auction: Final = _for_day(1, trading.sell_at_auction, IntradayAuction.SECOND)
clear_fcr: Final = _for_day(1, operator.clear_orders, Stage.FCR)
clear_afrr: Final = _for_day(1, operator.clear_orders, Stage.AFRR)
clear_day_ahead: Final = _for_day(1, operator.clear_orders, Stage.DAY_AHEAD)
clear_first_auction: Final = _for_day(1, operator.clear_orders, Stage.IDA1)
clear_second_auction: Final = _for_day(1, operator.clear_orders, Stage.IDA2)
clear_third_auction: Final = _for_day(0, operator.clear_orders, Stage.IDA3)

TIMETABLE: Final[dict[tuple[int, int], tuple[tuple[Item, ...], ...]]] = {
    (0, 0): ((begin_day,), (publish_intraday, trading.trade_intraday)),
    (4, 0): ((publish_intraday,),),
    (7, 30): (
        (_for_day(1, owners.offer_reserves), _for_day(1, reserves.order_reserves, Stage.FCR)),
    ),  # their gates are at 8:00 and 9:00
    (8, 0): ((publish_imbalance_prices, settle_yesterday, publish_intraday, trading.trade_intraday),),
    (8, 15): ((publish_fcr, clear_fcr), (_for_day(1, reserves.order_reserves, Stage.AFRR),)),
    (9, 45): (
        (publish_afrr, clear_afrr, _for_day(1, owners.report_results)),
        (_for_day(0, operator.offer_auctions),),
    ),
    (10, 30): ((publish_third_auction, clear_third_auction, partial(traders.bid, is_last=False)),),
    (11, 30): ((_for_day(1, traders.take_what_was_won),), (_for_day(1, traders.plan),)),
    (12, 0): ((publish_intraday,),),
    (12, 45): (
        (learn_day_ahead,),
        (publish_day_ahead, clear_day_ahead, _for_day(1, trading.sell_day_ahead)),
        (_for_day(1, trading.order_first_auction),),
    ),
    (15, 30): ((trade_awaited_day,), (publish_first_auction, clear_first_auction, sell_at_first_auction)),
    (16, 0): ((publish_intraday, trading.trade_intraday, renew_tolls, issue_statements),),
    (20, 0): ((publish_intraday, partial(traders.bid, is_last=True)),),
    (22, 30): ((publish_second_auction, clear_second_auction, sell_at_second_auction),),
}
"""By the hour and minute on the wall; nothing between two and three, which some days have twice and some not at all.
Groups of actions one after the other; those of a group do not depend on each other and run concurrently. Actions share
a quarter-hour where they can: at each one in the table the clock waits."""

CATCH_UP_ACTIONS: Final = frozenset(
    {
        begin_day,
        publish_imbalance_prices,
        settle_yesterday,
        issue_statements,
        publish_intraday,
        publish_fcr,
        publish_afrr,
        learn_day_ahead,
        publish_day_ahead,
        publish_first_auction,
        publish_second_auction,
        publish_third_auction,
        clear_fcr,
        clear_afrr,
        clear_day_ahead,
        clear_first_auction,
        clear_second_auction,
        clear_third_auction,
    }
)
"""Actions that can still be done when the clock has passed their time."""
