"""What each source's answers become, trap by trap, against the stand-in and against answers that cannot be right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.feeds.stand_in import (
    Canned,
    StandIn,
    acknowledgement,
    hourly,
    make_sheet,
    midnight,
    quarters,
    time_series,
    value,
)

from gridloom.feeds.model import (
    AFRR_CAPACITY,
    AFRR_ENERGY,
    DAY_AHEAD,
    FCR,
    ID_AEP,
    LOAD_FORECAST,
    REBAP,
    WIND_FORECAST,
    Reading,
    Topic,
)
from gridloom.feeds.question import Answer, FeedFault, Question
from gridloom.feeds.schedule import window_of_days
from gridloom.feeds.sources.energy_charts import EnergyCharts
from gridloom.feeds.sources.entsoe import Entsoe
from gridloom.feeds.sources.netztransparenz import Netztransparenz
from gridloom.feeds.sources.regelleistung import Regelleistung
from gridloom.feeds.sources.smard import Smard
from gridloom.kernel.market_time import market_day_of

pytestmark = pytest.mark.pure

DAY = date(2026, 11, 19)
SOURCES: dict[str, Any] = {
    "smard": Smard(),
    "energy-charts": EnergyCharts(),
    "entsoe": Entsoe("stand-in-token"),
    "regelleistung": Regelleistung(),
    "netztransparenz": Netztransparenz("stand-in", "stand-in-secret"),
}


def pull(stand_in: StandIn, source: str, topic: Topic, first: date, last: date | None = None) -> Reading:
    """As the service does it, without a network between."""
    window = window_of_days(first, last or first)
    conversation = SOURCES[source].ask(topic, window)
    try:
        question: Question = next(conversation)
        while True:
            target = re.sub(r"^https://[^/]+", "", question.url)
            method = "GET" if question.form is None else "POST"
            body = "" if question.form is None else "&".join(f"{name}={text}" for name, text in question.form.items())
            found = stand_in.answer(method, target, question.headers, body)
            assert found.status in question.statuses, found
            question = conversation.send(Answer(found.status, found.body))
    except StopIteration as ended:
        reading: Reading = SOURCES[source].read(topic, window, ended.value)
        return reading


def make_stand_in(now: datetime = datetime(2027, 6, 1, tzinfo=UTC)) -> StandIn:
    found = StandIn()
    found.server.server_close()
    found.clock = lambda: now
    return found


class TestDayAhead:
    @pytest.mark.parametrize("source", ["smard", "energy-charts", "entsoe"])
    @pytest.mark.parametrize("day", [DAY, date(2027, 3, 28), date(2026, 10, 25), date(2025, 10, 1)])
    def test_is_every_quarter_hour_of_a_day_of_any_length(self, source: str, day: date) -> None:
        reading = pull(make_stand_in(), source, DAY_AHEAD, day)
        assert [(one.start, float(one.price)) for one in reading.prices] == [
            (start, value("DAY_AHEAD", start)) for start in quarters(day)
        ]
        assert {one.end - one.start for one in reading.prices} == {timedelta(minutes=15)}
        assert reading.complete_days == {day}

    @pytest.mark.parametrize("source", ["smard", "energy-charts", "entsoe"])
    def test_is_hourly_before_october_2025(self, source: str) -> None:
        reading = pull(make_stand_in(), source, DAY_AHEAD, date(2025, 9, 29), date(2025, 9, 30))
        assert [(one.start, float(one.price)) for one in reading.prices][:24] == [
            (start, hourly("DAY_AHEAD", start)) for start in quarters(date(2025, 9, 29))[::4]
        ]
        assert len(reading.complete_days) == 2

    @pytest.mark.parametrize("source", ["smard", "energy-charts", "entsoe"])
    def test_is_read_from_hours_and_quarter_hours_where_a_window_has_both(self, source: str) -> None:
        reading = pull(make_stand_in(), source, DAY_AHEAD, date(2025, 9, 29), date(2025, 10, 2))
        assert len(reading.prices) == 2 * 24 + 2 * 96
        assert len(reading.complete_days) == 4

    def test_is_read_from_both_files_where_a_week_begins(self) -> None:
        sunday, monday = date(2026, 11, 22), date(2026, 11, 23)
        reading = pull(make_stand_in(), "smard", DAY_AHEAD, sunday, monday)
        assert reading.complete_days == {sunday, monday}
        before = make_stand_in(datetime(2026, 11, 22, 11, tzinfo=UTC))
        assert pull(before, "smard", DAY_AHEAD, sunday, monday).complete_days == {sunday}, "the new file is not there"
        assert not any(f"_{round(midnight(monday).timestamp() * 1000)}" in call for call in before.calls)

    @pytest.mark.parametrize("source", ["smard", "energy-charts", "entsoe"])
    def test_of_tomorrow_is_awaited_until_it_is_out(self, source: str) -> None:
        stand_in = make_stand_in(datetime(2026, 11, 18, 11, tzinfo=UTC))
        reading = pull(stand_in, source, DAY_AHEAD, DAY - timedelta(days=1), DAY)
        assert reading.complete_days == {DAY - timedelta(days=1)}
        assert {market_day_of(one.start) for one in reading.prices} == {DAY - timedelta(days=1)}

    def test_is_never_that_of_another_auction(self) -> None:
        stand_in = make_stand_in()
        stand_in.without.add("coupled")
        reading = pull(stand_in, "entsoe", DAY_AHEAD, DAY)
        assert (list(reading.prices), reading.complete_days) == ([], frozenset())
        assert reading.remarks == ("Prices of another auction than the coupled one are left out.",)

    def test_of_a_month_is_asked_for_in_halves_where_one_answer_is_too_long(self) -> None:
        stand_in = make_stand_in()
        reading = pull(stand_in, "entsoe", DAY_AHEAD, date(2026, 10, 10), date(2026, 11, 9))
        assert len(reading.complete_days) == 31
        assert len(reading.prices) == 96 * 31 + 4
        assert len(stand_in.calls) == 3

    def test_of_a_zero_is_a_value_and_of_a_null_is_none(self) -> None:
        stand_in = make_stand_in()
        stand_in.changes[("smard", quarters(DAY)[0])] = 0.0
        assert pull(stand_in, "smard", DAY_AHEAD, DAY).prices[0].price == 0


class TestDocumentOfEntsoe:
    def test_has_a_value_until_the_next_point_and_none_beyond_its_end(self) -> None:
        stand_in = make_stand_in()
        beyond = "<Point><position>97</position><price.amount>7</price.amount></Point></Period>"
        held = time_series(DAY, "1", 15, lambda start: float(start.hour)).replace("</Period>", beyond)
        stand_in.faults["entsoe"] = Canned(200, document_of(held))
        reading = pull(stand_in, "entsoe", DAY_AHEAD, DAY)
        assert [float(one.price) for one in reading.prices] == [float(start.hour) for start in quarters(DAY)]
        stand_in.faults["entsoe"] = Canned(200, document_of(held.replace("A03<", "A01<")))
        reading = pull(stand_in, "entsoe", DAY_AHEAD, DAY)
        assert list(reading.remarks) == ["2026-11-19: DAY_AHEAD_DE_LU has 24 of 96 quarter-hours; the day is left out."]

    @pytest.mark.parametrize("status", [200, 400])
    def test_says_with_either_status_that_nothing_is_there_yet(self, status: int) -> None:
        stand_in = make_stand_in()
        stand_in.faults["entsoe"] = Canned(status, acknowledgement("999", "No matching data found"))
        reading = pull(stand_in, "entsoe", DAY_AHEAD, DAY)
        assert (list(reading.prices), list(reading.remarks)) == ([], [])


class TestForecasts:
    def test_are_power_and_wind_is_that_on_land_and_at_sea(self) -> None:
        start = quarters(DAY)[0]
        [load, *_] = pull(make_stand_in(), "smard", LOAD_FORECAST, DAY).prices
        [wind, *_] = pull(make_stand_in(), "smard", WIND_FORECAST, DAY).prices
        assert (load.start, float(load.price)) == (start, round(4 * value("LOAD", start), 2))
        assert float(wind.price) == round(4 * (value("ONSHORE", start) + value("OFFSHORE", start)), 2)


class TestReserves:
    @pytest.mark.parametrize(("day", "hours"), [(DAY, 4), (date(2027, 3, 28), 3), (date(2026, 10, 25), 5)])
    def test_of_fcr_are_per_hour_of_the_block(self, day: date, hours: int) -> None:
        reading = pull(make_stand_in(), "regelleistung", FCR, day)
        assert len(reading.prices) == 6
        assert reading.complete_days == {day}
        first = reading.prices[0]
        assert (first.end - first.start, first.price) == (timedelta(hours=hours), Decimal(60) / hours)

    @pytest.mark.parametrize(("day", "count"), [(DAY, 96), (date(2027, 3, 28), 92), (date(2026, 10, 25), 100)])
    def test_of_afrr_energy_are_paid_to_the_provider_in_both_directions(self, day: date, count: int) -> None:
        reading = pull(make_stand_in(), "regelleistung", AFRR_ENERGY, day)
        by_series = {name: [one for one in reading.prices if one.series == name] for name in AFRR_ENERGY.series}
        assert [len(prices) for prices in by_series.values()] == [count - 1, count, count - 1, count]
        assert by_series["AFRR_ENERGY_POS_DE_MARGINAL"][0].price == 151
        assert by_series["AFRR_ENERGY_NEG_DE_MARGINAL"][0].price == -151
        assert reading.complete_days == {day}, "a period without bids has no mean, and will have none"

    def test_of_afrr_capacity_are_average_and_marginal(self) -> None:
        reading = pull(make_stand_in(), "regelleistung", AFRR_CAPACITY, DAY)
        assert {(one.series.split("_")[-1], float(one.price)) for one in reading.prices[:6]} == {
            ("AVERAGE", 5.0 + number) for number in range(6)
        }
        assert len(reading.prices) == 24

    def test_of_one_direction_alone_are_no_whole_day(self) -> None:
        for topic, what in ((AFRR_CAPACITY, "CAPACITY"), (AFRR_ENERGY, "ENERGY")):
            stand_in = make_stand_in()
            stand_in.faults["regelleistung"] = Canned(200, make_sheet(what, DAY, without="NEG"))
            assert pull(stand_in, "regelleistung", topic, DAY).complete_days == frozenset()

    def test_of_a_day_without_data_are_an_empty_answer(self) -> None:
        reading = pull(make_stand_in(datetime(2026, 11, 18, 7, tzinfo=UTC)), "regelleistung", FCR, DAY)
        assert (list(reading.prices), reading.complete_days) == ([], frozenset())


class TestImbalancePrices:
    @pytest.mark.parametrize(("topic", "what"), [(REBAP, "reBAP"), (ID_AEP, "IdAep")])
    @pytest.mark.parametrize("day", [DAY, date(2027, 3, 28), date(2026, 10, 25)])
    def test_are_read_in_utc_with_decimal_commas(self, topic: Topic, what: str, day: date) -> None:
        reading = pull(make_stand_in(), "netztransparenz", topic, day)
        assert [(one.start, float(one.price)) for one in reading.prices] == [
            (start, value(what, start)) for start in quarters(day)
        ]
        assert reading.complete_days == {day}

    def test_are_partly_there_while_the_day_is_not_over(self) -> None:
        stand_in = make_stand_in(midnight(DAY) + timedelta(hours=42))
        reading = pull(stand_in, "netztransparenz", REBAP, DAY)
        assert (len(reading.prices), reading.complete_days) == (48, frozenset())

    def test_are_asked_for_by_months_and_with_a_new_token_where_one_has_expired(self) -> None:
        stand_in = make_stand_in()
        stand_in.tokens_last = 2
        reading = pull(stand_in, "netztransparenz", REBAP, date(2026, 7, 1), date(2026, 9, 30))
        assert len(reading.complete_days) == 92
        assert sum("token" in call for call in stand_in.calls) == 2


def smard_file(change: Callable[[list[Any]], Any]) -> Callable[[str], Canned | None]:
    """The true file, with its values changed."""

    def answer(target: str) -> Canned | None:
        if "index" in target:
            return None
        document = json.loads(make_stand_in()._smard(target).body)
        document["series"] = change(document["series"])
        return Canned(200, json.dumps(document).encode())

    return answer


def without_one(series: list[Any]) -> list[Any]:
    return [pair for pair in series if pair[0] != int(quarters(DAY)[5].timestamp() * 1000)]


def document_of(*series: str) -> bytes:
    return f"<Publication_MarketDocument><type>A44</type>{''.join(series)}</Publication_MarketDocument>".encode()


def prices_of_day(start: datetime) -> float:
    return value("DAY_AHEAD", start)


FRENCH = time_series(DAY, "1", 15, prices_of_day, "10YFR-RTE------C")
YEAR_MS = 31_536_000_000
GOOD = time_series(DAY, "1", 15, prices_of_day)
ENTITIES = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><x>&c;</x>'
BAD: list[tuple[str, Topic, Any, str]] = [
    (
        "smard",
        DAY_AHEAD,
        Canned(200, b"<!DOCTYPE html><html>Wartung</html>"),
        "no list of timestamps but '<!DOCTYPE html>",
    ),
    ("smard", DAY_AHEAD, Canned(200, b""), "an empty answer"),
    ("smard", DAY_AHEAD, Canned(200, b'{"timestamps":[1,'), "no list of timestamps"),
    ("smard", DAY_AHEAD, smard_file(lambda series: "cut"), "no series but"),
    (
        "smard",
        DAY_AHEAD,
        smard_file(lambda series: [[at - 31_536_000_000, 1.0] for at, _ in series]),
        "not of its week",
    ),
    ("smard", DAY_AHEAD, smard_file(lambda series: [[at, 1e9] for at, _ in series]), "no price"),
    ("smard", DAY_AHEAD, smard_file(lambda series: [[at, 99_999.0] for at, _ in series]), "beyond -1000 to 10000"),
    ("smard", DAY_AHEAD, smard_file(lambda series: [*series[:8], series[3], *series[8:]]), "its order is not by time"),
    ("smard", DAY_AHEAD, smard_file(lambda series: [[at + 60_000, price] for at, price in series]), "quarter-hours"),
    (
        "energy-charts",
        DAY_AHEAD,
        Canned(200, b'{"unix_seconds":[1],"price":[],"unit":"EUR / MWh"}'),
        "1 times and 0 prices",
    ),
    ("energy-charts", DAY_AHEAD, Canned(200, b'{"unix_seconds":[1],"price":[2],"unit":"ct/kWh"}'), "not EUR / MWh"),
    ("energy-charts", DAY_AHEAD, Canned(200, b'{"unix_seconds":[900,0],"price":[1,2]}'), "not by time"),
    ("energy-charts", DAY_AHEAD, Canned(200, b'{"unix_seconds":[0,7,14],"price":[1,2,3]}'), "7 seconds apart"),
    ("entsoe", DAY_AHEAD, Canned(200, ENTITIES), "declares a document type"),
    ("entsoe", DAY_AHEAD, Canned(200, b"<html>busy"), "no XML but '<html>busy'"),
    ("entsoe", DAY_AHEAD, Canned(200, b"<html/>"), "is a html"),
    ("entsoe", DAY_AHEAD, Canned(400, acknowledgement("777", "Unknown parameter")), "refused: 777 Unknown parameter"),
    (
        "entsoe",
        DAY_AHEAD,
        Canned(200, document_of(time_series(DAY, "1", 15, prices_of_day, "10YFR-RTE------C"))),
        "'10YFR-RTE------C', not 10Y1",
    ),
    (
        "entsoe",
        DAY_AHEAD,
        Canned(200, document_of(GOOD.replace("<position>1</position>", "<position>101</position>"))),
        "no position 1",
    ),
    ("entsoe", DAY_AHEAD, Canned(200, document_of(GOOD.replace("EUR<", "PLN<"))), "'PLN', not EUR"),
    ("entsoe", DAY_AHEAD, Canned(200, document_of(GOOD, time_series(DAY, "1", 15, lambda at: 3.0))), "two prices"),
    ("entsoe", DAY_AHEAD, Canned(200, document_of(time_series(DAY, "1", 60, prices_of_day))), "hourly value"),
    ("regelleistung", FCR, Canned(200, b"<html>Anmeldung</html>"), "no spreadsheet but '<html>"),
    ("regelleistung", FCR, Canned(200, make_sheet("FCR", DAY)[:3000]), "no spreadsheet but a ZIP"),
    ("regelleistung", FCR, Canned(200, make_sheet("FCR", DAY - timedelta(days=365))), "holds prices of 2025-11-19"),
    ("regelleistung", FCR, Canned(200, make_sheet("CAPACITY", DAY)), "no column"),
    ("netztransparenz", REBAP, Canned(200, b'{"access_token":"t"}'), "no table that begins with Datum"),
    ("netztransparenz", REBAP, Canned(200, b"not json"), "without an access token"),
]


class TestAnswerThatCannotBeRight:
    @pytest.mark.parametrize(("source", "topic", "answer", "told"), BAD, ids=[f"{one[0]}: {one[3]}" for one in BAD])
    def test_is_told_precisely(self, source: str, topic: Topic, answer: Any, told: str) -> None:
        stand_in = make_stand_in()
        stand_in.faults[source] = answer
        with pytest.raises(FeedFault, match=re.escape(told)) as found:
            pull(stand_in, source, topic, DAY)
        assert len(found.value.detail) <= 500
        assert "stand-in" not in found.value.detail, "no secret"

    def test_of_95_values_is_left_out_and_told(self) -> None:
        stand_in = make_stand_in()
        stand_in.faults["smard"] = smard_file(without_one)
        reading = pull(stand_in, "smard", DAY_AHEAD, DAY, DAY + timedelta(days=1))
        assert reading.complete_days == {DAY + timedelta(days=1)}
        assert {market_day_of(one.start) for one in reading.prices} == {DAY + timedelta(days=1)}
        assert list(reading.remarks) == ["2026-11-19: DAY_AHEAD_DE_LU has 95 of 96 quarter-hours; the day is left out."]

    def test_is_a_zip_file_that_unpacks_to_more_than_a_true_one(self) -> None:
        import io
        import zipfile

        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", b"0" * 40_000_000)
        stand_in = make_stand_in()
        stand_in.faults["regelleistung"] = Canned(200, file.getvalue())
        with pytest.raises(FeedFault, match="unpacks to 40000000 bytes"):
            pull(stand_in, "regelleistung", FCR, DAY)

    def test_is_a_spreadsheet_in_a_zip_file_read_like_the_spreadsheet_itself(self) -> None:
        import io
        import zipfile

        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("RESULT.xlsx", make_sheet("FCR", DAY))
        stand_in = make_stand_in()
        stand_in.faults["regelleistung"] = Canned(200, file.getvalue())
        assert len(pull(stand_in, "regelleistung", FCR, DAY).prices) == 6
