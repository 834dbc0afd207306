"""SMARD of the Bundesnetzagentur: files of a week each, found by an index of their starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from gridloom.feeds.checking import QUARTER_HOURS_SINCE, check_order, check_reading, read_micros
from gridloom.feeds.model import DAY_AHEAD, LOAD_FORECAST, SOLAR_FORECAST, WIND_FORECAST, FeedName, Reading, Topic
from gridloom.feeds.question import Answer, Conversation, Question, UnexpectedAnswer, describe_body
from gridloom.kernel.market_time import PERIOD, format_instant, market_day_window
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice

_FILE_COVERS: Final = timedelta(days=7, hours=1)
"""A week, and the hour that it may be longer."""
_STEPS: Final = {"quarterhour": PERIOD, "hour": timedelta(hours=1)}
_MAX_INDEX: Final = 5_000


class _Index(msgspec.Struct):
    timestamps: list[int]


class _File(msgspec.Struct):
    series: list[tuple[int, float | None]]


class _Part(msgspec.Struct, frozen=True):
    """One file of one filter, and what of it is wanted: a week has hourly and quarter-hourly days only once."""

    filter: int
    resolution: str
    start: datetime
    wanted: Window


class Smard:
    """Prices in EUR/MWh; energy in MWh of the interval, which becomes MW here."""

    feed: Final = FeedName.SMARD
    address: Final = "https://www.smard.de"
    _FILTERS: Final = {
        DAY_AHEAD.name: (4169,),
        LOAD_FORECAST.name: (411,),
        WIND_FORECAST.name: (123, 3791),
        SOLAR_FORECAST.name: (125,),
    }
    """The numbers of the series; those of one topic are added up (wind on land and at sea)."""

    def __init__(self, address: str | None = None) -> None:
        self._root = f"{address or self.address}/app/chart_data"

    def ask(self, topic: Topic, window: Window) -> Conversation[list[tuple[_Part, Answer]]]:
        region = "DE-LU" if topic is DAY_AHEAD else "DE"
        answers: list[tuple[_Part, Answer]] = []
        for number in self._FILTERS[topic.name]:
            for resolution, part in _split_by_resolution(topic, window):
                index = yield self._question(f"{number}/{region}/index_{resolution}.json")
                for start in _find_files(index, part):
                    name = f"{number}_{region}_{resolution}_{round(start.timestamp() * 1000)}.json"
                    answer = yield self._question(f"{number}/{region}/{name}")
                    answers.append((_Part(number, resolution, start, part), answer))
        return answers

    def _question(self, path: str) -> Question:
        return Question(f"{self._root}/{path}", f"/app/chart_data/{path}")

    def read(self, topic: Topic, window: Window, answers: Sequence[tuple[_Part, Answer]]) -> Reading:
        values: dict[int, dict[tuple[datetime, timedelta], Decimal]] = {}
        for part, answer in answers:
            found = values.setdefault(part.filter, {})
            found |= {(start, _STEPS[part.resolution]): value for start, value in _read_file(part, answer)}
        filters = self._FILTERS[topic.name]
        if any(number not in values for number in filters):
            return Reading()
        shared = set.intersection(*(set(values[number]) for number in filters))
        is_energy = topic is not DAY_AHEAD
        prices = [
            PublishedPrice(
                topic.series[0],
                start,
                start + step,
                sum((values[number][start, step] for number in filters), Decimal()) * (4 if is_energy else 1),
            )
            for start, step in shared
        ]
        return check_reading(topic, window, prices)


def _split_by_resolution(topic: Topic, window: Window) -> Iterator[tuple[str, Window]]:
    """Prices until the end of September 2025 are hourly; the quarter-hours of those days are not there."""
    change = market_day_window(QUARTER_HOURS_SINCE).start
    if topic is not DAY_AHEAD or window.start >= change:
        yield "quarterhour", window
        return
    yield "hour", Window(window.start, min(window.end, change))
    if window.end > change:
        yield "quarterhour", Window(change, window.end)


def _find_files(answer: Answer, window: Window) -> list[datetime]:
    """The starts of the files that may hold some of the window; the last two, where it ends with the newest."""
    try:
        index = msgspec.json.decode(answer.body, type=_Index)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnexpectedAnswer(f"The index is no list of timestamps but {describe_body(answer.body)}.") from None
    if len(index.timestamps) > _MAX_INDEX:
        raise UnexpectedAnswer(f"The index has {len(index.timestamps)} files.")
    starts = [_read_instant(milliseconds) for milliseconds in index.timestamps]
    check_order(starts, "The index")
    return [start for start in starts if start < window.end and start + _FILE_COVERS > window.start]


def _read_file(part: _Part, answer: Answer) -> list[tuple[datetime, Decimal]]:
    try:
        file = msgspec.json.decode(answer.body, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnexpectedAnswer(f"The file is no series but {describe_body(answer.body)}.") from None
    starts = [_read_instant(milliseconds) for milliseconds, _ in file.series]
    what = f"Filter {part.filter}, file of {format_instant(part.start)}"
    check_order(starts, what)
    if starts and not part.start <= starts[0] <= starts[-1] < part.start + _FILE_COVERS:
        raise UnexpectedAnswer(
            f"{what} holds values from {format_instant(starts[0])} to {format_instant(starts[-1])}, not of its week."
        )
    return [
        (start, read_micros(value, f"{what}: {format_instant(start)}"))
        for start, (_, value) in zip(starts, file.series, strict=True)
        if value is not None and start in part.wanted
    ]


def _read_instant(milliseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        raise UnexpectedAnswer(f"{milliseconds} is no time in milliseconds.") from None
