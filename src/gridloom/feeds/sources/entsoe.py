"""The transparency platform of ENTSO-E: day-ahead prices as publication documents (A44) in XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import urlencode

from lxml import etree

from gridloom.feeds.checking import MICRO, check_day_ahead_steps, check_reading
from gridloom.feeds.model import FeedName, Reading, Topic
from gridloom.feeds.question import Answer, Conversation, Question, UnexpectedAnswer, describe_body
from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice

DE_LU: Final = "10Y1001A1001A82H"
_DAYS_AT_ONCE: Final = 31
_RESOLUTIONS: Final = {"PT15M": PERIOD, "PT60M": timedelta(hours=1)}
_COUPLED_AUCTION: Final = "1"
_NO_DATA: Final = "999"
_MAX_POSITION: Final = 4 * 25 * 31
_MAX_VALUES: Final = 100_000
"""A month in both resolutions has a twentieth of them, and one short point can stand for thousands."""
_TOO_MUCH: Final = re.compile(r"exceed|maximum|allowed", re.IGNORECASE)


class Entsoe:
    feed: Final = FeedName.ENTSOE
    address: Final = "https://web-api.tp.entsoe.eu"

    def __init__(self, token: str, address: str | None = None) -> None:
        self._token = token
        self._root = address or self.address

    def ask(self, topic: Topic, window: Window) -> Conversation[list[Answer]]:
        """Whole days; where one answer would be too long, half of them at a time."""
        answers: list[Answer] = []
        waiting = list(_split_days(window, _DAYS_AT_ONCE))[::-1]
        while waiting:
            part = waiting.pop()
            answer = yield self._question(part)
            days = (market_day_of(part.end - PERIOD) - market_day_of(part.start)).days + 1
            if days > 1 and _is_too_much(answer):
                waiting.extend(list(_split_days(part, -(-days // 2)))[::-1])
                continue
            answers.append(answer)
        return answers

    def _question(self, window: Window) -> Question:
        query = {
            "documentType": "A44",
            "in_Domain": DE_LU,
            "out_Domain": DE_LU,
            "contract_MarketAgreement.type": "A01",
            "periodStart": f"{window.start:%Y%m%d%H%M}",
            "periodEnd": f"{window.end:%Y%m%d%H%M}",
        }
        shown = f"/api?{urlencode(query)}"
        url = f"{self._root}{shown}&{urlencode({'securityToken': self._token})}"
        return Question(url, shown, statuses=frozenset({200, 400}), secrets=(self._token,))

    def read(self, topic: Topic, window: Window, answers: Sequence[Answer]) -> Reading:
        """Of the coupled auction alone: while only another auction's prices are there, there are none."""
        found: dict[datetime, PublishedPrice] = {}
        others = read = 0
        for answer in answers:
            for series in _read_time_series(answer):
                if _text_of(series, "classificationSequence_AttributeInstanceComponent.position") != _COUPLED_AUCTION:
                    others += 1
                    continue
                _check_time_series(series)
                for price in _read_periods(topic, series):
                    read += 1
                    if read > _MAX_VALUES:
                        raise UnexpectedAnswer(f"The answers hold more than {_MAX_VALUES} values.")
                    _keep_finest(found, price)
        kept = _drop_covered(found)
        check_day_ahead_steps([one for one in kept if one.start in window])
        reading = check_reading(topic, window, kept)
        if not others or found:
            return reading
        return replace(reading, remarks=("Prices of another auction than the coupled one are left out.",))


def _split_days(window: Window, most: int) -> Iterator[Window]:
    first, last = market_day_of(window.start), market_day_of(window.end - PERIOD)
    while first <= last:
        until = min(last, first + timedelta(days=most - 1))
        yield Window(market_day_window(first).start, market_day_window(until).end)
        first = until + timedelta(days=1)


# --- XML by local names, since the namespace's version changes ------------------------------------------------------


