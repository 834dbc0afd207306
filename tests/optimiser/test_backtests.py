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

from gridloom.edge.application import Application
from gridloom.identity.permissions import Role
from gridloom.kernel.ids import uuid7
from gridloom.kernel.shares import ShareLimits
from gridloom.optimiser.backtests import jobs, store
from gridloom.optimiser.backtests.model import Backtest, BacktestDay
from gridloom.optimiser.backtests.planner import BatterySpec, Planner
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Policy, replay_days
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
    def test_looks_at_two_days_and_keeps_within_the_store(self) -> None:
        today, tomorrow = np.full(96, 50.0), np.full(96, 200.0)
        power_kw = Planner(BATTERY).plan(today, tomorrow, 0.0, 0.25)
        assert power_kw.sum() * 0.25 == pytest.approx(-2000 / 0.96, rel=1e-6)  # it fills up for tomorrow
        assert Planner(BATTERY).plan(today, np.zeros(0), 0.0, 0.25).max() == 0

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

    def test_never_looks_ahead(self) -> None:
        table = shaped_table(date(2025, 1, 1), 60)
        spoilt = shaped_table(date(2025, 1, 1), 60)
        spoilt = type(spoilt)(spoilt.first, spoilt.quarters.copy(), spoilt.is_hourly)
        spoilt.quarters[40:] = -500.0
        for policy in (Policy.FORECAST, Policy.YESTERDAY, Policy.MEAN_7_DAYS):
            runs = [
                list(replay_days(one, date(2025, 2, 1), date(2025, 2, 11), BATTERY, EXPECTATIONS[policy]))
                for one in (table, spoilt)
            ]
            # The tenth day is the first spoilt one: it is planned alike, whatever it is paid.
            assert [(day.charged_kwh, day.discharged_kwh) for day in runs[0]] == [
                (day.charged_kwh, day.discharged_kwh) for day in runs[1]
            ]

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
        async with People(await fresh_app()) as people:
            operator, organisation = (await people.operator()).client, await people.new_organisation()
            trader = organisation.trader
            body = {"start": "2026-03-20", "end": "2026-04-09T22:00:00Z", "policy": "MEAN_7_DAYS", "battery": ASKED}
            missing = await trader.post("/backtests", json=body)
            assert missing.status_code == 422
            assert missing.json()["type"].endswith("/prices-missing")
            await load_days(operator, date(2026, 3, 1), 41)
            answer = await trader.post("/backtests", json=body)
            assert answer.status_code == 202, answer.text
            path = answer.headers["location"]
            done = await ended(trader, path)
            assert done["status"] == "DONE", done
            assert done["progress"] == 1
            assert 0 < done["share"] <= 1
            days = (await trader.get(f"{path}/days")).json()
            assert len(days) == 21
            assert sum(day["earned"] for day in days) == pytest.approx(done["earned"])
            assert sum(day["foresight"] for day in days) == pytest.approx(done["foresight"])
            # In pieces or in one: the same.
            table = shaped_table(date(2026, 3, 1), 41)
            asked = replace(BATTERY, charge_kw=1000.0)
            whole = replay_days(table, date(2026, 3, 20), date(2026, 4, 10), asked, EXPECTATIONS[Policy.MEAN_7_DAYS])
            assert [day["earned"] for day in days] == pytest.approx([day.earned_eur for day in whole], rel=1e-6)
            for accept, rows in (
                ("text/csv", lambda body: pyarrow.csv.read_csv(io.BytesIO(body)).num_rows),
                ("application/vnd.apache.arrow.stream", lambda body: pyarrow.ipc.open_stream(body).read_all().num_rows),
                ("application/vnd.apache.parquet", lambda body: pyarrow.parquet.read_table(io.BytesIO(body)).num_rows),
            ):
                shown = await trader.get(f"{path}/days", headers={"Accept": accept})
                assert rows(shown.content) == 21
            assert [one["id"] for one in (await trader.get("/backtests")).json()] == [done["id"]]
            stranger = await people.new_organisation()
            assert (await stranger.trader.get(path)).status_code == 404
            assert (await stranger.trader.get("/backtests")).json() == []

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"end": "2026-01-01"}, "/end"),
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
            assert "2026-05-11T22:00:00Z" in failed["failure"], "a day without prices"


