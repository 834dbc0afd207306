"""The steps of a run, each by itself: where batteries start, what is summed up, recorded, told and released."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np
import pytest
from tests.delivery.test_zone_plan import FCR, POS, plan_from
from tests.delivery.zones import even_limits

from gridloom.delivery import plan_store, zone_store
from gridloom.delivery.codec import unpack
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import CODE_OF_KIND, PartKind, StartState
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.runs import drift, finalisation, notifications, release
from gridloom.delivery.runs import run as runs
from gridloom.delivery.runs.store import PlacedDrift
from gridloom.delivery.zone_store import ZoneTotals
from gridloom.kernel.market_time import market_day_window, period_number, period_start
from gridloom.kernel.permission import Permission
from gridloom.virtual_assets.model import AdjustmentReason

pytestmark = pytest.mark.pure

NOTHING: Any = None
NEG = CODE_OF_KIND[PartKind.AFRR_NEG]
NOW = datetime(2026, 7, 1, 10, tzinfo=UTC)
FIRST = 2_000_000


def calls_of(called: list[Any], answer: Any = None) -> Any:
    async def call(db: Any, *args: Any, **how: Any) -> Any:
        called.append(args)
        return answer

    return call


class TestTheStartOfAPlan:
    """Three batteries were planned and two are new; the plan before began two quarter-hours ago."""

    KEYS = [10, 11, 12, 20, 21]

    async def _load(
        self, monkeypatch: pytest.MonkeyPatch, offsets: dict[int, float], before: Any, charges: dict[int, float]
    ) -> Any:
        limits = SimpleNamespace(
            daily_export_kwh=np.array([[np.inf] * 2] * 4 + [[np.inf, 90.0]]),
            annual_export_kwh=np.full((5, 2), np.inf),
            low_kwh=np.full((5, 2), 100.0),
            high_kwh=np.full((5, 2), 700.0),
        )
        zone = SimpleNamespace(
            first=FIRST, battery_keys=np.array(self.KEYS), limits=limits, capacity_kwh=np.full((5, 2), 1000.0)
        )

        async def load_exported_kwh(db: Any, key: int, first: int) -> tuple[float, float]:
            assert first == FIRST
            return 1.0 * key, 2.0 * key

        async def read_states_of_charge(db: Any, keys: Any, since: datetime) -> dict[int, float]:
            assert since == NOW - runs.MAX_SOC_AGE
            return {key: charges[key] for key in keys if key in charges}

        async def load_dispatch(db: Any, key: int, first: int, end: int) -> Any:
            assert (first, end) == (FIRST - 1, FIRST + 1)
            planned, energy, after = {20: ([1, 1], 440.0, 330.0), 21: ([1, 0], 0.0, 1220.0)}.get(key, ([0, 0], 0, 0))
            return SimpleNamespace(
                is_planned=np.array(planned, dtype=bool), energy_kwh=[1.0, energy], after_kwh=[after, 9.0]
            )

        monkeypatch.setattr(runs, "load_exported_kwh", load_exported_kwh)
        monkeypatch.setattr(runs, "load_dispatch", load_dispatch)
        monkeypatch.setattr(input_store, "read_states_of_charge", read_states_of_charge)
        monkeypatch.setattr(runs, "carry_share_energy", lambda *given: given[-2] + given[-1])
        corrections: Any = {key: SimpleNamespace(offset_kwh=kwh) for key, kwh in offsets.items()}
        loaded: Any = SimpleNamespace(zone=zone, inputs=None)
        state: Any = SimpleNamespace(plan=before, inputs=None)
        return await runs._load_start(NOTHING, loaded, state, corrections, NOW)

    def _before(self) -> Any:
        done = StartState(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([7.0, 8.0, 9.0]))

        def state_at(column: int) -> StartState:
            assert column == 2
            return done

        energy_kwh = np.array([[0.0, 0.0, 300.0, 0.0], [0.0, 0.0, -5.0, 0.0], [0.0, 0.0, 900.0, 0.0]])
        return SimpleNamespace(
            first=FIRST - 2, battery_keys=np.array([12, 11, 10]), energy_kwh=energy_kwh, state_at=state_at
        )

    async def test_is_as_planned_and_of_new_ones_as_measured_or_as_last_dispatched(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = await self._load(monkeypatch, {}, self._before(), {})
        assert start.energy_kwh.tolist() == [900.0, 0.0, 300.0, 440.0, 1000.0]
        assert start.state.day_export_kwh.tolist() == [3.0, 2.0, 1.0, 0.0, 21.0]
        assert start.state.year_export_kwh.tolist() == [6.0, 5.0, 4.0, 0.0, 42.0]
        assert start.state.power_kw.tolist() == [9.0, 8.0, 7.0, 0.0, 0.0]
        assert start.share_energy_kwh.tolist() == [900.0, 0.0, 300.0, 441.0, 1001.0], "the last two are new"
        measured = await self._load(monkeypatch, {}, self._before(), {20: 35.0, 21: 120.0})
        assert measured.energy_kwh.tolist() == [900.0, 0.0, 300.0, 350.0, 1000.0]
        empty = await self._load(monkeypatch, {}, self._before(), {20: 0.0})
        assert empty.energy_kwh.tolist() == [900.0, 0.0, 300.0, 0.0, 1000.0]

    async def test_is_corrected_by_what_was_measured_within_what_the_battery_can_store(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        offsets = {10: 250.0, 11: -30.0, 12: 45.0, 20: 7.0}
        start = await self._load(monkeypatch, offsets, self._before(), {})
        assert start.energy_kwh.tolist() == [1000.0, 0.0, 345.0, 440.0, 1000.0]

    async def test_is_half_of_what_may_be_stored_where_nothing_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        start = await self._load(monkeypatch, {10: 5.0}, None, {11: -3.0})
        assert start.energy_kwh.tolist() == [400.0, 0.0, 400.0, 440.0, 1000.0]


class TestARunOfAZone:
    """Three minutes into a quarter-hour, when the next is still open; the plan before was final until an hour ago."""

    async def _plan(
        self, monkeypatch: pytest.MonkeyPatch, *, final_until: int | None, cuts: tuple[bool, bool], **planned: Any
    ) -> list[Any]:
        """What was done. `cuts`: whether schedules were cut by what closed meanwhile, and by what has just closed."""
        done: list[Any] = []
        first = period_number(NOW)

        async def finalise_periods(db: Any, plan: Any, low: int, high: int, now: datetime) -> bool:
            done.append((f"{plan.name} is final", low - first, high - first))
            return cuts[0]

        async def revalidate_closed_periods(db: Any, zone: str, until: int, now: datetime) -> bool:
            done.append(("cut", zone, until - first))
            return cuts[1]

        async def read_one_zone_status(db: Any, zone: str, now: datetime) -> Any:
            done.append(("read again", zone))
            return status("later")

        async def replan_zone(db: Any, horizon: runs.Horizon, state: Any, versions: Any) -> Any:
            spans = [period - first for period in (horizon.first, horizon.final, horizon.end)]
            done.append(("planned", versions, *spans))
            return "the run", SimpleNamespace(name="the new plan", first=first, end=horizon.end)

        async def store_final_until(db: Any, zone: str, final: Any) -> None:
            done.append(("noted", zone, final.until - first, final.next_fact_period))

        def status(versions: str) -> Any:
            return SimpleNamespace(delivery_zone="TenneT", gate_closure_s=480, versions=versions)

        for fake in (finalise_periods, revalidate_closed_periods, read_one_zone_status):
            monkeypatch.setattr(runs, fake.__name__, fake)
        monkeypatch.setattr(runs, "_replan_zone", replan_zone)
        monkeypatch.setattr(runs, "next_fact_period", lambda plan, until: (plan.name, until - first))
        monkeypatch.setattr(plan_store, "store_final_until", store_final_until)
        end = period_number(market_day_window(date(2026, 7, 2)).end)
        plan = {"name": "the plan", "first": first - 6, "end": end, **planned}
        state: Any = SimpleNamespace(
            plan=None if final_until is None else SimpleNamespace(**plan),
            final_until=None if final_until is None else first + final_until,
            versions=plan.get("versions", "now"),
        )
        run = await runs.plan_zone(NOTHING, status("now"), state, NOW + timedelta(minutes=3))
        assert (run is None) is (done[-1][0] == "noted")
        return done

    SPAN = (0, 1, 144)
    """From the quarter-hour that runs, of which the next is open, to the end of tomorrow."""

    async def test_makes_final_what_closed_and_plans_the_rest_anew_where_anything_has_changed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        none, closed = (False, False), [("the plan is final", -4, 0), ("cut", "TenneT", 1)]
        final = [("the plan is final", 0, 1), ("noted", "TenneT", 1, ("the plan", 1))]
        assert await self._plan(monkeypatch, final_until=-4, cuts=none) == [*closed, *final]
        new = ("the new plan is final", 0, 1)
        for changed in ({"versions": "before"}, {"end": period_number(NOW) + 143}, {"first": period_number(NOW) + 1}):
            done = await self._plan(monkeypatch, final_until=-4, cuts=none, **changed)
            assert done == [*closed, ("planned", "now", *self.SPAN), new], changed

    @pytest.mark.parametrize("cuts", [(True, False), (False, True)])
    async def test_reads_anew_what_holds_once_a_schedule_was_cut(
        self, monkeypatch: pytest.MonkeyPatch, cuts: tuple[bool, bool]
    ) -> None:
        done = await self._plan(monkeypatch, final_until=-4, cuts=cuts)
        assert done[2:] == [("read again", "TenneT"), ("planned", "later", *self.SPAN), ("the new plan is final", 0, 1)]

    @pytest.mark.parametrize("final_until", [None, 1])
    async def test_begins_with_the_next_quarter_hour_where_there_was_no_plan_or_it_was_final_until_then(
        self, monkeypatch: pytest.MonkeyPatch, final_until: int | None
    ) -> None:
        done = await self._plan(monkeypatch, final_until=final_until, cuts=(False, False), versions="before")
        before = [] if final_until is None else [("the plan is final", 1, 1)]
        planned = [("planned", "now", 1, 1, 144), ("the new plan is final", 1, 1)]
        assert done == [*before, ("cut", "TenneT", 1), *planned]


class TestTheSummaryOfARun:
    def test_is_the_energy_of_its_plan(self) -> None:
        """Each quarter-hour of a MW is a quarter of a MWh, whichever way."""
        horizon = runs.Horizon("TenneT", NOW, FIRST, FIRST + 1, FIRST + 2)
        plan: Any = SimpleNamespace(
            totals_kw=np.array([[4000.0, 800.0], [400.0, 0.0], [80.0, 0.0], [-8.0, 16.0]]),
            asset_keys=[1, 2, 3],
            battery_keys=[4, 5],
            virtual_kw=np.array([[400.0, -400.0], [1200.0, 0.0]]),
            unheld_reserves=lambda: (None, np.array([[40.0, 4.0]])),
        )
        update: Any = SimpleNamespace(plan=plan, opposed_periods=6, seconds=0.5)
        run = runs._summarise_run(horizon, update, 7)
        figures = (
            run.scheduled_export_mwh,
            run.scheduled_import_mwh,
            run.netted_mwh,
            run.spread_mwh,
            run.unserved_mwh,
            run.reserve_shortfall_mwh,
        )
        assert figures == pytest.approx((1.2, 0.1, 0.02, 0.5, 0.006, 0.011))
        assert (run.virtual_assets, run.batteries, run.forced_periods, run.changed_batteries) == (3, 2, 6, 7)


class TestNettedFractions:
    @pytest.mark.parametrize(
        ("before", "stored"),
        [
            pytest.param(None, (1, [0.5, 0.25, 0.0], [1.0, 0.75, 0.125]), id="where there was no plan"),
            pytest.param(([9, 9, 0, 0.5, 0.25, 0, 1], 2), (3, [0.0], [0.125]), id="where they differ from before"),
            pytest.param(([9, 0, 0.5, 0.25, 0], 1), (3, [0.0], [0.125]), id="from a plan that ended just then"),
            pytest.param(([9, 0, 0.5], 1), (2, [0.25, 0.0], [0.75, 0.125]), id="from a plan that ended earlier"),
            pytest.param(([9, 9], 2), (1, [0.5, 0.25, 0.0], [1.0, 0.75, 0.125]), id="from a plan that was over"),
        ],
    )
    async def test_are_stored_where_they_differ(
        self, monkeypatch: pytest.MonkeyPatch, before: tuple[list[float], int] | None, stored: Any
    ) -> None:
        called: list[Any] = []
        monkeypatch.setattr(zone_store, "add_netting", calls_of(called))
        after: Any = SimpleNamespace(netted_fraction=np.array([[0.0, 0.5, 0.25, 0.0], [0.0, 1.0, 0.75, 0.125]]))
        old: Any = None
        if before is not None:
            exports, earlier = before
            imports = [{0.5: 1.0, 0.25: 0.75}.get(one, one) for one in exports]
            first = FIRST - earlier
            old = SimpleNamespace(
                first=first, end=first + len(exports), netted_fraction=np.array([exports, imports], dtype=float)
            )
        horizon = runs.Horizon("TenneT", NOW, FIRST, FIRST, FIRST + 4)
        await runs._store_netting(NOTHING, horizon, old, after)
        [(zone, now, first, exported, imported)] = called
        assert (zone, now, first - FIRST, exported.tolist(), imported.tolist()) == ("TenneT", NOW, *stored)
        called.clear()
        same: Any = SimpleNamespace(first=FIRST, end=FIRST + 4, **vars(after))
        await runs._store_netting(NOTHING, horizon, same, after)
        assert called == []


def plan_with(**told: Any) -> ZonePlan:
    """Six quarter-hours in which nothing happens but what is told."""
    plan = plan_from(FIRST, 6, 1)
    nothing = {
        "power_kw": np.zeros((3, 6)),
        "virtual_kw": np.zeros((2, 6)),
        "own_kw": np.zeros((2, 6)),
        "drift_kw": np.zeros((2, 6)),
        "reserve_kw": np.zeros((1, 6)),
        "unstored_reserve_kw": np.zeros((1, 6)),
        "totals_kw": np.zeros((4, 6)),
        "netted_fraction": np.zeros((2, 6)),
    }
    return replace(plan, **{**nothing, **told})


def at(*periods: int, value: float = 9.0) -> list[float]:
    return [value if period in periods else 0.0 for period in range(6)]


class TestTheNextPeriodThatRecordsFacts:
    @pytest.mark.parametrize(
        ("told", "since", "found"),
        [
            pytest.param({"totals_kw": np.array([at(2, 4), at(1, 4), at(4), at()])}, 0, 4, id="of what is netted"),
            pytest.param({"totals_kw": np.array([at(), at(), at(), at(1, 3, value=-2.0)])}, 2, 3, id="unserved"),
            pytest.param({"totals_kw": np.array([at(), at(), at(), at(1, 3)])}, 3, 3, id="from then on"),
            pytest.param({"totals_kw": np.array([at(), at(), at(), at(1, 3)])}, 4, None, id="and none after it"),
            pytest.param({"totals_kw": np.array([at(), at(), at(), at(1)])}, -3, 1, id="of a plan that begins later"),
            pytest.param({"unstored_reserve_kw": np.array([at(1, 4)])}, 2, 4, id="of reserves that none holds"),
        ],
    )
    def test_is_the_first_with_anything_to_record(self, told: Any, since: int, found: int | None) -> None:
        period = finalisation.next_fact_period(plan_with(**told), FIRST + since)
        assert period == (None if found is None else FIRST + found)


class TestFinalPeriods:
    async def _finalise(
        self, monkeypatch: pytest.MonkeyPatch, plan: ZonePlan, low: int, high: int, assets: tuple[int, ...] = (1, 2, 3)
    ) -> Any:
        """`assets`: those that there still are."""
        called: dict[str, list[Any]] = {"adjusted": [], "settled": [], "short": []}
        ids = {key: UUID(int=key) for key in assets}
        monkeypatch.setattr(finalisation, "adjust_unserved_periods", calls_of(called["adjusted"]))
        monkeypatch.setattr(finalisation, "record_settlements", calls_of(called["settled"]))
        monkeypatch.setattr(finalisation, "read_asset_ids", calls_of([], ids))
        monkeypatch.setattr(finalisation, "read_recorded_outages", calls_of([], []))
        monkeypatch.setattr("gridloom.delivery.runs.store.add_shortfalls", calls_of(called["short"]))
        has_cut = await finalisation.finalise_periods(NOTHING, plan, FIRST + low, FIRST + high, NOW)
        adjusted = [
            (key, (periods - FIRST).tolist(), [round(kw, 6) for kw in powers_kw.tolist()], reason)
            for key, periods, powers_kw, reason in called["adjusted"]
        ]
        netted = [(UUID(one.asset_id).int, one.time, one.volume) for _, rows, _ in called["settled"] for one in rows]
        short = [(one.asset_key, one.period - FIRST, one.power_kw) for rows, _ in called["short"] for one in rows]
        return has_cut, adjusted, netted, short

    async def test_have_schedules_cut_to_what_is_served_and_net_offs_and_shortfalls_recorded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """600 and 200 kW are exported and 400 imported: of the rest 200 are unserved in three quarter-hours, in one of
        them by cycles. Those before and after the window are not final yet, or were before."""
        power_kw = np.array([[600.0] * 6, [200.0] * 6, [-400.0] * 6])
        unserved_kw = np.array([200.0, 200.0, 200.0, 200.0, 0.0, 200.0])
        plan = plan_with(
            power_kw=power_kw,
            totals_kw=np.array([[800.0] * 6, [400.0] * 6, [400.0] * 6, unserved_kw]),
            is_cycle_bound=np.array([0, 0, 1, 0, 0, 0]),
            unstored_reserve_kw=np.array([[7.0, 0.0, 0.0, 5.0, 0.0, 6.0]]),
        )
        has_cut, adjusted, netted, short = await self._finalise(monkeypatch, plan, 1, 5)
        assert has_cut
        by_cycles, by_availability = AdjustmentReason.CYCLE_LIMIT, AdjustmentReason.AVAILABILITY
        assert adjusted == [
            (1, [2], [450.0], by_cycles),
            (1, [1, 3], [450.0, 450.0], by_availability),
            (2, [2], [150.0], by_cycles),
            (2, [1, 3], [150.0, 150.0], by_availability),
        ]
        volumes = {(asset, time): volume for asset, time, volume in netted}
        assert volumes == {
            (asset, period_start(FIRST + index)): pytest.approx(mwh)
            for asset, mwh in ((1, 0.075), (2, 0.025), (3, -0.1))
            for index in range(1, 5)
        }
        assert short == [(7, 3, 5.0)]

    async def test_have_imports_cut_where_those_are_not_served(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plan = plan_with(
            power_kw=np.array([[100.0] * 6, [-500.0] * 6, [-300.0] * 6]),
            totals_kw=np.array([[100.0] * 6, [800.0] * 6, [100.0] * 6, at(4, value=-350.0)]),
        )
        has_cut, adjusted, netted, _ = await self._finalise(monkeypatch, plan, 4, 5)
        assert has_cut
        assert adjusted == [
            (2, [4], [-281.25], AdjustmentReason.AVAILABILITY),
            (3, [4], [-168.75], AdjustmentReason.AVAILABILITY),
        ]
        assert [(asset, volume) for asset, _, volume in netted] == [
            (1, pytest.approx(0.025)),
            (2, pytest.approx(-0.015625)),
            (3, pytest.approx(-0.009375)),
        ]

    async def test_have_no_net_offs_of_a_virtual_asset_that_is_no_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        power_kw = np.array([at(2, value=400.0), at(3, value=80.0), at(2, 3, value=-40.0)])
        plan = plan_with(power_kw=power_kw)
        for assets, left in (
            ((1, 2, 3), [(1, 2), (2, 3), (3, 2), (3, 3)]),
            ((2, 3), [(2, 3), (3, 2), (3, 3)]),
            ((), []),
        ):
            *_, netted, _ = await self._finalise(monkeypatch, plan, 0, 6, assets)
            assert [(asset, time) for asset, time, _ in netted] == [
                (asset, period_start(FIRST + index)) for asset, index in left
            ]

    async def test_are_none_outside_of_the_plan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plan = plan_with(totals_kw=np.array([at(), at(), at(), at(0, 5)]), power_kw=np.full((3, 6), 100.0))
        assert await self._finalise(monkeypatch, plan, 6, 9) == (False, [], [], [])
        assert await self._finalise(monkeypatch, plan, 3, 3) == (False, [], [], [])
        assert (await self._finalise(monkeypatch, plan, -4, 1))[0]
        assert not (await self._finalise(monkeypatch, plan, 1, 5))[0]
        assert (await self._finalise(monkeypatch, plan, 5, 9))[0]


class TestSchedulesThatNoLongerFit:
    @pytest.mark.parametrize(
        ("locked", "seconds", "tried", "has_cut"),
        [
            pytest.param({2}, [0.0, 19.0], [1, 2, 3], True, id="leave one that is locked to the next run"),
            pytest.param({1, 2, 3}, [0.0, 9.0, 15.0, 19.0], [1, 2, 3], False, id="are not cut where all are locked"),
            pytest.param({1, 2, 3}, [0.0, 9.0, 21.0], [1, 2], False, id="are left where it has taken too long"),
        ],
    )
    async def test_are_cut_one_by_one(
        self,
        monkeypatch: pytest.MonkeyPatch,
        locked: set[int],
        seconds: list[float],
        tried: list[int],
        has_cut: bool,
    ) -> None:
        done: list[Any] = []
        waits: list[Any] = []

        async def revalidate(db: Any, key: int, now: datetime) -> None:
            assert now == NOW
            done.append(key)
            if key in locked:
                raise asyncpg.LockNotAvailableError

        clock = iter(seconds)
        db: Any = SimpleNamespace(transaction=no_transaction)
        monkeypatch.setattr(finalisation, "revalidate", revalidate)
        monkeypatch.setattr(finalisation, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        monkeypatch.setattr(input_store, "read_assets_to_cut", calls_of([], [1, 2, 3]))
        monkeypatch.setattr(input_store, "limit_lock_wait", calls_of(waits))
        assert await finalisation.revalidate_closed_periods(db, "TenneT", FIRST, NOW) is has_cut
        assert (done, waits) == (tried, [(finalisation.LOCK_TIMEOUT_S,)])

    async def test_are_tried_again_by_the_job_where_the_database_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def revalidate(*_: Any) -> None:
            raise asyncpg.ReadOnlySQLTransactionError

        db: Any = SimpleNamespace(transaction=no_transaction)
        monkeypatch.setattr(finalisation, "revalidate", revalidate)
        monkeypatch.setattr(input_store, "read_assets_to_cut", calls_of([], [1]))
        monkeypatch.setattr(input_store, "limit_lock_wait", calls_of([]))
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await finalisation.revalidate_closed_periods(db, "TenneT", FIRST, NOW)


@asynccontextmanager
async def no_transaction() -> AsyncIterator[None]:
    """In place of a transaction."""
    yield


class TestEventsOfARun:
    async def test_that_fails_go_to_each_owner_of_batteries_of_the_zone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[Any] = []
        monkeypatch.setattr(notifications, "read_owners", calls_of([], [UUID(int=1), UUID(int=2)]))
        monkeypatch.setattr(notifications, "record_events", calls_of(told))
        await notifications.emit_run_failed(NOTHING, "TenneT", NOW, "Fault")
        [(events,)] = told
        assert [(one.type, one.organisation_id.int, one.subject, one.permission, one.data) for one in events] == [
            (
                *("delivery.run-failed", owner, "delivery/zones/TenneT", Permission.READ_SCHEDULES),
                {"deliveryZone": "TenneT", "failedAt": NOW, "reason": "Fault"},
            )
            for owner in (1, 2)
        ]

    async def test_go_to_the_owners_of_batteries_that_must_do_something_else(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second has another version, and does as before."""
        told: list[Any] = []
        asked: list[Any] = []
        owners = [SimpleNamespace(key=key, id=UUID(int=key), organisation_id=UUID(int=10 * key)) for key in (7, 9)]
        versions: Any = [SimpleNamespace(asset_key=key, first=FIRST + key, end=FIRST + 20) for key in (9, 8, 7)]
        monkeypatch.setattr(notifications, "read_batteries", calls_of(asked, owners))
        monkeypatch.setattr(notifications, "record_events", calls_of(told))
        await notifications.emit_dispatched(NOTHING, versions, {7: 3, 8: 4, 9: 5}, [7, 9])
        [(events,)] = told
        assert asked == [([9, 7],)]
        assert [(one.type, one.asset_key, one.organisation_id.int, one.subject, one.data) for one in events] == [
            (
                *("dispatch.updated", key, 10 * key, f"physical-assets/{UUID(int=key)}"),
                {"start": period_start(FIRST + key), "end": period_start(FIRST + 20), "version": version},
            )
            for key, version in ((9, 5), (7, 3))
        ]
        assert {one.permission for one in events} == {Permission.READ_SCHEDULES}
        await notifications.emit_dispatched(NOTHING, versions, {8: 4}, [])
        assert len(told) == 1


