"""Market messages over HTTP: versions, their documents, and what they are about."""

from uuid import UUID, uuid4

import pytest
from tests.assets import PARAMETERS, pointers, register_asset
from tests.concurrency import assert_etag_follows
from tests.emitted import events_of
from tests.exchange_notifications.reading import read_acer_umm, read_entsoe_unavailability

from gridloom.exchange_notifications import rules
from gridloom.kernel.codes import eic_check_character

EIC = "11WSPEICHER-NRD" + eic_check_character("11WSPEICHER-NRD")
MESSAGE = {
    "unavailabilityType": "PLANNED",
    "eventStart": "2026-12-01T10:00:00Z",
    "eventEnd": "2026-12-01T14:00:00Z",
    "unavailableCapacity": 5000,
    "cause": "Transformer oil change",
}


async def new_asset(new_organisation):
    return await register_asset(await new_organisation("Batterie & Söhne"), eicCode=EIC)


async def publish(asset, status=201, **changes):
    answer = await asset.owner.engineer.post(asset.path("/exchange-notifications"), json={**MESSAGE, **changes})
    assert answer.status_code == status, answer.text
    return answer


async def revise(asset, notification_id, status=201, **changes):
    path = asset.path(f"/exchange-notifications/{notification_id}/revisions")
    answer = await asset.owner.engineer.post(path, json=changes)
    assert answer.status_code == status, answer.text
    return answer


