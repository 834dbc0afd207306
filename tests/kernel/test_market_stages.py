"""The stages of a delivery day: gates on the market's clock, and what is known at each."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from gridloom.kernel.market_stages import SERIES_OF_STAGE, Stage, gate_of, known_day, traded_periods

pytestmark = pytest.mark.pure

CLOCK_CHANGE = date(2026, 3, 29)


class TestAGate:
    @pytest.mark.parametrize(
        ("stage", "instant"),
        [
            (Stage.FCR, "2026-03-28T07:00Z"),
            (Stage.AFRR, "2026-03-28T08:00Z"),
            (Stage.DAY_AHEAD, "2026-03-28T11:00Z"),
            (Stage.IDA1, "2026-03-28T14:00Z"),
            (Stage.IDA2, "2026-03-28T21:00Z"),
            (Stage.IDA3, "2026-03-29T08:00Z"),
        ],
    )
    def test_is_on_the_markets_clock(self, stage: Stage, instant: str) -> None:
        assert gate_of(stage, CLOCK_CHANGE) == datetime.fromisoformat(instant)

    @pytest.mark.parametrize(
        ("stage", "known"),
        [
            (Stage.FCR, ()),
            (Stage.AFRR, ("FCR_DE",)),
            (Stage.DAY_AHEAD, ("FCR_DE", "AFRR_CAPACITY_POS_DE_MARGINAL")),
            (Stage.IDA1, ("FCR_DE", "AFRR_CAPACITY_POS_DE_MARGINAL", "DAY_AHEAD_DE_LU")),
            (Stage.IDA3, ("DAY_AHEAD_DE_LU", "IDA1_DE_LU", "IDA2_DE_LU", "FCR_DE", "AFRR_CAPACITY_POS_DE_MARGINAL")),
        ],
    )
    def test_comes_after_the_results_of_the_stages_before_it(self, stage: Stage, known: tuple[str, ...]) -> None:
        series = [*SERIES_OF_STAGE.values(), "FCR_DE", "AFRR_CAPACITY_POS_DE_MARGINAL"]
        assert {name for name in series if known_day(stage, name, CLOCK_CHANGE) == CLOCK_CHANGE} == set(known)


class TestTheTradedPeriods:
    @pytest.mark.parametrize(
        ("stage", "day", "count"),
        [(Stage.IDA1, CLOCK_CHANGE, 92), (Stage.IDA3, CLOCK_CHANGE, 48), (Stage.DAY_AHEAD, date(2026, 10, 25), 100)],
    )
    def test_are_the_day_and_its_second_half_at_the_last_auction(self, stage: Stage, day: date, count: int) -> None:
        first, end = traded_periods(stage, day)
        assert end - first == count