class TestShortfallsThatAreTold:
    async def test_are_those_that_differ_from_the_plan_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By virtual asset and market: one that begins, one that ends, one that grows, one that shrinks, and one that
        stays."""

        def plan(first: int, shortfalls: dict[tuple[int, int, int], list[float]]) -> Any:
            keys, rows = np.array(list(shortfalls)), np.array(list(shortfalls.values()))
            return SimpleNamespace(first=first, unheld_reserves=lambda: (keys, rows))

        before = plan(
            FIRST - 1,
            {
                (7, FCR, 10): [99.0, 0.0, 4.0, 0.0, 0.0],
                (8, FCR, 10): [0.0, 0.0, 5.0, 5.0, 0.0],
                (8, POS, 10): [0.0, 0.0, 6.0, 6.0, 0.0],
                (8, NEG, 10): [0.0, 0.0, 9.0, 9.0, 0.0],
                (9, FCR, 10): [44.0, 0.0, 0.0, 0.0, 0.0],
            },
        )
        after = plan(
            FIRST,
            {
                (7, POS, 10): [0.0, 1.0, 2.0, 0.0, 0.0],
                (7, POS, 11): [0.0, 0.5, 0.25, 0.0, 0.0],
                (8, FCR, 10): [0.0, 5.0, 8.0, 0.0, 3.0],
                (8, POS, 11): [0.0, 6.0, 6.0, 0.0, 0.0],
                (8, NEG, 11): [0.0, 9.0, 2.0, 0.0, 0.0],
            },
        )
        owners = [SimpleNamespace(key=key, id=UUID(int=key), organisation_id=UUID(int=10 * key)) for key in (7, 8)]
        events: list[Any] = []
        monkeypatch.setattr(notifications, "read_batteries", calls_of([], owners))
        monkeypatch.setattr(notifications, "record_events", calls_of(events))
        await notifications.emit_shortfalls(NOTHING, before, after, FIRST)
        [(told,)] = events

        def span(low: int, high: int) -> dict[str, Any]:
            return {"start": period_start(FIRST + low), "end": period_start(FIRST + high)}

        assert {(one.type, one.permission) for one in told} == {
            ("delivery.reserve-shortfall", Permission.READ_VIRTUAL_ASSETS)
        }
        assert [one.subject for one in told] == [f"virtual-assets/{UUID(int=key)}" for key in (7, 7, 8, 8)]
        assert [(one.asset_key, one.organisation_id.int, one.data) for one in told] == [
            (7, 70, {"market": "FCR", **span(1, 2), "power": 0.0}),
            (7, 70, {"market": "AFRR_POS", **span(1, 3), "power": 2.25}),
            (8, 80, {"market": "FCR", **span(1, 5), "power": 8.0}),
            (8, 80, {"market": "AFRR_NEG", **span(1, 3), "power": 9.0}),
        ]
        await notifications.emit_shortfalls(NOTHING, after, after, FIRST)
        assert len(events) == 1


class TestPlacedDrift:
    async def test_is_traded_once_all_prices_of_its_day_are_published(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By batteries that are still there, in the quarter-hours in which they move, which are 92 on this day."""
        day, power_kw = date(2026, 3, 29), np.zeros(92)
        power_kw[[0, 8, 91]] = 400.0, -60.0, 100.0
        placed = [PlacedDrift(key, day, FIRST, power_kw, NOW) for key in (7, 8)]
        prices, settled = np.arange(92) + 0.251, list[Any]()
        monkeypatch.setattr(drift, "read_period_prices", calls_of([], prices))
        monkeypatch.setattr(drift, "read_asset_ids", calls_of([], {7: UUID(int=7)}))
        monkeypatch.setattr("gridloom.delivery.runs.store.read_placements", calls_of([], placed))
        monkeypatch.setattr(drift, "record_settlements", calls_of(settled))
        run: Any = SimpleNamespace(db=NOTHING, key=day.isoformat())
        prices[50] = np.nan
        await drift.trade_placed_drift(run)
        assert settled == [], "not where one is missing, though nothing is moved then"
        prices[50] = 50.0
        await drift.trade_placed_drift(run)
        [(_, trades, recorder)] = settled
        start = market_day_window(day).start
        assert [(one.time - start, one.side, one.volume, one.price) for one in trades] == [
            (timedelta(), "SELL", 0.1, 0.25),
            (timedelta(hours=2), "BUY", 0.015, 8.25),
            (timedelta(hours=22.75), "SELL", 0.025, 91.25),
        ]
        assert {(one.asset_id, one.trade_id, one.market, one.executed_at) for one in trades} == {
            (str(UUID(int=7)), "drift-2026-03-29", "DAY_AHEAD", NOW)
        }
        assert recorder.by == finalisation.PLATFORM_ID