async def plan_outage(asset):
    body = {
        "description": "",
        "type": "MAINTENANCE",
        "start": MESSAGE["eventStart"],
        "end": MESSAGE["eventEnd"],
        "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 0}},
    }
    answer = await asset.owner.engineer.post(asset.path("/unavailability"), json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


class TestPublication:
    async def test_and_every_revision_emit_an_event(self, app, new_organisation):
        asset = await new_asset(new_organisation)
        message = (await publish(asset)).json()
        await revise(asset, message["id"], cause="Fire")
        subject = f"physical-assets/{asset.id}/exchange-notifications/{message['id']}"
        emitted = await events_of(app.pool, asset.owner.id, subject=subject)
        assert [(one.type, one.permission, one.data["version"]) for one in emitted] == [
            ("exchange-notification.published", "Read:physical-assets", 1),
            ("exchange-notification.published", "Read:physical-assets", 2),
        ]
        keys = """select asset_key from event_outbox where subject = $1
                  union select asset_key from event where subject = $1 and organisation_id = origin_id"""
        by = await app.pool.fetchval(
            "select array_agg(published_by::text) from exchange_notification_version where notification_id = $1",
            UUID(message["id"]),
        )
        assert by == [(await asset.owner.engineer.get("/auth/me")).json()["id"]] * 2
        assert [row["asset_key"] for row in await app.pool.fetch(keys, subject)] == [
            await app.pool.fetchval("select key from asset where id = $1", asset.id)
        ], "so that those learn of it who were granted the asset"

    @pytest.mark.parametrize(
        ("changes", "status", "pointer"),
        [
            ({"eventEnd": MESSAGE["eventStart"]}, 400, "/eventEnd"),
            ({"eventEnd": "2199-12-31T23:59:30Z"}, 400, "/eventEnd"),
            ({"unavailableCapacity": 12_001}, 422, "/unavailableCapacity"),
            ({"availableCapacity": 6_999}, 422, "/availableCapacity"),
            ({"assetEic": EIC[:-1] + ("0" if EIC[-1] != "0" else "1")}, 422, "/assetEic"),
            ({"biddingZone": EIC}, 422, "/biddingZone"),
            ({"messageID": "has space"}, 400, "/messageID"),
            ({"messageID": "x" * 36}, 400, "/messageID"),
            ({"messageID": "MSG-1\n"}, 400, "/messageID"),
            ({"unavailabilityIDs": ["00000000-0000-7000-8000-000000000000"]}, 422, "/unavailabilityIDs/0"),
            ({"cause": ""}, 400, "/cause"),
            ({"cause": "x" * 501}, 400, "/cause"),
            ({"remarks": ""}, 400, "/remarks"),
            ({"durationUncertainty": ""}, 400, "/durationUncertainty"),
            ({"durationUncertainty": "x" * 479}, 422, "/durationUncertainty"),
            ({"durationUncertainty": "x" * 100, "remarks": "x" * 400}, 422, "/durationUncertainty"),
            ({"reasonCode": "B17"}, 400, "/reasonCode"),
        ],
    )
    async def test_refuses_what_does_not_hold_together(self, new_organisation, changes, status, pointer):
        asset = await new_asset(new_organisation)
        assert pointers(await publish(asset, status=status, **changes)) == [pointer]

    @pytest.mark.parametrize(
        ("intervals", "pointer"),
        [
            ([("10:30:00", "14:00:00", 1)], "/capacityIntervals/0/start"),
            ([("10:00:00", "13:59:00", 1)], "/capacityIntervals/0/end"),
            ([("10:00:00", "11:00:00", 1), ("11:15:00", "14:00:00", 1)], "/capacityIntervals/1/start"),
            ([("10:00:00", "11:00:10", 1), ("11:00:20", "14:00:00", 1)], "/capacityIntervals/1/start"),
            ([("10:00:00", "10:00:20", 1), ("10:00:20", "14:00:00", 1)], "/capacityIntervals/0/end"),
            ([("10:00:00", "12:00:00", 1), ("11:00:00", "14:00:00", 1)], "/capacityIntervals/1/start"),
            ([("10:00:00", "14:00:00", 12_001)], "/capacityIntervals/0/unavailableCapacity"),
        ],
    )
    async def test_needs_intervals_that_cover_the_event(self, new_organisation, intervals, pointer):
        asset = await new_asset(new_organisation)
        given = [
            {"start": f"2026-12-01T{start}Z", "end": f"2026-12-01T{end}Z", "unavailableCapacity": capacity}
            for start, end, capacity in intervals
        ]
        assert pointers(await publish(asset, status=422, capacityIntervals=given)) == [pointer]

    async def test_says_of_its_intervals_what_they_say(self, new_organisation):
        asset = await new_asset(new_organisation)
        given = [
            {"start": MESSAGE["eventStart"], "end": "2026-12-01T12:00:00Z", "unavailableCapacity": 9_000},
            {"start": "2026-12-01T12:00:00Z", "end": MESSAGE["eventEnd"], "unavailableCapacity": 2_000},
        ]
        for most in (0, 5_000, 11_000):
            refused = await publish(asset, status=422, capacityIntervals=given, unavailableCapacity=most)
            assert pointers(refused) == ["/unavailableCapacity"]
        wrong = [{**given[0], "availableCapacity": 4_000}, given[1]]
        refused = await publish(asset, status=422, capacityIntervals=wrong, unavailableCapacity=9_000)
        assert pointers(refused) == ["/capacityIntervals/0/availableCapacity"]
        first = (await publish(asset, capacityIntervals=given, unavailableCapacity=9_000)).json()
        # More or less of it cannot be revised without saying when.
        refused = await revise(asset, first["id"], status=422, unavailableCapacity=8_000)
        assert pointers(refused) == ["/unavailableCapacity"]
        less = [{**given[0], "unavailableCapacity": 1_000}, {**given[1], "unavailableCapacity": 8_000}]
        refused = await revise(asset, first["id"], status=422, capacityIntervals=less, unavailableCapacity=0)
        assert pointers(refused) == ["/unavailableCapacity"]
        second = (await revise(asset, first["id"], capacityIntervals=less)).json()
        assert (second["unavailableCapacity"], second["availableCapacity"]) == (8_000, 4_000)
        third = (await revise(asset, first["id"], capacityIntervals=[], unavailableCapacity=12_000)).json()
        whole = [(each["unavailableCapacity"], each["availableCapacity"]) for each in third["capacityIntervals"]]
        assert whole == [(12_000, 0)]

    async def test_can_be_sent_as_it_is_read(self, new_organisation):
        asset = await new_asset(new_organisation)
        read = (await publish(asset, unavailableCapacity=5_000.1, remarks="one")).json()
        assigned = ("id", "physicalAssetID", "version", "publishedAt", "unitsPower", "messageID")
        again = await asset.owner.engineer.post(
            asset.path("/exchange-notifications"),
            json={name: value for name, value in read.items() if name not in assigned},
        )
        assert again.status_code == 201, again.text
        assert {**again.json(), **{name: read[name] for name in assigned}} == read
        for status in ("DISMISSED", "INACTIVE", "OVER"):
            assert pointers(await publish(asset, status=400, eventStatus=status)) == ["/eventStatus"]

    async def test_keeps_decimals_as_they_are_written(self, new_organisation):
        # In binary, 12,000.3 less 5,000.1 is not 7,000.2.
        asset = await new_asset(new_organisation)
        message = (await publish(asset, installedCapacity=12_000.3, unavailableCapacity=5_000.1)).json()
        assert message["availableCapacity"] == 7_000.2
        path = asset.path(f"/exchange-notifications/{message['id']}/document")
        for form, read in (("acer-umm", read_acer_umm), ("entsoe", read_entsoe_unavailability)):
            [interval] = read((await asset.owner.viewer.get(path, params={"format": form})).content).intervals
            assert (interval.available_capacity_kw, interval.unavailable_capacity_kw) == (7_000.2, 5_000.1)

    async def test_takes_what_is_installed_at_the_start_of_the_event(self, new_organisation):
        asset = await register_asset(await new_organisation(), eicCode=EIC, commissionedOn="2090-01-01")
        for power in (8_000, 9_000):  # recorded wrong at first
            smaller = {**PARAMETERS, "ratedDischargePower": power, "validFrom": "2090-02-01T00:00:00Z"}
            assert (await asset.owner.engineer.put(asset.path("/parameters"), json=smaller)).status_code == 200
        # Before it is commissioned, what is installed first counts.
        for day, installed in (("2089-06-01", 12_000), ("2090-01-31", 12_000), ("2090-02-01", 9_000)):
            event = {"eventStart": f"{day}T00:00:00Z", "eventEnd": f"{day}T04:00:00Z"}
            assert (await publish(asset, **event)).json()["installedCapacity"] == installed

    async def test_names_a_hundred_unavailabilities_at_most(self, new_organisation):
        asset = await new_asset(new_organisation)
        for count, status in ((100, 422), (101, 400)):
            refused = await publish(asset, status=status, unavailabilityIDs=[str(uuid4()) for _ in range(count)])
            assert pointers(refused)[0].startswith("/unavailabilityIDs")

    async def test_needs_an_eic(self, new_organisation):
        asset = await register_asset(await new_organisation())
        assert pointers(await publish(asset, status=422)) == ["/assetEic"]
        await publish(asset, assetEic=EIC)

    async def test_under_a_message_id_happens_once(self, new_organisation):
        asset = await new_asset(new_organisation)
        assert (await publish(asset, messageID="MSG-1")).json()["messageID"] == "MSG-1"
        assert pointers(await publish(asset, status=409, messageID="MSG-1")) == ["/messageID"]


class TestAList:
    async def test_has_the_messages_whose_events_overlap_the_window(self, new_organisation):
        asset = await new_asset(new_organisation)
        first, second = [
            (await publish(asset, eventStart=f"2026-12-01T{start}:00Z", eventEnd=f"2026-12-01T{end}:00Z")).json()["id"]
            for start, end in (("10:00", "12:00"), ("12:00", "14:00"))
        ]
        for start, end, found in (
            (None, None, [second, first]),
            ("12:00", None, [second]),
            (None, "12:00", [first]),
            ("11:59", "12:01", [second, first]),
            ("14:00", "15:00", []),
        ):
            window = {name: f"2026-12-01T{time}:00Z" for name, time in (("start", start), ("end", end)) if time}
            listed = (await asset.owner.viewer.get(asset.path("/exchange-notifications"), params=window)).json()
            assert [one["id"] for one in listed] == found, window
        window = {"start": "2026-12-01T12:00:00Z", "end": "2026-12-01T11:00:00Z"}
        refused = await asset.owner.viewer.get(asset.path("/exchange-notifications"), params=window)
        assert (refused.status_code, pointers(refused)) == (400, ["query:end"])

    async def test_has_the_messages_of_a_status_page_by_page_the_newest_first(self, new_organisation):
        asset = await new_asset(new_organisation)
        *active, withdrawn = [(await publish(asset)).json()["id"] for _ in range(4)]
        await revise(asset, withdrawn, eventStatus="DISMISSED")
        for status, found in (("ACTIVE", active[::-1]), ("DISMISSED", [withdrawn])):
            seen, link = [], asset.path(f"/exchange-notifications?event-status={status}&limit=2")
            while link:
                page = await asset.owner.viewer.get(link)
                seen += [one["id"] for one in page.json()]
                link = page.links.get("next", {}).get("url")
            assert seen == found


class TestRevision:
    async def test_leaves_what_it_does_not_name_as_it_was(self, new_organisation):
        asset = await new_asset(new_organisation)
        noon = "2026-12-01T12:00:00Z"
        asked = {
            **MESSAGE,
            "eventType": "CONSUMPTION_UNAVAILABILITY",
            "unitType": "PRODUCTION_UNIT",
            "reasonCode": "B59",
            "installedCapacity": 11_000,
            "availableCapacity": 6_000,
            "assetEic": "11WSPEICHER-SUD" + eic_check_character("11WSPEICHER-SUD"),
            "biddingZone": "10YAT-APG------L",
            "durationUncertainty": "± 1 h",
            "remarks": "one",
            "cause": "x" * 500,
            "unavailabilityIDs": [await plan_outage(asset)],
            "capacityIntervals": [
                {"start": start, "end": end, "unavailableCapacity": kw, "availableCapacity": 11_000 - kw}
                for start, end, kw in ((MESSAGE["eventStart"], noon, 2_000), (noon, MESSAGE["eventEnd"], 5_000))
            ],
        }
        first = (await publish(asset, **asked)).json()
        assert first.items() >= asked.items()
        second = (await revise(asset, first["id"])).json()
        assert second == {**first, "version": 2, "publishedAt": second["publishedAt"]}
        both = {"capacityIntervals": first["capacityIntervals"], "unavailableCapacity": 4_000}
        assert pointers(await revise(asset, first["id"], status=422, **both)) == ["/unavailableCapacity"]

    async def test_into_another_kind_takes_the_usual_reason_of_that_kind(self, new_organisation):
        asset = await new_asset(new_organisation)
        usual = (await publish(asset)).json()
        assert (await revise(asset, usual["id"], unavailabilityType="UNPLANNED")).json()["reasonCode"] == "B18"
        special = (await publish(asset, reasonCode="B20")).json()
        assert (await revise(asset, special["id"], unavailabilityType="UNPLANNED")).json()["reasonCode"] == "B20"
        assert (await revise(asset, usual["id"], reasonCode="B55")).json()["reasonCode"] == "B55", "but the one it has"

    async def test_is_answered_with_the_etag_of_what_is_read_then(self, new_organisation):
        asset = await new_asset(new_organisation)
        published = await publish(asset)
        path = asset.path(f"/exchange-notifications/{published.json()['id']}")
        await assert_etag_follows(asset.owner.viewer, path, published)
        for change in ({"cause": "Fire"}, {"eventStatus": "INACTIVE"}):
            revised = await asset.owner.engineer.post(f"{path}/revisions", json=change)
            await assert_etag_follows(asset.owner.viewer, path, revised)

    async def test_needs_the_etag_of_what_is_read_now(self, new_organisation):
        asset = await new_asset(new_organisation)
        published = await publish(asset)
        path = asset.path(f"/exchange-notifications/{published.json()['id']}")
        assert (await asset.owner.viewer.get(path)).headers["etag"] == published.headers["etag"]
        await asset.owner.engineer.post(
            asset.path("/unavailability"),
            json={
                "description": "",
                "type": "MAINTENANCE",
                "start": MESSAGE["eventStart"],
                "end": MESSAGE["eventEnd"],
                "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 0}},
                "exchangeNotificationIds": [published.json()["id"]],
            },
        )
        linked = (await asset.owner.viewer.get(path)).headers["etag"]
        assert linked != published.headers["etag"]
        for etag, status in ((published.headers["etag"], 412), (linked, 201), (linked, 412)):
            answer = await asset.owner.engineer.post(f"{path}/revisions", json={}, headers={"If-Match": etag})
            assert answer.status_code == status
        old = await asset.owner.viewer.get(path, params={"version": 1})
        assert old.headers["etag"] != linked

    @pytest.mark.parametrize("status", ["DISMISSED", "INACTIVE"])
    async def test_can_be_the_last_one(self, new_organisation, status):
        asset = await new_asset(new_organisation)
        notification_id = (await publish(asset)).json()["id"]
        assert (await revise(asset, notification_id, eventStatus=status)).json()["eventStatus"] == status
        closed = await revise(asset, notification_id, status=409)
        assert closed.json()["type"] == "/docs/problems/notification-closed"

    async def test_is_not_possible_beyond_what_documents_can_count(self, new_organisation, monkeypatch):
        assert rules.MAX_VERSIONS == 999
        monkeypatch.setattr(rules, "MAX_VERSIONS", 2)
        asset = await new_asset(new_organisation)
        notification_id = (await publish(asset)).json()["id"]
        assert (await revise(asset, notification_id)).json()["version"] == 2
        assert (await revise(asset, notification_id, status=409)).json()["type"].endswith("/notification-closed")


class TestLinks:
    async def test_are_seen_from_both_sides(self, new_organisation):
        asset = await new_asset(new_organisation)
        body = {
            "description": "",
            "type": "MAINTENANCE",
            "start": MESSAGE["eventStart"],
            "end": MESSAGE["eventEnd"],
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 5000, "discharge": 5000}},
        }
        notification_id = (await publish(asset)).json()["id"]
        first = await asset.owner.engineer.post(
            asset.path("/unavailability"),
            json={**body, "exchangeNotificationIds": [notification_id, notification_id]},
        )
        assert first.json()["exchangeNotificationIds"] == [notification_id]
        path = asset.path(f"/exchange-notifications/{notification_id}")
        assert (await asset.owner.viewer.get(path)).json()["unavailabilityIDs"] == [first.json()["id"]]
        second = await asset.owner.engineer.post(asset.path("/unavailability"), json=body)
        await revise(asset, notification_id, unavailabilityIDs=[second.json()["id"]])
        for each, linked in ((first, []), (second, [notification_id])):
            read = await asset.owner.viewer.get(asset.path(f"/unavailability/{each.json()['id']}"))
            assert read.json()["exchangeNotificationIds"] == linked
            assert read.headers["etag"] != each.headers["etag"]
        await revise(asset, notification_id, unavailabilityIDs=[second.json()["id"]], remarks="again")
        kept = await asset.owner.viewer.get(asset.path(f"/unavailability/{second.json()['id']}"))
        assert kept.headers["etag"] == read.headers["etag"], "it is no other for being named again"
        other = (await publish(asset, unavailabilityIDs=[first.json()["id"]])).json()
        assert other["unavailabilityIDs"] == [first.json()["id"]]
        assert (await asset.owner.viewer.get(path)).json()["unavailabilityIDs"] == [second.json()["id"]]
        late = (await publish(asset)).json()["id"]
        more = [(await publish(asset, unavailabilityIDs=[second.json()["id"]])).json()["id"] for _ in range(2)]
        await revise(asset, late, unavailabilityIDs=[second.json()["id"]])
        kept = (await asset.owner.viewer.get(asset.path(f"/unavailability/{second.json()['id']}"))).json()
        assert kept["exchangeNotificationIds"] == [notification_id, *more, late], "as they came"
        await asset.owner.engineer.delete(asset.path(f"/unavailability/{second.json()['id']}"))
        assert (await asset.owner.viewer.get(path)).json()["unavailabilityIDs"] == []


