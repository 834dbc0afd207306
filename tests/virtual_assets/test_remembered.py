"""A schedule that is judged by what the process remembers, and what happens where that is no longer so."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from tests.virtual_assets.conftest import QUARTER, Battery, MakeBattery
from tests.virtual_assets.test_optimistic_changes import (
    activate,
    details_of,
    key_of,
    look_at,
    mark_nothing,
    rows_of,
    told_versions_of,
    versions_of,
)
from tests.virtual_assets.test_revalidation import lose, make
from tests.virtual_assets.test_schedules import problem

from gridloom.virtual_assets.schedule.change import attempts as changing
from gridloom.virtual_assets.schedule.change import context_store, remembered

__all__ = ["make"]  # a fixture

FIRST = 8
"""A period of the first day of UTC that lies within the life as a whole; all that is changed here is of that day."""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each time that an asset was read in order to be changed without a lock."""
    counted: list[None] = []
    read = context_store.read_asset_and_context

    async def read_and_count(*given: Any) -> Any:
        counted.append(None)
        return await read(*given)

    monkeypatch.setattr(changing, "read_asset_and_context", read_and_count)
    return counted


async def remembered_battery(make_battery: MakeBattery) -> Battery:
    """Two versions after its allocation: the first is written behind a lock, the second is remembered."""
    battery = await make_battery()
    for power in (10, 20):
        assert (await battery.put([power], offset=FIRST)).status_code == 200
    return battery


