"""Forecasts of intraday auctions and capacity: bands of the right width, and nothing from after a gate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx2
import numpy as np
import pytest
from tests.people import People

from gridloom.kernel.market_stages import SERIES_OF_STAGE, STAGE_OF_SERIES, STAGES, Stage, gate_of
from gridloom.kernel.market_time import block_window, market_day_of, market_day_window
from gridloom.optimiser.forecasts.bands import BLOCK_QUARTERS, find_band, forecast_blocks
from gridloom.optimiser.forecasts.series import FORECAST_SERIES
from gridloom.platform.http.application import Application

QUARTER = timedelta(minutes=15)
SERIES = [*SERIES_OF_STAGE.values(), "FCR_DE", "AFRR_CAPACITY_POS_DE_MARGINAL", "AFRR_CAPACITY_NEG_DE_MARGINAL"]


@pytest.mark.pure
class TestABand:
    def test_covers_four_of_five_next_days_in_calm_and_restless_weeks(self) -> None:
        rng = np.random.default_rng(7)
        weeks = np.repeat(np.exp(rng.normal(1.5, 0.8, 60)), 7)
        blocks = np.repeat([0.5, 1.0, 2.0, 1.0, 3.0, 1.5], BLOCK_QUARTERS)
        errors = rng.normal(0, 1, (len(weeks), 96)) * weeks[:, None] * blocks
        below = above = 0
        for day in range(60, len(weeks)):
            band = find_band(np.zeros(96), errors[:day], BLOCK_QUARTERS)
            below += int((errors[day] < band.p10).sum())
            above += int((errors[day] > band.p90).sum())
        count = 96 * (len(weeks) - 60)
        assert 0.75 <= 1 - (below + above) / count <= 0.85
        assert max(below, above) / count <= 0.13

    def test_is_about_the_median_of_the_last_seven_days_of_the_kind(self) -> None:
        weekend = np.array([number % 7 >= 5 for number in range(70)])
        values = np.where(weekend[:, None], 5.0, 20.0) + np.arange(70)[:, None] * np.ones(6) / 100
        found = forecast_blocks(values, weekend, True)
        assert found is not None
        assert found.p50 == pytest.approx(np.full(6, np.median(values[weekend][-7:, 0])))
        assert (found.p10 <= found.p50).all()
        assert (found.p50 <= found.p90).all()


def rows_of(series: str, days: range, today: date, level: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng([SERIES.index(series), days.start + 1000])
    rows = []
    for ahead in days:
        day = today + timedelta(days=ahead)
        if series in SERIES_OF_STAGE.values():
            window = market_day_window(day)
            spans = [
                (window.start + place * QUARTER, window.start + (place + 1) * QUARTER)
                for place in range((window.end - window.start) // QUARTER)
            ]
        else:
            spans = [(one.start, one.end) for hour in range(0, 24, 4) for one in [block_window(day, hour, hour + 4)]]
        rows += [
            {
                "series": series,
                "start": start.isoformat(),
                "end": end.isoformat(),
                "price": round(level + float(rng.normal(0, 5)), 2),
            }
            for start, end in spans
        ]
    return rows


async def post(operator: httpx2.AsyncClient, rows: list[dict[str, Any]]) -> None:
    answer = await operator.post("/reference-prices", json=rows, timeout=60)
    assert answer.status_code == 200, answer.text


async def advance(operator: httpx2.AsyncClient, instant: datetime) -> None:
    answer = await operator.put("/sandbox/clock", json={"now": instant.astimezone(UTC).isoformat()})
    assert answer.status_code == 200, answer.text


class TestTheForecastOfASeries:
    async def test_knows_nothing_that_was_published_after_its_gate(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        """At each gate in turn: what is asked for just before it stays, whatever is published or corrected later."""
        async with People(await fresh_app()) as people:
            operator, viewer = (await people.operator()).client, (await people.new_organisation()).viewer
            now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            day = market_day_of(now) + timedelta(days=3)
            path = f"?delivery-day={day.isoformat()}"
            for series in SERIES:
                await post(operator, rows_of(series, range(-60, 0), day, 50.0))
            shown: dict[str, Any] = {}
            for stage in STAGES:
                gate = gate_of(stage, day)
                await advance(operator, gate - timedelta(minutes=1))
                for series in FORECAST_SERIES:
                    if STAGE_OF_SERIES[series] is stage:
                        answer = await viewer.get(f"/forecasts/{series}{path}")
                        assert answer.status_code == 200, answer.text
                        shown[series] = answer.json()["values"]
                await advance(operator, gate + timedelta(minutes=1))
                garbage = [
                    row
                    for series in SERIES
                    if STAGE_OF_SERIES[series].place >= stage.place
                    for row in rows_of(series, range(-20, 0), day, 9000.0)
                ]
                await post(operator, garbage)
                await post(
                    operator, [r for s in SERIES if STAGE_OF_SERIES[s] is stage for r in rows_of(s, range(1), day, 60)]
                )
                for series, values in shown.items():
                    later = (await viewer.get(f"/forecasts/{series}{path}")).json()
                    assert later["values"] == values, (stage, series)
                    assert datetime.fromisoformat(later["madeAt"]) < gate_of(STAGE_OF_SERIES[series], day)
                for series in SERIES:  # the world as it was, for the next gate
                    if STAGE_OF_SERIES[series].place >= stage.place:
                        await post(operator, rows_of(series, range(-60, 0), day, 50.0))
            assert [len(shown[SERIES_OF_STAGE[s]]) for s in (Stage.IDA1, Stage.IDA3)] == [96, 48]
            assert len(shown["FCR_DE"]) == 6
            assert shown["IDA1_DE_LU"][0]["p50"] != shown["IDA2_DE_LU"][0]["p50"], "each goes by the last one cleared"

    async def test_says_what_is_missing_and_which_series_there_are(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        async with People(await fresh_app()) as people:
            viewer = (await people.new_organisation()).viewer
            for series, status in (("IDA1_DE_LU", 422), ("FCR_DE", 422), ("DAY_AHEAD_DE_LU", 422), ("REBAP_DE", 404)):
                answer = await viewer.get(f"/forecasts/{series}?delivery-day=2026-03-29")
                assert answer.status_code == status, answer.text
            assert (await viewer.get("/forecasts/FCR_DE?delivery-day=1900-01-01")).status_code == 400
