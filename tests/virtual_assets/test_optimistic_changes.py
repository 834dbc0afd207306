"""A schedule in optimistic mode: read, validated and written without a lock, or repeated under it after a conflict."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.platform.database.statements import gather
from tests.virtual_assets.conftest import QUARTER, Battery, MakeBattery, wire
from tests.virtual_assets.test_draft import asset_of_five_days
from tests.virtual_assets.test_races import energies_in_the_database
from tests.virtual_assets.test_revalidation import lose, make
from tests.virtual_assets.test_schedules import problem

from gridloom.virtual_assets.energy.trajectory import tolerance_kwh
from gridloom.virtual_assets.gate_closure.revalidation import revalidate
from gridloom.virtual_assets.schedule.change import apply, context_store, version_store
from gridloom.virtual_assets.schedule.store import set_first_activated
from gridloom.virtual_assets.store import MUTABLE_COLUMNS, cached_asset, refresh_asset

__all__ = ["make"]  # a fixture

Between = Callable[[Callable[[], Awaitable[Any]]], None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """`between(what)` has it happen once, after the next read of an asset and before its change is written."""

    def arrange(happen: Callable[[], Awaitable[Any]]) -> None:
        read = context_store.read_asset_and_context

        async def read_and_pause(*arguments: Any) -> Any:
            found = await read(*arguments)
            monkeypatch.setattr(apply, "read_asset_and_context", read)
            await happen()
            return found

        monkeypatch.setattr(apply, "read_asset_and_context", read_and_pause)

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


async def event_versions_of(battery: Battery) -> list[int]:
    rows = await battery.edge.pool.fetch(
        """select (data ->> 'version')::int as version from event_outbox
           where type = 'schedule.updated' and subject = $1
           union select (data ->> 'version')::int from event where type = 'schedule.updated' and subject = $1
           order by version""",
        f"virtual-assets/{battery.asset['id']}",
    )
    return [row["version"] for row in rows]


async def revalidate_asset(battery: Battery) -> None:
    """As the job does after a change of the battery's availability."""
    async with battery.edge.pool.acquire() as connection, connection.transaction():
        await revalidate(connection, await key_of(battery), datetime.now(UTC))


async def known_battery(make_battery: MakeBattery) -> Battery:
    battery = await make_battery()
    assert (await battery.put([10])).status_code == 200
    return battery


