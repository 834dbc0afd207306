"""What happens at which quarter-hour of the market's day, in the order in which it happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from gridloom.simulator.market.intraday import IntradayAuction
from gridloom.simulator.participants import operator, owners, traders, trading
from gridloom.simulator.step_context import StepContext

_DAY = timedelta(days=1)

Item = Callable[[StepContext], Awaitable[None]]


async def begin_day(scene: StepContext) -> None:
    scene.memory.forget_before(scene.today - 2 * _DAY, scene.step)
    owners.draw_outages(scene, scene.today)


async def settle_yesterday(scene: StepContext) -> None:
    await operator.publish_imbalance_prices(scene, scene.today - _DAY)
    await operator.settle_day(scene, scene.today - _DAY)


async def offer_balancing(scene: StepContext) -> None:
    """Before the gates of FCR (8:00) and of aFRR capacity (9:00)."""
    await owners.offer_fcr(scene, scene.today + _DAY)
    await owners.offer_afrr(scene, scene.today + _DAY)


async def publish_fcr(scene: StepContext) -> None:
    await operator.publish_fcr(scene, scene.today + _DAY)


async def clear_balancing(scene: StepContext) -> None:
    await operator.publish_afrr(scene, scene.today + _DAY)
    await owners.report_results(scene, scene.today + _DAY)


async def offer_auctions(scene: StepContext) -> None:
    await operator.offer_auctions(scene, scene.today)


async def bid_first(scene: StepContext) -> None:
    await traders.bid(scene, is_last=False)


async def bid_last(scene: StepContext) -> None:
    await traders.bid(scene, is_last=True)


async def plan_tomorrow(scene: StepContext) -> None:
    await traders.take_what_was_won(scene, scene.today + _DAY)
    await traders.plan(scene, scene.today + _DAY)


async def publish_day_ahead(scene: StepContext) -> None:
    await operator.publish_day_ahead(scene, scene.today + _DAY)


async def publish_first_auction(scene: StepContext) -> None:
    await operator.publish_auction(scene, scene.today + _DAY, IntradayAuction.FIRST)


async def publish_second_auction(scene: StepContext) -> None:
    await operator.publish_auction(scene, scene.today + _DAY, IntradayAuction.SECOND)


async def publish_third_auction(scene: StepContext) -> None:
    """For the hours from noon on, on the day itself."""
    await operator.publish_auction(scene, scene.today, IntradayAuction.THIRD)


async def sell_at_first_auction(scene: StepContext) -> None:
    await trading.sell_at_auction(scene, scene.today + _DAY, IntradayAuction.FIRST)


async def sell_at_second_auction(scene: StepContext) -> None:
    await trading.sell_at_auction(scene, scene.today + _DAY, IntradayAuction.SECOND)


async def sell_tomorrow(scene: StepContext) -> None:
    await trading.sell_day_ahead(scene, scene.today + _DAY)


async def renew_tolls(scene: StepContext) -> None:
    """Two days before the fortnight is over."""
    ends = {one.end for one in scene.memory.holdings if (one.end - one.start) > 2 * _DAY}
    if ends and max(ends) - scene.step <= 2 * _DAY:
        await operator.renew_tolls(scene, (max(ends) + _DAY / 4).date())


async def publish_intraday(scene: StepContext) -> None:
    await operator.publish_intraday(scene, scene.step, hours=4)


TIMETABLE: Final[dict[tuple[int, int], tuple[Item, ...]]] = {
    (0, 0): (begin_day, publish_intraday, trading.trade_intraday),
    (4, 0): (publish_intraday,),
    (7, 30): (offer_balancing,),
    (8, 0): (settle_yesterday, publish_intraday, trading.trade_intraday),
    (8, 15): (publish_fcr,),
    (9, 45): (clear_balancing, offer_auctions),
    (10, 15): (bid_first,),
    (10, 30): (publish_third_auction,),
    (11, 30): (plan_tomorrow,),
    (12, 0): (publish_intraday,),
    (12, 45): (publish_day_ahead,),
    (13, 0): (sell_tomorrow,),
    (15, 30): (publish_first_auction, sell_at_first_auction),
    (16, 0): (publish_intraday, trading.trade_intraday),
    (17, 0): (renew_tolls,),
    (18, 30): (bid_last,),
    (20, 0): (publish_intraday,),
    (22, 30): (publish_second_auction, sell_at_second_auction),
}
"""By the hour and minute on the wall; nothing between two and three, which some days have twice and some not at all."""

CATCH_UP_ACTIONS: Final = frozenset(
    {
        begin_day,
        settle_yesterday,
        publish_intraday,
        publish_fcr,
        publish_day_ahead,
        publish_first_auction,
        publish_second_auction,
        publish_third_auction,
    }
)
"""What can still be done when the clock has passed its time."""
