"""Kept sums are made anew from the facts: what differs is found, told and mended, also while settlements come in."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.emitted import events_of
from tests.revenue.reference import FCR, AFRRCapacity, AFRREnergy, Fact, NetOff, Trade, utc
from tests.revenue.world import World, row_of

from gridloom.settlements import rebuilding
from gridloom.settlements.measures import FactSource
from gridloom.settlements.period_aggregates import encode_aggregates
from gridloom.settlements.rebuilding import RebuildReport, UnknownAssets, rebuild
from gridloom.settlements.store import read_sheets

DAY = date(2026, 3, 29)
LATER = date(2026, 10, 25)

FACTS: list[Fact] = [
    Trade(0, "a", utc(DAY, 0), "SELL", Fraction(8), Fraction("66.86")),
    Trade(0, "b", utc(DAY, 9), "BUY", Fraction(2), Fraction(-10)),
    NetOff(0, utc(DAY, 9), Fraction(1)),
    FCR(0, DAY, "NEGPOS_00_04", Fraction(7), Fraction("22.286667"), Fraction(3)),
    AFRRCapacity(0, DAY, "POS_04_08", Fraction(5), Fraction(4), Fraction(4)),
    AFRREnergy(0, utc(LATER, 12), "NEG", Fraction(3), Fraction(-20)),
    Trade(0, "c", utc(LATER, 12), "SELL", Fraction(4), Fraction(100)),
]


@pytest.fixture
async def asset(world: World) -> UUID:
    id = await world.virtual_asset()
    await world.record_facts(FACTS, [id])
    return id


async def kept(world: World, asset: UUID) -> list[Any]:
    key = await world.key_of(asset)
    days = await world.pool.fetch("select * from settled_day where asset_key = $1 order by day", key)
    periods = await world.pool.fetch("select * from settled_periods where asset_key = $1 order by day", key)
    return [tuple(value for name, value in row.items() if name != "revised_at") for row in (*days, *periods)]


CORRUPTIONS = {
    "a sum of the day": "update settled_day set sell_proceeds_eur = sell_proceeds_eur + 1000 where asset_key = $1",
    "a sum by a cent": "update settled_day set sell_proceeds_eur = sell_proceeds_eur + 0.01 where asset_key = $1",
    "a sum that is no number": "update settled_day set buy_cost_eur = 'NaN' where asset_key = $1",
    "blocks": "update settled_periods set fcr = set_byte(fcr, 3, get_byte(fcr, 3) # 64) where asset_key = $1",
    "blocks of another length": "update settled_periods set fcr = fcr || '\\x00' where asset_key = $1",
    "periods that cannot be read": "update settled_periods set wholesale = '\\xdeadbeef' where asset_key = $1",
    "periods that are missing": "update settled_periods set afrr_energy = null where asset_key = $1",
    "days that are missing": "delete from settled_day where asset_key = $1",
    "sheets that are missing": "delete from settled_periods where asset_key = $1",
    "a day without facts": "insert into settled_day (asset_key, day, buy_cost_eur) values ($1, '2025-01-01', 5)",
    "a sheet without facts": (
        "insert into settled_periods (asset_key, day, fcr) values ($1, '2027-01-01', decode(repeat('3f', 192), 'hex'))"
    ),
}


class TestRebuilding:
    @pytest.mark.parametrize("corruption", CORRUPTIONS.values(), ids=CORRUPTIONS)
    async def test_finds_and_repairs_what_is_wrong(self, world: World, asset: UUID, corruption: str) -> None:
        right = await kept(world, asset)
        await world.pool.execute(corruption, await world.key_of(asset))
        wrong = await kept(world, asset)
        assert wrong != right
        checked = await rebuild(world.pool, [asset], only_check=True)
        assert checked.differing_days > 0
        assert repr(await kept(world, asset)) == repr(wrong), "checking changes nothing"
        mended = await rebuild(world.pool, [asset], only_check=False)
        assert repr(mended.differences) == repr(checked.differences)
        again = await rebuild(world.pool, [asset], only_check=True)
        assert (again.differing_days, again.differences) == (0, [])
        meaningful = [row for row in await kept(world, asset) if any(row[2:])]
        assert meaningful == right

    async def test_says_in_how_many_blocks_a_sheet_differs_and_what_it_sums_up_to(
        self, world: World, asset: UUID
    ) -> None:
        [sheet] = await read_sheets(world.pool, FactSource.FCR, [await world.key_of(asset)], [DAY])
        await world.pool.execute(
            "update settled_periods set fcr = $3 where asset_key = $1 and day = $2",
            await world.key_of(asset),
            DAY,
            encode_aggregates(FactSource.FCR, 3 * sheet),
        )
        outcome = await rebuild(world.pool, [asset], only_check=True)
        assert {one.differing for one in outcome.differences} == {1}
        assert [one.stored for one in outcome.differences] == [3 * one.from_facts for one in outcome.differences]

    async def test_says_that_all_of_a_sheet_differs_that_cannot_be_read_and_what_is_wrong_with_its_sums(
        self, world: World, asset: UUID
    ) -> None:
        key = await world.key_of(asset)
        await world.pool.execute(
            "update settled_periods set wholesale = '\\xdeadbeef' where asset_key = $1 and day = $2", key, DAY
        )
        await world.pool.execute("update settled_day set buy_cost_eur = 5 where asset_key = $1 and day = $2", key, DAY)
        outcome = await rebuild(world.pool, [asset], only_check=True)
        assert [(one.measure, one.differing, one.stored, one.from_facts) for one in outcome.differences] == [
            ("buy_volume_mwh", 92, None, 2.0),
            ("buy_cost_eur", 92, None, -20.0),
            ("buy_cost_eur", None, 5.0, -20.0),
            ("sell_volume_mwh", 92, None, 8.0),
            ("sell_proceeds_eur", 92, None, pytest.approx(534.88)),
        ]

    async def test_counts_a_day_once_however_much_of_it_is_wrong(self, world: World, asset: UUID) -> None:
        await world.pool.execute(
            "update settled_day set buy_cost_eur = 5, sell_proceeds_eur = 7 where asset_key = $1 and day = $2",
            await world.key_of(asset),
            DAY,
        )
        outcome = await rebuild(world.pool, [asset], only_check=True)
        assert (len(outcome.differences), outcome.differing_days) == (2, 1)

    async def test_tells_those_who_follow_and_the_audit_log(self, world: World, asset: UUID) -> None:
        key = await world.key_of(asset)
        await world.pool.execute("update settled_day set buy_cost_eur = 5 where asset_key = $1 and day = $2", key, DAY)
        revision = "select revision from settled_asset where asset_key = $1"
        before = await world.pool.fetchval(revision, key)
        told = len(await events_of(world.pool, world.organisation_id, subject=f"virtual-assets/{asset}"))
        await rebuild(world.pool, [asset], only_check=False)
        assert await world.pool.fetchval(revision, key) == before + 1, "under the lock that settlements take"
        [event] = (await events_of(world.pool, world.organisation_id, subject=f"virtual-assets/{asset}"))[told:]
        assert (event.type, event.permission, event.data) == (
            "data-points.updated",
            "Read:revenue",
            {"start": "2026-03-28T23:00:00Z", "end": "2026-03-29T22:00:00Z"},
        )
        await world.record_facts([NetOff(0, utc(DAY + timedelta(days=2), 9), Fraction(1))], [asset])
        corrupted = "update settled_day set buy_cost_eur = 5, sell_volume_mwh = 3 where asset_key = $1 and day < $2"
        await world.pool.execute(corrupted, key, LATER)
        await rebuild(world.pool, [asset], only_check=False)
        noted = await world.pool.fetch(
            """
            select details, subject_organisation_id from audit_log
            where action = 'rebuildRevenue' and resource = $1 order by id
            """,
            f"virtual-assets/{asset}",
        )
        assert [tuple(row) for row in noted] == [
            ({"days": 1, "first": "2026-03-29", "last": "2026-03-29"}, world.organisation_id),
            ({"days": 2, "first": "2026-03-29", "last": "2026-03-31"}, world.organisation_id),
        ], "each day once, however much of it was wrong"

    async def test_goes_through_all_assets_in_parts(
        self, world: World, asset: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rebuilding, "DAY_BATCH_SIZE", 50)
        key = await world.key_of(asset)
        await world.pool.execute("update settled_day set buy_cost_eur = 5 where asset_key = $1", key)
        seen: list[int] = []

        def watch(outcome: RebuildReport) -> None:
            seen.append(outcome.compared_days)

        outcome = await rebuild(world.pool, [], only_check=False, watch=watch)
        assert {one.day for one in outcome.differences if one.asset_id == asset} == {DAY, LATER}
        assert seen == sorted(seen)
        assert seen[-1] == outcome.total_days
        assert len(seen) > 4
        assert (await rebuild(world.pool, [], only_check=True)).differing_days == 0

    async def test_refuses_an_unknown_asset(self, world: World, asset: UUID) -> None:
        with pytest.raises(UnknownAssets):
            await rebuild(world.pool, [asset, uuid4()], only_check=True)

    async def test_is_safe_beside_settlements(self, world: World) -> None:
        asset = await world.virtual_asset()
        key = await world.key_of(asset)
        start = datetime(2026, 6, 1, tzinfo=UTC)

        async def settle(writer: int) -> None:
            for round in range(15):
                facts = [
                    Trade(
                        0, f"{writer}-{n}", start + timedelta(days=n, hours=round), "SELL", Fraction(round), Fraction(9)
                    )
                    for n in range(4)
                ]
                kind, _ = row_of(facts[0], asset)
                await world.record(kind, [row_of(fact, asset)[1] for fact in facts])

        async def corrupt_and_mend() -> None:
            for _ in range(10):
                await world.pool.execute(
                    "update settled_day set sell_proceeds_eur = sell_proceeds_eur + 7 where asset_key = $1", key
                )
                await rebuild(world.pool, [asset], only_check=False)

        async with asyncio.TaskGroup() as group:
            for writer in range(4):
                group.create_task(settle(writer))
            group.create_task(corrupt_and_mend())
        assert (await rebuild(world.pool, [asset], only_check=True)).differences == []
        found = await world.pool.fetchval("select sum(sell_volume_mwh) from settled_day where asset_key = $1", key)
        assert found == 4 * 4 * sum(range(15))


class TestTheCommand:
    def run(self, database_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gridloom.commands.cli", "rebuild", "revenue", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "GRIDLOOM_DATABASE_URL": database_url},
            timeout=60,
        )

    async def test_ends_with_1_where_a_check_finds_a_difference(
        self, world: World, asset: UUID, database_url: str
    ) -> None:
        of_asset = ("--asset", str(asset))
        key = await world.key_of(asset)
        await world.pool.execute("update settled_day set buy_cost_eur = 5 where asset_key = $1 and day = $2", key, DAY)
        checked = await asyncio.to_thread(self.run, database_url, "--check", *of_asset)
        assert checked.returncode == 1, checked.stderr
        assert "buy_cost_eur" in checked.stdout
        assert str(asset) in checked.stdout
        mended = await asyncio.to_thread(self.run, database_url, *of_asset)
        assert mended.returncode == 0
        assert "1 differed and were made anew" in mended.stdout
        assert (await rebuild(world.pool, [asset], only_check=True)).differing_days == 0
