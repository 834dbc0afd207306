"""Back-tests: what policies earn against foresight, by a job, as tables."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import httpx2
import numpy as np
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from tests.conftest import migrated_database, running
from tests.optimiser.real_prices import needs_real_prices, real_table
from tests.optimiser.synthetic_prices import load_days, shaped_table
from tests.people import OrganisationUnderTest, People, client_of

from gridloom.kernel.ids import uuid7
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.shares import ShareLimits
from gridloom.optimiser.backtests import jobs, routes, store
from gridloom.optimiser.backtests.model import Backtest, BacktestDay
from gridloom.optimiser.backtests.planner import BatterySpec, Planner
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Policy, replay_days
from gridloom.optimiser.day_table import table_of
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.platform.jobs import JobRun
from gridloom.settings import Settings

BATTERY = BatterySpec(800.0, 1000.0, 2000.0, 0.96, 0.92, 1.0)
ASKED: dict[str, Any] = {
    "ratedPower": 1000,
    "energyCapacity": 2000,
    "chargeEfficiency": 0.96,
    "dischargeEfficiency": 0.92,
    "dailyCycleLimit": 1,
}


class TestAPlan:
    @pytest.mark.parametrize("limit", [1.0, None])
    def test_is_the_same_whatever_days_were_planned_before(self, limit: float | None) -> None:
        battery = replace(BATTERY, daily_cycle_limit=limit)
        rng, kept = np.random.default_rng(2), Planner(battery)
        for level in (40.0, -30.0, 5.0, -60.0, 40.0, -5.0):  # below zero it would burn energy, were it let
            today, tomorrow = rng.normal(level, 40, (2, 24))
            energy_kwh = float(rng.uniform(0, 2000))
            power_kw = kept.plan(today, tomorrow, energy_kwh, 1.0)
            assert power_kw == pytest.approx(Planner(battery).plan(today, tomorrow, energy_kwh, 1.0), abs=1e-3)
            assert -800 - 1e-3 <= power_kw.min() <= power_kw.max() <= 1000 + 1e-3
            stored_kwh = energy_kwh - np.cumsum(np.where(power_kw < 0, power_kw * 0.96, power_kw / 0.92))
            assert -1e-3 <= stored_kwh.min() <= stored_kwh.max() <= 2000 + 1e-3

    @pytest.mark.parametrize("policy", list(Policy))
    def test_of_every_day_keeps_within_cycles_and_across_clock_changes(self, policy: Policy) -> None:
        table = shaped_table(date(2025, 3, 1), 40)
        played = list(replay_days(table, date(2025, 3, 20), date(2025, 4, 8), BATTERY, EXPECTATIONS[policy]))
        assert len(played) == 19
        assert all(day.discharged_kwh <= 2000 + 1e-3 for day in played)
        assert all(0 <= day.end_kwh <= 2000 for day in played)
        moved_kwh = np.cumsum([0.96 * day.charged_kwh - day.discharged_kwh / 0.92 for day in played])
        assert [day.end_kwh for day in played] == pytest.approx((1000 + moved_kwh).tolist(), abs=0.01)

    def test_with_foresight_earns_most(self) -> None:
        table = shaped_table(date(2025, 1, 1), 60)
        earned = {
            policy: sum(
                day.earned_eur for day in replay_days(table, date(2025, 2, 1), table.end, BATTERY, EXPECTATIONS[policy])
            )
            for policy in Policy
        }
        assert max(earned.values()) == earned[Policy.FORESIGHT]

    @pytest.mark.parametrize("policy", [Policy.YESTERDAY, Policy.FORESIGHT])
    def test_in_pieces_goes_on_with_the_energy_that_the_piece_before_has_left(self, policy: Policy) -> None:
        first, middle, end = date(2025, 2, 1), date(2025, 2, 4), date(2025, 2, 7)
        table = shaped_table(date(2025, 1, 1), 60)
        asked = Backtest(
            id=uuid7(),
            organisation_id=uuid7(),
            asked_at=datetime.now(UTC),
            status="RUNNING",
            start=first,
            end=end,
            series="DAY_AHEAD_DE_LU",
            policy=policy,
            battery=BATTERY,
            earned_eur=0.0,
            foresight_eur=0.0,
            days_done=0,
            failure=None,
        )
        begun = jobs.run_days(table, asked, first, middle, None)
        rest = jobs.run_days(table, asked, middle, end, begun[-1])
        whole = jobs.run_days(table, asked, first, end, None)
        assert abs(begun[-1].end_kwh - BATTERY.energy_kwh / 2) > 100, "else it would not matter where it goes on from"
        assert [one.charged_kwh for one in begun + rest] == pytest.approx([one.charged_kwh for one in whole], abs=0.1)
        assert [one.end_kwh for one in begun + rest] == pytest.approx([one.end_kwh for one in whole], abs=0.1)
        found = [(one.foresight_eur, one.foresight_end_kwh) for one in begun + rest]
        assert found == [
            pytest.approx((one.foresight_eur, one.foresight_end_kwh), rel=1e-4, abs=0.1) for one in whole
        ], "foresight from where foresight has left it"

    def test_by_hours_is_as_good_as_by_quarters_where_two_days_have_hourly_prices(self) -> None:
        """The days change from hours to quarters in the middle; what is earned does not depend on how it is planned."""
        days = [np.repeat(np.random.default_rng(number).uniform(0, 100, 24), 4) for number in range(6)]
        days[2] += 70  # so that by the mean of tomorrow's first hour, 60, nothing of it would be kept
        days[3] = days[3] + np.where(np.arange(96) >= 48, np.resize([0.0, 0.0, 0.0, 9.0], 96), 0.0)  # from noon on
        days[3][:4] = [240.0, 0.0, 0.0, 0.0]
        table = table_of(date(2025, 1, 1), days)
        assert table.is_hourly.tolist() == [True, True, True, False, True, True]
        by_quarters = replace(table, is_hourly=np.zeros(6, dtype=bool))
        played, slowly = (
            list(replay_days(one, one.first, one.end, BATTERY, EXPECTATIONS[Policy.FORESIGHT], 300.0))
            for one in (table, by_quarters)
        )
        for field in ("earned_eur", "charged_kwh", "discharged_kwh", "end_kwh"):
            found, expected = ([getattr(day, field) for day in days] for days in (played, slowly))
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-3), field
        assert played[2].end_kwh == pytest.approx(250 / 0.92, rel=1e-6), "for one quarter-hour of the day after it"
        for number in (2, 3):  # before and on the day of quarters
            power_kw = Planner(BATTERY).plan(days[number], days[number + 1], played[number - 1].end_kwh, 0.25)
            assert played[number].earned_eur == pytest.approx(float(days[number] @ power_kw) / 4000, rel=1e-6)

    @needs_real_prices
    def test_on_real_prices_earns_nine_tenths_of_foresight(self) -> None:
        table = real_table()
        first, end = date(2025, 6, 1), date(2025, 7, 31)
        forecast, foresight = (
            sum(day.earned_eur for day in replay_days(table, first, end, BATTERY, EXPECTATIONS[policy]))
            for policy in (Policy.FORECAST, Policy.FORESIGHT)
        )
        assert forecast / foresight > 0.93


async def ended(client: httpx2.AsyncClient, path: str) -> Any:
    for _ in range(600):
        shown = (await client.get(path)).json()
        if shown["status"] in ("DONE", "FAILED"):
            return shown
        await asyncio.sleep(0.1)
    raise AssertionError(shown)


class TestABacktest:
    async def test_is_run_by_a_job_in_pieces_and_read_in_any_format(
        self, fresh_app: Callable[[], Awaitable[Application]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jobs, "DAYS_PER_JOB", 8)
        monkeypatch.setattr(routes, "ROW_BATCH_SIZE", 10)
        async with People(await fresh_app()) as people:
            operator, organisation = (await people.operator()).client, await people.new_organisation()
            trader = organisation.trader
            body = {"start": "2026-03-20", "end": "2026-04-09T22:00:00Z", "policy": "MEAN_7_DAYS", "battery": ASKED}
            missing = await trader.post("/backtests", json=body)
            assert missing.status_code == 422
            assert missing.json()["type"].endswith("/prices-missing")
            assert missing.json()["firstMissingPeriod"] == "2026-03-12T23:00:00Z", "a week before its start"
            await load_days(operator, date(2026, 3, 1), 41)
            for change, period in (
                ({"start": "2026-03-05"}, "2026-02-25T23:00:00Z"),
                ({"start": "2026-04-14", "end": "2026-04-20"}, "2026-04-10T22:00:00Z"),
                ({"end": "2026-05-01"}, "2026-04-10T22:00:00Z"),
                ({"start": "2026-04-11", "end": "2026-04-12"}, "2026-04-10T22:00:00Z"),
            ):
                missing = await trader.post("/backtests", json={**body, **change})
                assert missing.json()["firstMissingPeriod"] == period, change
            answer = await trader.post("/backtests", json=body)
            assert answer.status_code == 202, answer.text
            path = answer.headers["location"]
            done = await ended(trader, path)
            assert done["status"] == "DONE", done
            assert done["progress"] == 1
            assert done["share"] == done["earned"] / done["foresight"]
            assert 0 < done["share"] <= 1
            assert done["battery"] == {**ASKED, "annualCycleLimit": None}
            days = (await trader.get(f"{path}/days")).json()
            assert len(days) == 21
            assert sum(day["earned"] for day in days) == pytest.approx(done["earned"])
            assert sum(day["foresight"] for day in days) == pytest.approx(done["foresight"])
            # In pieces or in one: the same.
            table = shaped_table(date(2026, 3, 1), 41)
            asked = replace(BATTERY, charge_kw=1000.0)
            span = date(2026, 3, 20), date(2026, 4, 10)
            whole, best = (
                list(replay_days(table, *span, asked, EXPECTATIONS[policy]))
                for policy in (Policy.MEAN_7_DAYS, Policy.FORESIGHT)
            )
            for shown_day, day, foresight in zip(days, whole, best, strict=True):
                assert shown_day == {
                    "deliveryDay": day.day.isoformat(),
                    "earned": pytest.approx(day.earned_eur, rel=1e-6),
                    "foresight": pytest.approx(foresight.earned_eur, rel=1e-6),
                    "charged": pytest.approx(day.charged_kwh, abs=0.01),
                    "discharged": pytest.approx(day.discharged_kwh, abs=0.01),
                    "endStateOfChargePercentage": pytest.approx(day.end_kwh / 20, abs=0.01),
                    **dict.fromkeys(("fcr", "afrr", "dayAhead", "ida1", "ida2", "ida3")),
                }
            for accept, read in (
                ("text/csv", lambda body: pyarrow.csv.read_csv(io.BytesIO(body))),
                ("application/vnd.apache.arrow.stream", lambda body: pyarrow.ipc.open_stream(body).read_all()),
                ("application/vnd.apache.parquet", lambda body: pyarrow.parquet.read_table(io.BytesIO(body))),
            ):
                shown = await trader.get(f"{path}/days", headers={"Accept": accept})
                rows = read(shown.content).to_pylist()
                assert [{**row, "deliveryDay": row["deliveryDay"].isoformat()} for row in rows] == days
            page = await trader.get(f"{path}/days?limit=20")
            assert page.json() == days[:20]
            assert (await trader.get(page.links["next"]["url"])).json() == days[20:]
            assert (await trader.get("/backtests")).json() == [done]
            newest = (await trader.post("/backtests", json={**body, "end": "2026-03-21"})).json()
            page = await trader.get("/backtests?limit=1")
            assert [one["id"] for one in page.json()] == [newest["id"]]
            assert (await trader.get(page.links["next"]["url"])).json() == [done]
            stranger = await people.new_organisation()
            assert (await stranger.trader.get(path)).status_code == 404
            assert (await trader.get(path)).status_code == 200
            monkeypatch.setattr(routes, "MAX_STORED_BACKTESTS", 2)
            third = await trader.post("/backtests", json=body)
            assert (await trader.get(path)).status_code == 404, "the oldest of three"
            assert [one["id"] for one in (await trader.get("/backtests")).json()] == [third.json()["id"], newest["id"]]
            assert (await stranger.trader.get("/backtests")).json() == []

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"end": "2026-01-02T22:59:59Z"}, "/end"),
            ({"start": "yesterday"}, "/start"),
            ({"policy": "LUCK"}, "/policy"),
            ({"battery": {**ASKED, "ratedPower": 0}}, "/battery/ratedPower"),
        ],
    )
    async def test_points_at_what_is_wrong(self, new_organisation: Any, change: Any, pointer: str) -> None:
        trader = (await new_organisation()).trader
        body = {"start": "2026-01-02", "end": "2026-01-09", "policy": "FORESIGHT", "battery": ASKED, **change}
        answer = await trader.post("/backtests", json=body)
        assert answer.status_code == 400, answer.text
        assert answer.json()["errors"][0]["pointer"] == pointer

    async def test_with_a_gap_in_its_prices_says_so(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        async with People(await fresh_app()) as people:
            operator, trader = (await people.operator()).client, (await people.new_organisation()).trader
            await load_days(operator, date(2026, 5, 1), 10)
            await load_days(operator, date(2026, 5, 13), 2)
            body = {"start": "2026-05-08", "end": "2026-05-15", "policy": "YESTERDAY", "battery": ASKED}
            answer = await trader.post("/backtests", json=body)
            assert answer.status_code == 202, answer.text
            failed = await ended(trader, answer.headers["location"])
            assert failed["status"] == "FAILED"
            assert (await trader.get(f"{answer.headers['location']}/days")).json() == []
            assert "2026-05-11T22:00:00Z" in failed["failure"], "a day without prices"


class TestTheDaysOfABacktest:
    def test_are_market_days_or_instants_of_them_and_ten_years_at_most(self) -> None:
        battery: Any = None
        for start, end, days in (
            ("2026-01-02", "2026-01-03", (date(2026, 1, 2), date(2026, 1, 3))),
            ("2026-01-01t23:00:00Z", "2026-01-02T23:00:00Z", (date(2026, 1, 2), date(2026, 1, 3))),
            ("2026-01-02", "2036-01-10", (date(2026, 1, 2), date(2036, 1, 10))),
            ("2026-01-02", "2036-01-11", ["/end"]),
            ("2026-01-02", "2026-01-02", ["/end"]),
            ("soon", "2026-01-02T23:00:00", ["/start", "/end"]),
            ("0001-01-01", "9999-12-31", ["/start", "/end"]),
            ("0001-01-01T00:00:00Z", "9999-12-31T23:00:00Z", ["/start", "/end"]),
        ):
            asked = routes.NewBacktest(start=start, end=end, policy=Policy.YESTERDAY, battery=battery)
            try:
                found: Any = routes.requested_days(asked)
            except BadRequest as refusal:
                found = [fault.pointer for fault in refusal.errors]
            assert found == days, (start, end)


DAY = BacktestDay(date(2024, 3, 1), 1.0, 1.0, 1.0, 1.0, 0.0, 0.0)


async def insert(edge: Application, ours: OrganisationUnderTest) -> Backtest:
    first, end = date(2024, 3, 1), date(2024, 3, 3)
    at, kind = datetime(2024, 3, 4, tzinfo=UTC), Policy.FORESIGHT
    made = Backtest(uuid7(), ours.id, at, "QUEUED", first, end, "DAY_AHEAD_DE_LU", kind, BATTERY, 0.0, 0.0, 0, None)
    await store.insert_backtest(edge.pool, made, ours.people[Role.TRADER].id)
    return made


class TestTheFiguresOfABacktest:
    async def test_are_the_sums_of_its_own_days(self, app: Application, new_organisation: Any) -> None:
        ours = await new_organisation()
        one, other, failed = [await insert(app, ours) for _ in range(3)]
        days = [
            BacktestDay(date(2024, 3, number), 10.0 * number, 13.0 * number, 2.0 * number, 3.0, 4.0 * number, 5.0)
            for number in (1, 2, 3)
        ]
        assert await store.read_last_day(app.pool, one) is None
        assert await store.add_days(app.pool, one, days[:2], is_last=False)
        assert await store.add_days(app.pool, other, days[:1], is_last=False)
        read = await store.read_backtest(app.pool, ours.id, one.id)
        assert read == replace(one, status="RUNNING", days_done=2, earned_eur=30.0, foresight_eur=39.0)
        assert await store.add_days(app.pool, one, days[2:], is_last=True)
        await store.note_failure(app.pool, failed, "No prices.")
        assert await store.list_backtests(app.pool, ours.id, None, 10) == [
            replace(failed, status="FAILED", failure="No prices."),
            replace(other, status="RUNNING", days_done=1, earned_eur=10.0, foresight_eur=13.0),
            replace(one, status="DONE", days_done=3, earned_eur=60.0, foresight_eur=78.0),
        ]
        assert [await store.read_last_day(app.pool, each) for each in (one, other)] == [days[2], days[0]]
        assert await store.read_days(app.pool, ours.id, one.id, None, 2) == days[:2]
        assert await store.read_days(app.pool, ours.id, one.id, days[0].day, 9) == days[1:]

    async def test_stay_as_they_are_once_it_has_ended(self, app: Application, new_organisation: Any) -> None:
        """Whatever runs it again; there are no prices of its days."""
        ours = await new_organisation()
        failed, done = [await insert(app, ours) for _ in range(2)]
        await store.note_failure(app.pool, failed, "No luck.")
        assert await store.add_days(app.pool, done, [DAY], is_last=True)
        before = await store.list_backtests(app.pool, ours.id, None, 10)
        assert [one.status for one in before] == ["DONE", "FAILED"]
        async with app.pool.acquire() as db:
            for one in before:
                payload = {"organisationID": str(ours.id)}
                await jobs.run_backtest(
                    JobRun(db=db, kind=jobs.KIND, key=str(one.id), payload=payload, due=one.asked_at, attempt=2)
                )
        assert await store.list_backtests(app.pool, ours.id, None, 10) == before


class TestABacktestThatIsReplacedWhileItRuns:
    async def test_ends_quietly(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        """Between its reading and its writing: the days of one that is gone have nowhere to go."""
        edge = await fresh_app()
        async with People(edge) as people:
            ours = await people.new_organisation()
            backtest = await insert(edge, ours)
            async with edge.pool.acquire() as running_one, running_one.transaction():
                found = await store.read_backtest(running_one, ours.id, backtest.id)
                assert found is not None
                await edge.pool.execute("delete from backtest where id = $1", backtest.id)
                assert await store.add_days(running_one, found, [DAY], is_last=False) is False
            assert await edge.pool.fetchval("select count(*) from backtest_day where backtest_id = $1", found.id) == 0


class TestTheShareOfJobs:
    async def test_is_exact_over_two_services_however_requests_race(self, settings: Settings) -> None:
        limits = ShareLimits(jobs_running=1, jobs_queued=3)
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(migrated_database())
            ours = replace(settings, database_url=url, shares=limits)
            one, other = [await stack.enter_async_context(running(ours)) for _ in range(2)]
            people = await stack.enter_async_context(People(one))
            organisation, stranger = await people.new_organisation(), await people.new_organisation()
            await load_days((await people.operator()).client, date(2026, 3, 1), 20)
            # A job of the organisation runs all the while.
            holding = await one.pool.acquire()
            await holding.execute("begin")
            await holding.execute("select pg_advisory_xact_lock(job_place_lock($1, 1))", organisation.id)
            body = {"start": "2026-03-10", "end": "2026-03-12", "policy": "YESTERDAY", "battery": ASKED}
            token = organisation.people[Role.TRADER].tokens.access
            clients = [await stack.enter_async_context(client_of(edge, token)) for edge in (one, other)]
            answers = await asyncio.gather(*(clients[n % 2].post("/backtests", json=body) for n in range(12)))
            refused = [answer for answer in answers if answer.status_code == 429]
            assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 9
            assert refused[0].json()["type"].endswith("/share-exceeded")
            assert refused[0].json()["share"] == "jobs"
            assert int(refused[0].headers["retry-after"]) >= 1
            assert len((await organisation.trader.get("/backtests")).json()) == 3, "what is refused leaves nothing"
            another = await stranger.trader.post("/backtests", json=body)
            assert (await ended(stranger.trader, another.headers["location"]))["status"] == "DONE"
            await holding.execute("rollback")
            await one.pool.release(holding)
            for answer in answers:
                if answer.status_code == 202:
                    assert (await ended(organisation.trader, answer.headers["location"]))["status"] == "DONE"
