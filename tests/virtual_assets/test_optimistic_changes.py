"""A schedule that is read, judged and written without a lock, and what happens where somebody comes between."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.database.statements import gather
from tests.virtual_assets.conftest import Battery, MakeBattery
from tests.virtual_assets.test_races import energies_in_the_database
from tests.virtual_assets.test_revalidation import lose
from tests.virtual_assets.test_schedules import problem

from gridloom.virtual_assets.energy.store import set_first_activated
from gridloom.virtual_assets.gate_closure.revalidation import revalidate
from gridloom.virtual_assets.schedule.change import attempts as changing
from gridloom.virtual_assets.schedule.change import context_store, version_store
from gridloom.virtual_assets.schedule.projection.trajectory import tolerance_kwh

Between = Callable[[Callable[[], Awaitable[Any]]], None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """`between(what)` has it happen once, behind the next reading of an asset and before what is judged is written."""

    def arrange(happen: Callable[[], Awaitable[Any]]) -> None:
        read = context_store.read_asset_and_context

        async def read_and_pause(*arguments: Any) -> Any:
            found = await read(*arguments)
            monkeypatch.setattr(changing, "read_asset_and_context", read)
            await happen()
            return found

        monkeypatch.setattr(changing, "read_asset_and_context", read_and_pause)

    return arrange


async def key_of(battery: Battery) -> int:
    return int(await battery.edge.pool.fetchval("select key from asset where id = $1", battery.asset["id"]))


async def versions_of(battery: Battery) -> list[int]:
    rows = await battery.edge.pool.fetch(
        "select version from schedule_version where asset_key = $1 order by version", await key_of(battery)
    )
    return [row["version"] for row in rows]


async def details_of(battery: Battery) -> list[Any]:
    entries = await battery.organisation.admin.get("/audit-log", params={"resource": battery.block_url})
    return [entry["details"] for entry in entries.json()]


async def told_versions_of(battery: Battery) -> list[int]:
    rows = await battery.edge.pool.fetch(
        """select (data ->> 'version')::int as version from event_outbox
           where type = 'schedule.updated' and subject = $1
           union select (data ->> 'version')::int from event where type = 'schedule.updated' and subject = $1
           order by version""",
        f"virtual-assets/{battery.asset['id']}",
    )
    return [row["version"] for row in rows]


async def look_at(battery: Battery) -> None:
    """What the job does that follows a change of the battery's availability."""
    async with battery.edge.pool.acquire() as connection, connection.transaction():
        await revalidate(connection, await key_of(battery), datetime.now(UTC))


async def known_battery(make_battery: MakeBattery) -> Battery:
    battery = await make_battery()
    assert (await battery.put([10])).status_code == 200
    return battery


class TestAChangeAtOnce:
    async def test_leaves_a_version_an_event_and_a_line_of_the_log(self, make_battery: MakeBattery):
        battery = await known_battery(make_battery)
        answer = await battery.put([20, 30], offset=4)
        assert answer.status_code == 200
        assert await versions_of(battery) == [1, 2, 3]
        assert await details_of(battery) == [{"version": 3, "periods": 2}, {"version": 2, "periods": 1}]
        assert await told_versions_of(battery) == [2, 3]

    async def test_gives_way_to_one_that_comes_between(self, make_battery: MakeBattery, between: Between):
        """Both stand in the end, each in a version of its own."""
        battery = await known_battery(make_battery)

        async def come_between() -> None:
            async with battery.edge.pool.acquire() as connection, connection.transaction():
                await mark_nothing(connection, await key_of(battery))

        between(come_between)
        answer = await battery.put([-50], offset=7)
        assert answer.status_code == 200, answer.text
        assert await versions_of(battery) == [1, 2, 3]
        assert await details_of(battery) == [{"version": 3, "periods": 1}, {"version": 2, "periods": 1}]
        assert [point["power"] for point in (await battery.life())["schedule"][:8]] == [10, 0, 0, 0, 0, 0, 0, -50]

    async def test_is_judged_anew_behind_a_look_at_what_was_lost(self, make_battery: MakeBattery, between: Between):
        """Nobody would look at it again: the look that follows an outage has just found nothing to cut."""
        battery = await known_battery(make_battery)

        async def trip() -> None:
            await lose(battery, 20, 30, power=900)
            await look_at(battery)

        between(trip)
        problem(await battery.put([500], offset=22), 422, "power-beyond-available")
        assert await versions_of(battery) == [1, 2]
        assert (await battery.put([90], offset=22)).status_code == 200

    async def test_is_judged_anew_behind_an_activation(self, make_battery: MakeBattery, between: Between):
        battery = await known_battery(make_battery)
        between(lambda: activate(battery))
        assert (await battery.put([30], offset=3)).status_code == 200
        assert await versions_of(battery) == [1, 2, 3]

    async def test_holds_to_the_etag_although_only_the_name_has_changed(
        self, make_battery: MakeBattery, between: Between
    ):
        battery = await known_battery(make_battery)
        etag = (await battery.client.get(battery.block_url)).headers["ETag"]

        async def rename() -> None:
            answer = await battery.organisation.admin.patch(
                battery.url, json={"name": "Loom 2"}, headers={"If-Match": etag}
            )
            assert answer.status_code == 200, answer.text

        between(rename)
        answer = await battery.client.put(battery.block_url, json=battery.points([5]), headers={"If-Match": etag})
        assert answer.status_code == 412
        assert await versions_of(battery) == [1, 2]

    async def test_of_an_asset_that_is_taken_away_meanwhile_is_404(
        self, make_battery: MakeBattery, operator: Any, between: Between
    ):
        battery = await known_battery(make_battery)

        async def take_away() -> None:
            answer = await operator.delete(battery.url)
            assert answer.status_code == 204, answer.text

        between(take_away)
        assert (await battery.put([5])).status_code == 404
        assert (await battery.put([5])).status_code == 404

    async def test_is_for_the_owner_alone(self, make_battery: MakeBattery):
        battery, other = await known_battery(make_battery), await known_battery(make_battery)
        url = f"/organisations/{other.organisation.id}/virtual-assets/{battery.asset['id']}"
        answer = await other.client.put(
            f"{url}/blocks/{battery.asset['blockIDs'][0]}", json=battery.points([5]), params={}
        )
        assert answer.status_code == 404
        assert await versions_of(battery) == [1, 2]

    async def test_that_breaks_off_leaves_nothing(self, make_battery: MakeBattery, between: Between, monkeypatch: Any):
        """Its rows of the log and of the outbox stand in the same statement."""
        battery = await known_battery(make_battery)
        recorded = await battery.edge.pool.fetchval("select count(*) from audit_log")

        async def refuse(*_: Any) -> Any:
            raise AssertionError("nobody gets as far as the lock")

        between(lambda: look_at(battery))
        monkeypatch.setattr(changing, "require_locked_asset", refuse)
        assert (await battery.put([-50])).status_code == 500
        assert await battery.edge.pool.fetchval("select count(*) from audit_log") == recorded
        assert await versions_of(battery) == [1, 2]


