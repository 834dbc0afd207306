"""Gates that pass, and the drift that goes to market at noon: which zones are asked for, and with which figures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.delivery.test_replanning import loaded_zone
from tests.delivery.test_zone_plan import plan_from
from tests.delivery.zones import even_limits

from gridloom.capacity.book import market_days_around
from gridloom.delivery import plan_store
from gridloom.delivery.dispatch.versions import batteries_with_new_power
from gridloom.delivery.inputs import reloading
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.inputs.loading import list_reserves
from gridloom.delivery.inputs.reloading import _covers_periods, _find_changed
from gridloom.delivery.inputs.store import Reserve
from gridloom.delivery.inputs.zone_status_store import ARRAY_HEAD_BYTES, InputVersions
from gridloom.delivery.performance.deviations import CHECK_JOB
from gridloom.delivery.planning.drift import NoonDrift
from gridloom.delivery.runs import drift, due_gates
from gridloom.delivery.runs.store import PlacedDrift
from gridloom.delivery.zone_store import ZoneTotals, changed_totals
from gridloom.kernel.market_time import PERIOD, market_day_window, period_number, period_start
from gridloom.market_calendar import market_day_periods
from gridloom.virtual_assets.allocation import DISPATCH_JOB

pytestmark = pytest.mark.pure

NOTHING: Any = None
NOW = datetime(2026, 7, 1, 10, 7, tzinfo=UTC)
GATE_S = 480
"""The last gate that has passed is that of 10:15: it closed just now."""
OPEN = period_number(NOW) + 1 + 1
TOMORROW_END = market_day_window(date(2026, 7, 2)).end


def answer(given: Any) -> Any:
    async def call(*_: Any, **__: Any) -> Any:
        return given

    return call


def status_of(zone: str, **changes: Any) -> Any:
    told = {
        "delivery_zone": zone,
        "gate_closure_s": GATE_S,
        "next_asset_start": NOW - timedelta(days=1),
        "first_misfit": None,
        "final_until": OPEN - 1,
        "needs_run": False,
    }
    return SimpleNamespace(**{**told, **changes})


class TestGatesThatAreDue:
    @pytest.fixture
    def called(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        found: list[Any] = []

        async def enqueue(db: Any, job: str, *, key: str, due: datetime, **_: Any) -> None:
            found.append((job, key, due))

        async def advance(db: Any, passed: Any, until: Any) -> None:
            found.append(([one.delivery_zone for one in passed], until))

        async def wait_for_writers(db: Any) -> None:
            found.append("wait")

        monkeypatch.setattr(due_gates, "enqueue", enqueue)
        monkeypatch.setattr(due_gates, "advance_final_until", advance)
        monkeypatch.setattr(due_gates, "wait_for_writers", wait_for_writers)
        monkeypatch.setattr(due_gates, "read_measured_zones", answer([]))
        monkeypatch.setattr(due_gates, "read_planned_zones", answer([]))
        return found

    async def _close(self, monkeypatch: pytest.MonkeyPatch, statuses: list[Any], *, is_alive: bool = True) -> None:
        monkeypatch.setattr(due_gates, "read_clock_and_activity", answer((NOW, is_alive)))
        monkeypatch.setattr(due_gates, "read_zone_status", answer(statuses))
        run: Any = SimpleNamespace(db=None, due=NOW - timedelta(minutes=16))
        await due_gates.close_due_gates(run)

    async def test_have_zones_run_that_need_it_and_the_others_noted_as_passed(
        self, called: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One has changed, one has not, one was final already, one was never planned, and one lives only later."""
        monkeypatch.setattr(due_gates, "read_measured_zones", answer(["A", "B"]))
        monkeypatch.setattr(due_gates, "read_planned_zones", answer(["A", "E", "Z"]))
        later = TOMORROW_END
        statuses = [
            status_of("A", needs_run=True),
            status_of("B"),
            status_of("C", final_until=OPEN, needs_run=True),
            status_of("D", final_until=None),
            status_of("E", next_asset_start=later, needs_run=True),
        ]
        await self._close(monkeypatch, statuses)
        due = NOW - timedelta(minutes=16)
        gate = period_start(OPEN) - timedelta(seconds=GATE_S)
        assert called == [
            "wait",
            (due_gates.DUE_GATES_JOB, "", due + 2 * PERIOD),
            (due_gates.DUE_GATES_JOB, "", gate),
            (DISPATCH_JOB, "A", due),
            (["B", "D"], [OPEN, OPEN]),
            (CHECK_JOB, "A", NOW),
            (CHECK_JOB, "B", NOW),
            (DISPATCH_JOB, "E", due),
            (DISPATCH_JOB, "Z", due),
        ]

    async def test_are_asked_for_again_where_no_zone_is_in_view(
        self, called: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await self._close(monkeypatch, [])
        assert called == ["wait", (due_gates.DUE_GATES_JOB, "", NOW - timedelta(minutes=16) + 2 * PERIOD)]

    async def test_only_close_what_is_planned_where_nothing_is_alive(
        self, called: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(due_gates, "read_planned_zones", answer(["Z"]))
        await self._close(monkeypatch, [status_of("A", needs_run=True)], is_alive=False)
        assert called == [(DISPATCH_JOB, "Z", NOW - timedelta(minutes=16))]

    def test_come_next_at_the_first_gate_or_when_a_zone_comes_into_view(self) -> None:
        gate = period_start(OPEN) - timedelta(seconds=GATE_S)
        later = status_of("B", next_asset_start=TOMORROW_END + timedelta(hours=30))
        assert due_gates.next_gate_closure([status_of("A"), later], NOW) == gate
        assert due_gates.next_gate_closure([later], NOW) == market_day_window(date(2026, 7, 3)).start
        sooner = status_of("C", gate_closure_s=300)
        assert due_gates.next_gate_closure([status_of("A"), sooner], NOW) == period_start(OPEN - 1) - timedelta(
            minutes=5
        )


class TestThePlannedDays:
    @pytest.mark.parametrize(
        ("now", "start", "end"),
        [
            ("2026-10-24T23:59+02:00", "2026-10-24T00:00+02:00", "2026-10-26T00:00+01:00"),
            ("2026-10-25T00:00+02:00", "2026-10-25T00:00+02:00", "2026-10-27T00:00+01:00"),
            ("2027-03-27T12:00+01:00", "2027-03-27T00:00+01:00", "2027-03-29T00:00+02:00"),
        ],
    )
    def test_are_this_one_and_the_next_however_long_they_are(self, now: str, start: str, end: str) -> None:
        window = due_gates.planning_window(datetime.fromisoformat(now))
        assert (window.start, window.end) == (datetime.fromisoformat(start), datetime.fromisoformat(end))


class TestGatesThatPassTogether:
    @pytest.mark.parametrize(
        ("idle", "changes", "measured", "passed"),
        [
            pytest.param(timedelta(hours=1), {}, [], 3, id="until just before another job"),
            pytest.param(timedelta(hours=1, microseconds=1), {}, [], 4, id="and when that comes after one"),
            pytest.param(timedelta(0), {}, [], 0, id="none where it is due at once"),
            pytest.param(timedelta(hours=1), {"needs_run": True}, [], 0, id="none where something has changed"),
            pytest.param(timedelta(hours=1), {}, ["A"], 0, id="none where something was measured"),
            pytest.param(timedelta(hours=3), {"first_misfit": OPEN + 4}, [], 4, id="up to that of what will be cut"),
            pytest.param(timedelta(hours=1), {"first_misfit": OPEN + 40}, [], 3, id="where that will be cut later"),
            pytest.param(timedelta(days=3), {}, [], 47, id="up to the first of the day that comes into view"),
        ],
    )
    async def test_are_those_until_something_happens(
        self, monkeypatch: pytest.MonkeyPatch, idle: timedelta, changes: Any, measured: list[str], passed: int
    ) -> None:
        due = period_start(OPEN) - timedelta(seconds=GATE_S)
        waited: list[Any] = []

        async def wait_for_writers(db: Any) -> None:
            waited.append(db)

        async def read_zone_status(
            db: Any, now: datetime, start: datetime, end: datetime, end_period: int
        ) -> list[Any]:
            assert waited, "what is let through a gate that is still open is seen"
            assert (now, end_period) == (due, period_number(end))
            assert (start, end) == (market_day_window(date(2026, 7, 1)).start, TOMORROW_END)
            return [status_of("A"), status_of("B", **changes)]

        monkeypatch.setattr(due_gates, "wait_for_writers", wait_for_writers)
        monkeypatch.setattr(due_gates, "read_zone_status", read_zone_status)
        monkeypatch.setattr(due_gates, "read_measured_zones", answer(measured))
        found = await due_gates.find_last_idle_gate(NOTHING, due, due + idle)
        assert (found - due) / PERIOD == passed

    @pytest.mark.parametrize("day", [date(2026, 7, 1), date(2026, 10, 25), date(2027, 3, 28)], ids=str)
    async def test_are_those_of_the_whole_day_however_long_it_is(
        self, monkeypatch: pytest.MonkeyPatch, day: date
    ) -> None:
        window = market_day_window(day)
        monkeypatch.setattr(due_gates, "wait_for_writers", answer(None))
        monkeypatch.setattr(due_gates, "read_zone_status", answer([status_of("A")]))
        monkeypatch.setattr(due_gates, "read_measured_zones", answer([]))
        found = await due_gates.find_last_idle_gate(NOTHING, window.start, window.end + timedelta(days=9))
        assert found == window.end


class TestDriftAtNoon:
    """Two batteries of a zone, of which the first has 100 kWh of drift and the second -30; a third is new."""

    NOON = datetime(2026, 7, 1, 10, tzinfo=UTC)
    FIRST = period_number(NOON)
    DAY_FIRST, DAY_END = market_day_periods(date(2026, 7, 2))
    COUNT = DAY_END - FIRST

    def _zone(self, **limits: Any) -> Any:
        zone, _ = loaded_zone(1, 1, 3, self.COUNT, self.FIRST)
        even = even_limits([1000.0] * 3, [2000.0] * 3, self.COUNT)
        free = {"free_charge_kw": even.charge_kw * 0.1, "free_discharge_kw": even.charge_kw * 0.2}
        return replace(
            zone, battery_keys=np.array([10, 11, 12]), limits=replace(even, **{**free, **limits}), end=self.DAY_END
        )

    def _plan(self) -> Any:
        width = self.COUNT + 4 + 1
        share_kwh = np.stack([np.full(width, 600.0), np.full(width, 400.0)])
        energy_kwh = share_kwh + np.array([[-30.0], [100.0]])
        energy_kwh[:, :4], share_kwh[:, :4] = 9000.0, 70.0
        energy_kwh[1, 20], energy_kwh[0, 21] = 450.0, 1900.0
        return SimpleNamespace(
            first=self.FIRST - 4,
            end=self.DAY_END,
            battery_keys=np.array([11, 10]),
            energy_kwh=energy_kwh,
            share_energy_kwh=share_kwh,
        )

    def test_is_what_batteries_store_beyond_their_shares_where_they_back_anything(self) -> None:
        assert drift._find_drift_kwh(self._zone(), self._plan(), self.FIRST).tolist() == [100.0, -30.0, 0.0]
        promised_kwh = np.zeros((3, self.COUNT))
        promised_kwh[1, -1] = 5.0
        zone = self._zone(promised_kwh=promised_kwh)
        assert drift._find_drift_kwh(zone, self._plan(), self.FIRST).tolist() == [0.0, -30.0, 0.0]

    def test_is_moved_no_further_than_a_battery_can_ever_take_in_or_give(self) -> None:
        low_kwh = np.full((3, self.COUNT), 300.0)
        room_kwh, stored_kwh = drift._find_most_kwh(self._zone(low_kwh=low_kwh), self._plan(), self.FIRST)
        assert room_kwh.tolist() == [1550.0, 1430.0, np.inf]
        assert stored_kwh.tolist() == [200.0, 1600.0, np.inf]

    def test_that_is_placed_counts_what_it_takes_out_of_the_store(self) -> None:
        drift_kw = np.array([[92.0, 0.0], [-100.0, 46.0], [0.0, 0.0]])
        assert drift._find_placed_kwh(self._zone(), drift_kw).tolist() == pytest.approx([25.0, -23.5 + 12.5, 0.0])

    def test_is_placed_within_the_free_power_of_its_direction(self) -> None:
        columns = slice(self.DAY_FIRST - self.FIRST, self.COUNT)
        for price in (None, np.zeros(95)):
            powers_kw = drift._place_all(self._zone(), columns, np.array([96.0, -96.0, 0.0]), price)
            assert powers_kw.shape == (3, 96)
            assert np.unique(powers_kw[0]).tolist() == pytest.approx([4 * 0.92], abs=0.001)
            assert np.unique(powers_kw[1]).tolist() == pytest.approx([-4 / 0.94], abs=0.001)
            assert not powers_kw[2].any()
        best = np.where(np.arange(96) < 16, 90.0, 10.0)
        sold_kw = drift._place_all(self._zone(), columns, np.array([9.6e3, 96.0, -96.0]), best)
        assert np.flatnonzero(sold_kw[1]).tolist() == list(range(16))
        assert not np.flatnonzero(sold_kw[2])[0] < 16
        assert sold_kw[0].max() == 200.0

    async def test_has_what_the_next_day_will_end_with_placed_and_noted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The zone has 70 kWh, of which 25 are sold until midnight, and gains 12 a day."""
        drift_kw = np.zeros((3, self.COUNT))
        drift_kw[0, 8] = 92.0
        drift_kw[0, self.DAY_FIRST - self.FIRST + 7] = 0.0
        zone = self._zone(drift_kw=drift_kw)
        placed: list[Any] = []
        noons: list[Any] = []
        asked: list[Any] = []
        today = date(2026, 7, 1)
        history = {today - timedelta(days=day): NoonDrift(70.0 - 12.0 * day, 0.0) for day in range(1, 9)}

        async def add_placement(db: Any, key: int, day: date, first: int, power_kw: Any, now: datetime) -> None:
            placed.append((key, day, first, float(power_kw.sum()) / 4))

        async def put_noon(db: Any, key: str, day: date, noon: NoonDrift) -> None:
            noons.append((key, day, noon.drift_kwh, noon.placed_kwh))

        async def enqueue(db: Any, job: str, *, key: str, due: datetime, **_: Any) -> None:
            asked.append((job, key, due))

        read: list[Any] = []

        def note(given: Any) -> Any:
            async def call(db: Any, *args: Any) -> Any:
                read.append(args)
                return given

            return call

        monkeypatch.setattr(drift, "platform_now", answer(self.NOON))
        monkeypatch.setattr(plan_store, "lock_zone", answer(SimpleNamespace(plan=self._plan())))
        monkeypatch.setattr(drift, "record_dispatched_days", note(None))
        monkeypatch.setattr(drift, "load_zone", note(SimpleNamespace(zone=zone)))
        monkeypatch.setattr(drift, "enqueue", enqueue)
        monkeypatch.setattr("gridloom.delivery.runs.store.read_noons", answer(history))
        monkeypatch.setattr("gridloom.delivery.runs.store.add_placement", add_placement)
        monkeypatch.setattr("gridloom.delivery.runs.store.put_noon", put_noon)
        monkeypatch.setattr(drift, "READ_PRICE_FORECAST", SimpleNamespace(get=lambda: note(None)))
        run: Any = SimpleNamespace(db=None, key="TenneT", due=self.NOON)
        await drift.place_zone_drift(run)
        tomorrow = date(2026, 7, 2)
        assert read == [([11, 10], today), ("TenneT", self.FIRST, self.DAY_END), (tomorrow,)], (
            "days that are over are recorded, and prices are those of the day in which it is placed"
        )
        # Until midnight of the next day it is a day and a half; a third for each battery, at 92 %.
        each_kwh = (70 - 25 + 12 * 1.5) / 3
        assert placed == [
            (key, date(2026, 7, 2), self.DAY_FIRST, pytest.approx(each_kwh * 0.92, abs=0.03)) for key in (10, 11, 12)
        ]
        [(key, day, drift_kwh, placed_kwh)] = noons
        # By the next noon what was sold before, and half of what is placed.
        assert (key, day, drift_kwh) == ("TenneT", today, 70.0)
        assert placed_kwh == pytest.approx(25 + 3 * each_kwh / 2, abs=0.1)
        next_noon = self.NOON + timedelta(days=1)
        assert asked == [
            (drift.PLACE_DRIFT_JOB, "TenneT", next_noon),
            (drift.TRADE_DRIFT_JOB, "2026-07-02", self.NOON),
        ]

    @pytest.mark.parametrize(
        ("first", "end", "is_promised", "done"),
        [
            pytest.param(FIRST, DAY_END, False, ["days", "zone"], id="nor where the batteries back nothing"),
            pytest.param(FIRST - 4, FIRST + 1, False, ["days", "zone"], id="by a plan in its last quarter-hour"),
            pytest.param(FIRST - 4, FIRST, True, [], id="nor by a plan that is over"),
            pytest.param(FIRST + 1, DAY_END, True, [], id="nor by one that begins later"),
            pytest.param(None, None, True, [], id="nor without one"),
        ],
    )
    async def test_is_not_placed_where_nothing_is_planned_or_promised(
        self,
        monkeypatch: pytest.MonkeyPatch,
        first: int | None,
        end: int | None,
        is_promised: bool,
        done: list[str],
    ) -> None:
        """The next run of the zone asks for another noon."""
        called: list[str] = []

        def note(name: str, given: Any = None) -> Any:
            async def call(*_: Any, **__: Any) -> Any:
                called.append(name)
                return given

            return call

        zone = self._zone() if is_promised else self._zone(promised_kwh=np.zeros((3, self.COUNT)))
        plan = None if first is None else SimpleNamespace(first=first, end=end, battery_keys=np.array([10]))
        monkeypatch.setattr(drift, "platform_now", answer(self.NOON))
        monkeypatch.setattr(plan_store, "lock_zone", answer(SimpleNamespace(plan=plan)))
        monkeypatch.setattr(drift, "record_dispatched_days", note("days"))
        monkeypatch.setattr(drift, "load_zone", note("zone", SimpleNamespace(zone=zone)))
        monkeypatch.setattr(drift, "enqueue", note("enqueued"))
        run: Any = SimpleNamespace(db=None, key="TenneT", due=self.NOON)
        await drift.place_zone_drift(run)
        assert called == done

    def test_becomes_a_trade_for_each_quarter_hour_that_it_moves(self) -> None:
        day = date(2026, 7, 2)
        power_kw = np.array([0.0, 400.003, 0.0, -80.0])
        placement = PlacedDrift(asset_key=7, day=day, first=self.DAY_FIRST, power_kw=power_kw, recorded_at=self.NOON)
        trades = drift._list_trades(placement, "an id", np.array([1.0, 20.123, 3.0, -4.5]))
        start = market_day_window(day).start
        assert [(one.time, one.side, one.volume, float(one.price)) for one in trades] == [
            (start + PERIOD, "SELL", 0.10000075, 20.12),
            (start + 3 * PERIOD, "BUY", 0.02, -4.5),
        ]
        assert {(one.trade_id, one.market, one.executed_at) for one in trades} == {
            ("drift-2026-07-02", "DAY_AHEAD", self.NOON)
        }


class TestTradesOfDrift:
    DAY = date(2026, 7, 2)

    async def _trade(
        self, monkeypatch: pytest.MonkeyPatch, key: str, prices: Any, now: datetime = NOW
    ) -> tuple[list[Any], list[Any]]:
        """What is recorded, and which days are asked for. The second battery is no more."""
        recorded: list[Any] = []
        asked: list[Any] = []
        placed = [PlacedDrift(one, self.DAY, 0, np.array([0.0, one * 100.0]), NOW) for one in (7, 8, 9)]

        async def read_period_prices(db: Any, series: str, first: int, end: int) -> Any:
            assert (series, first, end) == (drift.DAY_AHEAD_SERIES, *market_day_periods(self.DAY))
            return prices

        async def record_settlements(db: Any, kind: Any, rows: list[Any], recorder: Any) -> None:
            recorded.extend((row.asset_id, row.volume) for row in rows)

        async def enqueue(db: Any, job: str, *, key: str, due: datetime, **_: Any) -> None:
            asked.append((job, key, due))

        monkeypatch.setattr(drift, "read_period_prices", read_period_prices)
        monkeypatch.setattr("gridloom.delivery.runs.store.read_placements", answer(placed))
        monkeypatch.setattr(drift, "read_asset_ids", answer({7: "seven", 9: "nine"}))
        monkeypatch.setattr(drift, "record_settlements", record_settlements)
        monkeypatch.setattr(drift, "platform_now", answer(now))
        monkeypatch.setattr(drift, "enqueue", enqueue)
        run: Any = SimpleNamespace(db=None, key=key)
        await drift.trade_placed_drift(run)
        return recorded, asked

    async def test_are_made_once_all_prices_of_the_day_are_published(self, monkeypatch: pytest.MonkeyPatch) -> None:
        prices = np.full(96, 50.0)
        both = [("seven", 0.175), ("nine", 0.225)]
        assert await self._trade(monkeypatch, self.DAY.isoformat(), prices) == (both, [])
        prices[95] = np.nan
        assert await self._trade(monkeypatch, self.DAY.isoformat(), prices) == ([], [])

    async def test_are_asked_for_of_each_day_that_may_still_be_published(self, monkeypatch: pytest.MonkeyPatch) -> None:
        recorded, asked = await self._trade(monkeypatch, "", None)
        days = [(date(2026, 6, 17) + timedelta(days=ahead)).isoformat() for ahead in range(16)]
        assert (recorded, asked) == ([], [(drift.TRADE_DRIFT_JOB, day, NOW) for day in days])


class TestTotalsThatAreStored:
    def _totals(self, first: int, *powers_kw: float) -> ZoneTotals:
        series = np.array([powers_kw, [2 * kw for kw in powers_kw], powers_kw, powers_kw])
        return ZoneTotals(first, np.ones(len(powers_kw), dtype=bool), *series)

    @pytest.mark.parametrize(
        ("before", "changed"),
        [
            pytest.param(None, (10, [1.0, 2.0, 3.0, 0.0]), id="all where nothing was planned"),
            pytest.param((10, [1.0, 2.0, 3.0, 0.0]), None, id="none where all is the same"),
            pytest.param((8, [9.0, 9.0, 1.0, 5.0, 5.0, 0.0, 9.0]), (11, [2.0, 3.0]), id="from the first to the last"),
            pytest.param((9, [9.0, 1.0, 2.0]), (12, [3.0, 0.0]), id="what was not planned, be it nothing"),
            pytest.param((14, [1.0]), (10, [1.0, 2.0, 3.0, 0.0]), id="all where only later ones were"),
            pytest.param((8, [1.0, 1.0]), (10, [1.0, 2.0, 3.0, 0.0]), id="all where only earlier ones were"),
        ],
    )
    def test_are_those_that_differ(self, before: Any, changed: Any) -> None:
        known = None if before is None else self._totals(before[0], *before[1])
        found = changed_totals(known, self._totals(10, 1.0, 2.0, 3.0, 0.0))
        assert (None if found is None else (found.first, found.exported_kw.tolist())) == changed
        assert found is None or found.imported_kw.tolist() == [2 * kw for kw in changed[1]]

    def test_are_those_of_which_any_figure_differs(self) -> None:
        totals = self._totals(10, 1.0, 2.0, 3.0, 0.0)
        for place in range(4):
            before = self._totals(10, 1.0, 2.0, 3.0, 0.0)
            before.series()[place][1] -= 0.5
            found = changed_totals(before, totals)
            assert found is not None
            assert (found.first, found.end) == (11, 12), place
            assert [one.tolist() for one in found.series()] == [[2.0], [4.0], [2.0], [2.0]]

    def test_are_what_batteries_do_once_imports_and_the_unserved_are_subtracted(self) -> None:
        totals = ZoneTotals(0, np.ones(1, dtype=bool), *(np.array([kw]) for kw in (500.0, 200.0, 200.0, 40.0)))
        assert totals.dispatched_kw.tolist() == [260.0]


class TestVersionsOfVirtualAssets:
    def test_are_in_the_order_of_their_keys_however_they_were_sent(self) -> None:
        rows = np.array([[8, 5, 300], [1, 70_000, 3], [0, 44, 2_000_000]])
        sent = b"".join(int(one).to_bytes(4) for value in rows.ravel() for one in (4, value))
        versions = InputVersions(b"h" * ARRAY_HEAD_BYTES + sent)
        assert versions.asset_rows.tolist() == [[5, 8, 300], [70_000, 1, 3], [44, 0, 2_000_000]]
        assert InputVersions().asset_rows.shape == (3, 0)


class TestSchedulesThatAreReadAgain:
    def test_are_those_of_another_version_and_those_that_will_be_cut(self) -> None:
        def versions(*rows: list[int]) -> Any:
            return SimpleNamespace(asset_rows=np.array(rows))

        before = versions([5, 6, 7, 8], [1, 1, 1, 1], [0, 0, 44, 44])
        after = versions([5, 6, 7, 8], [1, 2, 1, 1], [0, 0, 44, 0])
        assert _find_changed(before, after) == ([6, 7, 8], [7])
        assert _find_changed(before, versions([5, 6, 7, 9], [1, 1, 1, 1], [0, 0, 44, 44])) is None

    @pytest.mark.parametrize("is_held", [True, False])
    async def test_take_the_place_of_those_of_the_plan_after_the_cuts_to_come(
        self, monkeypatch: pytest.MonkeyPatch, is_held: bool
    ) -> None:
        """Of three virtual assets two are read again, of which one will be cut; nothing else holds another amount."""
        asked: list[Any] = []

        async def load_powers_kw(db: Any, keys: Any, cut_keys: Any, first: int, end: int) -> Any:
            asked.append((keys, cut_keys, first, end))
            return np.array([[60.0] * 3, [80.0] * 3])

        async def read_holdings_digest(db: Any, keys: Any, first: int, end: int) -> Any:
            assert (keys, (first, end)) == ([11, 12], market_days_around(102, 105))
            return np.array([1, 2 if is_held else 3])

        monkeypatch.setattr(reloading, "load_powers_kw", load_powers_kw)
        monkeypatch.setattr(input_store, "read_holdings_digest", read_holdings_digest)
        monkeypatch.setattr(input_store, "read_block_reserves", answer([]))
        monkeypatch.setattr(reloading, "_make_zone", lambda *given: given)
        versions: Any = [
            SimpleNamespace(batteries={}, asset_rows=np.array(rows))
            for rows in ([[5, 6, 8], [1, 1, 1], [0, 0, 104]], [[5, 6, 8], [1, 2, 1], [0, 0, 104]])
        ]
        power_kw = np.array([[5.0] * 5, [6.0] * 5, [8.0] * 5])
        plan: Any = SimpleNamespace(
            first=100, end=105, battery_keys=np.array([11, 12]), asset_keys=np.array([5, 6, 8]), power_kw=power_kw
        )
        inputs: Any = SimpleNamespace(
            first=100,
            lifetimes=np.array([[0, 500]]),
            holdings_digest=np.array([1, 2]),
            block_keys=np.zeros((0, 4), dtype=np.int64),
            blocks=np.zeros((0, 2)),
        )
        found: Any = await reloading.reload_changed_schedules(NOTHING, plan, inputs, tuple(versions), 102, 105)
        assert (found is not None) is is_held
        if is_held:
            _, _, read_kw, rows, first = found.zone
            assert asked == [([6, 8], [8], 102, 105)]
            assert (read_kw.tolist(), rows.tolist(), first) == ([[5.0] * 3, [60.0] * 3, [80.0] * 3], [1, 2], 102)
            assert power_kw[1].tolist() == [6.0] * 5, "the plan stays as it is"

    @pytest.mark.parametrize(
        ("blocks", "is_unchanged"),
        [
            pytest.param([(6, 100, 108, 40.0, 0.25), (8, 104, 108, 7.0, 1.0)], True, id="the same"),
            pytest.param([(6, 100, 108, 41.0, 0.25), (8, 104, 108, 7.0, 1.0)], False, id="another power"),
            pytest.param([(6, 100, 108, 40.0, 0.5), (8, 104, 108, 7.0, 1.0)], False, id="for longer"),
            pytest.param([(6, 100, 112, 40.0, 0.25), (8, 104, 108, 7.0, 1.0)], False, id="until later"),
            pytest.param([(8, 104, 108, 7.0, 1.0)], False, id="one that was given back"),
            pytest.param(
                [(6, 100, 108, 40.0, 0.25), (8, 104, 108, 7.0, 1.0), (8, 108, 112, 7.0, 1.0)], False, id="one more"
            ),
        ],
    )
    async def test_suffice_where_they_hold_the_same_balancing_blocks(
        self, monkeypatch: pytest.MonkeyPatch, blocks: list[tuple[int, int, int, float, float]], is_unchanged: bool
    ) -> None:
        """Of 5, which is not read again, another is kept; of 6 one that was over by 102."""
        asked: list[Any] = []

        def reserves(rows: list[tuple[int, int, int, float, float]]) -> list[Reserve]:
            return [Reserve(key, "FCR", low, high, kw, hours) for key, low, high, kw, hours in rows]

        async def read_block_reserves(db: Any, keys: list[int], first: int, end: int) -> list[Reserve]:
            asked.append((keys, first, end))
            return reserves(blocks)

        monkeypatch.setattr(input_store, "read_block_reserves", read_block_reserves)
        kept = [(5, 100, 108, 9.0, 1.0), (6, 98, 102, 3.0, 1.0), (6, 100, 108, 40.0, 0.25), (8, 104, 108, 7.0, 1.0)]
        names, amounts = list_reserves(reserves(kept))
        inputs: Any = SimpleNamespace(block_keys=names, blocks=amounts)
        assert await reloading._reserves_unchanged(NOTHING, [6, 8], inputs, 102, 120) is is_unchanged
        assert asked == [([6, 8], 102, 120)]

    @pytest.mark.parametrize(
        ("inputs_first", "first", "end", "life_ends", "covers"),
        [
            (100, 100, 110, 103, True),
            (100, 102, 110, 103, True),
            (100, 103, 110, 103, False),
            (100, 99, 110, 103, False),
            (100, 102, 111, 103, False),
            (101, 102, 110, 103, False),
        ],
    )
    def test_suffice_where_what_was_kept_covers_the_periods_and_no_asset_has_ended(
        self, inputs_first: int, first: int, end: int, life_ends: int, covers: bool
    ) -> None:
        plan: Any = SimpleNamespace(first=100, end=110)
        inputs: Any = SimpleNamespace(first=inputs_first, lifetimes=np.array([[0, 500], [90, life_ends]]))
        assert _covers_periods(plan, inputs, first, end) is covers


class TestBatteriesWithNewPower:
    def test_are_those_that_do_something_else_in_the_changed_periods(self) -> None:
        before = plan_from(100, 6)
        moved_kw = before.virtual_kw[:, 2:].copy()
        moved_kw[1, 2] += 1.0
        shorter = plan_from(102, 4)
        after = replace(shorter, virtual_kw=moved_kw, own_kw=before.own_kw[:, 2:], drift_kw=before.drift_kw[:, 2:])
        assert batteries_with_new_power(before, after, slice(0, 4)) == {10_001}
        assert batteries_with_new_power(before, after, slice(0, 2)) == frozenset()
        assert batteries_with_new_power(None, after, slice(0, 4)) == {10_000, 10_001}
        still = np.zeros((2, 4))
        idle = replace(after, virtual_kw=still, own_kw=still, drift_kw=still)
        assert batteries_with_new_power(None, idle, slice(0, 4)) == frozenset()
        over = plan_from(96, 6)
        assert batteries_with_new_power(over, idle, slice(0, 4)) == frozenset(), "a plan that was over then"
