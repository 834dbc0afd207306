"""A preview says what an unavailability would do, and does nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.assets import pointers
from tests.virtual_assets.conftest import Battery, MakeBattery, make_battery, new_asset, wire  # noqa: F401

from gridloom.physical_assets.availability import changes
from gridloom.platform.jobs import enqueue

QUARTER = timedelta(minutes=15)


def loss(battery: Battery, *, power: float = 0, energy: float = 0, charge: float | None = None) -> dict[str, Any]:
    """The same power either way unless `charge` says otherwise."""
    return {
        "description": "",
        "type": "OUTAGE",
        "start": wire(battery.start),
        "end": wire(battery.start + 4 * QUARTER),
        "volume": {
            "energyCapacity": energy,
            "powerCapacity": {"charge": power if charge is None else charge, "discharge": power},
        },
    }


def path(battery: Battery, rest: str) -> str:
    return f"/physical-assets/{battery.physical[0]['id']}/{rest}"


class TestAPreview:
    async def test_takes_what_is_free_first_and_then_of_all_alike(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery(ratedChargePower=600, ratedDischargePower=600, energyCapacity=1000)
        owner = battery.organisation
        answer = await owner.engineer.post(path(battery, "unavailability-previews"), json=loss(battery, power=700))
        assert answer.status_code == 200, answer.text
        seen = answer.json()
        assert (seen["free"], seen["cut"]) == (400, 300)
        (holder,) = seen["holders"]
        assert holder == {
            "kind": "VIRTUAL_ASSET",
            "virtualAssetID": battery.asset["id"],
            "organisationName": (await owner.viewer.get(f"/organisations/{owner.id}")).json()["name"],
            "before": 600,
            "after": 300,
            "energyBefore": 1000,
            "energyAfter": 1000,
        }
        assert seen["expectedCuts"] == []

    async def test_names_the_cuts_to_expect_and_changes_nothing(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery()
        assert (await battery.put([800, -800])).status_code == 200
        owner = battery.organisation
        for _ in range(2):
            answer = await owner.engineer.post(path(battery, "unavailability-previews"), json=loss(battery, power=500))
            cuts = [(cut["acceptedSchedule"], cut["adjustedSchedule"]) for cut in answer.json()["expectedCuts"]]
            assert cuts == [(800, 700), (-800, -500)]
        assert (await owner.viewer.get(path(battery, "unavailability"))).json() == []
        assert (await owner.viewer.get(path(battery, "health"))).json()["conflicts"] == []

    async def test_names_the_first_hundred_cuts(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery()
        assert (await battery.put([705, -825] * 55)).status_code == 200
        body = loss(battery, power=500) | {"end": battery.asset["end"]}
        answer = await battery.organisation.engineer.post(path(battery, "unavailability-previews"), json=body)
        times = [cut["timestamp"] for cut in answer.json()["expectedCuts"]]
        assert times == [wire(battery.start + place * QUARTER) for place in range(100)]

    async def test_names_the_cuts_of_every_virtual_asset_of_the_battery(
        self,
        make_battery: MakeBattery,  # noqa: F811
        operator: Any,
    ) -> None:
        """Its whole power is out; the outage itself is told to the holders of both. In the order of their making, also
        where the database has stored what the first one holds anew, behind the second."""
        size = {"ratedChargePower": 400, "ratedDischargePower": 500, "energyCapacity": 800}
        battery = await make_battery(**size)
        url = f"/organisations/{battery.organisation.id}/virtual-assets"
        second = await operator.post(url, json=new_asset(battery.physical, **size))
        assert second.status_code == 201, second.text
        other = replace(battery, asset=second.json())
        await battery.edge.pool.execute(
            """with moved as (delete from capacity_holding where holder_id = $1 returning *)
               insert into capacity_holding select * from moved""",
            battery.asset["id"],
        )
        assert (await battery.put([-100, 300])).status_code == 200
        assert (await other.put([0, 0, 200])).status_code == 200
        body = loss(battery, power=1200, charge=1000)
        answer = await battery.organisation.engineer.post(path(battery, "unavailability-previews"), json=body)
        cuts = [
            (cut["virtualAssetID"], cut["timestamp"], cut["acceptedSchedule"], cut["adjustedSchedule"])
            for cut in answer.json()["expectedCuts"]
        ]
        assert cuts == [
            (one.asset["id"], wire(battery.start + place * QUARTER), power, 0)
            for one, place, power in ((battery, 0, -100), (battery, 1, 300), (other, 2, 200))
        ]
        assert [one["virtualAssetID"] for one in answer.json()["holders"]] == [battery.asset["id"], other.asset["id"]]
        made = await battery.organisation.engineer.post(path(battery, "unavailability"), json=body)
        assert made.status_code == 201, made.text
        for one, expected in ((battery, [-100, 300]), (other, [200])):
            (told,) = await TestHolders().news(one)
            assert [cut["acceptedSchedule"] for cut in told["expectedCuts"]] == expected

    async def test_names_holders_to_the_owner_and_the_operator_only(
        self,
        make_battery: MakeBattery,  # noqa: F811
        operator: Any,
        new_organisation: Any,
    ) -> None:
        battery, guest = await make_battery(), await new_organisation()
        grant = {"permissions": ["Create:unavailabilities"]}
        put = await battery.organisation.admin.put(path(battery, f"grants/{guest.id}"), json=grant)
        assert put.status_code == 200, put.text
        for client, is_named in ((battery.organisation.engineer, True), (operator, True), (guest.engineer, False)):
            answer = await client.post(path(battery, "unavailability-previews"), json=loss(battery, power=500))
            [holder] = answer.json()["holders"]
            assert ("organisationName" in holder) is is_named

    async def test_refuses_what_the_unavailability_would(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery()
        answer = await battery.organisation.engineer.post(
            path(battery, "unavailability-previews"), json=loss(battery, power=1001)
        )
        assert answer.status_code == 422
        backwards = loss(battery, power=500) | {"end": wire(battery.start)}
        answer = await battery.organisation.engineer.post(path(battery, "unavailability-previews"), json=backwards)
        assert (answer.status_code, pointers(answer)) == (400, ["/end"])


class TestHolders:
    async def news(self, battery: Battery) -> list[Any]:
        rows = await battery.edge.pool.fetch(
            """select data from event_outbox where subject = $1 and type = 'virtual-asset.availability-changed'
               union
               select data from event where subject = $1 and type = 'virtual-asset.availability-changed'""",
            f"virtual-assets/{battery.asset['id']}",
        )
        return [row["data"] for row in rows]

    async def test_are_notified_at_once_of_what_they_lose_and_get_back(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery()
        assert (await battery.put([800])).status_code == 200
        owner = battery.organisation
        lost = loss(battery, power=500, charge=600, energy=300)
        made = await owner.engineer.post(path(battery, "unavailability"), json=lost)
        assert made.status_code == 201, made.text
        (told,) = await self.news(battery)
        assert (told["virtualAssetID"], told["start"]) == (battery.asset["id"], wire(battery.start))
        (period,) = told["periods"]
        assert (period["availableChargePower"], period["availableDischargePower"]) == (400, 700)
        assert period["availableEnergyCapacity"] == 1700
        (cut,) = told["expectedCuts"]
        assert (cut["acceptedSchedule"], cut["adjustedSchedule"], cut["reason"]) == (800, 700, "AVAILABILITY")
        gone = await owner.engineer.delete(path(battery, f"unavailability/{made.json()['id']}"))
        assert gone.status_code == 204
        assert len(await self.news(battery)) == 2

    async def test_have_their_schedules_validated_again_when_an_outage_is_announced_changed_or_cancelled(
        self,
        make_battery: MakeBattery,  # noqa: F811
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        enqueued: list[str] = []

        async def note(db: Any, kind: str, **rest: Any) -> None:
            if kind != changes.FOLLOW_OWNER_JOB:
                enqueued.append(kind)
            await enqueue(db, kind, **rest)

        monkeypatch.setattr(changes, "enqueue", note)
        battery = await make_battery()
        enqueued.clear()
        made = await battery.organisation.engineer.post(path(battery, "unavailability"), json=loss(battery, power=500))
        one = path(battery, f"unavailability/{made.json()['id']}")
        assert enqueued == [changes.AVAILABILITY_CHANGED]
        await battery.organisation.engineer.change(one, json={"description": "longer"})
        assert (await battery.organisation.engineer.delete(one)).status_code == 204
        assert enqueued == [changes.AVAILABILITY_CHANGED] * 3

    async def test_are_notified_of_what_a_moved_outage_gives_back_and_takes(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery()
        made = await battery.organisation.engineer.post(path(battery, "unavailability"), json=loss(battery, power=500))
        edges = [wire(battery.start + place * QUARTER) for place in (0, 4, 8, 12)]
        moved = await battery.organisation.engineer.change(
            path(battery, f"unavailability/{made.json()['id']}"), json={"start": edges[2], "end": edges[3]}
        )
        assert moved.status_code == 200, moved.text
        told = max(await self.news(battery), key=lambda data: data["end"])
        assert (told["start"], told["end"]) == (edges[0], edges[3])
        assert [(one["start"], one["end"], one["availableDischargePower"]) for one in told["periods"]] == [
            (edges[0], edges[1], 1200),
            (edges[2], edges[3], 700),
        ]
        back = await battery.organisation.engineer.change(
            path(battery, f"unavailability/{made.json()['id']}"), json={"start": edges[0], "end": edges[1]}
        )
        assert back.status_code == 200, back.text
        told = [data["periods"] for data in await self.news(battery) if data["end"] == edges[3]]
        assert sorted(
            [(one["start"], one["end"], one["availableDischargePower"]) for one in periods] for periods in told
        ) == [
            [(edges[0], edges[1], 700), (edges[2], edges[3], 1200)],
            [(edges[0], edges[1], 1200), (edges[2], edges[3], 700)],
        ]

    async def test_are_notified_of_what_is_still_ahead_of_an_outage_that_has_begun(
        self,
        make_battery: MakeBattery,  # noqa: F811
    ) -> None:
        start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=1)))
        end = wire(start + 16 * QUARTER)
        before = datetime.now(UTC)
        made = await battery.organisation.engineer.post(
            path(battery, "unavailability"), json={**loss(battery, power=500), "end": end}
        )
        assert made.status_code == 201, made.text
        (told,) = await self.news(battery)
        assert told["end"] == end
        assert before - QUARTER < datetime.fromisoformat(told["start"]) <= datetime.now(UTC)

    async def test_have_an_outage_that_stays_as_long_as_the_battery_is_retired(
        self,
        make_battery: MakeBattery,  # noqa: F811
    ) -> None:
        battery = await make_battery()
        engineer = battery.organisation.engineer
        whole = loss(battery, power=1200, charge=1000, energy=2000) | {"end": battery.asset["end"]}
        made = await engineer.post(path(battery, "unavailability"), json=whole)
        assert made.status_code == 201, made.text
        one, asset = path(battery, f"unavailability/{made.json()['id']}"), path(battery, "").rstrip("/")
        assert (await engineer.change(asset, json={"status": "INACTIVE"})).status_code == 200
        less = {"volume": loss(battery, power=1199, charge=1000, energy=2000)["volume"]}
        changes = ({"end": wire(battery.end - QUARTER)}, {"start": wire(battery.start + QUARTER)}, less)
        refused = [await engineer.change(one, json=change) for change in changes] + [await engineer.delete(one)]
        assert {answer.json()["type"] for answer in refused} == {"/docs/problems/asset-committed"}
        assert (await engineer.change(one, json={"description": "For good"})).status_code == 200
        assert (await engineer.change(asset, json={"status": "ACTIVE"})).status_code == 200
        assert (await engineer.delete(one)).status_code == 204

    async def test_are_notified_of_new_parameters(self, make_battery: MakeBattery) -> None:  # noqa: F811
        battery = await make_battery()
        parameters = {
            "ratedChargePower": 900,
            "ratedDischargePower": 1200,
            "energyCapacity": 2000,
            "chargeEfficiency": 0.9,
            "dischargeEfficiency": 0.95,
            "validFrom": wire(datetime.now(UTC)),
        }
        put = await battery.organisation.engineer.put(path(battery, "parameters"), json=parameters)
        assert put.status_code == 200, put.text
        (told,) = await self.news(battery)
        assert told["periods"][0]["availableChargePower"] == 900