class TestAChangeFromMemory:
    async def test_is_written_without_reading_anything(self, make_battery: MakeBattery, reads: list[None]):
        battery = await remembered_battery(make_battery)
        reads.clear()
        assert (await battery.put([30, 40], offset=FIRST)).status_code == 200
        assert (await battery.put([50], offset=FIRST + 2)).status_code == 200
        assert reads == []
        assert await versions_of(battery) == [1, 2, 3, 4, 5]
        assert [entry["version"] for entry in await details_of(battery)] == [5, 4, 3, 2]
        assert await told_versions_of(battery) == [2, 3, 4, 5]
        assert [point["power"] for point in (await battery.life())["schedule"][FIRST : FIRST + 4]] == [30, 40, 50, 0]

    async def test_is_accepted_when_it_is_written(self, make: MakeBattery):
        battery = await remembered_battery(make)
        await battery.edge.pool.execute("update sandbox_clock set ahead = ahead + interval '7 seconds'")
        before = await battery.edge.pool.fetchval("select platform_now()")
        assert (await battery.put([30], offset=FIRST)).status_code == 200
        after = await battery.edge.pool.fetchval("select platform_now()")
        accepted = await battery.edge.pool.fetchval(
            "select accepted_at from schedule_version where asset_key = $1 and version = 4", await key_of(battery)
        )
        assert before <= accepted <= after

    async def test_leaves_what_one_leaves_that_was_read_first(
        self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch
    ):
        one, other = await remembered_battery(make_battery), await remembered_battery(make_battery)
        dice = random.Random(14)
        for _ in range(40):
            powers = [dice.choice([-1000.0, -300.0, 0.0, 12.5, 400.0])] * dice.choice([1, 1, 3, 20])
            offset = dice.randrange(192 - len(powers))
            mine = await one.put(powers, offset)
            with monkeypatch.context() as patched:
                patched.setattr(changing, "cached_context", lambda *_: None)
                theirs = await other.put(powers, offset)
            assert mine.status_code == theirs.status_code
            for member in ("schedule", "imbalance", "expectedCuts", "firstPeriod", "excess"):
                assert mine.json().get(member) == theirs.json().get(member)
        assert await rows_of(one) == await rows_of(other)

    async def test_is_refused_by_what_is_read(self, make_battery: MakeBattery, reads: list[None]):
        battery = await remembered_battery(make_battery)
        reads.clear()
        problem(await battery.put([1500], offset=FIRST), 422, "power-beyond-available")
        assert len(reads) == 1
        assert (await battery.put([15], offset=FIRST)).status_code == 200
        assert len(reads) == 1, "it is remembered still"

    async def test_is_judged_anew_where_a_battery_has_lost_something_that_nobody_has_looked_at(
        self, make_battery: MakeBattery
    ):
        battery = await remembered_battery(make_battery)
        await lose(battery, 20, 30, power=900)
        problem(await battery.put([500], offset=22), 422, "power-beyond-available")
        assert (await battery.put([90], offset=22)).status_code == 200
        assert (await battery.put([500], offset=40)).status_code == 200

    async def test_is_judged_anew_where_less_of_a_battery_is_rated(self, make_battery: MakeBattery, operator: Any):
        battery = await remembered_battery(make_battery)
        answer = await operator.put(
            f"/physical-assets/{battery.physical[0]['id']}/parameters",
            json={
                "ratedChargePower": 1000,
                "ratedDischargePower": 500,
                "energyCapacity": 2000,
                "chargeEfficiency": 0.9,
                "dischargeEfficiency": 0.9,
            },
        )
        assert answer.status_code == 200, answer.text
        problem(await battery.put([900], offset=22), 422, "power-beyond-available")

    async def test_is_refused_once_its_gate_has_closed(self, make: MakeBattery):
        """The process's own clock does not know that the platform's has been moved."""
        battery = await remembered_battery(make)
        moment = battery.start + (FIRST + 1) * QUARTER
        await battery.edge.pool.execute(
            "update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", moment - timedelta(minutes=5)
        )
        problem(await battery.put([30], offset=FIRST + 1), 409, "gate-closed")
        assert await versions_of(battery) == [1, 2, 3]
        assert (await battery.put([30], offset=FIRST + 8)).status_code == 200

    @pytest.mark.parametrize("happens", [look_at, activate], ids=["a look", "an activation"])
    async def test_gives_way_to_whatever_changes_the_asset(
        self, make_battery: MakeBattery, reads: list[None], happens: Any
    ):
        battery = await remembered_battery(make_battery)
        reads.clear()
        await happens(battery)
        assert (await battery.put([-50], offset=FIRST + 7)).status_code == 200
        assert len(reads) == 1
        assert await versions_of(battery) == [1, 2, 3, 4]
        assert len(await details_of(battery)) == 3

    async def test_holds_to_the_etag_of_a_name_that_has_changed(self, make_battery: MakeBattery):
        battery = await remembered_battery(make_battery)
        etag = (await battery.client.get(battery.block_url)).headers["ETag"]
        renamed = await battery.organisation.admin.patch(battery.url, json={"name": "L 2"}, headers={"If-Match": etag})
        assert renamed.status_code == 200, renamed.text
        answer = await battery.client.put(
            battery.block_url, json=battery.points([5], FIRST), headers={"If-Match": etag}
        )
        assert answer.status_code == 412
        now = {"If-Match": renamed.headers["ETag"]}
        answer = await battery.client.put(battery.block_url, json=battery.points([5], FIRST), headers=now)
        assert answer.status_code == 200, answer.text

    async def test_of_an_asset_that_was_taken_away_is_404(self, make_battery: MakeBattery, operator: Any):
        battery = await remembered_battery(make_battery)
        assert (await operator.delete(battery.url)).status_code == 204
        assert (await battery.put([5], offset=FIRST)).status_code == 404

    async def test_is_for_the_owner_alone(self, make_battery: MakeBattery):
        battery, other = await remembered_battery(make_battery), await remembered_battery(make_battery)
        url = f"/organisations/{other.organisation.id}/virtual-assets/{battery.asset['id']}"
        answer = await other.client.put(f"{url}/blocks/{battery.asset['blockIDs'][0]}", json=battery.points([5], FIRST))
        assert answer.status_code == 404
        assert await versions_of(battery) == [1, 2, 3]

    async def test_is_judged_anew_where_a_fail_over_has_lost_what_is_remembered(self, make_battery: MakeBattery):
        """Another version with the same number stands in its place, by somebody who counts revisions one by one."""
        battery = await make_battery()
        assert (await battery.put([10], offset=FIRST)).status_code == 200
        key, pool = await key_of(battery), battery.edge.pool
        [kept] = await pool.fetch("select revision, end_kwh from virtual_asset where asset_key = $1", key)
        [day] = await pool.fetch("select day, power_kw from virtual_schedule where asset_key = $1", key)
        [energy] = await pool.fetch(
            "select change_kwh, lowest_kwh, highest_kwh, exported_kwh from virtual_energy where asset_key = $1", key
        )
        assert (await battery.put([1000] * 3, offset=FIRST + 1)).status_code == 200
        await pool.execute("update virtual_schedule set power_kw = $3 where asset_key = $1 and day = $2", key, *day)
        await pool.execute(
            """update virtual_energy set change_kwh = $2, lowest_kwh = $3, highest_kwh = $4, exported_kwh = $5
               where asset_key = $1""",
            key,
            *energy,
        )
        await pool.execute("update virtual_asset set revision = $2 + 1, end_kwh = $3 where asset_key = $1", key, *kept)
        assert (await battery.put([7], offset=FIRST + 20)).status_code == 200
        shown = [point["power"] for point in (await battery.life())["schedule"][FIRST : FIRST + 21]]
        assert shown == [10, *[0] * 19, 7]
        lowest_kwh = await pool.fetchval("select lowest_kwh from virtual_energy where asset_key = $1", key)
        assert min(lowest_kwh) > -20, "what was lost is no part of what is written"