class TestAnOptimisticChange:
    async def test_leaves_a_version_an_event_and_a_line_of_the_log(self, make_battery: MakeBattery):
        battery = await known_battery(make_battery)
        answer = await battery.put([20, 30], offset=4)
        assert answer.status_code == 200
        assert await versions_of(battery) == [1, 2, 3]
        assert await details_of(battery) == [{"version": 3, "periods": 2}, {"version": 2, "periods": 1}]
        assert await event_versions_of(battery) == [2, 3]

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

    async def test_is_validated_again_after_a_revalidation_of_lost_power(
        self, make_battery: MakeBattery, between: Between
    ):
        """The revalidation that follows the outage has found nothing to cut, and no other one follows."""
        battery = await known_battery(make_battery)

        async def trip() -> None:
            await lose(battery, 20, 30, power=900)
            await revalidate_asset(battery)

        between(trip)
        problem(await battery.put([500], offset=22), 422, "power-beyond-available")
        assert await versions_of(battery) == [1, 2]
        assert (await battery.put([90], offset=22)).status_code == 200

    async def test_is_validated_again_after_an_activation(self, make_battery: MakeBattery, between: Between):
        battery = await known_battery(make_battery)
        between(lambda: activate(battery))
        assert (await battery.put([30], offset=3)).status_code == 200
        assert await versions_of(battery) == [1, 2, 3]

    async def test_follows_a_move_to_a_portfolio_with_its_etag(self, make_battery: MakeBattery):
        battery = await known_battery(make_battery)
        portfolios = f"/organisations/{battery.organisation.id}/portfolios"
        portfolio = (await battery.client.post(portfolios, json={"name": "North"})).json()
        moved = await battery.client.patch(battery.url, json={"portfolioID": portfolio["id"]})
        etag = {"If-Match": moved.headers["ETag"]}
        answer = await battery.client.put(battery.block_url, json=battery.points([5]), headers=etag)
        assert answer.status_code == 200, answer.text
        assert answer.headers["ETag"] == (await battery.client.get(battery.url)).headers["ETag"]

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

    async def test_is_refused_where_a_battery_has_lost_power_that_no_revalidation_has_seen(
        self, make_battery: MakeBattery
    ):
        battery = await known_battery(make_battery)
        await lose(battery, 20, 30, power=900)
        problem(await battery.put([500], offset=22), 422, "power-beyond-available")
        assert (await battery.put([90], offset=22)).status_code == 200
        assert (await battery.put([500], offset=40)).status_code == 200

    async def test_is_refused_where_a_battery_is_rated_for_less(self, make_battery: MakeBattery, operator: Any):
        battery = await known_battery(make_battery)
        parameters = {"ratedChargePower": 1000, "ratedDischargePower": 500, "energyCapacity": 2000}
        answer = await operator.put(
            f"/physical-assets/{battery.physical[0]['id']}/parameters",
            json={**parameters, "chargeEfficiency": 0.9, "dischargeEfficiency": 0.9},
        )
        assert answer.status_code == 200, answer.text
        problem(await battery.put([900], offset=22), 422, "power-beyond-available")

    async def test_is_refused_once_its_gate_has_closed(self, make: MakeBattery):
        battery = await known_battery(make)
        await battery.edge.pool.execute(
            "update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()",
            battery.start + 9 * QUARTER - timedelta(minutes=5),
        )
        problem(await battery.put([30], offset=9), 409, "gate-closed")
        assert await versions_of(battery) == [1, 2]
        assert (await battery.put([30], offset=17)).status_code == 200

    async def test_builds_on_the_rows_where_a_fail_over_has_lost_a_version(self, make_battery: MakeBattery):
        """Another change has made the same version and revision again, with another name and schedule."""
        battery = await known_battery(make_battery)
        key, pool = await key_of(battery), battery.edge.pool
        end_kwh = await pool.fetchval("select end_kwh from virtual_asset where asset_key = $1", key)
        [day] = await pool.fetch("select day, power_kw from virtual_schedule where asset_key = $1", key)
        [energy] = await pool.fetch(
            "select change_kwh, lowest_kwh, highest_kwh, exported_kwh from virtual_energy where asset_key = $1", key
        )
        lost = await battery.put([1000] * 3, offset=1)
        await pool.execute("update virtual_schedule set power_kw = $3 where asset_key = $1 and day = $2", key, *day)
        await pool.execute(
            """update virtual_energy set change_kwh = $2, lowest_kwh = $3, highest_kwh = $4, exported_kwh = $5
               where asset_key = $1""",
            key,
            *energy,
        )
        await pool.execute("update virtual_asset set name = 'L 2', end_kwh = $2 where asset_key = $1", key, end_kwh)
        etag = {"If-Match": lost.headers["ETag"]}
        answer = await battery.client.put(battery.block_url, json=battery.points([7], 20), headers=etag)
        assert answer.status_code == 412
        assert (await battery.put([7], offset=20)).status_code == 200
        assert [point["power"] for point in (await battery.life())["schedule"][:21]] == [10, *[0] * 19, 7]
        lowest_kwh = await pool.fetchval("select lowest_kwh from virtual_energy where asset_key = $1", key)
        assert min(lowest_kwh) > -20

    async def test_of_no_block_leaves_the_schedule_as_it_is(self, make_battery: MakeBattery):
        """A window without wholesale power takes no power but 0."""
        battery = await known_battery(make_battery)
        assert (await battery.carve(16, 16, "FCR", 1000, 1000)).status_code == 201
        for _ in range(2):
            answer = await battery.client.put(f"{battery.url}/schedule", json=battery.points([0], offset=20))
            assert answer.status_code == 200, answer.text

    async def test_that_breaks_off_leaves_nothing(self, make_battery: MakeBattery, between: Between, monkeypatch: Any):
        """Its rows of the log and of the outbox stand in the same statement."""
        battery = await known_battery(make_battery)
        recorded = await battery.edge.pool.fetchval("select count(*) from audit_log")

        async def refuse(*_: Any) -> Any:
            raise AssertionError("the asset is not locked")

        between(lambda: revalidate_asset(battery))
        monkeypatch.setattr(apply, "require_locked_asset", refuse)
        assert (await battery.put([-50])).status_code == 500
        assert await battery.edge.pool.fetchval("select count(*) from audit_log") == recorded
        assert await versions_of(battery) == [1, 2]


async def mark_nothing(connection: Any, key: int) -> None:
    """A change of the row and of nothing else."""
    await connection.execute("update virtual_asset set revision = revision + 1 where asset_key = $1", key)


async def activate(battery: Battery) -> None:
    async with battery.edge.pool.acquire() as connection, connection.transaction():
        await set_first_activated(connection, await key_of(battery), 0)


class TestAnAssetThatIsKnown:
    def test_is_read_again_with_all_of_it_that_can_change(self):
        """An activation that it does not learn of, or a cut to expect, would not count in what follows."""
        known = asset_of_five_days()
        columns = [column.strip().removeprefix("v.") for column in MUTABLE_COLUMNS.split(",")]
        row = {column: f"another {column}" for column in columns}
        seen = refresh_asset(row, known)
        assert {column: getattr(seen if hasattr(seen, column) else seen.terms, column) for column in columns} == row
        assert cached_asset(known.id) is seen
        assert refresh_asset(dict(row, name=known.terms.name), known).terms.portfolio_id == row["portfolio_id"]
        assert (seen.key, seen.promises, seen.terms.window) == (known.key, known.promises, known.terms.window)


