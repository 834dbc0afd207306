"""What is recorded of a zone and its batteries, read back by window and instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from tests.assets import register_asset
from tests.delivery.test_replanning import loaded_zone

from gridloom.delivery.codec import pack
from gridloom.delivery.inputs.store import read_own_kw
from gridloom.delivery.inputs.zone_status_store import InputVersions, advance_final_until, read_planned_zones
from gridloom.delivery.model import CODE_OF_KIND, PartKind
from gridloom.delivery.plan_store import (
    FinalUntil,
    ZoneState,
    _array_cache,
    delete_plan,
    lock_zone,
    read_planned_batteries,
    store_final_until,
    store_plan,
)
from gridloom.delivery.planning.model import StoredInputs, ZonePlan
from gridloom.delivery.planning.replanning import replan
from gridloom.delivery.runs.store import UnheldReserve, add_shortfalls, read_shortfalls
from gridloom.delivery.zone_store import (
    ZoneTotals,
    add_netting,
    add_totals,
    read_final_until,
    read_netting,
    read_totals,
)
from gridloom.kernel.market_time import period_start


def made_plan(seed: int, virtual: int, count: int) -> tuple[ZonePlan, StoredInputs]:
    """Of ten quarter-hours, with what it was computed from."""
    zone, start = loaded_zone(seed, virtual, count, 10)
    inputs = StoredInputs(
        0,
        np.arange(2 * virtual).reshape(virtual, 2),
        np.full((virtual, 2), 0.9),
        np.arange(3.0 * virtual).reshape(virtual, 3),
        np.array([[1, 2, 3, 4]]),
        np.array([[50.0, 0.25]]),
        np.arange(count),
        zone.limits,
        zone.capacity_kwh,
    )
    return replan(zone, None, start, batteries_unchanged=False).plan, inputs


async def read_state(app: Any, zone: str) -> ZoneState:
    """As another process finds it."""
    _array_cache.pop(zone, None)
    return await lock_zone(app.pool, zone)


def all_of(plan: ZonePlan | None, inputs: StoredInputs | None) -> dict[str, Any]:
    assert plan is not None
    assert inputs is not None
    both = {"first": plan.first, "inputs first": inputs.first, **plan.arrays()}
    return {name: np.asarray(array).tolist() for name, array in (both | inputs.arrays()).items()}


class TestAPlan:
    async def test_is_read_back_as_it_was_stored_whatever_was_there_before(self, app: Any) -> None:
        """Of 70 batteries, of the same with other powers, then of fewer and of one more; another zone has its own."""
        zone, other = f"zone {uuid4()}", f"zone {uuid4()}"
        final, versions = FinalUntil(3, 7), InputVersions(b"some", {"battery": "1"})
        empty = await lock_zone(app.pool, other)
        assert (empty.run_id, empty.plan, empty.inputs, dict(empty.arrays)) == (None, None, None, {})
        assert await read_planned_batteries(app.pool, zone) == []
        before: Any = (await lock_zone(app.pool, zone)).arrays
        others = made_plan(9, 3, 4)
        await store_plan(app.pool, other, uuid4(), InputVersions(), *others, {}, FinalUntil(1, None))
        first = made_plan(1, 5, 70)
        first[0].power_kw[3, 4] += 11.0
        second = made_plan(1, 5, 70)
        second[0].virtual_kw[40:60] += 5.0
        second[0].virtual_kw[69, 9] += 7.0
        for plan, inputs in (first, second, made_plan(2, 4, 35), made_plan(3, 6, 36)):
            run_id = uuid4()
            await store_plan(app.pool, zone, run_id, versions, plan, inputs, before, final)
            cached = await lock_zone(app.pool, zone)
            state = await read_state(app, zone)
            assert (state.run_id, state.final_until, state.versions) == (run_id, 3, versions)
            assert all_of(state.plan, state.inputs) == all_of(plan, inputs) == all_of(cached.plan, cached.inputs)
            assert await read_planned_batteries(app.pool, zone) == plan.battery_keys.tolist()
            before = state.arrays
        row = "select first_period, end_period, settled_until, first_settling from delivery_zone where delivery_zone=$1"
        assert tuple(await app.pool.fetchrow(row, zone)) == (0, 10, 3, 7)
        await store_final_until(app.pool, zone, FinalUntil(5, 9))
        assert tuple(await app.pool.fetchrow(row, zone)) == (0, 10, 5, 9)
        await delete_plan(app.pool, zone)
        assert tuple(await app.pool.fetchrow(row, zone)) == (None, None, 5, None)
        gone = await lock_zone(app.pool, zone)
        assert (gone.run_id, gone.plan, gone.inputs, gone.versions) == (None, None, None, InputVersions())
        assert await read_planned_batteries(app.pool, zone) == []
        kept = await read_state(app, other)
        assert all_of(kept.plan, kept.inputs) == all_of(*others)
        assert tuple(await app.pool.fetchrow(row, other)) == (0, 10, 1, None)

    async def test_is_read_anew_where_another_process_has_stored_one_since(self, app: Any) -> None:
        zone, here, there = f"zone {uuid4()}", made_plan(1, 2, 3), made_plan(2, 2, 3)
        await lock_zone(app.pool, zone)
        await store_plan(app.pool, zone, uuid4(), InputVersions(), *here, {}, FinalUntil(1, 2))
        known = _array_cache[zone]
        await store_plan(app.pool, zone, uuid4(), InputVersions(), *there, known[1], FinalUntil(1, 2))
        _array_cache[zone] = known
        state = await lock_zone(app.pool, zone)
        assert all_of(state.plan, state.inputs) == all_of(*there) != all_of(*here)

    async def test_of_an_earlier_release_is_read_from_its_one_piece_until_the_next_is_stored(self, app: Any) -> None:
        zone, powers = f"zone {uuid4()}", np.array([[30.0, 20.0]])
        packed = pack(
            {
                "asset_keys": np.array([7]),
                "battery_keys": np.array([10, 12]),
                "power_kw": powers,
                "virtual_kw": np.array([[30.0, 20.0], [0.0, 0.0]]),
                "own_kw": np.zeros((2, 2)),
                "energy_kwh": np.ones((2, 3)),
                "unserved_kw": np.zeros(2),
                "due_kwh": np.ones((2, 3)),
                "netted_part": np.zeros((2, 2)),
                "part_of": np.array([[0, CODE_OF_KIND[PartKind.VIRTUAL], 7]]),
                "part_kw": powers,
            }
        )
        await app.pool.execute(
            "insert into delivery_zone (delivery_zone, first_period, settled_until, plan) values ($1, 96, 97, $2)",
            zone,
            packed,
        )
        assert await read_planned_batteries(app.pool, zone) == [10, 12]
        state = await lock_zone(app.pool, zone)
        assert state.plan is not None
        assert (state.plan.first, state.plan.end, state.final_until) == (96, 98, 97)
        assert (state.plan.battery_keys.tolist(), state.inputs, state.arrays) == ([10, 12], None, {})
        plan, inputs = made_plan(1, 2, 3)
        await store_plan(app.pool, zone, uuid4(), InputVersions(), plan, inputs, state.arrays, FinalUntil(1, 2))
        later = await read_state(app, zone)
        assert all_of(later.plan, later.inputs) == all_of(plan, inputs)
        assert await read_planned_batteries(app.pool, zone) == plan.battery_keys.tolist()


class TestAnOwnersSchedule:
    async def test_is_read_within_the_window(self, app: Any, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        key, first = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id)), 2_150_000
        await app.pool.executemany(
            "insert into physical_schedule (asset_key, period, power_kw) values ($1, $2, $3)",
            [(key, period_start(first + n), float(n + 2)) for n in range(-1, 4)],
        )
        other = key + 1_000_000
        found = await read_own_kw(app.pool, [other, key], first, first + 3)
        assert found.tolist() == [[0, 0, 0], [2, 3, 4]]


class TestZones:
    async def test_that_pass_a_gate_without_a_run_are_final_unless_there_was_one_since(self, app: Any) -> None:
        names = sorted(f"zone {uuid4()}" for _ in range(4))
        for place, name in enumerate(names):
            await app.pool.execute(
                """insert into delivery_zone (delivery_zone, revision, end_period, settled_until)
                   values ($1, 5, $2, $3)""",
                *(name, 900 if place else None, 100 + place if place < 3 else None),
            )
        seen: list[Any] = [
            SimpleNamespace(delivery_zone=names[place], revision=revision) for place, revision in ((0, 5), (1, 4))
        ]
        await advance_final_until(app.pool, seen, [201, 202])
        final = await read_final_until(app.pool)
        assert {name: final.get(name) for name in names} == dict(zip(names, (201, 101, 102, None), strict=True))
        assert [name for name in await read_planned_zones(app.pool) if name in names] == names[1:]

    async def test_have_the_totals_of_all_that_was_planned_one_over_the_other(self, app: Any) -> None:
        zone, other, first = f"zone {uuid4()}", f"zone {uuid4()}", 2_400_000
        moment = datetime(2031, 4, 30, 10, tzinfo=UTC)

        def totals(since: int, *powers_kw: float) -> ZoneTotals:
            series = [[factor * kw for kw in powers_kw] for factor in (1, 2, 3, 4)]
            return ZoneTotals(since, np.ones(len(powers_kw), dtype=bool), *(np.array(one) for one in series))

        await add_totals(app.pool, zone, moment, totals(first - 2, 1.0, 2.0, 3.0, 4.0))
        await add_totals(app.pool, zone, moment, totals(first + 1, 50.0, 60.0, 70.0, 80.0, 90.0))
        await add_totals(app.pool, other, moment, totals(first + 4, 7.0))
        await add_totals(app.pool, f"{zone} earlier", moment, totals(first - 1, 7.0))
        # Written once more, the first row stands behind the second: their order is that of their versions.
        rewritten = "update delivery_quarters set recorded_at = $2 where delivery_zone = $1 and version = 1"
        await app.pool.execute(rewritten, zone, moment)
        found = await read_totals(app.pool, first, first + 4)
        assert found.keys() & {zone, other, f"{zone} earlier"} == {zone}
        assert [one.tolist() for one in found[zone].series()] == [
            [factor * kw for kw in (3.0, 50.0, 60.0, 70.0)] for factor in (1, 2, 3, 4)
        ]
        assert found[zone].is_planned.tolist() == [True] * 4

    async def test_answer_their_quarter_hours_and_what_of_them_is_final(self, app: Any, operator: Any) -> None:
        """Nothing is final yet of a zone that has no row of its own."""
        zones, first = [f"zone {uuid4()}" for _ in range(2)], 2_410_000
        await app.pool.execute(
            "insert into delivery_zone (delivery_zone, settled_until) values ($1, $2)", zones[0], first + 1
        )
        for zone in zones:
            series = [np.array([one, 0.0]) for one in (900.0, 500.0, 450.0, 30.0)]
            totals = ZoneTotals(first, np.ones(2, dtype=bool), *series)
            await add_totals(app.pool, zone, datetime(2031, 4, 30, 10, tzinfo=UTC), totals)
        times = [period_start(first + place).isoformat().replace("+00:00", "Z") for place in range(4)]
        answer = await operator.get("/delivery/zones", params={"start": times[0], "end": times[3]})
        assert answer.status_code == 200, answer.text
        names = ("scheduledExport", "scheduledImport", "netted", "dispatched", "unserved")
        quarters = [
            {"time": time, **dict(zip(names, figures, strict=True))}
            for time, figures in zip(times[:2], ((900.0, 500.0, 450.0, 370.0, 30.0), (0.0,) * 5), strict=True)
        ]
        assert sorted(
            (one for one in answer.json() if one["deliveryZone"] in zones), key=lambda one: one["finalUntil"]
        ) == [
            {"deliveryZone": zones[1], "finalUntil": times[0], "quarters": quarters},
            {"deliveryZone": zones[0], "finalUntil": times[1], "quarters": quarters},
        ]


class TestNettedParts:
    async def test_are_known_from_the_very_instant_they_were_recorded(self, app: Any) -> None:
        zone, first, moment = f"zone {uuid4()}", 2_150_000, datetime(2031, 4, 30, 10, tzinfo=UTC)
        later, instant = moment + timedelta(minutes=15), timedelta(milliseconds=1)
        await add_netting(app.pool, zone, moment, first, np.array([0.5, 0.25]), np.array([1.0, 1.0]))
        await add_netting(app.pool, zone, later, first + 1, np.array([0.75]), np.array([0.5]))
        await add_netting(app.pool, f"another {zone}", moment, first, np.array([0.125]), np.array([0.125]))
        for as_of, exported, imported in (
            (moment - instant, [0, 0, 0], [0, 0, 0]),
            (moment, [0, 0.5, 0.25], [0, 1, 1]),
            (later - instant, [0, 0.5, 0.25], [0, 1, 1]),
            (later, [0, 0.5, 0.75], [0, 1, 0.5]),
            (None, [0, 0.5, 0.75], [0, 1, 0.5]),
        ):
            found = await read_netting(app.pool, zone, first - 1, first + 2, as_of)
            assert [part.tolist() for part in found] == [exported, imported], as_of
        assert (await read_netting(app.pool, zone, first + 2, first + 3))[0].tolist() == [0]


class TestShortfalls:
    async def test_are_read_in_the_order_of_time_and_from_the_instant_they_were_recorded(
        self, app: Any, new_organisation: Any
    ) -> None:
        asset = await register_asset(await new_organisation())
        key, first = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id)), 2_150_000
        moment = datetime(2031, 4, 30, 10, tzinfo=UTC)
        short = [UnheldReserve(key, first + n, "FCR", key, 100.0 + n, n == 1) for n in (3, 1, 0, 2)]
        await add_shortfalls(app.pool, short, moment)
        found = await read_shortfalls(app.pool, [key], first, first + 3, moment)
        assert found == {key: sorted(short, key=lambda one: one.period)[:3]}
        assert await read_shortfalls(app.pool, [key], first, first + 3, moment - timedelta(milliseconds=1)) == {}