class TestWhatIsRemembered:
    async def test_is_nothing_for_a_while_after_somebody_else_has_changed_the_asset(
        self, make_battery: MakeBattery, reads: list[None], monkeypatch: pytest.MonkeyPatch
    ):
        """Else each of two replicas in turn would write in vain before it reads."""
        battery = await remembered_battery(make_battery)
        reads.clear()
        async with battery.edge.pool.acquire() as connection:
            await mark_nothing(connection, await key_of(battery))
        for power in (1, 2, 3):
            assert (await battery.put([power], offset=FIRST)).status_code == 200
        assert len(reads) == 3
        monkeypatch.setattr(remembered, "_shared_until_s", {})
        for power in (4, 5, 6):
            assert (await battery.put([power], offset=FIRST)).status_code == 200
        assert len(reads) == 4

    @pytest.mark.parametrize(("bound", "most"), [("MAX_CACHED", 1), ("MAX_DAYS", 2)])
    async def test_is_bounded(self, make_battery: MakeBattery, monkeypatch: Any, bound: str, most: int):
        monkeypatch.setattr(remembered, bound, most)
        batteries = [await remembered_battery(make_battery) for _ in range(3)]
        days = sum(len(one.context.powers) for one in remembered._remembered.values())
        assert (len(remembered._remembered) if bound == "MAX_CACHED" else days) <= most
        assert remembered._days.count == days
        for battery in batteries:
            assert (await battery.put([5], offset=FIRST)).status_code == 200

    async def test_are_all_days_that_were_changed(self, make_battery: MakeBattery, reads: list[None]):
        battery = await remembered_battery(make_battery)
        for offset in (100, FIRST, 101):
            assert (await battery.put([5], offset=offset)).status_code == 200
        reads.clear()
        for offset in (FIRST, 102, FIRST, 103):
            assert (await battery.put([7], offset=offset)).status_code == 200
        assert reads == []


class TestAnImbalanceThatIsToldAtAGlance:
    async def test_is_what_it_is_behind_the_lock(self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch):
        one, other = await make_battery(), await make_battery()
        dice, unbalanced = random.Random(15), 0
        for turn in range(40):
            powers = [dice.choice([-1000.0, -200.0, 0.0, 100.0, 300.0, 1000.0])] * dice.choice([1, 2, 6, 40])
            offset = dice.choice([dice.randrange(192 - len(powers)), 192 - len(powers) - turn % 3])
            mine = await one.put(powers, offset)
            with monkeypatch.context() as patched:
                patched.setattr(changing, "cached_asset", lambda _: None)
                theirs = await other.put(powers, offset)
            assert mine.status_code == theirs.status_code
            if mine.status_code == 200:
                told, expected = mine.json()["imbalance"], theirs.json()["imbalance"]
                unbalanced += not told["balanced"]
                assert told.pop("feedback") == expected.pop("feedback")
                assert told == pytest.approx(expected)
        assert unbalanced > 10

    @pytest.mark.parametrize("power", [0.0, -1000.0])
    async def test_says_what_no_schedule_can_mend(self, make: MakeBattery, power: float):
        """Near the end of life there is little room left; whoever counted on closed periods would promise too much."""
        battery = await make()
        assert (await battery.put([500.0] * 7, offset=150)).status_code == 200
        await battery.edge.pool.execute(
            "update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", battery.end - 5 * QUARTER
        )
        answer = await battery.put([power], offset=191)
        assert answer.status_code == 200, answer.text
        assert "remain" in answer.json()["imbalance"]["feedback"]