class TestDocument:
    async def test_names_the_publisher_by_the_code_in_the_market_metadata(self, new_organisation):
        asset = await new_asset(new_organisation)
        participant = "11XBATTERIE-UND" + eic_check_character("11XBATTERIE-UND")

        await asset.owner.engineer.put(asset.path("/metadata/grid"), json={"eicCode": EIC})

        async def code(**metadata):
            await asset.owner.engineer.put(asset.path("/metadata/market"), json=metadata)
            path = asset.path(f"/exchange-notifications/{(await publish(asset)).json()['id']}/document")
            found = read_acer_umm((await asset.owner.viewer.get(path)).content).participant_code
            return found and (found.scheme, found.code)

        assert await code() is None
        assert await code(marketParticipantEic=participant) == ("eic", participant)
        assert await code(marketParticipantEic=participant, acerCode="A0000001X.DE") == ("ace", "A0000001X.DE")

    async def test_names_a_battery_never_an_area(self, new_organisation):
        asset = await new_asset(new_organisation)
        answer = await publish(asset, 422, assetEic="10Y1001A1001A82H")
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/invalid-code"
        assert answer.json()["errors"][0]["pointer"] == "/assetEic"
        answer = await asset.owner.engineer.change(asset.path(), json={"eicCode": "10Y1001A1001A82H"})
        assert answer.status_code == 422
        metadata = {"eicCode": "10Y1001A1001A82H"}
        answer = await asset.owner.engineer.put(asset.path("/metadata/grid"), json=metadata)
        assert answer.status_code == 422
        answer = await asset.owner.engineer.put(
            asset.path("/metadata/market"), json={"balancingGroup": "10Y1001A1001A82H"}
        )
        assert answer.status_code == 422

    async def test_of_an_old_version_is_dismissed(self, new_organisation):
        asset = await new_asset(new_organisation)
        notification_id = (await publish(asset)).json()["id"]
        await revise(asset, notification_id)
        path = asset.path(f"/exchange-notifications/{notification_id}/document")
        old = await asset.owner.viewer.get(path, params={"version": 1})
        assert read_acer_umm(old.content).event_status == "DISMISSED"
        assert "_001-acer-umm.xml" in old.headers["content-disposition"]
        new = await asset.owner.viewer.get(path, params={"format": "entsoe"})
        assert read_entsoe_unavailability(new.content).version == 2
        assert "_002-entsoe.xml" in new.headers["content-disposition"]

    async def test_in_an_unknown_format_is_refused(self, new_organisation):
        asset = await new_asset(new_organisation)
        notification_id = (await publish(asset)).json()["id"]
        path = asset.path(f"/exchange-notifications/{notification_id}/document")
        answer = await asset.owner.viewer.get(path, params={"format": "pdf"})
        assert answer.status_code == 400
        assert pointers(answer) == ["query:format"]
        not_xml = await asset.owner.viewer.get(path, headers={"Accept": "application/json"})
        assert not_xml.status_code == 406
