"""Unavailabilities over HTTP: what they take away, and how that ripples."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from tests.assets import PARAMETERS, pointers, register_asset
from tests.clock_changes import at_hour, next_day_of
from tests.concurrency import answers_after_lock, assert_etag_follows
from tests.emitted import events_of
from tests.exchange_notifications.test_notifications import new_asset, publish

from gridloom.capacity.store import lock_batteries
from gridloom.kernel.market_time import floor_to_period
from gridloom.physical_assets.conflicts import MAX_CONFLICTS

START = floor_to_period(datetime.now(UTC)) + timedelta(days=3)
NEXT_DAY = next_day_of(24, in_days=4)


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def body(first=0, last=60, charge=1000, discharge=2000, energy=500, **more):
    return {
        "description": "Transformer oil",
        "type": "MAINTENANCE",
        "start": at(first),
        "end": at(last),
        "volume": {"energyCapacity": energy, "powerCapacity": {"charge": charge, "discharge": discharge}},
        **more,
    }


async def create(asset, status=201, **changes):
    answer = await asset.owner.engineer.post(asset.path("/unavailability"), json=body(**changes))
    assert answer.status_code == status, answer.text
    return answer


async def availability(asset, first=0, last=60):
    answer = await asset.owner.viewer.get(asset.path("/availability"), params={"start": at(first), "end": at(last)})
    assert answer.status_code == 200, answer.text
    return answer.json()["availability"]


class TestCreation:
    async def test_answers_what_was_asked_for_with_an_id(self, new_organisation):
        asset = await register_asset(await new_organisation())
        answer = await create(asset)
        created = answer.json()
        assert created == {
            "id": created["id"],
            "physicalAssetID": asset.id,
            **body(),
            "exchangeNotificationIds": [],
            "conflicts": [],
        }
        assert answer.headers["location"] == asset.path(f"/unavailability/{created['id']}")
        read = await asset.owner.viewer.get(asset.path(f"/unavailability/{created['id']}"))
        assert {**read.json(), "conflicts": []} == created
        assert read.headers["etag"] == answer.headers["etag"]

    async def test_writes_the_logbook_and_an_event(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        created = (await create(asset)).json()
        entries = (await asset.owner.viewer.get(asset.path("/logbook"))).json()
        assert [(entry["type"], entry["source"], entry["start"]) for entry in entries] == [
            ("UNAVAILABILITY", "SYSTEM", at(0))
        ]
        assert created["id"] in entries[0]["tags"]
        assert entries[0]["impact"] == "NEGATIVE"
        assert entries[0]["end"] == at(60)
        figures = entries[0]["figures"]
        assert [one["unit"] for one in figures] == ["kW", "kW", "kWh"]
        assert all(one["text"] == f"{one['value']:g} {one['unit']}" in entries[0]["description"] for one in figures)
        [told] = await events_of(app.pool, asset.owner.id, subject=f"physical-assets/{asset.id}")
        assert (told.type, told.permission) == ("unavailability.created", "Read:physical-assets")
        keys = await app.pool.fetch(
            """select asset_key from event_outbox where subject = $1
               union select asset_key from event where subject = $1""",
            told.subject,
        )
        own = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))
        assert [row["asset_key"] for row in keys] == [own], "a grant of it is enough to read it"
        author = (await asset.owner.engineer.get("/auth/me")).json()["id"]
        assert told.data == {
            "unavailabilityID": created["id"],
            "type": "MAINTENANCE",
            "start": at(0),
            "end": at(60),
            "authorID": author,
        }

    async def test_changed_and_cancelled_is_logged_and_emits_events_too(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        path = asset.path(f"/unavailability/{(await create(asset)).json()['id']}")
        changed = await asset.owner.engineer.change(path, json={"end": at(30)})
        await assert_etag_follows(asset.owner.viewer, path, changed)
        assert (await asset.owner.engineer.change(path, json={"end": at(30)})).headers["etag"] == changed.headers[
            "etag"
        ]
        assert (await asset.owner.engineer.delete(path)).status_code == 204
        entries = (await asset.owner.viewer.get(asset.path("/logbook"))).json()
        assert sorted((entry["title"].split(":")[0], entry["impact"]) for entry in entries) == [
            ("Unavailability cancelled", "POSITIVE"),
            ("Unavailability changed", "NEGATIVE"),
            ("Unavailability created", "NEGATIVE"),
        ]
        told = await events_of(app.pool, asset.owner.id, subject=f"physical-assets/{asset.id}")
        assert [one.type for one in told] == [f"unavailability.{what}" for what in ("created", "changed", "cancelled")]
        assert told[1].data["end"] == at(30)

    async def test_by_another_organisation_is_told_to_the_owner(self, app, new_organisation):
        asset, guest = await register_asset(await new_organisation()), await new_organisation()
        grant = {"permissions": ["Create:unavailabilities"]}
        assert (await asset.owner.admin.put(asset.path(f"/grants/{guest.id}"), json=grant)).status_code == 200
        made = await guest.engineer.post(asset.path("/unavailability"), json=body())
        path = asset.path(f"/unavailability/{made.json()['id']}")
        assert (await guest.engineer.change(path, json={"end": at(30)})).status_code == 200
        assert (await guest.engineer.delete(path)).status_code == 204
        told = await events_of(app.pool, asset.owner.id, subject=path[1:])
        assert [one.type for one in told] == [f"unavailability.{what}" for what in ("created", "changed", "cancelled")]
        assert await events_of(app.pool, guest.id, subject=path[1:]) == []

    @pytest.mark.parametrize(
        ("changes", "parts"),
        [
            ({"charge": 10_000.5}, ["powerCapacity/charge"]),
            ({"discharge": 12_001}, ["powerCapacity/discharge"]),
            ({"energy": 20_001}, ["energyCapacity"]),
            ({"charge": 10_001, "energy": 20_001}, ["energyCapacity", "powerCapacity/charge"]),
        ],
    )
    async def test_of_more_than_is_rated_is_refused(self, new_organisation, changes, parts):
        asset = await register_asset(await new_organisation())
        answer = await create(asset, status=422, **changes)
        assert answer.json()["type"] == "/docs/problems/volume-beyond-rated"
        assert pointers(answer) == [f"/volume/{part}" for part in parts]

    async def test_counts_the_greatest_rating_over_its_window(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asset.owner.engineer.put(
            asset.path("/parameters"), json={**PARAMETERS, "ratedChargePower": 15_000, "validFrom": at(30)}
        )
        await create(asset, last=30, charge=15_000, status=422)
        made = (await create(asset, last=31, charge=15_000)).json()
        assert [point["availableChargePower"] for point in await availability(asset)] == [0, 0, 0, 15_000]
        await asset.owner.engineer.put(asset.path("/parameters"), json={**PARAMETERS, "validFrom": at(60)})
        await create(asset, first=60, last=75, charge=15_000, status=422)
        path = asset.path(f"/unavailability/{made['id']}")
        later = await asset.owner.engineer.change(path, json={"start": at(60), "end": at(75)})
        assert (later.status_code, pointers(later)) == (422, ["/volume/powerCapacity/charge"])

    async def test_keeps_the_notifications_that_it_was_published_by(self, new_organisation):
        asset = await new_asset(new_organisation)
        published = [(await publish(asset)).json()["id"] for _ in range(2)][::-1]
        created = (await create(asset, exchangeNotificationIds=published)).json()
        read = await asset.owner.viewer.get(asset.path(f"/unavailability/{created['id']}"))
        assert read.json()["exchangeNotificationIds"] == created["exchangeNotificationIds"] == published
        path = asset.path(f"/unavailability/{created['id']}")
        for kept in (published[::-1], published[1:], []):
            changed = await asset.owner.engineer.change(path, json={"exchangeNotificationIds": kept})
            listed = (await asset.owner.viewer.get(asset.path("/unavailability"))).json()
            told = [changed.json(), (await asset.owner.viewer.get(path)).json(), *listed]
            assert [one["exchangeNotificationIds"] for one in told] == [kept] * 3

    async def test_keeps_a_notification_that_is_named_twice_once(self, new_organisation):
        asset = await new_asset(new_organisation)
        one, other = [(await publish(asset)).json()["id"] for _ in range(2)]
        created = (await create(asset, exchangeNotificationIds=[other, one, other])).json()
        path = asset.path(f"/unavailability/{created['id']}")
        assert (await asset.owner.viewer.get(path)).json()["exchangeNotificationIds"] == [other, one]
        assert created["exchangeNotificationIds"] == [other, one]
        changed = await asset.owner.engineer.change(path, json={"exchangeNotificationIds": [one, other, one]})
        assert changed.json()["exchangeNotificationIds"] == [one, other]

    async def test_names_a_hundred_notifications_at_most(self, new_organisation):
        asset = await register_asset(await new_organisation())
        for count, status in ((100, 422), (101, 400)):
            answer = await create(asset, status=status, exchangeNotificationIds=[str(uuid4()) for _ in range(count)])
            assert pointers(answer)[0].startswith("/exchangeNotificationIds")

    async def test_is_published_by_no_notification_of_another_asset(self, new_organisation):
        asset = await new_asset(new_organisation)
        own, foreign = [(await publish(one)).json()["id"] for one in (asset, await new_asset(new_organisation))]
        given = {"exchangeNotificationIds": [own, foreign]}
        path = asset.path(f"/unavailability/{(await create(asset)).json()['id']}")
        refused = [
            await create(asset, status=422, **given),
            await asset.owner.engineer.change(path, json=given),
            await asset.owner.engineer.post(asset.path("/unavailability-previews"), json=body(**given)),
        ]
        assert [(one.status_code, pointers(one)) for one in refused] == [(422, ["/exchangeNotificationIds/1"])] * 3

    async def test_needs_a_start_before_its_end(self, new_organisation):
        asset = await register_asset(await new_organisation())
        assert pointers(await create(asset, first=60, last=60, status=400)) == ["/end"]
        assert pointers(await create(asset, first=61, last=60, status=400)) == ["/end"]
        same = {"start": at(0)[:-1] + ".0001Z", "end": at(0)[:-1] + ".0009Z"}
        assert pointers(await create(asset, status=400, **same)) == ["/end"]

    async def test_with_an_idempotency_key_happens_once(self, new_organisation):
        asset = await register_asset(await new_organisation())
        headers = {"Idempotency-Key": str(uuid4())}
        answers = [
            await asset.owner.engineer.post(asset.path("/unavailability"), json=body(), headers=headers)
            for _ in range(2)
        ]
        assert answers[0].json() == answers[1].json()
        assert answers[1].headers["idempotency-replayed"] == "true"
        assert len((await asset.owner.viewer.get(asset.path("/unavailability"))).json()) == 1


class TestAvailability:
    async def test_falls_at_once_adds_up_and_is_capped_at_rated(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await create(asset, first=0, last=30, charge=6_000)
        await create(asset, first=15, last=45, charge=6_000)
        points = await availability(asset)
        assert [point["availableChargePower"] for point in points] == [4_000, 0, 4_000, 10_000]
        assert {point["ratedChargePower"] for point in points} == {10_000}
        assert [point["availableEnergy"] for point in points] == [19_500, 19_000, 19_500, 20_000]
        assert [point["time"] for point in points] == [at(0), at(15), at(30), at(45)]

    async def test_returns_when_one_is_moved_or_cancelled(self, new_organisation):
        asset = await register_asset(await new_organisation())
        created = (await create(asset, last=15)).json()
        path = asset.path(f"/unavailability/{created['id']}")
        moved = await asset.owner.engineer.change(path, json={"start": at(15), "end": at(30)})
        assert moved.status_code == 200
        assert [point["availableChargePower"] for point in await availability(asset, 0, 30)] == [10_000, 9_000]
        assert (await asset.owner.engineer.delete(path)).status_code == 204
        assert [point["availableChargePower"] for point in await availability(asset, 0, 30)] == [10_000, 10_000]
        assert (await asset.owner.viewer.get(path)).status_code == 404
        entries = (await asset.owner.viewer.get(asset.path("/logbook"), params={"tag": created["id"]})).json()
        assert sorted(entry["title"].split(":")[0] for entry in entries) == [
            "Unavailability cancelled",
            "Unavailability changed",
            "Unavailability created",
        ]

    @pytest.mark.parametrize(
        ("accept", "first_bytes"),
        [("text/csv", b'"time"'), ("application/vnd.apache.parquet", b"PAR1"), ("application/json", b"{")],
    )
    async def test_comes_in_the_format_asked_for(self, new_organisation, accept, first_bytes):
        asset = await register_asset(await new_organisation())
        answer = await asset.owner.viewer.get(
            asset.path("/availability"), params={"start": at(0), "end": at(60)}, headers={"Accept": accept}
        )
        assert answer.headers["content-type"].startswith(accept)
        assert answer.content.startswith(first_bytes)

    @pytest.mark.parametrize(
        "params",
        [
            {"start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"},
            {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"},
            {"start": "2026-01-01T00:00:00"},
            {"start": "yesterday"},
            {"end": "2300-01-01T00:00:00Z"},
            {"begin": "2026-01-01T00:00:00Z"},
        ],
    )
    async def test_refuses_windows_that_make_no_sense(self, new_organisation, params):
        asset = await register_asset(await new_organisation())
        assert (await asset.owner.viewer.get(asset.path("/availability"), params=params)).status_code == 400


class TestConflicts:
    async def test_name_the_own_schedule_before_the_bids_that_no_longer_fit(self, new_organisation):
        asset = await register_asset(await new_organisation())
        day, midnight = NEXT_DAY.isoformat(), at_hour(NEXT_DAY, 0)
        bids = [
            {
                "deliveryDay": day,
                "product": product,
                "bids": [{"capacityPrice": 1, "offeredCapacity": 4000, "energyPrice": 1}],
            }
            for product in ("POS_00_04", "NEG_00_04", "POS_04_08")
        ]
        placed = (await asset.owner.trader.post(asset.path("/ancillary/bids"), json=bids)).json()
        periods = [
            {"time": (midnight + timedelta(minutes=15 * n)).isoformat(), "power": power}
            for n, power in enumerate([8000, 8000, -6000, 3000, 8000])
        ]
        scheduled = await asset.owner.trader.put(asset.path("/schedule"), json={"schedule": periods})
        assert scheduled.status_code == 200, scheduled.text
        answer = await create(
            asset,
            start=midnight.isoformat(),
            end=(midnight + timedelta(hours=2)).isoformat(),
            charge=0,
            discharge=9000,
        )

        def told(answer):
            return [
                (each["kind"], each["start"], each["end"], each["power"], each["available"])
                for each in answer.json()["conflicts"]
            ]

        def utc(minutes):
            return (midnight + timedelta(minutes=minutes)).astimezone(UTC).isoformat().replace("+00:00", "Z")

        schedule = [("SCHEDULE", utc(0), utc(30), 8000, 0), ("SCHEDULE", utc(45), utc(75), 8000, 0)]
        assert told(answer) == [("ANCILLARY_BID", utc(0), utc(240), 4000, 3000), *schedule]
        assert answer.json()["conflicts"][0]["missing"] == {"charge": 0, "discharge": 1000, "energy": 0}
        assert answer.json()["conflicts"][0]["id"] == placed[0]["bids"][0]["id"]
        assert answer.json()["conflicts"][0]["productDateCode"] == f"{day}_POS_00_04"
        health = (await asset.owner.viewer.get(asset.path("/health"))).json()
        assert health["conflicts"] == answer.json()["conflicts"]
        path = asset.path(f"/unavailability/{answer.json()['id']}")

        async def shrink(discharge):
            volume = {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": discharge}}
            return await asset.owner.engineer.change(path, json={"volume": volume})

        assert told(await shrink(8000)) == schedule
        assert told(await shrink(0)) == []
        assert (await asset.owner.viewer.get(asset.path("/health"))).json()["conflicts"] == []

    async def test_count_what_was_accepted_of_a_bid_not_what_was_offered(self, new_organisation):
        asset = await register_asset(await new_organisation())
        day, midnight = NEXT_DAY.isoformat(), at_hour(NEXT_DAY, 0)
        bid = {"capacityPrice": 1, "offeredCapacity": 10_000, "energyPrice": 1}
        product = {"deliveryDay": day, "product": "POS_00_04"}
        placed = await asset.owner.trader.post(asset.path("/ancillary/bids"), json=[{**product, "bids": [bid]}])
        bid_id = placed.json()[0]["bids"][0]["id"]
        result = {"bidID": bid_id, "accepted": True, "acceptedCapacity": 4000}
        for capacity in (6000, 4000):
            recorded = await asset.owner.trader.post(
                asset.path("/ancillary/results"),
                json=[{**product, "results": [{**result, "acceptedCapacity": capacity}], "correction": True}],
            )
            assert recorded.status_code == 201, recorded.text
        hours = {"start": midnight.isoformat(), "end": (midnight + timedelta(hours=2)).isoformat()}
        fits = await create(asset, **hours, charge=0, discharge=8000)
        assert fits.json()["conflicts"] == []
        beyond = await create(asset, **hours, charge=0, discharge=1000)
        assert [(each["id"], each["power"], each["available"]) for each in beyond.json()["conflicts"]] == [
            (bid_id, 4000, 3000)
        ]

    async def test_are_named_however_far_ahead_the_outage_is(self, new_organisation):
        asset = await register_asset(await new_organisation())
        later = START + timedelta(days=10 * 365)
        await asset.owner.trader.put(
            asset.path("/schedule"), json={"schedule": [{"time": later.isoformat(), "power": 12_000}]}
        )
        answer = await create(asset, start=later.isoformat(), end=(later + timedelta(hours=1)).isoformat())
        assert [(each["kind"], each["available"]) for each in answer.json()["conflicts"]] == [("SCHEDULE", 10_000)]

    async def test_are_the_first_thousand_of_an_outage(self, new_organisation):
        asset = await register_asset(await new_organisation())
        times = [START + timedelta(minutes=15 * place) for place in range(2 * MAX_CONFLICTS + 5)]
        rows = [{"time": time.isoformat(), "power": (-600, 600)[place % 2]} for place, time in enumerate(times)]
        scheduled = await asset.owner.trader.put(asset.path("/schedule"), json={"schedule": rows})
        assert scheduled.status_code == 200, scheduled.text
        window = {"start": times[0].isoformat(), "end": times[-1].isoformat()}
        answer = await create(asset, **window, charge=0, discharge=11_500)
        assert [each["start"] for each in answer.json()["conflicts"]] == [
            at(30 * number + 15) for number in range(MAX_CONFLICTS)
        ]

    async def test_of_the_past_are_not_raised(self, new_organisation):
        asset = await register_asset(await new_organisation())
        past = floor_to_period(datetime.now(UTC)) - timedelta(days=2)
        await asset.owner.trader.put(
            asset.path("/schedule"), json={"schedule": [{"time": past.isoformat(), "power": 12_000}]}
        )
        answer = await create(
            asset, start=past.isoformat(), end=(past + timedelta(hours=1)).isoformat(), discharge=12_000
        )
        assert answer.json()["conflicts"] == []

    async def test_never_slip_through_between_a_bid_and_an_outage_at_once(self, new_organisation):
        asset = await register_asset(await new_organisation())
        for number in range(6):
            product = f"POS_{4 * number:02}_{4 * number + 4:02}"
            start = at_hour(NEXT_DAY, 4 * number)
            bid = [
                {
                    "deliveryDay": NEXT_DAY.isoformat(),
                    "product": product,
                    "bids": [{"capacityPrice": 1, "offeredCapacity": 12000, "energyPrice": 1}],
                }
            ]
            placed, outage = await asyncio.gather(
                asset.owner.trader.post(asset.path("/ancillary/bids"), json=bid),
                asset.owner.engineer.post(
                    asset.path("/unavailability"),
                    json=body(start=start.isoformat(), end=(start + timedelta(hours=1)).isoformat()),
                ),
            )
            assert outage.status_code == 201
            # Either the outage came first and the bid was refused, or the outage names the bid.
            assert (placed.status_code == 422) == (outage.json()["conflicts"] == [])


class TestChange:
    async def test_keeps_what_is_left_out_and_respects_if_match(self, new_organisation):
        asset = await register_asset(await new_organisation())
        created = await create(asset)
        path = asset.path(f"/unavailability/{created.json()['id']}")
        changed = await asset.owner.engineer.change(
            path, json={"type": "OUTAGE"}, headers={"If-Match": created.headers["etag"]}
        )
        assert changed.json() == {**created.json(), "type": "OUTAGE"}
        late = await asset.owner.engineer.change(
            path, json={"type": "OTHER"}, headers={"If-Match": created.headers["etag"]}
        )
        assert late.status_code == 412
        gone = await asset.owner.engineer.delete(path, headers={"If-Match": created.headers["etag"]})
        assert gone.status_code == 412

    @pytest.mark.parametrize(("method", "outcomes"), [("PATCH", [200, 412]), ("DELETE", [204, 404])])
    async def test_sees_what_the_one_before_left(self, app, new_organisation, method, outcomes):
        """Two come with the same ETag while a third holds the battery."""
        asset = await register_asset(await new_organisation())
        created = await create(asset)
        path, seen = asset.path(f"/unavailability/{created.json()['id']}"), {"If-Match": created.headers["etag"]}
        change = {"end": at(30)} if method == "PATCH" else None
        key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))
        answers = await answers_after_lock(
            app,
            lambda db: lock_batteries(db, [key]),
            *(asset.owner.engineer.request(method, path, headers=seen, json=change) for _ in range(2)),
        )
        assert sorted(answer.status_code for answer in answers) == outcomes

    async def test_is_checked_like_a_new_one(self, new_organisation):
        asset = await register_asset(await new_organisation())
        path = asset.path(f"/unavailability/{(await create(asset)).json()['id']}")
        for change, status in [
            ({"end": at(0)}, 400),
            ({"volume": {"energyCapacity": 0, "powerCapacity": {"charge": 99_000, "discharge": 0}}}, 422),
            ({"exchangeNotificationIds": [str(uuid4())]}, 422),
            ({"start": None}, 400),
            ({"description": "\u0000"}, 400),
        ]:
            assert (await asset.owner.engineer.change(path, json=change)).status_code == status

    async def test_that_starts_too_late_points_at_the_start(self, new_organisation):
        asset = await register_asset(await new_organisation())
        path = asset.path(f"/unavailability/{(await create(asset)).json()['id']}")
        answer = await asset.owner.engineer.change(path, json={"start": at(60)})
        assert answer.status_code == 400
        assert [(one["pointer"], one["detail"]) for one in answer.json()["errors"]] == [
            ("/start", "is not before the end")
        ]
        answer = await asset.owner.engineer.change(path, json={"start": at(60), "end": at(60)})
        assert [(one["pointer"], one["detail"]) for one in answer.json()["errors"]] == [
            ("/end", "is not after the start")
        ]


class TestList:
    async def test_is_by_start_the_latest_first_filtered_and_paged(self, new_organisation):
        asset = await register_asset(await new_organisation())
        ids = [(await create(asset, first=first, last=first + 10)).json()["id"] for first in (40, 0, 20)]
        ordered = [ids[0], ids[2], ids[1]]
        path = asset.path("/unavailability")
        first = await asset.owner.viewer.get(path, params={"limit": 2})
        rest = await asset.owner.viewer.get(first.headers["link"][1:].split(">")[0])
        assert [each["id"] for each in first.json() + rest.json()] == ordered
        window = await asset.owner.viewer.get(path, params={"start": at(10), "end": at(40)})
        assert [each["id"] for each in window.json()] == [ids[2]]
        within = await asset.owner.viewer.get(path, params={"start": at(9), "end": at(21)})
        assert [each["id"] for each in within.json()] == ordered[1:], "one goes on into the window, one out of it"
        assert (await asset.owner.viewer.get(path, params={"type": "OUTAGE"})).json() == []
        refused = await asset.owner.viewer.get(path, params={"start": at(10), "end": at(10)})
        assert (refused.status_code, pointers(refused)) == (400, ["query:end"])

    async def test_goes_on_after_each_of_those_that_start_together(self, new_organisation):
        asset = await register_asset(await new_organisation())
        ids = [(await create(asset, last=last)).json()["id"] for last in (60, 15, 30)]
        await create(asset, first=-15)
        path, found = asset.path("/unavailability"), []
        page = await asset.owner.viewer.get(path, params={"limit": 1, "type": "MAINTENANCE"})
        for _ in ids:
            found += [one["id"] for one in page.json()]
            page = await asset.owner.viewer.get(page.headers["link"][1:].split(">")[0])
        assert found == sorted(ids, reverse=True)
        assert [one["start"] for one in page.json()] == [at(-15)]
