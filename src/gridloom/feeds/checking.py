"""Rules for a source's values: numbers within bounds, each quarter-hour once, days that are whole; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final

from gridloom.feeds.model import Reading, Topic
from gridloom.feeds.question import UnexpectedAnswer
from gridloom.kernel.market_time import PERIOD, format_instant, is_period_start, market_day_of, market_day_window
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice

MICRO: Final = Decimal("0.000001")
QUARTER_HOURS_SINCE: Final = date(2025, 10, 1)
"""The first delivery day of which the day-ahead auction has a price for each quarter-hour."""
_HOUR: Final = timedelta(hours=1)


def read_micros(value: float, place: str) -> Decimal:
    """A number of an answer, to the millionth."""
    number = Decimal(str(value))
    if not number.is_finite() or abs(number) >= 10**8:
        raise UnexpectedAnswer(f"{place} is {value:g}, which is no price.")
    return number.quantize(MICRO)


def check_reading(
    topic: Topic, window: Window, prices: Iterable[PublishedPrice], *, known_complete: frozenset[date] | None = None
) -> Reading:
    """The values of the window in their order, without days that are not whole.

    `known_complete`: days that the answer itself shows to be complete, where some values may be missing for good.
    """
    answered = list(prices)
    kept = sorted((one for one in answered if one.start in window), key=lambda one: (one.series, one.start))
    if answered and not kept:
        return Reading(remarks=[_describe_others(answered)])
    _check_values(topic, kept)
    by_day: dict[date, dict[str, list[PublishedPrice]]] = defaultdict(lambda: defaultdict(list))
    for one in kept:
        by_day[market_day_of(one.start)][one.series].append(one)
    complete = frozenset(
        day
        for day, series in by_day.items()
        if (day in known_complete if known_complete is not None else _is_whole(topic, day, series))
    )
    if topic.allows_parts:
        return Reading(kept, complete)
    remarks = [_describe_part(topic, day, by_day[day]) for day in sorted(by_day.keys() - complete)]
    return Reading([one for one in kept if market_day_of(one.start) in complete], complete, remarks)


def _describe_others(prices: Sequence[PublishedPrice]) -> str:
    first, last = (format_instant(choose(one.start for one in prices)) for choose in (min, max))
    return f"Values of {first} to {last} were answered, none of what was asked for."


def _check_values(topic: Topic, prices: Sequence[PublishedPrice]) -> None:
    low, high = topic.bounds
    before: PublishedPrice | None = None
    for one in prices:
        where = f"{one.series} at {format_instant(one.start)}"
        if not low <= one.price <= high:
            raise UnexpectedAnswer(f"{where} is {one.price.normalize():f}, beyond {low:f} to {high:f}.")
        if not is_period_start(one.start) or (one.end - one.start) % PERIOD:
            raise UnexpectedAnswer(f"{where} does not lie on the quarter-hours.")
        if before is not None and before.series == one.series and one.start < before.end:
            raise UnexpectedAnswer(f"{where} is there twice, or overlaps with the value before.")
        before = one


def _is_whole(topic: Topic, day: date, series: dict[str, list[PublishedPrice]]) -> bool:
    """Every series of the topic, without a gap, in one resolution (blocks differ in length where clocks change)."""
    length = market_day_window(day).duration
    for name in topic.series:
        prices = series.get(name, [])
        lengths = {one.end - one.start for one in prices}
        if sum((one.end - one.start for one in prices), timedelta()) != length:
            return False
        if len(lengths) > 1 and max(lengths) <= _HOUR:
            return False
    return True


def _describe_part(topic: Topic, day: date, series: dict[str, list[PublishedPrice]]) -> str:
    length = market_day_window(day).duration
    for name in topic.series:
        prices = series.get(name, [])
        there = sum((one.end - one.start for one in prices), timedelta())
        if there != length:
            return f"{day}: {name} has {there // PERIOD} of {length // PERIOD} quarter-hours; the day is left out."
    return f"{day}: values of several resolutions; the day is left out."


def check_order(starts: Sequence[datetime], what: str) -> None:
    """Lists by instant are ascending: an hour that comes twice on the wall clock shows here if it was mixed up."""
    for before, after in pairwise(starts):
        if after <= before:
            raise UnexpectedAnswer(
                f"{what}: {format_instant(after)} follows {format_instant(before)}, so its order is not by time."
            )


def check_day_ahead_steps(prices: Sequence[PublishedPrice]) -> None:
    """Hourly means of days that settle by the quarter-hour are no prices."""
    for one in prices:
        if one.end - one.start == _HOUR and market_day_of(one.start) >= QUARTER_HOURS_SINCE:
            raise UnexpectedAnswer(
                f"{format_instant(one.start)} is an hourly value; since {QUARTER_HOURS_SINCE} quarter-hours count."
            )
