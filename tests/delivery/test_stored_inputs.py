"""What a plan is made of and what came of it, read back from rows beside which others stand that are not asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from tests.assets import register_asset

from gridloom.delivery.dispatch.store import add_versions, read_asset_ids, read_dispatched_until, read_versions
from gridloom.delivery.dispatch.versions import NewDispatchVersion
from gridloom.delivery.inputs.store import (
    ActiveAsset,
    BackingRow,
    Reserve,
    limit_lock_wait,
    read_active_assets,
    read_assets,
    read_assets_to_cut,
    read_backed_shares,
    read_backing,
    read_block_reserves,
    read_energy_changes_kwh,
    read_holdings_digest,
    read_measured_keys,
    read_powers_kw,
    read_states_of_charge,
)
from gridloom.delivery.performance.store import (
    add_dispatched_days,
    add_measured_days,
    read_dispatched_days,
    read_last_dispatched_days,
    read_measured_days,
)
from gridloom.delivery.runs.store import (
    add_placement,
    clear_failure,
    read_failed_at,
    read_owners,
    read_placements,
    read_writers,
    record_failure,
)
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import market_day_periods
from gridloom.monitoring.model import LATEST

MOMENT = datetime(2031, 4, 30, 10, tzinfo=UTC)
DAY = 22_400
FIRST = 96 * DAY
BRIEFLY = timedelta(milliseconds=1)


@pytest.fixture
async def db(app: Any) -> AsyncIterator[Any]:
    """Undone in the end: rows without what belongs to them are for no one else to find."""
    async with app.pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            yield connection
        finally:
            await transaction.rollback()


@pytest.fixture
async def keys(app: Any, new_organisation: Any) -> list[int]:
    """Two assets."""
    owner = await new_organisation()
    ids = [UUID((await register_asset(owner)).id) for _ in range(2)]
    return [await app.pool.fetchval("select key from asset where id = $1", one) for one in ids]


class TestVersionsOfADispatch:
    async def test_are_those_that_touch_the_periods_and_the_last_of_all_by_its_number(
        self, db: Any, keys: list[int]
    ) -> None:
        """The third lies far ahead of the others; a number that is not known is read."""
        key, other = keys
        given: list[Any] = [
            (MOMENT, [(key, 0, 4, b"one"), (other, 1, 9, b"another's")], {}, {key: 1, other: 1}),
            (MOMENT + BRIEFLY, [(key, 2, 8, b"two")], {key: 1, other: 7}, {key: 2}),
            (
                MOMENT + 2 * BRIEFLY,
                [(other, 0, 1, b"its second"), (key, 20, 24, b"three")],
                {key: 0},
                {other: 2, key: 3},
            ),
        ]
        for now, made, known, numbers in given:
            versions = [NewDispatchVersion(one, FIRST + low, FIRST + high, body) for one, low, high, body in made]
            assert await add_versions(db, uuid4(), now, versions, known) == numbers
        for low, high, as_of, last, found in (
            (0, 4, None, 3, [b"one", b"two"]),
            (4, 20, None, 3, [b"two"]),
            (8, 20, None, 3, []),
            (8, 21, None, 3, [b"three"]),
            (0, 30, MOMENT + BRIEFLY, 2, [b"one", b"two"]),
            (9, 30, MOMENT + BRIEFLY, 2, []),
            (0, 30, MOMENT, 1, [b"one"]),
            (0, 30, MOMENT - BRIEFLY, 0, []),
        ):
            version, read = await read_versions(db, key, FIRST + low, FIRST + high, as_of)
            assert (version, [one.body for one in read]) == (last, found), (low, high, as_of)
        _, [*_, two] = await read_versions(db, key, FIRST, FIRST + 4, None)
        assert (two.version, two.recorded_at, two.first, two.end) == (2, MOMENT + BRIEFLY, FIRST + 2, FIRST + 8)
        ends = [await read_dispatched_until(db, one) for one in (key, other, key + 1_000_000)]
        assert ends == [FIRST + 24, FIRST + 9, None], "the last of them ends earlier"

    async def test_name_virtual_assets_by_their_ids(self, db: Any, keys: list[int]) -> None:
        ids = {row["key"]: row["id"] for row in await db.fetch("select key, id from asset where key = any($1)", keys)}
        assert await read_asset_ids(db, [keys[1], keys[1] + 1_000_000]) == {keys[1]: ids[keys[1]]}


class TestBlocksInReserve:
    async def test_are_the_standing_ones_of_reserve_markets_that_touch_the_periods(
        self, db: Any, keys: list[int]
    ) -> None:
        key, other = keys
        rows: list[Any] = [
            # key, until version, lane, first, end, market, charge, discharge, minutes
            (key, None, 2, 0, 16, "FCR", 30.0, 40.0, 15.0),
            (key, None, 1, 0, 16, "AFRR_NEG", 60.0, 0.0, 30.0),
            (key, None, 0, -16, 1, "AFRR_POS", 0.0, 70.0, 60.0),
            (other, None, 0, 3, 4, "AFRR_POS", 0.0, 80.0, 60.0),
            (key, None, 3, -16, 0, "FCR", 9.0, 9.0, 15.0),
            (key, None, 3, 4, 16, "FCR", 9.0, 9.0, 15.0),
            (key, 5, 4, 0, 16, "FCR", 9.0, 9.0, 15.0),
            (key, None, 5, 0, 16, "WHOLESALE", 9.0, 9.0, 0.0),
        ]
        await db.executemany(
            """insert into virtual_block (id, since_version, asset_key, until_version, lane, first_period, end_period,
                 market, charge_kw, discharge_kw, reserve_minutes)
               values (gen_random_uuid(), 1, $1, $2, $3, $4, $5, $6, $7, $8, $9)""",
            [(one, until, lane, FIRST + low, FIRST + high, *rest) for one, until, lane, low, high, *rest in rows],
        )
        expected = [
            Reserve(key, "AFRR_POS", FIRST - 16, FIRST + 1, 70.0, 1.0),
            Reserve(key, "AFRR_NEG", FIRST, FIRST + 16, 60.0, 0.5),
            Reserve(key, "FCR", FIRST, FIRST + 16, 40.0, 0.25),
            Reserve(other, "AFRR_POS", FIRST + 3, FIRST + 4, 80.0, 1.0),
        ]
        assert await read_block_reserves(db, [other, key], FIRST, FIRST + 4) == sorted(
            expected, key=lambda one: one.asset_key
        )
        assert await read_block_reserves(db, [other], FIRST + 3, FIRST + 4) == expected[3:]


class TestSchedulesOfVirtualAssets:
    async def test_are_the_sum_of_all_lanes_in_the_order_that_is_asked_for(self, db: Any, keys: list[int]) -> None:
        """Over three days of UTC, of which nothing is scheduled on the second."""
        key, other = keys
        rows = [
            (key, 0, 0, 1.0),
            (key, 1, 0, 0.5),
            (key, 0, 2, 4.0),
            (other, 0, 0, 100.0),
            (key, 0, -1, 9e6),
            (key, 0, 3, 9e6),
        ]
        await db.executemany(
            "insert into virtual_schedule (asset_key, lane, day, power_kw) values ($1, $2, $3, $4)",
            [(one, lane, DAY + day, [power + place / 128 for place in range(96)]) for one, lane, day, power in rows],
        )
        found = await read_powers_kw(db, [other, key], FIRST + 94, FIRST + 2 * 96 + 1)
        assert found[0].tolist() == [100 + 94 / 128, 100 + 95 / 128, *[0.0] * 97]
        assert found[1].tolist() == [1.5 + 94 / 64, 1.5 + 95 / 64, *[0.0] * 96, 4.0]

    async def test_change_the_energy_by_what_was_scheduled_on_the_days_before(self, db: Any, keys: list[int]) -> None:
        key, other = keys
        rows = [(key, DAY // 32, 1.0), (key, DAY // 32 - 1, 1000.0), (key, DAY // 32 + 1, 1e6), (other, DAY // 32, 7.0)]
        changes = [[kwh * (place + 1) for place in range(32)] for _, _, kwh in rows]
        await db.executemany(
            """insert into virtual_energy (asset_key, span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
               values ($1, $2, $3, $3, $3, $3)""",
            [(one, span, change) for (one, span, _), change in zip(rows, changes, strict=True)],
        )
        whole = 1000.0 * 32 * 33 / 2
        for ahead, of_one, of_other in ((0, 0, 0), (1, 1, 7), (3, 6, 42), (32, 32 * 33 / 2, 7 * 32 * 33 / 2)):
            day = DAY // 32 * 32 + ahead
            found = await read_energy_changes_kwh(db, [other, key], day)
            assert found.tolist() == [of_other, whole + of_one], ahead


class TestVirtualAssetsOfAZone:
    ZONE, ANOTHER = f"zone {uuid4()}", f"zone {uuid4()}"

    async def _make(self, db: Any, key: int, low: int, high: int, misfit: int | None = None) -> ActiveAsset:
        await db.execute(
            """insert into virtual_asset (asset_key, organisation_id, name, start_at, end_at, delivery_zone,
                 rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency,
                 discharge_efficiency, gate_closure_s, initial_soc, final_soc_target, final_soc_tolerance, created_at,
                 version, end_kwh, first_misfit, first_activated, daily_cycle_limit, annual_cycle_limit)
               select key, organisation_id, 'one', $2, $3, $4, 7, 8, 400, 0.9, 0.8, 480, 0.25, 0.5, 0, $2, 1, 9, $5, $6,
                      1.5, 300 from asset where key = $1""",
            *(key, period_start(FIRST + low), period_start(FIRST + high), self.ZONE),
            *(None if misfit is None else FIRST + misfit, FIRST + 3),
        )
        given = FIRST + low, FIRST + high, 0.9, 0.8, None if misfit is None else FIRST + misfit, FIRST + 3
        return ActiveAsset(key, *given, 400.0, 100.0, 200.0, 1.5, 300.0)

    async def test_are_those_that_live_in_the_window_with_all_their_figures(self, db: Any, keys: list[int]) -> None:
        one, other = await self._make(db, keys[1], 0, 8, 5), await self._make(db, keys[0], 4, 12)
        for low, high, found in (
            *((-4, 0, []), (-4, 1, [one]), (3, 4, [one]), (3, 5, [other, one])),
            *((7, 8, [other, one]), (8, 9, [other]), (12, 13, [])),
        ):
            window = period_start(FIRST + low), period_start(FIRST + high)
            assert await read_active_assets(db, self.ZONE, *window) == sorted(found, key=lambda asset: asset.key)
            assert await read_active_assets(db, self.ANOTHER, *window) == []
        assert await read_assets(db, [one.key]) == [one]
        assert await read_assets(db, keys[::-1]) == sorted([one, other], key=lambda asset: asset.key)

    async def test_are_to_be_cut_once_the_gate_of_what_does_not_fit_has_closed_while_it_is_in_their_life(
        self, db: Any, keys: list[int]
    ) -> None:
        await self._make(db, keys[0], 0, 8, 5)
        await self._make(db, keys[1], 0, 8, 7)
        for until, found in ((5, []), (6, keys[:1]), (7, keys[:1]), (8, keys)):
            assert await read_assets_to_cut(db, self.ZONE, FIRST + until) == sorted(found)
            assert await read_assets_to_cut(db, self.ANOTHER, FIRST + until) == []
        await db.execute("update virtual_asset set first_misfit = $2 where asset_key = $1", keys[1], FIRST + 8)
        assert await read_assets_to_cut(db, self.ZONE, FIRST + 9) == keys[:1], "not what comes after its end"

    async def test_have_their_shares_of_a_battery_while_they_live_in_the_periods(
        self, db: Any, keys: list[int]
    ) -> None:
        """The first battery stands behind one of them, the second behind both; all are known by the same two keys."""
        one, other = sorted(keys)
        await self._make(db, one, 0, 8)
        await self._make(db, other, 4, 12)
        shares = [(other, other, 1.0), (one, other, 0.75), (one, one, 0.25)]
        await db.executemany(
            """insert into virtual_backing (asset_key, physical_asset_key, position, share, charge_kw, discharge_kw,
                 energy_kwh) values ($1, $2, 1, $3, 1, 1, 1)""",
            shares,
        )
        of_other, of_one, whole = (BackingRow(*share) for share in shares)
        for low, high, found in (
            *((-4, 0, []), (-4, 1, [of_one]), (3, 4, [of_one]), (3, 5, [of_one, of_other])),
            *((7, 8, [of_one, of_other]), (8, 9, [of_other]), (11, 12, [of_other]), (12, 13, [])),
        ):
            assert await read_backed_shares(db, other, FIRST + low, FIRST + high) == found, (low, high)
        assert await read_backed_shares(db, one, FIRST, FIRST + 12) == [whole]
        assert await read_backing(db, [other, one]) == [whole, of_one, of_other]
        assert await read_backing(db, [one]) == [whole, of_one]


class TestTheWaitForALock:
    async def test_is_limited_until_the_transaction_ends(self, app: Any) -> None:
        async with app.pool.acquire() as connection:
            before = await connection.fetchval("show lock_timeout")
            async with connection.transaction():
                await limit_lock_wait(connection, 2.5)
                assert await connection.fetchval("show lock_timeout") == "2500ms"
            assert await connection.fetchval("show lock_timeout") == before


class TestWhatOthersHoldOfABattery:
    async def test_is_another_mark_where_any_of_it_in_the_periods_is_another(self, db: Any, keys: list[int]) -> None:
        """What virtual assets hold, and what is over by then or begins later, is no part of it."""
        key, other = keys

        async def digest() -> list[int]:
            found: list[int] = (await read_holdings_digest(db, [other, key], FIRST, FIRST + 4)).tolist()
            return found

        async def hold(kind: str, low: int, high: int) -> None:
            await db.execute(
                """insert into capacity_holding (asset_key, holder_id, kind, first_period, end_period, charge_kw,
                     discharge_kw, energy_kwh, is_firm, charge_efficiency, discharge_efficiency)
                   values ($1, gen_random_uuid(), $2, $3, $4, 1, 2, 3, false, 0.9, 0.9)""",
                *(key, kind, FIRST + low, FIRST + high),
            )

        assert await digest() == [0, 0]
        for kind, low, high in (("VIRTUAL_ASSET", 0, 4), ("AUCTION", -4, 0), ("AUCTION", 4, 8)):
            await hold(kind, low, high)
        assert await digest() == [0, 0]
        await hold("AUCTION", -4, 1)
        marks = [await digest()]
        for change in (
            "charge_kw = 5",
            "discharge_kw = 5",
            "energy_kwh = 5",
            "is_firm = true",
            "end_period = end_period + 1",
        ):
            await db.execute(
                f"update capacity_holding set {change} where asset_key = $1 and first_period = $2 and kind = 'AUCTION'",
                *(key, FIRST - 4),
            )
            marks.append(await digest())
        assert len({mark for _, mark in marks}) == len(marks)
        assert {mark for mark, _ in marks} == {0}


class TestTheLatestTelemetry:
    async def test_is_known_of_signals_of_which_there_is_a_point_since_then(self, db: Any, keys: list[int]) -> None:
        """Of the first there is a state of charge and power; the second has been told of more signals than it sent."""
        key, other = keys
        at_us = int(MOMENT.timestamp() * 1_000_000)
        for one, points in ((key, [(at_us - 5, 55.0), (at_us, 700.0)]), (other, [(at_us + 9, 1.0)])):
            await db.execute(
                "insert into telemetry_head (asset_key, signal_count, latest) values ($1, 3, $2)",
                *(one, np.array(points, dtype=LATEST).tobytes()),
            )
        signals = [(key, 0, "state_of_charge"), (key, 1, "active_power")]
        signals += [(other, 0, "current"), (other, 1, "state_of_charge"), (other, 2, "active_power")]
        await db.executemany("insert into telemetry_signal (asset_key, signal_id, name) values ($1, $2, $3)", signals)
        assert await read_states_of_charge(db, keys, MOMENT - BRIEFLY) == {key: 55.0}
        assert await read_states_of_charge(db, keys, MOMENT) == {}, "since then, not at it"
        for zone, since, found in (
            ("TenneT", MOMENT, [key]),
            (None, MOMENT, [key]),
            ("TenneT", MOMENT + BRIEFLY, []),
            ("Amprion", MOMENT, []),
        ):
            measured = await read_measured_keys(db, since, zone)
            assert [one for one in measured.get("TenneT", []) if one in keys] == found, (zone, since)
            assert zone is None or measured.keys() <= {zone}
        power_first = np.array([(at_us + 9, 55.0), (at_us - 1, 700.0)], dtype=LATEST).tobytes()
        await db.execute("update telemetry_head set latest = $2 where asset_key = $1", key, power_first)
        assert key not in (await read_measured_keys(db, MOMENT)).get("TenneT", []), "of another signal only"
        assert await read_states_of_charge(db, keys, MOMENT) == {key: 55.0}


class TestDaysThatAreRecorded:
    async def test_are_the_last_version_of_each_that_was_there_at_an_instant(self, db: Any, keys: list[int]) -> None:
        key, other = keys
        days = [date(2031, 4, 28), date(2031, 4, 29), date(2031, 4, 30)]
        await add_measured_days(db, other, days, [b"other"] * 3, MOMENT)
        await add_measured_days(db, key, days[:2], [b"a1", b"b1"], MOMENT)
        await add_measured_days(db, key, days[1:], [b"b2", b"c1"], MOMENT + BRIEFLY)
        for first, last, as_of, found in (
            (0, 2, None, {days[0]: b"a1", days[1]: b"b2", days[2]: b"c1"}),
            (1, 1, None, {days[1]: b"b2"}),
            (0, 2, MOMENT + BRIEFLY, {days[0]: b"a1", days[1]: b"b2", days[2]: b"c1"}),
            (0, 2, MOMENT, {days[0]: b"a1", days[1]: b"b1"}),
            (0, 2, MOMENT - BRIEFLY, {}),
        ):
            assert await read_measured_days(db, key, days[first], days[last], as_of) == found
        numbers = await db.fetch("select day, version from measured_day where asset_key = $1 order by 1, 2", key)
        assert list(map(tuple, numbers)) == [(days[0], 1), (days[1], 1), (days[1], 2), (days[2], 1)]

    async def test_have_the_dispatch_that_was_recorded_first(self, db: Any, keys: list[int]) -> None:
        key, other = keys
        days = [date(2031, 4, 28), date(2031, 4, 29), date(2031, 4, 30)]
        await add_dispatched_days(db, key, days[:2], [[1.0] * 96, [2.0] * 96])
        await add_dispatched_days(db, key, days[1:], [[8.0] * 96, [3.0] * 96])
        await add_dispatched_days(db, other, days[:1], [[9.0] * 96])
        first, end = market_day_periods(days[1])
        for low, high, found in (
            (first, end, {days[1]: 2.0}),
            (first - 1, end + 1, {days[0]: 1.0, days[1]: 2.0, days[2]: 3.0}),
            (end, end, {}),
        ):
            read = await read_dispatched_days(db, key, low, high)
            assert {day: set(power_kw.tolist()) for day, power_kw in read.items()} == {
                day: {value} for day, value in found.items()
            }
        last = await read_last_dispatched_days(db, [*keys, key + 1_000_000])
        assert last == {key: days[2], other: days[0]}


class TestDriftThatWasPlaced:
    async def test_is_that_of_the_day_and_the_first_that_was(self, db: Any, keys: list[int]) -> None:
        day = date(2036, 5, 1)
        for place, (key, on, power) in enumerate(
            [(keys[1], day, 2.0), (keys[0], day, 1.0), (keys[0], day, 9.0), (keys[0], day + timedelta(days=1), 9.0)]
        ):
            power_kw = np.array([power, -power])
            await add_placement(db, key, on, FIRST + place, power_kw, MOMENT + place * BRIEFLY)
        found = [one for one in await read_placements(db, day) if one.asset_key in keys]
        assert [(one.asset_key, one.day, one.first, one.power_kw.tolist(), one.recorded_at) for one in found] == [
            (keys[0], day, FIRST + 1, [1.0, -1.0], MOMENT + BRIEFLY),
            (keys[1], day, FIRST, [2.0, -2.0], MOMENT),
        ]


class TestAZoneOfWhichRunsFail:
    async def test_is_told_of_once_until_a_run_has_succeeded(self, db: Any, keys: list[int]) -> None:
        zone = "TransnetBW"
        await db.execute("insert into delivery_zone (delivery_zone) values ($1) on conflict do nothing", zone)
        await db.execute("update physical_asset set delivery_zone = $1 where asset_key = any($2)", zone, keys)
        assert await read_failed_at(db, keys[0]) is None
        told = [await record_failure(db, zone, MOMENT + place * BRIEFLY, "Fault") for place in range(2)]
        assert (told, await read_failed_at(db, keys[0])) == ([True, False], MOMENT + BRIEFLY)
        other = f"zone {uuid4()}"
        await db.execute("insert into delivery_zone (delivery_zone) values ($1)", other)
        assert await record_failure(db, other, MOMENT, "Fault"), "of each zone for itself"
        await clear_failure(db, zone)
        assert await read_failed_at(db, keys[0]) is None
        assert not await record_failure(db, other, MOMENT, "Fault")
        assert await record_failure(db, zone, MOMENT, "Fault")

    async def test_is_told_of_to_each_owner_of_its_batteries_once(
        self, db: Any, keys: list[int], new_organisation: Any
    ) -> None:
        """One owns both batteries, another a third."""
        zone, other = "TransnetBW", await new_organisation()
        third = UUID((await register_asset(other)).id)
        await db.execute(
            """update physical_asset set delivery_zone = $1
               where asset_key = any($2) or asset_key = (select key from asset where id = $3)""",
            *(zone, keys, third),
        )
        owner = await db.fetchval("select organisation_id from asset where key = $1", keys[0])
        owners = [owner, UUID(str(other.id))]
        assert [one for one in await read_owners(db, zone) if one in owners] == sorted(owners)


class TestWriters:
    @pytest.mark.parametrize(
        ("statement", "is_writer"),
        [
            ("select from virtual_asset where asset_key = 0 for update", True),
            ("update virtual_asset set version = version where asset_key = 0", True),
            ("select from virtual_asset where asset_key = 0", False),
            ("select from physical_asset where asset_key = 0 for update", False),
        ],
    )
    async def test_are_transactions_that_have_locked_virtual_assets_or_are_changing_them(
        self, app: Any, db: Any, statement: str, is_writer: bool
    ) -> None:
        await db.execute("select from virtual_asset where asset_key = 0 for update")
        async with app.pool.acquire() as other:
            pid = other.get_server_pid()
            async with other.transaction():
                await other.execute(statement)
                found = {writer for writer, _ in await read_writers(db)}
                assert (pid in found) is is_writer
                assert db.get_server_pid() not in found, "a run does not wait for itself"
            assert pid not in {writer for writer, _ in await read_writers(db)}
