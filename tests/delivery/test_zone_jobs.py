"""The jobs of a zone: what is planned, and what is taken back once nothing is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import asyncpg
import numpy as np
import pytest
from tests.delivery.zones import even_limits

from gridloom.delivery import plan_store
from gridloom.delivery.codec import unpack
from gridloom.delivery.dispatch import store as dispatch_store
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.runs import release
from gridloom.delivery.runs import run as runs
from gridloom.delivery.runs import store as run_store
from gridloom.delivery.runs.due_gates import planning_window
from gridloom.kernel.market_time import period_number_from

pytestmark = pytest.mark.pure

NOW = datetime(2026, 7, 1, 10, 1, tzinfo=UTC)
END = planning_window(NOW).end
BRIEFLY = timedelta(microseconds=1)
ZONE = "TenneT"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The names of what a job calls, in order; times with those that are asked for."""
    found: list[Any] = []

    def note(name: str) -> Any:
        async def call(db: Any, *args: Any, **how: Any) -> None:
            assert "due" not in how or how["keep_earlier_due"], "what is due earlier stays"
            found.append((name, how["due"]) if "due" in how else name)

        return call

    async def platform_now(db: Any) -> datetime:
        return NOW

    for name in ("_try_plan_zone", "close_zone", "dispatch_released", "enqueue_placement", "enqueue"):
        monkeypatch.setattr(runs, name, note(name))
    monkeypatch.setattr(runs, "platform_now", platform_now)
    monkeypatch.setattr(runs, "wait_for_writers", note("wait"))
    return found


def find_zone(
    monkeypatch: pytest.MonkeyPatch,
    next_start: datetime | None,
    planned: tuple[int, ...] | None = None,
    called: list[Any] | None = None,
) -> None:
    """A zone by when its next virtual asset starts and by the batteries of its plan; `called` has when it is locked."""

    async def read_status(db: Any, zone: str, now: datetime) -> Any:
        return None if next_start is None else SimpleNamespace(next_asset_start=next_start, gate_closure_s=480)

    async def lock_zone(db: Any, zone: str) -> Any:
        if called is not None:
            called.append("lock")
        return SimpleNamespace(plan=None if planned is None else SimpleNamespace(battery_keys=np.array(planned)))

    async def read_delivery_zone(db: Any, key: int) -> str | None:
        return ZONE if key else None

    monkeypatch.setattr(runs, "read_one_zone_status", read_status)
    monkeypatch.setattr(plan_store, "lock_zone", lock_zone)
    monkeypatch.setattr(input_store, "read_delivery_zone", read_delivery_zone)


def run_of(key: str) -> Any:
    return SimpleNamespace(db=None, key=key)


class TestAZone:
    @pytest.mark.parametrize(
        ("next_start", "done"),
        [
            pytest.param(
                NOW, ["_try_plan_zone", "enqueue_placement", ("enqueue", NOW + timedelta(minutes=6))], id="now"
            ),
            pytest.param(
                END - BRIEFLY,
                ["_try_plan_zone", "enqueue_placement", ("enqueue", NOW + timedelta(minutes=6))],
                id="late tomorrow",
            ),
            pytest.param(
                END, ["close_zone", "enqueue_placement", ("enqueue", END - timedelta(days=1))], id="the day after"
            ),
            pytest.param(None, ["close_zone"], id="never"),
        ],
    )
    async def test_is_planned_while_a_virtual_asset_lives_in_it_today_or_tomorrow(
        self, called: list[Any], monkeypatch: pytest.MonkeyPatch, next_start: datetime | None, done: list[Any]
    ) -> None:
        find_zone(monkeypatch, next_start, called=called)
        await runs.dispatch_zone(run_of(ZONE))
        assert called == ["wait", "lock", *done], "those that are writing may need the zone"