class TestWritersWithoutAQueue:
    async def test_never_leave_a_trajectory_out_of_bounds(
        self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch
    ):
        """As on several replicas, where each process has a queue of its own; a response window asks for the lock."""
        monkeypatch.setattr(apply, "asset_lock", lambda _: asyncio.Lock())
        battery = await known_battery(make_battery)
        dice, slack = random.Random(3), tolerance_kwh(2000)
        statuses: dict[int, int] = {}

        async def write() -> None:
            for _ in range(20):
                offset, power = dice.randrange(180), dice.choice([-1000.0, -400.0, 0.0, 300.0, 1000.0])
                url, window = battery.block_url, f"?start={wire(battery.start)}&end={wire(battery.start + QUARTER)}"
                powers = [power] * dice.choice([1, 2, 4, 8])
                answer = await battery.put(powers, offset, dice.choice([url, url, url + window]))
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                if dice.random() < 0.1:
                    await revalidate_asset(battery)

        await asyncio.gather(*(write() for _ in range(8)))
        assert set(statuses) == {200, 422}, statuses
        energy_kwh, _ = await energies_in_the_database(battery)
        assert energy_kwh.min() >= -slack
        assert energy_kwh.max() <= 2000 + slack
        assert await versions_of(battery) == list(range(1, statuses[200] + 3))
        assert len(await details_of(battery)) == min(100, statuses[200] + 1)


class TestAContext:
    @pytest.mark.parametrize("length", [0, 3, 5000])
    def test_is_decoded_alike_from_a_short_and_a_long_text(self, length: int):
        numbers = [*range(length)]
        for _ in range(2):
            assert context_store._decode_cached(json.loads, json.dumps(numbers)) == numbers
        assert context_store._decode_cached(json.loads, None) == []


class TestTheRevision:
    def test_goes_up_with_every_change_of_the_row(self):
        found, _ = gather()
        changes = [one for one in found if "update virtual_asset" in " ".join(one.sql.split())]
        assert len({one.place for one in changes}) >= 5
        raised = re.compile(r"revision = revision \+ 1\b")
        assert [one.place for one in changes if not raised.search(one.sql)] == []


class TestARunOnADayThatHasARow:
    async def test_leaves_the_same_rows_as_any_change(self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch):
        """Written in place on one battery, and as whole rows on the other; on one of two lanes."""
        one, other = await make_battery(), await make_battery()
        carved = [(await battery.carve(0, 192, "WHOLESALE", 600, 700)).json()["id"] for battery in (one, other)]
        dice = random.Random(12)
        for _ in range(25):
            powers = [dice.choice([-300.0, 0.0, 12.5, 400.0])] * dice.choice([1, 1, 3, 20])
            offset = dice.randrange(192 - len(powers))
            urls = (one.block_url, other.block_url)
            if dice.random() < 0.3:
                urls = (f"{one.url}/blocks/{carved[0]}", f"{other.url}/blocks/{carved[1]}")
            mine = await one.put(powers, offset, urls[0])
            with monkeypatch.context() as patched:
                patched.setattr(version_store, "_find_interval", lambda *_: None)
                theirs = await other.put(powers, offset, urls[1])
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


class TestAChangeByParts:
    """As a distributed database takes it: a statement for each table."""

    async def test_leaves_what_a_change_in_one_statement_leaves(self, make_battery: MakeBattery, by_parts: Any) -> None:
        whole, parted = await make_battery(), await make_battery()
        changes = [([-100.0, 50.0], 8), ([40.0], 20), ([-40.0], 20), ([0.0], 8)]
        for powers, offset in changes:
            expected = await whole.put(powers, offset)
            with by_parts():
                answer = await parted.put(powers, offset)
            assert (answer.status_code, expected.status_code) == (200, 200), answer.text
            assert answer.json()["imbalance"] == expected.json()["imbalance"]
        assert await versions_of(parted) == await versions_of(whole)
        assert await event_versions_of(parted) == await event_versions_of(whole)
        assert len(await details_of(parted)) == len(await details_of(whole))
        assert (await parted.life())["schedule"] == (await whole.life())["schedule"]

    async def test_is_written_at_the_revision_that_was_read_alone(
        self, make_battery: MakeBattery, between: Between, by_parts: Any
    ) -> None:
        battery = await make_battery()
        assert (await battery.put([0.0], 9)).status_code == 200
        raised = "update virtual_asset set revision = revision + 1 where asset_key = $1"
        key = await key_of(battery)
        between(lambda: battery.edge.pool.execute(raised, key))
        with by_parts():
            assert (await battery.put([20.0], 9)).status_code == 200  # again, under the lock
        assert await versions_of(battery) == [1, 2, 3]
        assert await event_versions_of(battery) == [2, 3]

    async def test_of_an_asset_that_was_taken_away_is_404(
        self, make_battery: MakeBattery, operator: Any, by_parts: Any
    ) -> None:
        battery = await known_battery(make_battery)
        assert (await operator.delete(battery.url)).status_code == 204
        with by_parts():
            assert (await battery.put([5])).status_code == 404
