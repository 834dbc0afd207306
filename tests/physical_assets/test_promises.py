"""What a battery has promised stands in the way of retiring and moving it, and its holders learn of every change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.assets import PARAMETERS, AssetUnderTest, pointers, register_asset

from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency
from gridloom.capacity.store import LockedBatteries, write_holdings
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import format_instant, market_day_of, period_number, period_start
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import changes
from gridloom.physical_assets.availability.changes import AVAILABILITY_CHANGED, FOLLOW_OWNER_JOB
from gridloom.physical_assets.conflicts import MAX_WINDOW
from gridloom.physical_assets.precheck_store import has_future_holdings, is_dispatched_ahead, read_precheck
from gridloom.platform.database.pool import server_settings
from gridloom.platform.http.application import Application

NOW = period_number(datetime.now(UTC))
FIRST = NOW + 960  # ten days ahead
LOSSES = OneWayEfficiency(1.0, 1.0)
PROMISE = Holding(HoldingKind.VIRTUAL_ASSET, uuid4(), FIRST, FIRST + 8, 1_000, 2_000, 3_000, losses=LOSSES)
OFFER = Holding(HoldingKind.AUCTION, uuid4(), FIRST + 4, FIRST + 6, 300, 400, 500, losses=LOSSES)
BID = Holding(HoldingKind.AFRR_CAPACITY, uuid4(), FIRST + 2, FIRST + 18, 0, 600.5, 600.5, product="POS_00_04")
WAITING = replace(BID, holder_id=uuid4(), is_firm=False, end=FIRST + 50)
OVER = replace(PROMISE, holder_id=uuid4(), first=NOW - 9, end=NOW)

Hold = Callable[..., Awaitable[int]]


@pytest.fixture
async def asset(new_organisation: Any) -> AssetUnderTest:
    return await register_asset(await new_organisation())


@pytest.fixture
async def hold(app: Application, asset: AssetUnderTest) -> AsyncIterator[Hold]:
    """Has the battery hold exactly this; nothing is left of it after the test."""
    key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))

    async def set_holdings(*holdings: Holding) -> int:
        await app.pool.execute("delete from capacity_holding where asset_key = $1", key)
        await write_holdings(app.pool, [], [(key, one) for one in holdings])
        return int(key)

    yield set_holdings
    await set_holdings()


def at(period: int) -> str:
    return format_instant(period_start(period))


async def retire(asset: AssetUnderTest) -> Any:
    return await asset.owner.engineer.patch(asset.path(), json={"status": "INACTIVE"})


class TestRetiring:
    async def test_waits_for_every_firm_commitment_to_come_and_names_them_by_their_start(
        self, asset: AssetUnderTest, hold: Hold
    ) -> None:
        await hold(BID, PROMISE, OFFER, WAITING, OVER)
        refused = await retire(asset)
        assert (refused.status_code, refused.json()["type"]) == (409, "/docs/problems/asset-committed")
        assert f"(3: AFRR_CAPACITY, AUCTION, VIRTUAL_ASSET) stand until {at(BID.end)}" in refused.json()["detail"]
        promise, bid, offer = refused.json()["commitments"]
        assert promise == {
            "kind": "VIRTUAL_ASSET",
            "start": at(FIRST),
            "end": at(FIRST + 8),
            "charge": 1_000,
            "discharge": 2_000,
            "virtualAssetID": str(PROMISE.holder_id),
        }
        assert bid == {
            "kind": "AFRR_CAPACITY",
            "start": at(FIRST + 2),
            "end": at(FIRST + 18),
            "charge": 0,
            "discharge": 600.5,
            "bidID": str(BID.holder_id),
            "productDateCode": f"{market_day_of(period_start(BID.first))}_POS_00_04",
        }
        assert (offer["auctionID"], offer["charge"], offer["discharge"]) == (str(OFFER.holder_id), 300, 400)
        assert (await asset.owner.viewer.get(asset.path())).json()["status"] == "ACTIVE"
        await hold(WAITING, OVER)
        assert (await retire(asset)).json()["status"] == "INACTIVE", "a bid may still wait for its result"

    async def test_is_possible_while_all_is_out_for_all_of_that_time_which_then_has_to_stay_so(
        self, asset: AssetUnderTest, hold: Hold
    ) -> None:
        await hold(PROMISE)
        whole = {"charge": PARAMETERS["ratedChargePower"], "discharge": PARAMETERS["ratedDischargePower"]}
        outage = {
            "description": "",
            "type": "OUTAGE",
            "start": at(FIRST),
            "end": at(FIRST + 8),
            "volume": {"energyCapacity": PARAMETERS["energyCapacity"], "powerCapacity": whole},
        }
        lost = await asset.owner.engineer.post(asset.path("/unavailability"), json=outage)
        assert lost.status_code == 201, lost.text
        assert (await retire(asset)).status_code == 200
        for more, status in ({"ratedChargePower": 10_001}, 409), ({"ratedChargePower": 9_999}, 200):
            put = await asset.owner.engineer.put(asset.path("/parameters"), json={**PARAMETERS, **more})
            assert put.status_code == status, "more than is out would be left"
        [version] = (await asset.owner.viewer.get(asset.path("/parameters/history?limit=1"))).json()
        assert (version["version"], version["ratedChargePower"]) == (2, 9_999)
        await hold(PROMISE, BID)
        assert (await asset.owner.engineer.put(asset.path("/parameters"), json=PARAMETERS)).status_code == 200, (
            "what was not covered before is no reason"
        )
        assert (await retire(asset)).status_code == 200, "it is INACTIVE already"
        gone = await asset.owner.engineer.patch(asset.path(), json={"status": "DECOMMISSIONED"})
        assert (gone.status_code, [one["kind"] for one in gone.json()["commitments"]]) == (409, ["AFRR_CAPACITY"])
        assert (await asset.owner.engineer.patch(asset.path(), json={"status": "ACTIVE"})).status_code == 200
        assert (await retire(asset)).status_code == 409


class TestTheHealth:
    async def test_looks_as_far_ahead_as_an_outage_of_what_is_promised(self, asset: AssetUnderTest, hold: Hold) -> None:
        await hold(replace(PROMISE, end=FIRST + 96 * 300, discharge_kw=12_000))
        first = FIRST + 96 * 200
        outage = {
            "description": "",
            "type": "OUTAGE",
            "start": at(first),
            "end": at(first + 1),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 500}},
        }
        made = await asset.owner.engineer.post(asset.path("/unavailability"), json=outage)
        assert made.status_code == 201, made.text
        [conflict] = (await asset.owner.viewer.get(asset.path("/health"))).json()["conflicts"]
        assert (conflict["kind"], conflict["start"], conflict["end"]) == ("VIRTUAL_ASSET", at(first), at(first + 1))
        assert conflict["missing"] == {"charge": 0, "discharge": 500, "energy": 0}


class TestTheDeliveryZone:
    async def test_stays_while_a_virtual_asset_lies_in_it_that_is_not_over(
        self, asset: AssetUnderTest, hold: Hold
    ) -> None:
        async def move(zone: str) -> Any:
            return await asset.owner.engineer.patch(asset.path(), json={"deliveryZone": zone})

        await hold(PROMISE)
        refused = await move("Amprion")
        assert (refused.status_code, pointers(refused)) == (422, ["/deliveryZone"])
        assert (await move("TenneT")).status_code == 200, "where it is"
        await hold(OVER, BID)
        assert (await move("Amprion")).json()["deliveryZone"] == "Amprion"


class TestAChangeOfWhatABatteryCanDo:
    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The jobs that were asked for, which nobody runs."""
        found: list[Any] = []

        async def note(_: Any, kind: str, **options: Any) -> None:
            found.append((kind, options))

        monkeypatch.setattr(changes, "enqueue", note)
        return found

    async def test_is_looked_at_by_its_holders_and_followed_by_its_dispatch_where_there_are_any(
        self, asset: AssetUnderTest, hold: Hold, told: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        admin = asset.owner.admin
        schedule = {"schedule": [{"time": at(FIRST + 100), "power": 5}]}

        async def change(path: str, body: Any) -> list[str]:
            told.clear()
            answer = await admin.put(asset.path(path), json=body)
            assert answer.status_code == 200, answer.text
            assert {options["key"] for _, options in told} <= {str(key)}
            assert all(options["keep_earlier_due"] and options["clock"] == "platform" for _, options in told)
            return [kind for kind, _ in told]

        key = await hold(OVER)
        assert await change("/parameters", PARAMETERS) == await change("/schedule", schedule) == []
        await hold(PROMISE)
        assert await change("/parameters", PARAMETERS) == [AVAILABILITY_CHANGED]
        monkeypatch.setattr(changes, "is_dispatched_ahead", self.always)
        assert await change("/parameters", PARAMETERS) == [AVAILABILITY_CHANGED, FOLLOW_OWNER_JOB]
        assert await change("/schedule", schedule) == [FOLLOW_OWNER_JOB]

    async def always(self, *_: Any) -> bool:
        return True

    async def test_is_told_to_those_whose_virtual_assets_it_backs_from_when_it_holds_on(
        self, asset: AssetUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[Window, int]] = []
        emitted: list[Any] = []

        async def versions(db: Any, key: int) -> int:
            found = await db.fetchval("select count(*) from physical_asset_parameters where asset_key = $1", key)
            return int(found)

        async def look(db: Any, key: int, window: Window) -> Any:
            seen.append((window, await versions(db, key)))
            return key

        async def emit(db: Any, backed: Any, _: datetime) -> None:
            emitted.append(await versions(db, backed))

        monkeypatch.setattr(changes.READ_BACKED_AVAILABILITY, "_given", look)
        monkeypatch.setattr(changes.EMIT_AVAILABILITY_CHANGED, "_given", emit)
        for valid_from in (period_start(NOW - 960), period_start(FIRST)):
            body = {**PARAMETERS, "validFrom": valid_from.isoformat()}
            assert (await asset.owner.engineer.put(asset.path("/parameters"), json=body)).status_code == 200
        (past, before), (ahead, _) = seen
        assert (past.start, ahead.start) == (period_start(NOW - 960), period_start(FIRST)), "what held at gates then"
        assert ahead.end == period_start(FIRST) + MAX_WINDOW
        assert period_start(NOW) + MAX_WINDOW <= past.end < period_start(NOW + 96) + MAX_WINDOW
        assert (before, emitted) == (1, [2, 3]), "as it was before, and told once it has changed"

    async def test_is_propagated_under_the_batterys_lock(self, told: list[Any]) -> None:
        other = LockedBatteries(frozenset({8}), datetime.now(UTC))
        with pytest.raises(AssertionError):
            await changes.enqueue_revalidation(None, other, 7)  # type: ignore[arg-type]
        assert told == []


class TestAGlanceAtABattery:
    """Whether anything could be touched, in the periods from FIRST up to FIRST + 10 and from now on."""

    @pytest.fixture
    async def db(self, database_url: str) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(database_url, server_settings=server_settings())
        transaction = connection.transaction()
        await transaction.start()
        yield connection
        await transaction.rollback()
        await connection.close()

    async def make(self, db: Any) -> int:
        owner = uuid7()
        await db.execute("insert into organisation (id, name, kind) values ($1, $2, 'PARTICIPANT')", owner, str(owner))
        add = "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2) returning key"
        return int(await db.fetchval(add, uuid7(), owner))

    async def glance(self, db: Any, key: int) -> tuple[bool, bool, bool]:
        window, now = Window(period_start(FIRST), period_start(FIRST + 10)), period_start(NOW)
        found = await read_precheck(db, key, window, now)
        assert (found.window, found.now) == (window, now)
        return found.has_commitments_in_window, found.is_relied_on, await has_future_holdings(db, key, now)

    async def test_sees_holdings_and_schedules_that_touch_the_window_and_what_is_held_later(self, db: Any) -> None:
        key, other = await self.make(db), await self.make(db)
        await write_holdings(db, [], [(other, PROMISE)])
        assert await self.glance(db, key) == (False, False, False)
        for first, end, expected in (
            (NOW - 5, NOW, (False, False, False)),
            (NOW - 5, NOW + 1, (False, True, True)),
            (FIRST - 5, FIRST, (False, True, True)),
            (FIRST - 5, FIRST + 1, (True, True, True)),
            (FIRST + 9, FIRST + 11, (True, True, True)),
            (FIRST + 10, FIRST + 11, (False, True, True)),
        ):
            held = replace(PROMISE, holder_id=uuid4(), first=first, end=end)
            await write_holdings(db, [], [(key, held)])
            assert await self.glance(db, key) == expected, (first - FIRST, end - FIRST)
            await write_holdings(db, [(key, held.holder_id)], [])
        for period, is_inside in ((FIRST - 1, False), (FIRST, True), (FIRST + 9, True), (FIRST + 10, False)):
            await db.execute("insert into physical_schedule values ($1, $2, 5)", key, period_start(period))
            assert await self.glance(db, key) == (is_inside, False, False)
            await db.execute("delete from physical_schedule where asset_key = $1", key)

    async def test_sees_a_dispatch_that_reaches_beyond_now_whatever_was_changed_of_it_later(self, db: Any) -> None:
        key, other = await self.make(db), await self.make(db)
        moment = period_start(NOW) + timedelta(minutes=5)
        for version, asset_key, end in ((1, key, NOW), (1, other, NOW + 5), (2, key, NOW + 1), (3, key, NOW - 1)):
            assert not await is_dispatched_ahead(db, key, moment) or version == 3
            await db.execute(
                """insert into dispatch_version
                     (asset_key, version, run_id, recorded_at, first_period, end_period, body)
                   values ($1, $2, $3, $4, $5, $6, '')""",
                asset_key, version, uuid7(), moment, NOW - 9, end,
            )  # fmt: skip
        assert await is_dispatched_ahead(db, key, moment)
        assert not await is_dispatched_ahead(db, key, period_start(NOW + 1))