def plan_limits(own_kw: Any) -> Any:
    """Of batteries without promises."""
    return replace(even_limits([1000.0] * 2, [2000.0] * 2, 4), own_kw=own_kw, promised_kwh=np.zeros((2, 4)))


class TestBatteriesThatAreReleased:
    async def _release(self, monkeypatch: pytest.MonkeyPatch, plan: ZonePlan, keys: list[int], first: int) -> Any:
        """The first gives its owner 40 kW; the second charges at 8 and holds an award."""
        nothing = np.zeros((2, 4))
        park = SimpleNamespace(
            limits=plan_limits(own_kw=np.array([[40.0] * 4, [-8.0] * 4])),
            capacity_kwh=np.array([[2000.0] * 4, [3000.0] * 4]),
            reserves=SimpleNamespace(keys=np.array([[1, FCR, 0]]), power_kw=nothing[:1] + 25.0),
        )
        added: list[Any] = []
        told: list[Any] = []
        asked: list[Any] = []
        monkeypatch.setattr(release, "load_released_batteries", calls_of(asked, park))
        monkeypatch.setattr("gridloom.delivery.dispatch.store.add_versions", calls_of(added, {10_000: 3, 10_001: 4}))
        monkeypatch.setattr(release, "emit_dispatched", calls_of(told))
        await release.release_batteries(NOTHING, plan, keys, FIRST + first, NOW)
        return asked, added, told

    async def test_do_what_their_owners_have_scheduled_and_hold_their_awards(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = plan_with(energy_kwh=np.array([[500.0] * 2 + [600.0] * 5, [700.0] * 7]))
        asked, added, told = await self._release(monkeypatch, plan, [10_000, 10_001], 2)
        assert asked == [([10_000, 10_001], FIRST + 2, FIRST + 6)]
        [(_, now, versions, last)] = added
        assert (now, last) == (NOW, {10_000: 0, 10_001: 0})
        assert [(one.asset_key, one.first, one.end) for one in versions] == [
            (10_000, FIRST + 2, FIRST + 6),
            (10_001, FIRST + 2, FIRST + 6),
        ]
        first, second = (unpack(one.body) for one in versions)
        assert (first["names"].tolist(), first["parts"].tolist()) == ([[CODE_OF_KIND[PartKind.OWN], 0]], [[40.0] * 4])
        assert first["energy"].tolist() == pytest.approx([600.0 - index * 10 / 0.92 for index in range(5)])
        assert second["names"].tolist() == [[CODE_OF_KIND[PartKind.OWN], 0], [FCR, 0]]
        assert second["parts"].tolist() == [[-8.0] * 4, [25.0] * 4]
        assert second["energy"].tolist() == pytest.approx([700.0 + index * 2 * 0.94 for index in range(5)])
        assert (first["capacity"].tolist(), second["capacity"].tolist()) == ([2000.0] * 4, [3000.0] * 4)
        [(_, numbers, moved)] = told
        assert (numbers, list(moved)) == ({10_000: 3, 10_001: 4}, [10_000, 10_001])

    async def test_are_left_alone_where_none_are_named_or_the_plan_is_over(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert await self._release(monkeypatch, plan_with(), [], 2) == ([], [], [])
        assert await self._release(monkeypatch, plan_with(), [10_000], 6) == ([], [], [])

    async def test_leave_nothing_scheduled_in_the_zone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        totals: list[Any] = []
        netting: list[Any] = []
        monkeypatch.setattr(zone_store, "add_totals", calls_of(totals))
        monkeypatch.setattr(zone_store, "add_netting", calls_of(netting))
        plan = plan_with(
            totals_kw=np.array([at(3), at(), at(), at()]), netted_fraction=np.array([at(2, value=0.5), at()])
        )
        for first, cleared, unnetted in ((-2, 0, 0), (2, 2, 2), (3, 3, None), (4, None, None), (6, None, None)):
            totals.clear()
            netting.clear()
            await release._clear_totals(NOTHING, "TenneT", plan, FIRST + first, NOW)
            assert [(zone, now, one.first - FIRST, one.end - FIRST) for zone, now, one in totals] == (
                [] if cleared is None else [("TenneT", NOW, cleared, 6)]
            )
            assert [(since - FIRST, len(exported), exported.any()) for _, _, since, exported, _ in netting] == (
                [] if unnetted is None else [(unnetted, 6 - unnetted, False)]
            )
            assert all(not series.any() for _, _, one in totals for series in one.series())


def test_totals_of_a_plan_are_sliced_by_period() -> None:
    totals = ZoneTotals.of_plan(plan_with(totals_kw=np.array([at(3), at(4), at(5), at(2)])))
    sliced = totals.slice_periods(FIRST + 2, FIRST + 5)
    assert (sliced.first, sliced.end) == (FIRST + 2, FIRST + 5)
    assert sorted(series.tolist() for series in sliced.series()) == sorted(
        [[0.0, 9.0, 0.0], [0.0, 0.0, 9.0], [0.0] * 3, [9.0, 0.0, 0.0]]
    )