class TestABatteryWhoseOwnerChangesSomething:
    @pytest.mark.parametrize(
        ("next_start", "planned", "done"),
        [
            pytest.param(None, (7,), ["close_zone", "dispatch_released"], id="in a zone without virtual assets"),
            pytest.param(END, (7,), ["close_zone", "dispatch_released"], id="in a zone without one today or tomorrow"),
            pytest.param(NOW, (6, 7), [], id="is planned"),
            pytest.param(NOW, (6, 8), ["dispatch_released"], id="beside those that are planned"),
            pytest.param(NOW, None, ["dispatch_released"], id="before the first plan"),
        ],
    )
    async def test_follows_it_unless_it_is_planned(
        self,
        called: list[Any],
        monkeypatch: pytest.MonkeyPatch,
        next_start: datetime | None,
        planned: tuple[int, ...] | None,
        done: list[Any],
    ) -> None:
        find_zone(monkeypatch, next_start, planned)
        await runs.follow_owner(run_of("7"))
        assert called == done

    async def test_and_that_is_in_no_zone_has_nothing_to_follow(
        self, called: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        find_zone(monkeypatch, None)
        await runs.follow_owner(run_of("0"))
        assert called == []


class TestARun:
    """The events and records of a run that succeeds, or fails."""

    async def _try(self, monkeypatch: pytest.MonkeyPatch, fault: Exception | None, *, is_first: bool) -> list[Any]:
        done: list[Any] = []

        def note(name: str, answer: Any = None) -> Any:
            async def call(db: Any, *given: Any) -> Any:
                done.append((name, *given))
                return answer

            return call

        async def plan_zone(*_: Any) -> None:
            if fault is not None:
                raise fault

        monkeypatch.setattr(runs, "plan_zone", plan_zone)
        monkeypatch.setattr(run_store, "record_failure", note("recorded", is_first))
        monkeypatch.setattr(run_store, "clear_failure", note("cleared"))
        monkeypatch.setattr(runs, "emit_run_failed", note("told"))
        db: Any = SimpleNamespace(transaction=transaction_of(done))
        status: Any = SimpleNamespace(delivery_zone=ZONE)
        state: Any = None
        await runs._try_plan_zone(db, status, state, NOW)
        return done

    @pytest.mark.parametrize("is_first", [True, False])
    async def test_that_fails_is_undone_recorded_and_told_when_it_is_the_first(
        self, monkeypatch: pytest.MonkeyPatch, is_first: bool
    ) -> None:
        done = await self._try(monkeypatch, ZeroDivisionError("a fault"), is_first=is_first)
        told = [("told", ZONE, NOW, "ZeroDivisionError")] if is_first else []
        assert done == ["undone", ("recorded", ZONE, NOW, "ZeroDivisionError"), *told]

    async def test_that_succeeds_clears_what_failed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert await self._try(monkeypatch, None, is_first=True) == ["done", ("cleared", ZONE)]

    async def test_is_tried_again_by_the_job_where_the_database_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(asyncpg.SerializationError):
            await self._try(monkeypatch, asyncpg.SerializationError("again"), is_first=True)


def transaction_of(done: list[Any]) -> Any:
    """In place of a transaction."""

    @asynccontextmanager
    async def transaction() -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            done.append("undone")
            raise
        done.append("done")

    return transaction


class TestABatteryThatFollowsItsOwner:
    @pytest.mark.parametrize(
        ("ahead", "planned", "was_kw", "versions", "moved"),
        [
            pytest.param(3, [True] * 3, [5.0, 5.0, 5.0], 1, [7], id="does what the owner has changed"),
            pytest.param(3, [True] * 3, [5.0, 8.0, 5.0], 1, [], id="and is told nothing where that is the same"),
            pytest.param(3, [True, True, False], [5.0] * 3, 0, None, id="not where something is not planned"),
            pytest.param(0, [], [], 0, None, id="not where its dispatch is over"),
            pytest.param(None, [], [], 0, None, id="nor where there was none"),
        ],
    )
    async def test_is_dispatched_anew_to_the_end_of_what_is_planned(
        self,
        monkeypatch: pytest.MonkeyPatch,
        ahead: int | None,
        planned: list[bool],
        was_kw: list[float],
        versions: int,
        moved: list[int] | None,
    ) -> None:
        """Its owner has scheduled 5, 8 and 5 kW; 400 kWh are stored."""
        first, added, told = period_number_from(NOW), [], []

        async def read_dispatched_until(db: Any, key: int) -> int | None:
            return None if ahead is None else first + ahead

        async def load_dispatch(db: Any, key: int, low: int, high: int) -> Any:
            assert (key, low, high) == (7, first, first + 3)
            energy_kwh = np.array([400.0, 300.0, 200.0])
            return SimpleNamespace(is_planned=np.array(planned), energy_kwh=energy_kwh, power_kw=np.array(was_kw))

        async def load_released_batteries(db: Any, keys: list[int], low: int, high: int) -> Any:
            assert (keys, low, high) == ([7], first, first + 3)
            limits = even_limits([1000.0], [2000.0], 3)
            limits = replace(limits, own_kw=np.array([[5.0, 8.0, 5.0]]), promised_kwh=np.zeros((1, 3)))
            reserves = SimpleNamespace(keys=np.zeros((0, 3), dtype=np.int64), power_kw=np.zeros((0, 3)))
            return SimpleNamespace(limits=limits, capacity_kwh=np.full((1, 3), 2000.0), reserves=reserves)

        async def add_versions(db: Any, run_id: Any, now: datetime, new: list[Any], known: Any) -> dict[int, int]:
            added.extend(new)
            assert (now, known) == (NOW, {})
            return {7: 4}

        async def emit_dispatched(db: Any, new: Any, numbers: Any, keys: Any) -> None:
            assert (new, numbers) == (added, {7: 4})
            told.append(list(keys))

        monkeypatch.setattr(dispatch_store, "read_dispatched_until", read_dispatched_until)
        monkeypatch.setattr(dispatch_store, "add_versions", add_versions)
        for fake in (load_dispatch, load_released_batteries, emit_dispatched):
            monkeypatch.setattr(release, fake.__name__, fake)
        nothing: Any = None
        await release.dispatch_released(nothing, 7, NOW)
        assert [(one.asset_key, one.first, one.end) for one in added] == [(7, first, first + 3)] * versions
        assert told == ([] if moved is None else [moved])
        for one in added:
            arrays = unpack(one.body)
            assert arrays["parts"].tolist() == [[5.0, 8.0, 5.0]]
            assert arrays["energy"].tolist() == pytest.approx([400.0 - kwh / 0.92 for kwh in (0, 1.25, 3.25, 4.5)])