async def mark_nothing(connection: Any, key: int) -> None:
    """A change of the row and of nothing else."""
    await connection.execute("update virtual_asset set revision = revision + 1 where asset_key = $1", key)


async def activate(battery: Battery) -> None:
    async with battery.edge.pool.acquire() as connection, connection.transaction():
        await set_first_activated(connection, await key_of(battery), 0)


class TestWritersWithoutAQueue:
    async def test_never_leave_a_trajectory_out_of_bounds(
        self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch
    ):
        """As on several replicas, where each process has a queue of its own."""
        monkeypatch.setattr(changing, "asset_lock", lambda _: asyncio.Lock())
        battery = await known_battery(make_battery)
        dice, slack = random.Random(3), tolerance_kwh(2000)
        statuses: dict[int, int] = {}

        async def write() -> None:
            for _ in range(20):
                offset, power = dice.randrange(180), dice.choice([-1000, -400, 0, 300, 1000])
                answer = await battery.put([power] * dice.choice([1, 2, 4, 8]), offset)
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                if dice.random() < 0.1:
                    await look_at(battery)

        await asyncio.gather(*(write() for _ in range(8)))
        assert set(statuses) == {200, 422}, statuses
        energy_kwh, _ = await energies_in_the_database(battery)
        assert energy_kwh.min() >= -slack
        assert energy_kwh.max() <= 2000 + slack
        assert await versions_of(battery) == list(range(1, statuses[200] + 3))
        assert len(await details_of(battery)) == min(100, statuses[200] + 1)


class TestTheRevision:
    def test_goes_up_with_every_change_of_the_row(self):
        found, _ = gather()
        changes = [one for one in found if "update virtual_asset" in " ".join(one.sql.split())]
        assert len({one.place for one in changes}) >= 5
        raised = re.compile(r"revision = revision \+ (1|:step|\$\d+)\b")
        assert [one.place for one in changes if not raised.search(one.sql)] == []


class TestARunOnADayThatHasARow:
    async def test_leaves_the_same_rows_as_any_change(self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch):
        """Written in place on one battery, and as whole rows on the other."""
        one, other = await make_battery(), await make_battery()
        dice = random.Random(12)
        for _ in range(25):
            powers = [dice.choice([-300.0, 0.0, 12.5, 400.0])] * dice.choice([1, 1, 3, 20])
            offset = dice.randrange(192 - len(powers))
            mine = await one.put(powers, offset)
            with monkeypatch.context() as patched:
                patched.setattr(version_store, "_find_run", lambda *_: None)
                theirs = await other.put(powers, offset)
            assert mine.status_code == theirs.status_code
            assert mine.json().get("schedule") == theirs.json().get("schedule")
        assert await rows_of(one) == await rows_of(other)


async def rows_of(battery: Battery) -> list[Any]:
    key = await key_of(battery)
    statements = (
        "select lane, day, power_kw from virtual_schedule where asset_key = $1 order by day, lane",
        "select span, change_kwh, lowest_kwh, highest_kwh, exported_kwh from virtual_energy where asset_key = $1",
        """select version, lane, first_period, end_period, run_first, run_length, power_kw from schedule_change
           where asset_key = $1 order by version, lane""",
        "select version, kind from schedule_version where asset_key = $1 order by version",
        "select version, end_kwh from virtual_asset where asset_key = $1",
    )
    return [[tuple(row) for row in await battery.edge.pool.fetch(statement, key)] for statement in statements]
