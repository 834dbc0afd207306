"""regelleistung.net: results of the FCR and aFRR tenders as spreadsheets, one a delivery day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Final

from gridloom.feeds.checking import check_reading
from gridloom.feeds.model import AFRR_CAPACITY, AFRR_ENERGY, FCR, FeedName, Reading, Topic
from gridloom.feeds.question import Answer, Conversation, Question, UnexpectedAnswer
from gridloom.feeds.spreadsheets import open_spreadsheet
from gridloom.kernel.balancing import BLOCK_START_HOURS
from gridloom.kernel.market_time import market_day_of, market_days_in, period_count
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice
from gridloom_client.published.balancing import read_afrr_capacity, read_afrr_energy_results, read_fcr
from gridloom_client.published.prices import PublishedFileError
from gridloom_client.published.prices import PublishedPrice as FilePrice
from gridloom_client.published.tables import FileContent, NamedFile

_PAGE: Final = "https://www.regelleistung.net/apps/datacenter/tenders/"
_READERS: Final[Mapping[str, tuple[str, str, Callable[[NamedFile], Iterable[FilePrice]]]]] = {
    FCR.name: ("FCR", "CAPACITY", read_fcr),
    AFRR_CAPACITY.name: ("aFRR", "CAPACITY", read_afrr_capacity),
    AFRR_ENERGY.name: ("aFRR", "ENERGY", read_afrr_energy_results),
}
"""By topic: product and market of the question, and who reads the sheet."""


class Regelleistung:
    feed: Final = FeedName.REGELLEISTUNG
    address: Final = "https://www.regelleistung.net"

    def __init__(self, address: str | None = None) -> None:
        self._root = address or self.address

    def ask(self, topic: Topic, window: Window) -> Conversation[list[tuple[date, Answer]]]:
        answers: list[tuple[date, Answer]] = []
        for day in market_days_in(window):
            answer = yield self._question(topic, day)
            answers.append((day, answer))
        return answers

    def _question(self, topic: Topic, day: date) -> Question:
        product, market, _ = _READERS[topic.name]
        query = f"productType={product}&market={market}&exportFormat=xlsx&deliveryDate={day}"
        path = f"/apps/crds/api/v2/tenders/results/aggregated?{query}"
        return Question(
            self._root + path, path, headers={"User-Agent": "Mozilla/5.0 (compatible; Gridloom)", "Referer": _PAGE}
        )

    def read(self, topic: Topic, window: Window, answers: Sequence[tuple[date, Answer]]) -> Reading:
        """An empty answer is a day without data. Blocks or periods whose cell says that there is none stay away."""
        prices: list[PublishedPrice] = []
        complete = set[date]()
        for day, answer in answers:
            if not answer.body:
                continue
            found = _read_sheet(topic, day, answer)
            other = next((one for one in found if market_day_of(one.start) != day), None)
            if other is not None:
                raise UnexpectedAnswer(f"The sheet of {day} holds prices of {market_day_of(other.start)}.")
            if _is_whole(topic, day, found):
                complete.add(day)
            prices += found
        return check_reading(topic, window, prices, known_complete=frozenset(complete))


def _read_sheet(topic: Topic, day: date, answer: Answer) -> list[PublishedPrice]:
    file = FileContent(f"{topic.name} of {day}", open_spreadsheet(answer.body))
    try:
        found = list(_READERS[topic.name][2](file))
    except PublishedFileError as fault:
        raise UnexpectedAnswer(str(fault)) from None
    except Exception as fault:  # noqa: BLE001  # a sheet can be broken in more ways than its reader names
        raise UnexpectedAnswer(f"The sheet of {day} cannot be read: {type(fault).__name__}.") from None
    return [PublishedPrice(one.series, one.start, one.end, one.price) for one in found]


def _is_whole(topic: Topic, day: date, prices: Sequence[PublishedPrice]) -> bool:
    """Capacity has a price in each block and direction; of energy, some quarter-hours of a direction have no bids."""
    marginal = {name for name in topic.series if not name.endswith("_AVERAGE")}
    starts = {name: {one.start for one in prices if one.series == name} for name in marginal}
    if topic is AFRR_ENERGY:
        return all(starts.values()) and len({one.start for one in prices}) >= period_count(day)
    return all(len(found) >= len(BLOCK_START_HOURS) for found in starts.values())
