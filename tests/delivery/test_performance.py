"""Where a battery did not do what it must."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from msgspec import UNSET

from gridloom.delivery import plan_store
from gridloom.delivery.codec import pack, unpack
from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance import deviations, energy_use, performance, recording, routes, store
from gridloom.delivery.performance.deviations import find_offset_kwh
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance
from gridloom.delivery.performance.recording import unpack_days
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden
from gridloom.kernel.window import Window
from gridloom.market_calendar import market_day_periods
from gridloom.virtual_assets.allocation import DISPATCH_JOB

pytestmark = pytest.mark.pure


class TestAnOffset:
    """Of a battery of which the last of three quarter-hours counts; what was measured before is old."""

    @pytest.mark.parametrize(
        ("measured_soc", "is_planned", "offset_kwh"),
        [
            pytest.param(52.1, True, 42.0, id="more than 2 % of what it holds"),
            pytest.param(47.9, True, -42.0, id="or less"),
            pytest.param(51.9, True, None, id="within 2 %"),
            pytest.param(60.0, False, None, id="while nothing is planned"),
            pytest.param(np.nan, True, None, id="where nothing was measured"),
        ],
    )
    def test_is_what_the_battery_holds_more_than_planned(
        self, measured_soc: float, is_planned: bool, offset_kwh: float | None
    ) -> None:
        planned = np.array([not is_planned, not is_planned, is_planned])
        energy_kwh, capacity_kwh = np.array([100.0, 300.0, 1000.0]), np.array([500.0, 1000.0, 2000.0])
        dispatch = DispatchSeries(1, 0, planned, energy_kwh, energy_kwh, capacity_kwh, {})
        nothing = MeasuredMean(np.zeros(3), np.zeros(3))
        measured = Measurements(nothing, nothing, np.array([10.0, 90.0, measured_soc]))
        assert find_offset_kwh(Performance(dispatch, measured)) == offset_kwh


class TestADeviation:
    """Of a battery of 2 MWh: 40 kW are tolerated, or 5 % of what it must do where that is more."""

    @pytest.mark.parametrize(
        ("asked_kw", "measured_kw", "reserve_kw", "deviates"),
        [
            pytest.param(0.0, 39.0, 0.0, False, id="at rest, within 2 % of its energy"),
            pytest.param(0.0, 41.0, 0.0, True, id="at rest, beyond it"),
            pytest.param(-1000.0, -951.0, 0.0, False, id="within 5 % of its power"),
            pytest.param(-1000.0, -949.0, 0.0, True, id="beyond 5 % of its power"),
            pytest.param(400.0, 361.0, 0.0, False, id="within 2 % of its energy, which is more than 5 % of its power"),
            pytest.param(400.0, 61.0, 300.0, False, id="as far as reserved power may explain it"),
            pytest.param(400.0, 59.0, 300.0, True, id="beyond what reserved power explains"),
        ],
    )
    def test_is_beyond_what_meters_and_reserved_power_explain(
        self, asked_kw: float, measured_kw: float, reserve_kw: float, deviates: bool
    ) -> None:
        nothing = np.zeros(1)
        parts = {(PartKind.VIRTUAL, 1): np.array([asked_kw]), (PartKind.FCR, 1): np.array([reserve_kw])}
        dispatch = DispatchSeries(1, 0, np.ones(1, dtype=bool), nothing, nothing, np.array([2000.0]), parts)
        measured = MeasuredMean(np.array([measured_kw]), np.ones(1))
        found = Performance(dispatch, Measurements(measured, MeasuredMean(nothing, nothing), np.full(1, np.nan)))
        assert found.deviates.tolist() == [deviates]


NOTHING: Any = None
NAN = np.nan
DAYS = [date(2026, 7, 1) + timedelta(days=day) for day in range(5)]
FIRSTS = [market_day_periods(day)[0] for day in DAYS]


class TestTheSummary:
    """Of six quarter-hours: the second was not planned, and the last two are to come; of one of these some is measured
    already."""

    FIRST = 2_000_000

    def _performance(self) -> Performance:
        dispatch = DispatchSeries(
            1,
            self.FIRST,
            np.array([True, False, True, True, True, True]),
            np.array([900.0, 0.0, 800.0, 760.0, 700.0, 600.0]),
            np.zeros(6),
            np.full(6, 2000.0),
            {
                (PartKind.VIRTUAL, 1): np.array([300.0, 0.0, -800.0, 0.0, 200.0, 300.0]),
                (PartKind.OWN, 0): np.array([100.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
                (PartKind.FCR, 1): np.full(6, 77.0),
            },
        )
        active = MeasuredMean(
            np.array([300.0, 50.0, -900.0, 20.0, 100.0, NAN]), np.array([1.0, 1.0, 0.5, 0.25, 0.5, 0.0])
        )
        reserve = MeasuredMean(np.array([-40.0, 0.0, 0.0, NAN, 0.0, NAN]), np.array([1.0, 1.0, 0.5, 0.0, 0.5, 0.0]))
        return Performance(dispatch, Measurements(active, reserve, np.array([50.0, 51.0, NAN, 40.0, NAN, NAN])))

    def test_counts_what_was_planned_and_has_passed_or_was_measured(self) -> None:
        found = self._performance()
        counts = routes._find_counted(found, self.FIRST + 4)
        assert counts.tolist() == [True, False, True, True, True, False]
        assert routes._find_counted(found, self.FIRST + 5).tolist() == [True, False, True, True, True, False]
        passed = routes._find_counted(found, self.FIRST + 6)
        assert passed.tolist() == [True, False, True, True, True, True]
        assert routes._sum_up(found, passed, UNSET).measured_periods == 4
        summary = routes._sum_up(found, counts, 12.5)
        assert summary == routes.PerformanceSummary(
            measured_periods=4,
            measured_share=0.5625,
            assumed_energy=125.0,
            charged_energy=212.5,
            discharged_energy=113.75,
            measured_energy_share=round(1 - 125 / 350, 6),
            earned_per_mw=12.5,
            asked_energy=350.0,
            delivered_energy=322.5,
            energy_deviation=-38.75,
            availability_delivered=round(322.5 / 350, 6),
            state_of_charge_drift=2.0,
        )

    def test_of_nothing_says_nothing_of_shares(self) -> None:
        summary = routes._sum_up(self._performance(), np.zeros(6, dtype=bool), UNSET)
        assert (summary.measured_share, summary.measured_energy_share) == (UNSET, UNSET)
        assert (summary.availability_delivered, summary.asked_energy) == (UNSET, 0.0)

    def test_has_deviations_only_of_what_counts(self) -> None:
        found = self._performance()
        columns = routes._performance_columns(found, routes._find_counted(found, self.FIRST + 4))
        expected = {
            "dispatchedPower": [400.0, 0.0, -800.0, 0.0, 200.0, 300.0],
            "plannedStateOfChargePercentage": [45.0, 0.0, 40.0, 38.0, 35.0, 30.0],
            "powerDeviation": [-60.0, NAN, -50.0, 5.0, -50.0, NAN],
            "energyDeviation": [-15.0, NAN, -12.5, 1.25, -12.5, NAN],
            "reserveResponse": [-40.0, 0.0, 0.0, NAN, 0.0, NAN],
            "availabilityDelivered": [0.85, NAN, 1.0, NAN, 0.75, NAN],
            "stateOfChargeDrift": [5.0, 51.0, NAN, 2.0, NAN, NAN],
        }
        assert {name: columns[name].tolist() for name in expected} == {
            name: pytest.approx(row, nan_ok=True) for name, row in expected.items()
        }


def recorded(day: date, value: float) -> bytes:
    """A day on which the power was `value` for half of each quarter-hour, the state of charge the quarter-hour."""
    first, end = market_day_periods(day)
    count = end - first
    return pack(
        {
            "active": np.full(count, value),
            "active_share": np.full(count, 0.5),
            "reserve": np.full(count, -value),
            "reserve_share": np.full(count, 0.25),
            "soc": np.arange(count, dtype=np.float64),
        }
    )


class TestMeasurements:
    def test_are_completed_where_nothing_was_measured(self) -> None:
        def mean(values: list[float], share: list[float]) -> MeasuredMean:
            return MeasuredMean(np.array(values), np.array(share))

        live = Measurements(mean([1.0, NAN], [0.5, 0.0]), mean([NAN, 2.0], [0.0, 0.125]), np.array([NAN, 3.0]))
        kept = Measurements(mean([9.0, 4.0], [1.0, 0.25]), mean([5.0, 8.0], [0.75, 1.0]), np.array([7.0, 8.0]))
        found = live.completed_by(kept)
        assert (found.active_kw.mean.tolist(), found.active_kw.share.tolist()) == ([1.0, 4.0], [0.5, 0.25])
        assert (found.reserve_kw.mean.tolist(), found.reserve_kw.share.tolist()) == ([5.0, 2.0], [0.75, 0.125])
        assert found.soc.tolist() == [7.0, 3.0]

    def test_of_recorded_days_are_those_of_their_periods(self) -> None:
        bodies = {DAYS[0]: recorded(DAYS[0], 10.0), DAYS[1]: recorded(DAYS[1], 20.0)}
        found = unpack_days(bodies, FIRSTS[1] - 2, FIRSTS[2] + 1)
        assert found.active_kw.mean.tolist() == pytest.approx([10.0] * 2 + [20.0] * 96 + [NAN], nan_ok=True)
        assert found.active_kw.share.tolist() == [0.5] * 98 + [0.0]
        assert found.reserve_kw.mean.tolist() == pytest.approx([-10.0] * 2 + [-20.0] * 96 + [NAN], nan_ok=True)
        assert found.soc.tolist() == pytest.approx([94.0, 95.0, *range(96), NAN], nan_ok=True)

    async def test_are_read_from_telemetry_where_there_is_no_record_or_newer_points_than_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of five days the last has no record, and there are points of the second that are in none: the day after it
        may begin with one of them. Each reading of telemetry misses its first quarter-hour."""
        first, end, asked = FIRSTS[0] + 90, FIRSTS[4] + 3, []

        async def read_segment_days(db: Any, key: int, since: date, until: date) -> set[date]:
            assert (since, until) == (DAYS[0] - timedelta(days=1), DAYS[4])
            return {DAYS[1]}

        async def read_measured_days(db: Any, key: int, since: date, until: date, as_of: Any) -> dict[date, bytes]:
            assert (since, until) == (DAYS[0], DAYS[4])
            return {day: recorded(day, float(place)) for place, day in enumerate(DAYS[:4])}

        async def read_telemetry(db: Any, key: int, low: int, high: int) -> Measurements:
            asked.append((low, high))
            mean, share = np.full(high - low, 500.0), np.ones(high - low)
            mean[0], share[0] = NAN, 0.0
            return Measurements(MeasuredMean(mean, share), MeasuredMean(mean, share), mean)

        monkeypatch.setattr(store, "read_segment_days", read_segment_days)
        monkeypatch.setattr(store, "read_measured_days", read_measured_days)
        monkeypatch.setattr(performance, "read_telemetry", read_telemetry)
        found = await performance.load_measurements(NOTHING, 7, first, end)
        assert asked == [(FIRSTS[1], FIRSTS[3]), (FIRSTS[4], end)]
        expected = [0.0] * 6 + [1.0] + [500.0] * 191 + [3.0] * 96 + [NAN, 500.0, 500.0]
        assert found.active_kw.mean.tolist() == pytest.approx(expected, nan_ok=True)
        asked.clear()
        then = await performance.load_measurements(NOTHING, 7, first, end, datetime(2026, 8, 1, tzinfo=UTC))
        expected = [0.0] * 6 + [1.0] * 96 + [2.0] * 96 + [3.0] * 96 + [NAN] * 3
        assert then.active_kw.mean.tolist() == pytest.approx(expected, nan_ok=True)
        assert asked == []


