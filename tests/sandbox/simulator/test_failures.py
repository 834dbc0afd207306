"""What fails in the simulated world: how much, how long, and whether its owner says so."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.sandbox.simulator import random_streams
from gridloom.sandbox.simulator.participants.failures import LONG_FAILURE, NEW_DAYS, draw_outages
from gridloom.sandbox.simulator.scenario import BATTERIES
from gridloom.sandbox.simulator.state import FailureKind, SimulatedOutage, SimulatorState

pytestmark = pytest.mark.pure

FIRST, DAYS = date(2026, 10, 20), 28


def live(seed: int, days: int = DAYS, *, begun: date | None = None) -> list[SimulatedOutage]:
    memory = SimulatorState(world=1, seeds={}, begun=begun)
    for day in (FIRST + timedelta(days=n) for n in range(days)):
        context: Any = SimpleNamespace(
            memory=memory,
            market_data=SimpleNamespace(seed_of=lambda _: seed),
            chance=lambda purpose, *place: random_streams.stream(seed, purpose, *place),
        )
        draw_outages(context, day)
    return memory.outages


@pytest.mark.parametrize("seed", range(1, 6))
def test_leave_batteries_available_as_real_ones_are_and_one_of_them_out_for_a_week(seed: int):
    outages = live(seed)
    lost = sum(((one.end - one.start) * one.missing for one in outages), timedelta())
    assert 0.95 <= 1 - lost / timedelta(days=DAYS * len(BATTERIES)) <= 0.98
    assert {one.kind for one in outages} == set(FailureKind) - {FailureKind.ORDERED}
    assert {one.end - one.start for one in outages if one.kind is FailureKind.LONG} == {LONG_FAILURE}
    assert all(one.planned == (one.kind is FailureKind.MAINTENANCE) for one in outages)
    assert {one.is_unsaid for one in outages if not one.planned} == {True, False}


@pytest.mark.parametrize("seed", range(1, 21))
def test_keep_one_out_for_a_week_within_the_first_four_weeks_of_a_world(seed: int):
    [long] = [one for one in live(seed, begun=FIRST) if one.kind is FailureKind.LONG]
    assert FIRST + timedelta(days=NEW_DAYS) <= long.start.date()
    assert long.end.date() <= FIRST + timedelta(days=DAYS)


def test_never_fall_on_what_is_out_of_order_already():
    by_battery: dict[str, list[tuple[datetime, datetime]]] = {}
    for one in live(1, 200):
        by_battery.setdefault(one.battery, []).append((one.start, one.end))
    for spans in by_battery.values():
        ordered = sorted(spans)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered))


def test_spare_batteries_that_are_new():
    assert live(1, NEW_DAYS, begun=FIRST) == []
    assert live(1, DAYS, begun=FIRST)


@pytest.mark.parametrize(
    ("known", "minutes", "says"),
    [
        ({"planned": True}, -600, True),
        ({"planned": False}, -1, False),
        ({"planned": False}, 0, True),
        ({"planned": False, "said_after_min": 30}, 15, False),
        ({"planned": False, "said_after_min": 30}, 30, True),
        ({"planned": False, "is_unsaid": True}, 30, False),
        ({"planned": False, "announced": True}, 30, False),
    ],
    ids=str,
)
def test_are_announced_once_when_they_are_seen(known: dict[str, Any], minutes: int, says: bool):
    start = datetime(2026, 11, 1, 12, tzinfo=UTC)
    outage = SimulatedOutage("herne", start, start + timedelta(hours=1), 1.0, **known)
    assert outage.is_due(start + timedelta(minutes=minutes)) is says