def _parse_xml(answer: Answer) -> etree._Element:
    if b"\x00" in answer.body:
        raise UnexpectedAnswer("The answer is not written in UTF-8.")
    if b"<!DOCTYPE" in answer.body or b"<!ENTITY" in answer.body:
        raise UnexpectedAnswer("The answer declares a document type, which no true one does.")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(answer.body, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise UnexpectedAnswer(f"The answer is no XML but {describe_body(answer.body)}.") from None


def _name_of(element: etree._Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _find_children(element: etree._Element, name: str) -> list[etree._Element]:
    return [child for child in element if _name_of(child) == name]


def _find_child(element: etree._Element, name: str) -> etree._Element:
    found = _find_children(element, name)
    if len(found) != 1:
        raise UnexpectedAnswer(f"{_name_of(element)} has {len(found)} elements {name}, not one.")
    return found[0]


def _text_of(element: etree._Element, name: str, default: str = "") -> str:
    found = _find_children(element, name)
    return (found[0].text or "").strip() if found else default


def _read_time_series(answer: Answer) -> list[etree._Element]:
    root = _parse_xml(answer)
    kind = _name_of(root)
    if kind == "Acknowledgement_MarketDocument":
        code, text = _read_reason(root)
        if code == _NO_DATA:
            return []
        raise UnexpectedAnswer(f"The request was refused: {code} {text}")
    if kind != "Publication_MarketDocument" or answer.status != 200:
        raise UnexpectedAnswer(f"The answer is a {kind[:60]} with status {answer.status}.")
    if (type_ := _text_of(root, "type")) != "A44":
        raise UnexpectedAnswer(f"The document is of type {type_[:20]!r}, not A44.")
    return _find_children(root, "TimeSeries")


def _read_reason(root: etree._Element) -> tuple[str, str]:
    reasons = _find_children(root, "Reason")
    return (_text_of(reasons[0], "code"), _text_of(reasons[0], "text")[:300]) if reasons else ("", "")


def _is_too_much(answer: Answer) -> bool:
    if answer.status != 400 or not answer.body.lstrip().startswith(b"<"):
        return False
    root = _parse_xml(answer)
    if _name_of(root) != "Acknowledgement_MarketDocument":
        return False
    code, text = _read_reason(root)
    return code != _NO_DATA and _TOO_MUCH.search(text) is not None


def _check_time_series(series: etree._Element) -> None:
    """A price of another zone, market, currency or unit is not ours."""
    for name, wanted in (
        ("in_Domain.mRID", DE_LU),
        ("out_Domain.mRID", DE_LU),
        ("contract_MarketAgreement.type", "A01"),
        ("currency_Unit.name", "EUR"),
        ("price_Measure_Unit.name", "MWH"),
    ):
        text = _text_of(series, name)
        if text != wanted:
            raise UnexpectedAnswer(f"{name} is {text[:40]!r}, not {wanted}.")


def _read_periods(topic: Topic, series: etree._Element) -> Iterator[PublishedPrice]:
    curve = _text_of(series, "curveType", "A01")
    if curve not in ("A01", "A03"):
        raise UnexpectedAnswer(f"The curve type is {curve[:20]!r}, neither A01 nor A03.")
    for period in _find_children(series, "Period"):
        interval = _find_child(period, "timeInterval")
        start, end = (_read_instant(_text_of(interval, name)) for name in ("start", "end"))
        resolution = _text_of(period, "resolution")
        if resolution not in _RESOLUTIONS:
            raise UnexpectedAnswer(f"The resolution is {resolution[:20]!r}, neither PT15M nor PT60M.")
        step = _RESOLUTIONS[resolution]
        count = (end - start) // step
        if not 0 < count <= _MAX_POSITION:
            raise UnexpectedAnswer(f"A period lasts from {start:%Y-%m-%dT%H:%MZ} to {end:%Y-%m-%dT%H:%MZ}.")
        for position, value in _spread_points(period, count, holds=curve == "A03"):
            at = start + (position - 1) * step
            yield PublishedPrice(topic.series[0], at, at + step, value)


def _spread_points(period: etree._Element, count: int, *, holds: bool) -> Iterator[tuple[int, Decimal]]:
    """A value at each position; with curve type A03 one holds until the next that is given, the last to the end."""
    points: dict[int, Decimal] = {}
    for point in _find_children(period, "Point"):
        position = _read_position(_text_of(point, "position"))
        if position in points:
            raise UnexpectedAnswer(f"Position {position} is there twice.")
        points[position] = _read_amount(_text_of(point, "price.amount"))
    if 1 not in points:
        raise UnexpectedAnswer("A period has no position 1, so its first value is unknown.")
    if not holds:
        yield from sorted((position, value) for position, value in points.items() if position <= count)
        return
    value = points[1]
    for position in range(1, count + 1):
        value = points.get(position, value)
        yield position, value


def _read_position(text: str) -> int:
    if re.fullmatch(r"[0-9]{1,5}", text) is None or int(text) < 1:
        raise UnexpectedAnswer(f"{text[:20]!r} is no position.")
    return int(text)


def _read_amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite() or abs(amount) >= 10**8:
        raise UnexpectedAnswer(f"{text[:40]!r} is no price.")
    return amount.quantize(MICRO)


def _read_instant(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)
    except ValueError:
        raise UnexpectedAnswer(f"{text[:40]!r} is no time such as 2026-11-19T23:00Z.") from None


def _keep_finest(found: dict[datetime, PublishedPrice], price: PublishedPrice) -> None:
    """Of a quarter-hour and an hour that start together the quarter-hour counts, whatever their order."""
    known = found.get(price.start)
    if known is None or price.end < known.end:
        found[price.start] = price
    elif price.end == known.end and price.price != known.price:
        raise UnexpectedAnswer(f"{price.start:%Y-%m-%dT%H:%MZ} has two prices, {known.price:f} and {price.price:f}.")


def _drop_covered(found: dict[datetime, PublishedPrice]) -> list[PublishedPrice]:
    """Without hours in which quarter-hours are there too."""
    quarters = {start for start, price in found.items() if price.end - start == PERIOD}
    return [
        price
        for start, price in found.items()
        if price.end - start == PERIOD or not any(start + number * PERIOD in quarters for number in range(4))
    ]
