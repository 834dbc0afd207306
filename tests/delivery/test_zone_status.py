"""What a zone's plan depends on, and since when: each input moves the status of its zone while it counts, and then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from tests.delivery.conftest import Yard

from gridloom.delivery.inputs.zone_status_store import InputVersions, ZoneStatus, read_zone_status
from gridloom.delivery.runs.due_gates import planning_window
from gridloom.kernel.market_time import market_day_of, period_number

ONE_DAY, BRIEFLY = timedelta(days=1), timedelta(milliseconds=1)


class Looker:
    """The status of TenneT after a change that is undone."""

    def __init__(self, db: Any, now: Any) -> None:
        self.db, self.now, self.span = db, now, planning_window(now)

    async def look(self, zone: str = "TenneT") -> ZoneStatus | None:
        end = period_number(self.span.end)
        found = await read_zone_status(self.db, self.now, self.span.start, self.span.end, end, zone)
        everywhere = await read_zone_status(self.db, self.now, self.span.start, self.span.end, end)
        assert found == [one for one in everywhere if one.delivery_zone == zone]
        return found[0] if found else None

    async def after(self, *changes: tuple[Any, ...]) -> ZoneStatus:
        attempt = self.db.transaction()
        await attempt.start()
        try:
            for statement, *given in changes:
                await self.db.execute(statement, *given)
            status = await self.look()
        finally:
            await attempt.rollback()
        assert status is not None
        return status


async def test_the_status_of_a_zone_follows_its_inputs_of_today_and_tomorrow(yard: Yard) -> None:
    battery, other = await yard.battery(), await yard.battery()
    made = await yard.virtual(battery)
    await yard.advance(await yard.now())
    keys = {
        name: await yard.edge.pool.fetchval("select key from asset where id = $1", UUID(one["id"]))
        for name, one in (("battery", battery), ("other", other), ("virtual", made))
    }
    key, virtual = keys["battery"], keys["virtual"]
    async with yard.edge.pool.acquire() as db:
        looker = Looker(db, await yard.now())
        start, end = looker.span.start, looker.span.end
        today = market_day_of(start)
        status = await looker.look()
        assert status is not None
        assert await looker.look("Amprion") is None
        assert not status.needs_run, "all of it is planned"
        assert (status.gate_closure_s, status.next_asset_start, status.first_misfit) == (480, yard.start, None)
        version = await db.fetchval("select version from virtual_asset where asset_key = $1", virtual)
        assert status.versions.asset_rows.tolist() == [[virtual], [version], [0]]
        assert status.versions.batteries.keys() == {f"P{key}"}, "nothing of the battery that backs nothing"

        async def stamp(kind: str, *changes: tuple[Any, ...]) -> str | None:
            """What is new of the battery; a run is needed where anything is."""
            found = await looker.after(*changes)
            new = dict(found.versions.batteries.items() - status.versions.batteries.items())
            assert new.keys() <= {f"{kind}{key}"}
            assert found.needs_run is bool(new)
            return new.get(f"{kind}{key}")

        def outage(low: Any, high: Any, number: int = 1, of: int = key) -> tuple[Any, ...]:
            return (
                """insert into unavailability (asset_key, id, description, type, starts_at, ends_at, energy_kwh,
                     charge_power_kw, discharge_power_kw, created_by, recorded_at, version)
                   values ($1, $2, '', 'OUTAGE', $3, $4, 0, 0, 0, $2, $3, $5)""",
                *(of, UUID(int=5), low, high, number),
            )

        assert await stamp("U", outage(start - ONE_DAY, start)) is None
        assert await stamp("U", outage(end, end + ONE_DAY)) is None
        assert await stamp("U", outage(start, end, of=keys["other"])) is None
        marks = {
            await stamp("U", outage(start - ONE_DAY, start + BRIEFLY)),
            await stamp("U", outage(end - BRIEFLY, end + ONE_DAY)),
        }
        assert marks != {None}
        assert len(marks) == 1
        assert await stamp("U", outage(start, end, 2)) not in marks

        def result(days: int, revision: int = 1) -> list[tuple[Any, ...]]:
            bid, day = uuid4(), today + days * ONE_DAY
            bids = """insert into ancillary_bid (asset_key, id, delivery_day, product, delivery_start, delivery_end,
                        capacity_price_eur, offered_capacity_kw, placed_at, placed_by, status)
                      values ($1, $2, $3, 'POS_00_04', now(), now(), 1, 1000, now(), $2, 'REPLACED')"""
            results = """insert into ancillary_result (asset_key, bid_id, delivery_day, product, revision, accepted,
                           accepted_capacity_kw, recorded_at, recorded_by)
                         values ($1, $2, $3, 'POS_00_04', $4, true, 1000, now(), $2)"""
            return [(bids, key, bid, day), (results, key, bid, day, revision)]

        def placed(days: int) -> tuple[Any, ...]:
            drift = """insert into delivery_drift (asset_key, day, first_period, power_kw, recorded_at)
                       values ($1, $2, 1, array[1], now())"""
            return (drift, key, today + days * ONE_DAY)

        assert [await stamp("A", *result(days)) for days in (-2, -1, 2, 3)] == [None, "1:1", "1:1", None]
        assert await stamp("A", *result(0), *result(1, 4)) == "2:5"
        days = [await stamp("D", placed(one)) for one in (-1, 0, 2, 3)]
        assert days == [None, today.isoformat(), (today + 2 * ONE_DAY).isoformat(), None]
        assert await stamp("D", placed(0), placed(1)) == (today + ONE_DAY).isoformat()
        anchor = "insert into delivery_anchor (asset_key, version, measured_period, offset_kwh) values ($1, 7, 1, 1)"
        assert await stamp("E", (anchor, key)) == "7"
        own = "insert into physical_schedule_version (asset_key, version, updated_by) values ($1, 8, $2)"
        assert await stamp("S", (own, key, uuid4())) == "8"

        last = period_number(yard.start + 2 * ONE_DAY)
        misfit = "update virtual_asset set first_misfit = $2 where asset_key = $1"
        cut = await looker.after((misfit, virtual, last - 1))
        assert (cut.first_misfit, cut.versions.asset_rows[2].tolist(), cut.needs_run) == (last - 1, [last - 1], True)
        assert (await looker.after((misfit, virtual, last))).first_misfit is None, "when its life is over"
        stamps = ("update virtual_asset set version = version + 1 where asset_key = $1", virtual)
        assert (await looker.after(stamps)).needs_run
        open_until = period_number(looker.now + timedelta(seconds=480))
        facts = "update delivery_zone set first_settling = $1 where delivery_zone = 'TenneT'"
        assert [(await looker.after((facts, open_until + n))).needs_run for n in (0, 1)] == [True, False]
        planned = "update delivery_zone set end_period = $1 where delivery_zone = 'TenneT'"
        assert [(await looker.after((planned, period_number(end) - n))).needs_run for n in (1, 0)] == [True, False]
        over = yard.start + 2 * ONE_DAY
        assert [await Looker(db, over - n * BRIEFLY).look() is None for n in (0, 1)] == [True, False]
        early = await Looker(db, yard.start - 3 * ONE_DAY).look()
        assert early is not None
        assert early.versions == InputVersions(), "of one that lives later only"
