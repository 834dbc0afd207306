"""What a zone was scheduled for, netted and left unserved, quarter-hour by quarter-hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import wire

from gridloom.delivery.zone_store import ZoneTotals, changed_totals

POWERS = st.lists(st.sampled_from([0.0, 100.0, 250.0]), min_size=1, max_size=8)


def quarters(first: int, powers: list[float]) -> ZoneTotals:
    kw = np.array(powers)
    return ZoneTotals(first, np.ones(len(kw), dtype=bool), kw, kw / 2, kw / 2, np.zeros_like(kw))


class TestWhatChanged:
    @given(POWERS, POWERS, st.integers(0, 6))
    def test_laid_over_what_was_known_is_what_is_planned_now(self, old: list[float], new: list[float], by: int):
        before, after = quarters(100, old), quarters(100 + by, new)
        changed = changed_totals(before, after)
        standing = ZoneTotals.empty(100, 120)
        for piece in (before, changed):
            if piece is not None:
                standing.overlay(piece)
        for stands, planned in zip(standing.series(), after.series(), strict=True):
            assert (stands[by : by + len(new)] == planned).all()
        assert standing.is_planned[by : by + len(new)].all()

    @given(POWERS)
    def test_is_nothing_where_all_was_planned_before(self, powers: list[float]):
        assert changed_totals(quarters(7, [*powers, 0.0]), quarters(7, powers)) is None


async def _read_zone(yard: Yard, **window: str) -> list[dict[str, Any]]:
    asked = {"start": wire(yard.start), "end": wire(yard.start + timedelta(hours=1)), **window}
    answer = await yard.operator.get("/delivery/zones", params=asked)
    assert answer.status_code == 200, answer.text
    zones = answer.json()
    assert [zone["deliveryZone"] for zone in zones] == ["TenneT"]
    read: list[dict[str, Any]] = zones[0]["quarters"]
    return read


class TestTheZones:
    async def test_say_what_was_netted_and_what_the_batteries_do(self, yard: Yard):
        one, two = await yard.battery(), await yard.battery()
        seller, buyer = await yard.virtual(one), await yard.virtual(two)
        await yard.schedule(seller, [600.0, 0.0, 300.0])
        await yard.schedule(buyer, [-400.0, -200.0, -300.0])
        await yard.gate_of(1)
        read = await _read_zone(yard)
        told = [(q["scheduledExport"], q["scheduledImport"], q["netted"], q["dispatched"]) for q in read[:3]]
        assert told == [(600, 400, 400, 200), (0, 200, 0, -200), (300, 300, 300, 0)]
        assert len(read) == 4
        assert all(quarter["unserved"] == 0 for quarter in read)

    async def test_keep_what_no_battery_could_serve_after_it_was_cut(self, yard: Yard):
        battery = await yard.battery(ratedChargePower=0)  # it cannot be charged before
        empty = {"state_of_charge": {"time": [wire(await yard.now())], "value": [0.0]}}
        told = await yard.owner.engineer.post(f"/monitoring/{battery['id']}/datapoints", json=empty)
        assert told.is_success, told.text
        await yard.schedule(await yard.virtual(battery, ratedChargePower=0), [900.0] * 2)
        await yard.gate_of(4)
        read = await _read_zone(yard)
        for quarter, power in zip(read, await yard.powers(battery, 2), strict=False):
            assert (quarter["scheduledExport"], quarter["netted"]) == (900, 0)
            assert (quarter["dispatched"], quarter["unserved"]) == (power, pytest.approx(900 - power))
            assert quarter["unserved"] > 0

    async def test_are_for_the_operator_alone(self, yard: Yard):
        assert (await yard.owner.admin.get("/delivery/zones")).status_code == 403
