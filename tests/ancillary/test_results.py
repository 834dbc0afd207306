"""Results: recorded once and for ever, and what lists say of bids and results."""

import asyncio
from datetime import date, datetime, timedelta
from uuid import UUID

import pytest
from tests.ancillary.bidding import CAPACITY, DAY, ENERGY, FCR, STEP, all_bids, day_from_now, entry, place, record
from tests.assets import PARAMETERS, pointers, register_asset
from tests.clock_changes import at_hour
from tests.emitted import events_of

from gridloom.kernel.market_time import block_window, market_day_window


class TestResults:
    async def test_set_the_status_write_the_logbook_and_tell(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        placed = (await place(asset, entry("POS_00_04", CAPACITY), entry("POS_04_08", CAPACITY))).json()
        won, lost = (each["bids"][0]["id"] for each in placed)
        answer = await record(asset, "POS_00_04", won, capacity=2000, settlementPrice=9.99)
        assert answer.json()[0]["productDateCode"] == f"{DAY}_POS_00_04"
        assert (
            answer.json()[0]["results"][0].items()
            >= {
                "bidID": won,
                "accepted": True,
                "acceptedCapacity": 2000,
                "settlementPrice": 9.99,
                "revision": 1,
            }.items()
        )
        await record(asset, "POS_04_08", lost, accepted=False)
        found = await all_bids(asset, f"{DAY}_POS_00_04", f"{DAY}_POS_04_08")
        assert [each["bids"][0]["status"] for each in found] == ["ACCEPTED", "REJECTED"]
        logbook = (await asset.owner.viewer.get(asset.path("/logbook"), params={"type": "ANCILLARY_RESULT"})).json()
        assert [(item["source"], item["impact"]) for item in logbook] == [("SYSTEM", "NEUTRAL"), ("SYSTEM", "POSITIVE")]
        hours = [block_window(date.fromisoformat(DAY), *hours) for hours in ((4, 8), (0, 4))]
        assert [(datetime.fromisoformat(item["start"]), datetime.fromisoformat(item["end"])) for item in logbook] == [
            (window.start, window.end) for window in hours
        ]
        assert [item["tags"] for item in logbook] == [["ancillary", "afrr_capacity"]] * 2
        trader = (await asset.owner.trader.get("/auth/me")).json()["id"]
        assert {item["authorID"] for item in logbook} == {trader}
        listed = (await asset.owner.viewer.get(asset.path("/ancillary/results"))).json()
        assert [each["product"] for each in listed] == ["POS_04_08", "POS_00_04"]
        emitted = await events_of(app.pool, asset.owner.id, subject=f"physical-assets/{asset.id}/ancillary")
        assert [(one.type, one.permission, one.data["bidID"], one.data["status"]) for one in emitted] == [
            ("ancillary.result", "Read:physical-assets", won, "ACCEPTED"),
            ("ancillary.result", "Read:physical-assets", lost, "REJECTED"),
        ]

    async def test_tell_the_owner_though_another_organisation_records_them(self, app, new_organisation):
        asset, guest = await register_asset(await new_organisation()), await new_organisation()
        permissions = {"permissions": ["Read:physical-assets", "Create:ancillary-results"]}
        granted = await asset.owner.admin.put(asset.path(f"/grants/{guest.id}"), json=permissions)
        assert granted.status_code == 200, granted.text
        [bid] = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"]
        result = {"bidID": bid["id"], "accepted": True, "acceptedCapacity": 1000}
        body = [{"deliveryDay": DAY, "product": "POS_00_04", "results": [result]}]
        assert (await guest.trader.post(asset.path("/ancillary/results"), json=body)).status_code == 201
        told = [await events_of(app.pool, one.id, subject=asset.path("/ancillary")[1:]) for one in (asset.owner, guest)]
        assert [[one.type for one in each] for each in told] == [["ancillary.result"], []]

    async def test_leave_what_was_accepted_taken_and_give_the_rest_back(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]

        async def ancillary_kw() -> tuple[float, float]:
            window = market_day_window(date.fromisoformat(DAY))
            params = {"start": window.start.isoformat(), "end": (window.start + timedelta(minutes=15)).isoformat()}
            answer = await asset.owner.viewer.get(asset.path("/commitments"), params=params)
            [period] = answer.json()["commitments"]
            return period["discharge"]["ancillary"]["afrrCapacity"], period["discharge"]["free"]

        firm = "select is_firm from capacity_holding where holder_id = $1"
        assert await ancillary_kw() == (4000, 8000)
        assert await app.pool.fetchval(firm, UUID(bid_id)) is False
        await record(asset, "POS_00_04", bid_id, capacity=1000)
        assert await ancillary_kw() == (1000, 11_000)
        assert await app.pool.fetchval(firm, UUID(bid_id)) is True, "it is lost with promises, not before them"

    async def test_are_given_once_for_each_bid_of_a_request(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        result = {"bidID": bid_id, "accepted": True, "acceptedCapacity": 1000}
        answer = await asset.owner.trader.post(
            asset.path("/ancillary/results"),
            json=[{"deliveryDay": DAY, "product": "POS_00_04", "results": [result, result]}],
        )
        assert answer.status_code == 400
        assert pointers(answer) == ["/0/results/1/bidID"]

    async def test_are_for_the_day_of_their_bid(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        next_day = (date.fromisoformat(DAY) + timedelta(days=1)).isoformat()
        answer = await record(asset, "POS_00_04", bid_id, status=422, day=next_day)
        assert answer.json()["type"] == "/docs/problems/unknown-bids"

    async def test_of_a_rejected_bid_accept_nothing(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        answer = await record(asset, "POS_00_04", bid_id, accepted=False, capacity=1000, status=422)
        assert answer.json()["type"] == "/docs/problems/result-does-not-fit-bid"
        assert "A rejected bid has 0 kW accepted" in answer.json()["detail"]

    async def test_again_change_nothing_and_contradicted_conflict_unless_corrected(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        first = await record(asset, "POS_00_04", bid_id, capacity=2000)
        assert (await record(asset, "POS_00_04", bid_id, capacity=2000)).json() == first.json()
        contradiction = await record(asset, "POS_00_04", bid_id, accepted=False, status=409)
        assert contradiction.json()["type"] == "/docs/problems/contradicts-result"
        corrected = await record(asset, "POS_00_04", bid_id, accepted=False, settlementPrice=9.5, correction=True)
        assert corrected.json()[0]["results"][0]["revision"] == 2
        assert (await all_bids(asset, f"{DAY}_POS_00_04"))[0]["bids"][0]["status"] == "REJECTED"
        entries = (await asset.owner.admin.get(asset.path("/logbook"))).json()
        assert [entry["title"].partition(" ")[2] for entry in entries if entry["type"] == "ANCILLARY_RESULT"] == [
            "rejected, corrected",
            "accepted",
        ]
        await record(asset, "POS_00_04", bid_id, capacity=1000, correction=True)
        log = (await asset.owner.admin.get("/audit-log")).json()
        details = [item["details"] for item in log if item.get("details")]
        before = {"bidID": bid_id, "productDateCode": f"{DAY}_POS_00_04"}
        assert [kept["corrected"] for kept in details if "corrected" in kept] == [
            [{**before, "revision": 2, "accepted": False, "acceptedCapacity": 0, "settlementPrice": "9.50"}],
            [{**before, "revision": 1, "accepted": True, "acceptedCapacity": 2000, "settlementPrice": None}],
        ], "each as it was known until then, the latest first"

    async def test_are_awarded_at_the_price_they_were_settled_at_or_else_as_bid(self, operator, new_organisation):
        asset = await register_asset(await new_organisation())
        fcr = (await place(asset, entry("NEGPOS_08_12", FCR))).json()[0]["bids"][0]["id"]
        afrr = (await place(asset, entry("POS_12_16", CAPACITY))).json()[0]["bids"][0]["id"]
        await record(asset, "NEGPOS_08_12", fcr, capacity=5000, settlementPrice=60)
        await record(asset, "POS_12_16", afrr, capacity=2000)
        [at_settled] = (await operator.get("/settlements/fcr", params={"asset-id": asset.id})).json()
        [as_bid] = (await operator.get("/settlements/afrr-capacity", params={"asset-id": asset.id})).json()
        assert (float(at_settled["settlementPrice"]), at_settled["capacity"]) == (60 / 4, 5.0)
        assert (float(as_bid["price"]), as_bid["capacity"]) == (CAPACITY["capacityPrice"], 2.0)
        trader = (await asset.owner.trader.get("/auth/me")).json()["id"]
        assert {award["recordedBy"] for award in (at_settled, as_bid)} == {trader}

    async def test_are_corrected_by_another_price_alone_and_be_it_nothing(self, operator, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_12_16", CAPACITY))).json()[0]["bids"][0]["id"]
        known = {"capacity": 2000, "settlementPrice": 9.99}
        await record(asset, "POS_12_16", bid_id, **known)
        for price in (0, None, -3):
            other = {**known, "settlementPrice": price}
            contradiction = await record(asset, "POS_12_16", bid_id, **other, status=409)
            assert contradiction.json()["type"] == "/docs/problems/contradicts-result"
            answer = await record(asset, "POS_12_16", bid_id, **other, correction=True)
            assert answer.json()[0]["results"][0].get("settlementPrice") == price
            [award] = (await operator.get("/settlements/afrr-capacity", params={"asset-id": asset.id})).json()
            assert float(award["price"]) == (CAPACITY["capacityPrice"] if price is None else price)

    async def test_that_are_corrected_upwards_must_find_the_capacity_free(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", {**CAPACITY, "offeredCapacity": 6000}))).json()[0]["bids"][0][
            "id"
        ]
        await record(asset, "POS_00_04", bid_id, capacity=1000)
        await place(asset, entry("NEGPOS_00_04", {**FCR, "offeredCapacity": 8000}))  # of 12,000 kW, 4000 are left
        taken = await record(asset, "POS_00_04", bid_id, capacity=5000, correction=True, status=409)
        assert (taken.json()["type"], taken.json()["holders"]) == ("/docs/problems/capacity-taken", ["FCR"])
        assert pointers(taken) == ["/0/results/0/acceptedCapacity"]
        await record(asset, "POS_00_04", bid_id, capacity=4000, correction=True)

    @pytest.mark.parametrize(
        ("accepted", "capacity", "problem"),
        [
            (True, 0, "result-does-not-fit-bid"),
            (True, 3001, "lot-size-violated"),
            (False, 1, "lot-size-violated"),
            (True, 5000, "result-does-not-fit-bid"),
        ],
    )
    async def test_fit_their_bid(self, new_organisation, accepted, capacity, problem):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        answer = await record(asset, "POS_00_04", bid_id, accepted=accepted, capacity=capacity, status=422)
        assert answer.json()["type"] == f"/docs/problems/{problem}"
        assert pointers(answer) == ["/0/results/0/acceptedCapacity"]

    async def test_of_a_bid_that_was_replaced_conflict_and_bar_other_bids(self, new_organisation):
        asset = await register_asset(await new_organisation())
        first = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        second = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        await record(asset, "POS_00_04", first, status=409)
        await record(asset, "POS_00_04", second)
        third = (await place(asset, entry("POS_04_08", CAPACITY))).json()[0]["bids"][0]["id"]
        await record(asset, "POS_04_08", third, accepted=False)
        for product in ("POS_00_04", "POS_04_08"):
            late = await place(asset, entry(product, CAPACITY), status=409)
            assert late.json()["type"] == "/docs/problems/result-known"
            assert pointers(late) == ["/0/bids/0"]

    async def test_of_capacity_stand_for_the_quarter_hours_of_the_block(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        await record(asset, "POS_001", bid_id, status=422)
        assert (await all_bids(asset, f"{DAY}_POS_016"))[0]["bids"] == [], "it waits for its result"
        await record(asset, "POS_00_04", bid_id, capacity=4000)
        found = await all_bids(asset, f"{DAY}_POS_016", f"{DAY}_POS_017", f"{DAY}_NEG_001")
        assert [[bid["id"] for bid in each["bids"]] for each in found] == [[bid_id], [], []]
        own = (await place(asset, entry("POS_016", ENERGY))).json()[0]["bids"][0]["id"]
        for counting in ([own], [own, bid_id]):  # beside a bid of its own only once that does not stand any more
            found = await all_bids(asset, f"{DAY}_POS_016")
            assert [bid["id"] for bid in found[0]["bids"]] == counting
            await asset.owner.trader.delete(asset.path(f"/ancillary/bids/{own}"))
        lost = (await place(asset, entry("POS_015", ENERGY))).json()[0]["bids"][0]["id"]
        await record(asset, "POS_015", lost, accepted=False)
        [found] = await all_bids(asset, f"{DAY}_POS_015")
        [alone] = found["bids"]
        assert (alone["id"], alone["status"], alone["acceptedCapacity"]) == (lost, "REJECTED", 0), "a bid of its own"
        await record(asset, "POS_001", bid_id, capacity=2000, settlementPrice=88)
        hour = market_day_window(date.fromisoformat(DAY)).start
        book = await asset.owner.viewer.get(
            asset.path("/commitments"),
            params={"start": hour.isoformat(), "end": (hour + timedelta(hours=1)).isoformat()},
        )
        held = [period["discharge"]["ancillary"]["afrrCapacity"] for period in book.json()["commitments"]]
        assert held == [4000] * 4, "what was activated of it is held no less"
        logbook = (await asset.owner.viewer.get(asset.path("/logbook"), params={"type": "ANCILLARY_RESULT"})).json()
        assert f"2000 kW of the bid {bid_id} were accepted at 88.00 EUR/MWh." in {one["description"] for one in logbook}
        await record(asset, "POS_017", bid_id, status=422)
        [capacity] = (await all_bids(asset, f"{DAY}_POS_00_04"))[0]["bids"]
        assert (capacity["status"], capacity["acceptedCapacity"]) == ("ACCEPTED", 4000)

    async def test_are_recorded_of_a_battery_that_was_derated_since_the_bid(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        derated = {**PARAMETERS, "ratedDischargePower": 2000, "validFrom": at_hour(DAY, 0).isoformat()}
        answer = await asset.owner.admin.put(asset.path("/parameters"), json=derated)
        assert answer.status_code == 200, answer.text
        await record(asset, "POS_00_04", bid_id, capacity=4000, settlementPrice=9.99)
        book = await asset.owner.admin.get(
            asset.path("/commitments"), params={"start": f"{DAY}T00:00:00Z", "end": f"{DAY}T01:00:00Z"}
        )
        assert book.status_code == 200, book.text

    async def test_of_the_quarter_hours_take_no_more_than_was_accepted_of_the_capacity(self, new_organisation):
        asset = await register_asset(await new_organisation())
        bid_id = (await place(asset, entry("POS_00_04", CAPACITY))).json()[0]["bids"][0]["id"]
        await record(asset, "POS_00_04", bid_id, capacity=3000)
        beyond = await record(asset, "POS_001", bid_id, capacity=4000, status=422)
        assert beyond.json()["type"] == "/docs/problems/result-does-not-fit-bid"
        first = await record(asset, "POS_001", bid_id, capacity=3000)
        # The same again is welcome, whatever became of the capacity since; something new is not.
        await record(asset, "POS_00_04", bid_id, accepted=False, correction=True)
        assert (await record(asset, "POS_001", bid_id, capacity=3000)).json() == first.json()
        await record(asset, "POS_002", bid_id, capacity=1000, status=422)

    async def test_racing_bids_end_in_one_consistent_state(self, new_organisation):
        asset = await register_asset(await new_organisation())
        for round_number in range(6):
            product = f"POS_{4 * round_number:02}_{4 * round_number + 4:02}"
            bid_id = (await place(asset, entry(product, CAPACITY))).json()[0]["bids"][0]["id"]
            body = [
                {
                    "deliveryDay": DAY,
                    "product": product,
                    "results": [{"bidID": bid_id, "accepted": True, "acceptedCapacity": 4000}],
                }
            ]
            replaced, accepted, withdrawn = await asyncio.gather(
                asset.owner.trader.post(asset.path("/ancillary/bids"), json=[entry(product, CAPACITY)]),
                asset.owner.trader.post(asset.path("/ancillary/results"), json=body),
                asset.owner.trader.delete(asset.path(f"/ancillary/bids/{bid_id}")),
            )
            outcome = {bid["id"]: bid["status"] for bid in (await all_bids(asset, f"{DAY}_{product}"))[0]["bids"]}
            if accepted.status_code == 201:
                assert outcome == {bid_id: "ACCEPTED"}
                assert (replaced.status_code, withdrawn.status_code) == (409, 409)
            else:
                assert accepted.status_code == 409
                assert replaced.status_code == 201
                assert outcome[bid_id] == ("WITHDRAWN" if withdrawn.status_code == 204 else "REPLACED")
                assert sorted(outcome.values())[0] == "OFFERED"


class TestLists:
    async def test_page_through_products_without_skipping(self, new_organisation):
        asset = await register_asset(await new_organisation())
        products = [f"POS_{hour:02}_{hour + 4:02}" for hour in range(0, 24, 4)]
        placed = (await place(asset, *(entry(product, CAPACITY, STEP) for product in products))).json()
        answer = await asset.owner.viewer.get(asset.path("/ancillary/bids"), params={"limit": 4})
        rest = await asset.owner.viewer.get(answer.headers["link"][1:].split(">")[0])
        listed = answer.json() + rest.json()
        assert [each["product"] for each in listed] == products[::-1]
        assert [bid for each in listed for bid in each["bids"]] == [
            bid for each in placed[::-1] for bid in each["bids"]
        ]
        offered = await asset.owner.viewer.get(
            asset.path("/ancillary/bids"), params={"status": "OFFERED", "delivery-day": DAY, "product": "POS_00_04"}
        )
        assert [len(each["bids"]) for each in offered.json()] == [2]
        await place(asset, entry("POS_00_04", CAPACITY))
        for status, count in (("OFFERED", 1), ("REPLACED", 2)):
            found = await asset.owner.viewer.get(
                asset.path("/ancillary/bids"), params={"status": status, "product": "POS_00_04"}
            )
            assert [[bid["status"] for bid in each["bids"]] for each in found.json()] == [[status] * count]
        found = await asset.owner.viewer.get(asset.path("/ancillary/bids"), params={"status": "REPLACED", "limit": 1})
        assert [(each["product"], len(each["bids"])) for each in found.json()] == [("POS_00_04", 2)], (
            "on the first page"
        )

    @pytest.mark.parametrize("path", ["/ancillary/bids", "/ancillary/results"])
    async def test_are_narrowed_to_a_day_and_a_product_on_every_page(self, new_organisation, path):
        asset = await register_asset(await new_organisation())
        before, after = day_from_now(2), day_from_now(4)
        keys = [(DAY, "POS_00_04"), (DAY, "POS_04_08"), (before, "POS_04_08"), (after, "POS_04_08")]
        for each in (await place(asset, *(entry(product, CAPACITY, day=day) for day, product in keys))).json():
            await record(asset, each["product"], each["bids"][0]["id"], day=each["deliveryDay"])

        async def listed(**asked):
            page = await asset.owner.viewer.get(asset.path(path), params={**asked, "limit": 2})
            rest = [await asset.owner.viewer.get(page.links["next"]["url"])] if "next" in page.links else []
            return [(each["deliveryDay"], each["product"]) for one in (page, *rest) for each in one.json()]

        assert await listed() == [keys[3], keys[1], keys[0], keys[2]]
        assert await listed(**{"delivery-day": DAY}) == [keys[1], keys[0]]
        assert await listed(product="POS_04_08") == [keys[3], keys[1], keys[2]]
        assert await listed(product="POS_04_08", **{"delivery-day": DAY}) == [keys[1]]

    async def test_page_through_results_without_repeating(self, new_organisation):
        asset = await register_asset(await new_organisation())
        products = ["POS_00_04", "POS_04_08", "POS_08_12"]
        for each in (await place(asset, *(entry(product, CAPACITY) for product in products))).json():
            await record(asset, each["product"], each["bids"][0]["id"])
            await record(asset, each["product"], each["bids"][0]["id"], capacity=2000, correction=True)
        page = await asset.owner.viewer.get(asset.path("/ancillary/results"), params={"limit": 2})
        rest = await asset.owner.viewer.get(page.links["next"]["url"])
        listed = page.json() + rest.json()
        assert [each["product"] for each in listed] == products[::-1]
        assert [[one["acceptedCapacity"] for one in each["results"]] for each in listed] == [[2000]] * 3
