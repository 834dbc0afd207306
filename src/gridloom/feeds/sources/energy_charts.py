"""Energy-Charts of Fraunhofer ISE: day-ahead prices as two arrays of one length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from gridloom.feeds.checking import (
    QUARTER_HOURS_SINCE,
    check_day_ahead_steps,
    check_order,
    check_reading,
    read_micros,
)
from gridloom.feeds.model import FeedName, Reading, Topic
from gridloom.feeds.question import Answer, Conversation, Question, UnexpectedAnswer, describe_body
from gridloom.kernel.market_time import PERIOD, format_instant, market_day_of
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice

_STEPS_S: Final = (900, 3600)
_DAYS_AT_ONCE: Final = 31
_NOT_YET: Final = 404


class _Prices(msgspec.Struct):
    unix_seconds: list[int]
    price: list[float | None]
    unit: str = ""


class EnergyCharts:
    feed: Final = FeedName.ENERGY_CHARTS
    address: Final = "https://api.energy-charts.info"

    def __init__(self, address: str | None = None) -> None:
        self._root = address or self.address

    def ask(self, topic: Topic, window: Window) -> Conversation[list[Answer]]:
        """By months, and hours apart from quarter-hours: an answer has one resolution, which it does not name."""
        first, last = market_day_of(window.start), market_day_of(window.end - PERIOD)
        answers = []
        while first <= last:
            until = min(last, first + timedelta(days=_DAYS_AT_ONCE - 1))
            if first < QUARTER_HOURS_SINCE <= until:
                until = QUARTER_HOURS_SINCE - timedelta(days=1)
            answers.append((yield self._question(first, until)))
            first = until + timedelta(days=1)
        return answers

    def _question(self, first: date, last: date) -> Question:
        path = f"/price?bzn=DE-LU&start={first}&end={last}"
        return Question(self._root + path, path, statuses=frozenset({200, _NOT_YET}))

    def read(self, topic: Topic, window: Window, answers: Sequence[Answer]) -> Reading:
        """A 404 is a day that is not there yet."""
        prices = [one for answer in answers if answer.status != _NOT_YET for one in _read_prices(topic, answer)]
        check_day_ahead_steps([one for one in prices if one.start in window])
        return check_reading(topic, window, prices)


def _read_prices(topic: Topic, answer: Answer) -> list[PublishedPrice]:
    try:
        found = msgspec.json.decode(answer.body, type=_Prices)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnexpectedAnswer(f"The answer is no table of prices but {describe_body(answer.body)}.") from None
    if found.unit.replace(" ", "") not in ("EUR/MWh", ""):
        raise UnexpectedAnswer(f"The unit is {found.unit[:40]!r}, not EUR / MWh.")
    if len(found.unix_seconds) != len(found.price):
        raise UnexpectedAnswer(f"There are {len(found.unix_seconds)} times and {len(found.price)} prices.")
    try:
        starts = [datetime.fromtimestamp(seconds, tz=UTC) for seconds in found.unix_seconds]
    except (OverflowError, ValueError, OSError):
        raise UnexpectedAnswer("Some of its times are no seconds since 1970.") from None
    check_order(starts, "The prices")
    step = _find_step(starts)
    return [
        PublishedPrice(topic.series[0], start, start + step, read_micros(price, format_instant(start)))
        for start, price in zip(starts, found.price, strict=True)
        if price is not None
    ]


def _find_step(starts: Sequence[datetime]) -> timedelta:
    """The resolution is not named: the commonest difference is it."""
    if len(starts) < 2:
        return PERIOD
    seconds = Counter(round((after - before).total_seconds()) for before, after in pairwise(starts))
    step = seconds.most_common(1)[0][0]
    if step not in _STEPS_S:
        raise UnexpectedAnswer(f"Its prices are {step} seconds apart, not a quarter-hour or an hour.")
    return timedelta(seconds=step)