class TestAsOfAnInstant:
    async def test_are_dispatch_and_measurements_as_they_were_recorded_then(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []
        then = datetime(2026, 8, 1, tzinfo=UTC)

        def note(answer: Any) -> Any:
            async def call(db: Any, *given: Any) -> Any:
                asked.append(given)
                return answer

            return call

        for name in ("load_dispatch", "load_measurements"):
            monkeypatch.setattr(performance, name, note(None))
        await performance.load_performance(NOTHING, 7, FIRSTS[0], FIRSTS[1], then)
        monkeypatch.setattr(store, "read_measured_days", note({DAYS[0]: recorded(DAYS[0], 10.0)}))
        found = await recording.read_recorded(NOTHING, 7, FIRSTS[0], FIRSTS[1], DAYS[:1], then)
        assert found.active_kw.mean.tolist() == [10.0] * 96
        assert asked == [(7, FIRSTS[0], FIRSTS[1], then)] * 2 + [(7, DAYS[0], DAYS[0], then)]


class TestRecordedDays:
    @pytest.mark.parametrize("days", [(0, 1, 2, 3), ()])
    async def test_are_added_where_what_was_measured_is_not_what_is_recorded(
        self, monkeypatch: pytest.MonkeyPatch, days: tuple[int, ...]
    ) -> None:
        """Of the first nothing is another; nothing is left of the second; of the third and the fourth nothing is
        recorded, and of the third nothing was measured either."""
        done: list[Any] = []
        now = datetime(2026, 8, 1, tzinfo=UTC)
        nothing = pack({name: np.zeros(96) for name in ("active_share", "reserve_share", "active", "reserve", "soc")})
        bodies = {
            DAYS[0]: recorded(DAYS[0], 10.0),
            DAYS[1]: nothing,
            DAYS[2]: nothing,
            DAYS[3]: recorded(DAYS[3], 40.0),
        }

        async def lock_measured(db: Any, key: int) -> None:
            done.append(("locked", key))

        async def read_measured_days(db: Any, key: int, since: date, until: date) -> dict[date, bytes]:
            assert done == [("locked", 7)]
            assert (key, since, until) == (7, DAYS[0], DAYS[3])
            return {DAYS[0]: recorded(DAYS[0], 10.0), DAYS[1]: recorded(DAYS[1], 20.0)}

        async def read_telemetry(db: Any, key: int, first: int, end: int) -> Measurements:
            [day] = [day for day in DAYS[:4] if market_day_periods(day) == (first, end)]
            return unpack_days({day: bodies[day]}, first, end)

        async def add_measured_days(db: Any, key: int, new: list[date], packed: list[bytes], then: datetime) -> None:
            done.append((key, dict(zip(new, [unpack(one)["active"][5] for one in packed], strict=True)), then))

        for fake in (lock_measured, read_measured_days, add_measured_days):
            monkeypatch.setattr(store, fake.__name__, fake)
        monkeypatch.setattr(recording, "read_telemetry", read_telemetry)
        count = await recording.record_measured_days(NOTHING, 7, [DAYS[place] for place in days], now)
        added = [("locked", 7), (7, {DAYS[1]: 0.0, DAYS[3]: 40.0}, now)]
        assert (count, done) == ((2, added) if days else (0, []))


class TestDispatchedPower:
    @pytest.fixture(autouse=True)
    def instants(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """By versions, the power is the number of the quarter-hour since the first day; of which instants is noted."""
        asked: list[Any] = []

        async def load_dispatch(db: Any, key: int, first: int, end: int, as_of: Any = None) -> Any:
            asked.append(as_of)
            return SimpleNamespace(power_kw=np.arange(first, end) - float(FIRSTS[0]))

        monkeypatch.setattr(energy_use, "load_dispatch", load_dispatch)
        return asked

    async def test_is_from_recorded_days_that_are_whole_and_were_over_and_from_versions_else(
        self, monkeypatch: pytest.MonkeyPatch, instants: list[Any]
    ) -> None:
        async def read_dispatched_days(*_: Any) -> Any:
            return {DAYS[place]: [-1.0 - place] * 96 for place in (0, 1, 3)}

        monkeypatch.setattr(store, "read_dispatched_days", read_dispatched_days)
        first, end = FIRSTS[0] + 90, FIRSTS[3] + 2
        read = energy_use._load_dispatched_kw
        by_versions = np.arange(90.0, 290.0)
        by_records = by_versions.copy()
        by_records[6:102] = -2.0
        assert (await read(NOTHING, 7, first, end, None)).tolist() == by_records.tolist()
        over = period_start(FIRSTS[2])
        assert (await read(NOTHING, 7, first, end, over)).tolist() == by_records.tolist()
        before = over - timedelta(milliseconds=1)
        assert (await read(NOTHING, 7, first, end, before)).tolist() == by_versions.tolist()
        assert instants == [None, None, over, over, before]
        whole = await read(NOTHING, 7, FIRSTS[0], FIRSTS[4], None)
        assert whole[[0, 95, 96, 191, 192, 287, 288, 383]].tolist() == [-1, -1, -2, -2, 192, 287, -4, -4]

    async def test_is_summed_up_over_day_and_year_where_it_exports(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def load_dispatched_kw(db: Any, key: int, first: int, end: int, as_of: Any) -> Any:
            assert (first, end) == (market_day_periods(date(2026, 1, 1))[0], FIRSTS[2] + 3)
            power_kw = np.zeros(end - first)
            power_kw[-3:], power_kw[-4], power_kw[0] = (400.0, -40.0, 8.0), 80.0, 1200.0
            return power_kw

        monkeypatch.setattr(energy_use, "_load_dispatched_kw", load_dispatched_kw)
        assert await energy_use.load_exported_kwh(NOTHING, 7, FIRSTS[2] + 3) == (102.0, 422.0)

    async def test_is_recorded_for_the_days_since_the_last_that_was_two_weeks_at_most(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        today, added = DAYS[4], []

        async def read_last_dispatched_days(*_: Any) -> Any:
            return {7: DAYS[1], 8: DAYS[3]}

        async def add_dispatched_days(db: Any, key: int, days: list[date], powers: list[list[float]]) -> None:
            added.append((key, days, [(row[0], len(row)) for row in powers]))

        monkeypatch.setattr(store, "read_last_dispatched_days", read_last_dispatched_days)
        monkeypatch.setattr(store, "add_dispatched_days", add_dispatched_days)
        await energy_use.record_dispatched_days(NOTHING, [7, 8, 9], today)
        assert added == [
            (7, DAYS[2:4], [(192.0, 96), (288.0, 96)]),
            (
                9,
                [today - timedelta(days=back) for back in range(14, 0, -1)],
                [(384.0 - 96 * back, 96) for back in range(14, 0, -1)],
            ),
        ]


class TestPowerBeforeAWindow:
    @pytest.mark.parametrize(
        ("day", "hours", "recorded_days", "live"),
        [
            pytest.param(date(2026, 1, 3), 4, 2, 4, id="by recorded days and by telemetry of its own"),
            pytest.param(date(2026, 1, 3), 0, 2, 0, id="by recorded days where it begins with one"),
            pytest.param(date(2026, 1, 1), 3, 0, 3, id="by telemetry on the first day of the year"),
            pytest.param(date(2026, 1, 1), 0, 0, 0, id="none where it begins with the year"),
        ],
    )
    async def test_is_what_was_measured(
        self, monkeypatch: pytest.MonkeyPatch, day: date, hours: int, recorded_days: int, live: int
    ) -> None:
        """Half of each quarter-hour was recorded at 200 kW, or is measured at 300; 100 were dispatched."""

        then = datetime(2026, 8, 1, tzinfo=UTC)

        def measured(first: int, end: int, value: float) -> Measurements:
            mean = MeasuredMean(np.full(end - first, value), np.full(end - first, 0.5))
            return Measurements(mean, mean, mean.mean)

        async def load_dispatched_kw(db: Any, key: int, first: int, end: int, as_of: Any) -> Any:
            assert as_of == then
            return np.full(end - first, 100.0)

        async def read_recorded(db: Any, key: int, first: int, end: int, days: list[date], as_of: Any) -> Any:
            assert as_of == then
            assert days == [date(2026, 1, 1 + number) for number in range(recorded_days)]
            return measured(first, end, 200.0)

        async def load_measurements(db: Any, key: int, first: int, end: int, as_of: Any) -> Any:
            assert as_of == then
            return measured(first, end, 300.0)

        monkeypatch.setattr(energy_use, "_load_dispatched_kw", load_dispatched_kw)
        monkeypatch.setattr(energy_use, "read_recorded", read_recorded)
        monkeypatch.setattr(energy_use, "load_measurements", load_measurements)
        year_first = market_day_periods(date(2026, 1, 1))[0]
        first = market_day_periods(day)[0] + 4 * hours
        found = await energy_use._load_earlier_kw(NOTHING, 7, year_first, first, then)
        assert found.tolist() == [150.0] * 96 * recorded_days + [200.0] * 4 * live

    def test_has_a_limit_of_cycles_only_where_the_battery_has_one(self) -> None:
        use = energy_use.EnergyUse(FIRSTS[0], FIRSTS[1], 10.0, 20.0, 0.5, None)
        assert routes._view_energy_use(use).cycle_limit is UNSET
        limited = routes._view_energy_use(replace(use, cycle_limit=1.5))
        assert (limited.cycle_limit, limited.throughput, limited.end) == (1.5, 30.0, period_start(FIRSTS[1]))


class TestWhatABatteryEarned:
    @pytest.mark.parametrize(
        ("may_read", "earned", "shown"),
        [(True, 8.125, 8.12), (True, 0.0, 0.0), (True, None, UNSET), (False, 8.125, UNSET)],
    )
    async def test_is_that_of_the_window_as_of_the_instant_for_those_who_may_read_revenue(
        self, monkeypatch: pytest.MonkeyPatch, may_read: bool, earned: float | None, shown: Any
    ) -> None:
        window, then = Window(period_start(FIRSTS[0]), period_start(FIRSTS[1])), datetime(2026, 8, 1, tzinfo=UTC)

        async def authorize(db: Any, caller: Any, asset_id: UUID, permission: Permission) -> None:
            assert (caller, asset_id, permission) == ("the caller", UUID(int=7), Permission.READ_REVENUE)
            if not may_read:
                raise Forbidden("No.")

        async def read_earned(db: Any, key: int, of: Window, as_of: datetime | None) -> float | None:
            assert (key, of, as_of) == (7, window, then)
            return earned

        monkeypatch.setattr(routes, "authorize_asset", authorize)
        monkeypatch.setattr(routes, "READ_EARNED_PER_MW", SimpleNamespace(get=lambda: read_earned))
        request: Any = SimpleNamespace(caller="the caller", path_values={"physical_asset_id": UUID(int=7)})
        asset: Any = SimpleNamespace(key=7)
        assert await routes._read_earned_per_mw(NOTHING, request, asset, window, then) == shown


class TestEnergyUseAtTheTurnOfTheYear:
    async def test_is_by_day_and_year_each_from_its_start(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From an hour into the last day of a year to two hours into the next: 40 kW, and -80 in the last quarter-hour.
        Before that 400 in three quarter-hours of the same day, and -800 at the start of the year."""
        year_first, year_end = market_day_periods(date(2026, 1, 1))[0], market_day_periods(date(2027, 1, 1))[0]
        day_first = market_day_periods(date(2026, 12, 31))[0]
        first, end = day_first + 4, year_end + 8

        async def load_earlier_kw(db: Any, key: int, since: int, until: int, as_of: Any) -> Any:
            assert (since, until) == (year_first, first)
            power_kw = np.zeros(until - since)
            power_kw[0], power_kw[-3:] = -800.0, 400.0
            return power_kw

        async def load_availability(db: Any, keys: Any, window: Any) -> Any:
            rated = np.full((end - year_first, 3), 2000.0)
            rated[day_first - year_first :, :2], rated[-8:, 2] = 9.0, 500.0
            return {7: SimpleNamespace(rated=rated)}

        async def read_parameters(*_: Any) -> Any:
            def valid(since: datetime, daily: float, annual: float) -> Any:
                return SimpleNamespace(valid_from=since, daily_cycle_limit=daily, annual_cycle_limit=annual)

            return [
                valid(period_start(year_first), 1.0, 100.0),
                valid(period_start(year_end - 1), 2.0, 200.0),
                valid(period_start(end - 1) + timedelta(seconds=1), 3.0, 300.0),
            ]

        monkeypatch.setattr(energy_use, "_load_earlier_kw", load_earlier_kw)
        monkeypatch.setattr(energy_use, "load_availability", load_availability)
        monkeypatch.setattr(energy_use, "read_parameters", read_parameters)
        window_kw = np.full(end - first + 5, 40.0)
        window_kw[end - first - 1] = -80.0
        nothing = MeasuredMean(np.full(len(window_kw), NAN), np.zeros(len(window_kw)))
        dispatch: Any = SimpleNamespace(first=first, power_kw=window_kw)
        found = Performance(dispatch, Measurements(nothing, nothing, window_kw))
        uses = await energy_use.load_energy_use(NOTHING, 7, found, end, None)
        assert uses.days == [
            energy_use.EnergyUse(day_first, year_end, 0.0, 1220.0, uses.days[0].cycles, 2.0),
            energy_use.EnergyUse(year_end, end, 20.0, 70.0, uses.days[1].cycles, 2.0),
        ]
        assert uses.years == [
            energy_use.EnergyUse(year_first, year_end, 200.0, 1220.0, uses.years[0].cycles, 200.0),
            energy_use.EnergyUse(year_end, end, 20.0, 70.0, uses.years[1].cycles, 200.0),
        ]
        assert [one.cycles for one in (*uses.days, *uses.years)] == pytest.approx([0.61, 0.14, 0.61, 0.14])
        assert [one.throughput_kwh for one in uses.days] == [1220.0, 90.0]
        assert await energy_use.load_energy_use(NOTHING, 7, found, first, None) == energy_use.EnergyUses([], [])


class TestZonesThatAreMeasured:
    @pytest.mark.parametrize(("minute", "since"), [(4, -2), (5, -1), (19, -1), (20, 0)])
    async def test_are_those_with_telemetry_of_the_quarter_hour_that_has_passed_five_minutes_ago(
        self, monkeypatch: pytest.MonkeyPatch, minute: int, since: int
    ) -> None:
        hour = datetime(2026, 7, 1, 10, tzinfo=UTC)

        async def read_measured_keys(db: Any, instant: datetime) -> dict[str, list[int]]:
            assert instant == hour + since * timedelta(minutes=15)
            return {"TenneT": [1], "50Hertz": [2]}

        monkeypatch.setattr(input_store, "read_measured_keys", read_measured_keys)
        found = await deviations.read_measured_zones(NOTHING, hour + timedelta(minutes=minute))
        assert found == ["50Hertz", "TenneT"]


class TestACheckOfAZone:
    async def test_looks_at_batteries_that_are_planned_and_were_measured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first deviates in both quarter-hours, the second did so before, the third only in the last; what was
        measured of the fourth's state of charge is of before its plan was moved; the fifth is not planned and the sixth
        not measured."""
        due = datetime(2026, 7, 1, 10, 5, tzinfo=UTC)
        end = period_number(due - timedelta(minutes=5))
        deviates = {
            1: [False, True, True],
            2: [True, True, True],
            3: [False, False, True],
            4: [False, True, False],
        }
        offsets = {1: None, 2: None, 3: 12.0, 4: 13.0}
        events: list[Any] = []
        corrected: list[Any] = []
        enqueued: list[Any] = []

        def answer(given: Any) -> Any:
            async def call(*_: Any) -> Any:
                return given

            return call

        async def read_batteries(db: Any, keys: list[int]) -> Any:
            return [SimpleNamespace(key=key, id=UUID(int=key), organisation_id=UUID(int=70 + key)) for key in keys]

        async def load_performance(db: Any, key: int, first: int, until: int) -> Any:
            assert (first, until) == (end - 3, end)
            power_kw, counted_kw = np.array([9.0, 400.0, 80.0]), np.array([9.0, 40.0, 20.0])
            dispatch = SimpleNamespace(power_kw=power_kw)
            return SimpleNamespace(key=key, deviates=np.array(deviates[key]), dispatch=dispatch, counted_kw=counted_kw)

        async def record_event(db: Any, **told: Any) -> None:
            names = ("type", "subject", "permission", "asset_key", "organisation_id", "data")
            events.append(tuple(told[name] for name in names))

        async def put_soc_correction(db: Any, *given: Any) -> None:
            corrected.append(given)

        async def enqueue(db: Any, *given: Any, **how: Any) -> None:
            enqueued.append((given, how["key"], how["due"]))

        monkeypatch.setattr(plan_store, "read_planned_batteries", answer([1, 2, 3, 4, 6]))
        monkeypatch.setattr(input_store, "read_measured_keys", answer({"TenneT": [1, 2, 3, 4, 5]}))
        monkeypatch.setattr(input_store, "read_batteries", read_batteries)
        monkeypatch.setattr(store, "read_applied", answer({3: end - 1, 4: end}))
        monkeypatch.setattr(store, "put_soc_correction", put_soc_correction)
        monkeypatch.setattr(deviations, "load_performance", load_performance)
        monkeypatch.setattr(deviations, "find_offset_kwh", lambda found: offsets[found.key])
        monkeypatch.setattr(deviations, "record_event", record_event)
        monkeypatch.setattr(deviations, "enqueue", enqueue)
        run: Any = SimpleNamespace(db=None, key="TenneT", due=due)
        await deviations.check_zone(run)
        span = {"start": period_start(end - 2), "end": period_start(end)}
        told = ("dispatch.deviation", f"physical-assets/{UUID(int=1)}", Permission.READ_MONITORING)
        assert events == [(*told, 1, UUID(int=71), {**span, "asked": 120.0, "delivered": 15.0})]
        assert corrected == [(3, end - 1, 12.0)]
        assert enqueued == [((DISPATCH_JOB,), "TenneT", due)]
        offsets[3] = None
        await deviations.check_zone(run)
        assert len(enqueued) == 1, "nothing is planned anew where nothing was corrected"
        monkeypatch.setattr(plan_store, "read_planned_batteries", answer([]))
        await deviations.check_zone(run)
        assert len(events) == 2
