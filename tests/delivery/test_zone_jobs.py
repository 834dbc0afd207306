"""The jobs of a zone: what is planned, and what is taken back once nothing is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.delivery import plan_store
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.runs import run as runs
from gridloom.delivery.runs.due_gates import planning_window

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
    monkeypatch: pytest.MonkeyPatch, next_start: datetime | None, planned: tuple[int, ...] | None = None
) -> None:
    """A zone by when its next virtual asset starts and by the batteries of its plan."""

    async def read_status(db: Any, zone: str, now: datetime) -> Any:
        return None if next_start is None else SimpleNamespace(next_asset_start=next_start, gate_closure_s=480)

    async def lock_zone(db: Any, zone: str) -> Any:
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
        find_zone(monkeypatch, next_start)
        await runs.dispatch_zone(run_of(ZONE))
        assert called == ["wait", *done]


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
