"""Months in which a battery failed: an issued one is corrected by lines of the next, and left alone by an upgrade."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from tests.database_server import server_url, url_of
from tests.delivery.test_failures import Zone, sent, zone_of
from tests.people import OrganisationUnderTest
from tests.virtual_assets.conftest import wire

from gridloom.commands import cli
from gridloom.kernel.market_time import market_day_window, period_number
from gridloom.platform.database.migrate import migrate
from gridloom.statements.upgrade_report import NEVER

JANUARY, FEBRUARY = "2028-01", "2028-02"
LAST_DAY = market_day_window(date(2028, 1, 31))
FIRST_OF_FEBRUARY = 96
"""The number of its first quarter-hour: the virtual asset lives on the last day of January and the one after it."""


@pytest.fixture
async def zone(fresh_app: Any) -> AsyncIterator[Zone]:
    async with zone_of(await fresh_app(LAST_DAY.start - timedelta(hours=8)), start=LAST_DAY.start) as made:
        yield made


async def issue(zone: Zone, month: str) -> None:
    run = await sent(await zone.yard.operator.post("/statements", json={"month": month, "allowMissing": True}))
    async with asyncio.timeout(60):
        while run["status"] == "RUNNING":
            await asyncio.sleep(0.05)
            run = await sent(await zone.yard.operator.get(f"/statements/runs/{run['id']}"))
    assert run["status"] == "DONE", run


async def read(organisation: OrganisationUnderTest, month: str) -> Any:
    path = f"/organisations/{organisation.id}/statements"
    [found] = [one for one in await sent(await organisation.viewer.get(path)) if one["month"] == month]
    return await sent(await organisation.viewer.get(f"{path}/{found['id']}"))


async def sums(organisation: OrganisationUnderTest, month: str) -> dict[tuple[str, str], Decimal]:
    """EUR by line and, of corrections, the line and the month that they correct."""
    found: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for line in (await read(organisation, month))["lines"]:
        corrects = line.get("corrects", {"line": line["line"], "month": month})
        found[corrects["line"], corrects["month"]] += Decimal(str(line["amount"]))
    return {name: amount for name, amount in found.items() if amount}


class TestALateCorrection:
    async def test_of_an_outage_is_settled_by_correction_lines_where_the_month_is_issued(self, zone: Zone) -> None:
        """Of 2 MW half was not delivered: −25.00 for who failed. Without the outage nothing explains it: half each."""
        await zone.toll()
        await zone.yard.schedule(zone.virtual, [2000.0, 2000.0])
        outage = await zone.lose(0, 0, 1)
        await zone.advance(FIRST_OF_FEBRUARY + 2)
        await zone.publish(4)
        await issue(zone, JANUARY)
        failed, other = zone.owners
        issued = [await read(one, JANUARY) for one in zone.owners]
        assert (await sums(failed, JANUARY))["IMBALANCE", JANUARY] == Decimal("-25.00")
        assert ("IMBALANCE", JANUARY) not in await sums(other, JANUARY)
        changes: list[tuple[Any, str, str]] = [
            (failed.engineer.change(outage, json={"start": _wire(zone, 2), "end": _wire(zone, 3)}), "12.50", "-12.50"),
            (failed.engineer.change(outage, json={"start": _wire(zone, 0)}), "0", "0"),
            (failed.engineer.delete(outage), "12.50", "-12.50"),
        ]
        for place, (change, due, due_of_other) in enumerate(changes):
            await sent(await change)
            await zone.advance(FIRST_OF_FEBRUARY + 3 + place)
            corrected = [(await sums(one, FEBRUARY)).get(("IMBALANCE", JANUARY), Decimal(0)) for one in zone.owners]
            assert corrected == [Decimal(due), Decimal(due_of_other)]
        assert [await read(one, JANUARY) for one in zone.owners] == issued, "it never changes"


def _wire(zone: Zone, place: int) -> str:
    return zone.at(place).isoformat()


class TestAnUpgrade:
    async def test_leaves_what_is_issued_and_settles_open_months_anew_and_says_what_that_changes(
        self, zone: Zone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """In a quarter-hour of each month 2 MW were cut to the 1 MW of the battery that was there: the owners of both
        owed half of the 25.00 EUR."""
        pool = zone.yard.edge.pool
        await pool.execute("update failures_settled set first_period = $1", NEVER)
        for place in (0, FIRST_OF_FEBRUARY):
            await zone.yard.schedule(zone.virtual, [1000.0], offset=place)
            await zone.lose(0, place, place + 1)
        await zone.advance(FIRST_OF_FEBRUARY + 2)
        await zone.publish(FIRST_OF_FEBRUARY + 2)
        for place in (0, FIRST_OF_FEBRUARY):
            await _cut_as_before(zone, place)
        await issue(zone, JANUARY)
        failed, other = zone.owners
        for owner in zone.owners:
            for month in (JANUARY, FEBRUARY):
                assert (await sums(owner, month))["IMBALANCE", month] == Decimal("-12.50")
        issued = [await read(one, JANUARY) for one in (*zone.owners, zone.yard.trader)]
        await _undo_migration(zone)
        database = url_of(server_url(), await pool.fetchval("select current_database()"))
        connection = await asyncpg.connect(database)
        assert await migrate(connection) == ["0640_settled_once", "0810_settle_all_open_months"]
        await connection.close()
        await zone.advance(FIRST_OF_FEBRUARY + 3)
        assert [await read(one, JANUARY) for one in (*zone.owners, zone.yard.trader)] == issued
        assert await sums(failed, FEBRUARY) == {("IMBALANCE", FEBRUARY): Decimal("-25.00")}
        assert not await _list_months(other, FEBRUARY), "it owes nothing, and January is not corrected"
        monkeypatch.setenv(
            "GRIDLOOM_DATABASE_URL", url_of(server_url(), await pool.fetchval("select current_database()"))
        )
        await asyncio.to_thread(cli.upgrade_report)
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert {(row["organisationID"], row["month"], row["line"], row["change"]) for row in rows} == {
            (str(failed.id), FEBRUARY, "IMBALANCE", "-12.50"),
            (str(other.id), FEBRUARY, "IMBALANCE", "12.50"),
        }

    async def test_settles_open_months_however_long_ago_they_were(self, zone: Zone) -> None:
        """Of a platform that has issued nothing: a cut of 75 days ago, while another virtual asset lives on."""
        pool, days = zone.yard.edge.pool, 75
        await zone.yard.virtual(await zone.yard.battery(), end=wire(zone.at(days * 96)))
        await pool.execute("update failures_settled set first_period = $1", NEVER)
        await zone.yard.schedule(zone.virtual, [1000.0])
        await zone.lose(0, 0, 1)
        await zone.advance(2)
        await zone.publish(2)
        await _cut_as_before(zone, 0)
        await zone.advance(days * 96 - 8)
        await _undo_migration(zone)
        connection = await asyncpg.connect(url_of(server_url(), await pool.fetchval("select current_database()")))
        await migrate(connection)
        await connection.close()
        await zone.advance(days * 96 - 4)
        found = [(await sums(one, JANUARY)).get(("IMBALANCE", JANUARY)) for one in zone.owners[:1]]
        assert found == [Decimal("-25.00")]
        assert not await _list_months(zone.owners[1], JANUARY), "the other one owes nothing"


async def _list_months(organisation: OrganisationUnderTest, month: str) -> list[Any]:
    found = await sent(await organisation.viewer.get(f"/organisations/{organisation.id}/statements"))
    return [one for one in found if one["month"] == month]


async def _cut_as_before(zone: Zone, place: int) -> None:
    """The schedule, and with it the virtual store, followed the whole cut; only its record said what was accepted."""
    await zone.yard.edge.pool.execute(
        """insert into schedule_adjustment
             (asset_key, period, version, accepted_kw, adjusted_kw, reason, announced_kw, scheduled_kw)
           select key, $2, 1, 2000, 1000, 'AVAILABILITY', 2000, 1000 from asset where id = $1""",
        zone.virtual["id"],
        period_number(zone.at(place)),
    )


async def _undo_migration(zone: Zone) -> None:
    """The tables that settling once has touched are as 0.2.0 leaves them."""
    await zone.yard.edge.pool.execute(
        """alter table schedule_adjustment drop column scheduled_kw;
           drop table virtual_reach, battery_failure, failures_settled;
           delete from schema_migration where name similar to '(0640|0810)%'"""
    )