DAY = BacktestDay(date(2024, 3, 1), 1.0, 1.0, 1.0, 1.0, 0.0, 0.0)


class TestAQueuedBacktest:
    async def test_is_as_large_as_the_days_that_are_left_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The smaller have their turn first."""
        sizes: list[int] = []

        async def note(*_: Any, size: int, **__: Any) -> None:
            sizes.append(size)

        monkeypatch.setattr(jobs, "enqueue", note)
        at, first, policy = datetime.now(UTC), date(2026, 1, 1), Policy.YESTERDAY
        for end, done in ((date(2026, 2, 1), 0), (date(2026, 12, 31), 0), (date(2026, 12, 31), 300)):
            asked = Backtest(
                uuid7(), uuid7(), at, "RUNNING", first, end, "DAY_AHEAD_DE_LU", policy, BATTERY, 0.0, 0.0, done, None
            )
            await jobs.queue_backtest(None, asked, at)  # type: ignore[arg-type]
        assert sizes == [1, 8, 2]


class TestABacktestThatIsReplacedWhileItRuns:
    async def insert(self, edge: Application, ours: OrganisationUnderTest) -> Backtest:
        first, end = date(2024, 3, 1), date(2024, 3, 3)
        at, kind = datetime(2024, 3, 4, tzinfo=UTC), Policy.FORESIGHT
        made = Backtest(uuid7(), ours.id, at, "QUEUED", first, end, "DAY_AHEAD_DE_LU", kind, BATTERY, 0.0, 0.0, 0, None)
        await store.insert_backtest(edge.pool, made, ours.people[Role.TRADER].id)
        return made

    async def test_ends_quietly(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        """Between its reading and its writing: the days of one that is gone have nowhere to go."""
        edge = await fresh_app()
        async with People(edge) as people:
            ours = await people.new_organisation()
            backtest = await self.insert(edge, ours)
            async with edge.pool.acquire() as running_one, running_one.transaction():
                found = await store.read_backtest(running_one, ours.id, backtest.id)
                assert found is not None
                await edge.pool.execute("delete from backtest where id = $1", backtest.id)
                assert await store.add_days(running_one, found, [DAY], is_last=False) is False
            assert await edge.pool.fetchval("select count(*) from backtest_day where backtest_id = $1", found.id) == 0

    async def test_is_one_of_the_oldest(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        edge = await fresh_app()
        async with People(edge) as people:
            ours, other = await people.new_organisation(), await people.new_organisation()
            made = [(await self.insert(edge, one)).id for one in (ours, ours, other, ours)]
            await store.delete_oldest(edge.pool, ours.id, 2)
            assert [one.id for one in await store.list_backtests(edge.pool, ours.id, None, 10)] == [made[3], made[1]]
            assert [one.id for one in await store.list_backtests(edge.pool, other.id, None, 10)] == [made[2]]
            assert [one.id for one in await store.list_backtests(edge.pool, ours.id, made[3], 10)] == [made[1]]

    async def test_is_not_removed_under_its_days(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
        edge = await fresh_app()
        async with People(edge) as people:
            ours = await people.new_organisation()
            backtest = await self.insert(edge, ours)
            async with edge.pool.acquire() as running_one, running_one.transaction():
                assert await store.add_days(running_one, backtest, [DAY], is_last=False)
                removing = asyncio.create_task(store.delete_oldest(edge.pool, ours.id, 0))
                await asyncio.sleep(0.1)
                assert not removing.done()
            await removing
            assert (
                await edge.pool.fetchval("select count(*) from backtest_day where backtest_id = $1", backtest.id) == 0
            )


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
