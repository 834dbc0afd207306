"""Blocks over HTTP: carved out of wholesale power, given back, and never more than the asset."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.emitted import events_of
from tests.virtual_assets.conftest import QUARTER, wire
from tests.virtual_assets.test_schedules import problem

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.market_time import floor_to_period


def wholesale(blocks):
    return [block for block in blocks if block["market"] == "WHOLESALE"]


class TestCarving:
    async def test_keeps_the_sum_in_every_period(self, make_battery):
        battery = await make_battery()
        answer = await battery.carve(16, 16, "FCR", 300, 300)
        assert answer.status_code == 201, answer.text
        assert (await battery.carve(16, 48, "AFRR_POS", 0, 600)).status_code == 201
        blocks = await battery.blocks()
        for period in range(192):
            moment = wire(battery.start + period * QUARTER)
            standing = [block for block in blocks if block["start"] <= moment < block["end"]]
            assert sum(block["ratedChargePower"] for block in standing) == 1000
            assert sum(block["ratedDischargePower"] for block in standing) == 1200
        asset = await battery.read()
        assert asset["blockIDs"] == [block["id"] for block in blocks]
        described = ("id", "start", "end", "market")
        assert asset["blockMetadata"] == [{name: block[name] for name in described} for block in blocks]
        assert asset["blockIDs"][0] == battery.asset["blockIDs"][0]

    async def test_is_refused_where_a_schedule_prevents_it(self, make_battery):
        battery = await make_battery()
        await battery.put([1000], offset=20)
        answer = problem(await battery.carve(16, 16, "FCR", 300, 300), 409, "schedule-in-the-way")
        assert answer["firstPeriod"] == wire(battery.start + 20 * QUARTER)
        assert len(await battery.blocks()) == 1

    async def test_is_refused_where_a_commitment_prevents_it(self, make_battery):
        battery = await make_battery()
        await battery.carve(16, 16, "FCR", 800, 800)
        problem(await battery.carve(0, 32, "AFRR_NEG", 300, 0), 409, "no-wholesale-power")

    async def test_is_refused_off_the_grid_outside_the_asset_and_without_power(self, make_battery):
        battery = await make_battery()
        body = {
            "start": wire(battery.start + QUARTER / 2),
            "end": battery.asset["end"],
            "market": "FCR",
            "ratedChargePower": 1,
            "ratedDischargePower": 1,
        }
        problem(await battery.client.post(f"{battery.url}/blocks", json=body), 400, "bad-request")
        for offset, pointer in ((-16, "/start"), (176, "/end")):
            outside = problem(await battery.carve(offset, 32, "FCR", 1, 1), 422, "block-outside-asset")
            assert [error["pointer"] for error in outside["errors"]] == [pointer]
        problem(await battery.carve(16, 16, "FCR", 0, 0), 422, "block-outside-asset")
        problem(await battery.carve(16, 0, "FCR", 1, 1), 400, "bad-request")
        problem(await battery.carve(8, 4, "INTRADAY", 1, 1), 400, "bad-request")
        problem(await battery.carve(16, 16, "FCR", 1001, 1001), 409, "no-wholesale-power")

    async def test_of_balancing_capacity_is_one_of_the_market_s_products(self, make_battery):
        battery = await make_battery()
        for market in ("FCR", "AFRR_POS", "AFRR_NEG"):
            for offset, length in ((8, 24), (16, 8), (0, 190)):
                problem(await battery.carve(offset, length, market, 100, 100), 422, "not-a-market-product")
        for powers in ((100, 200), (200, 100)):
            uneven = problem(await battery.carve(16, 16, "FCR", *powers), 422, "not-a-market-product")
            assert uneven["errors"][0]["pointer"] == "/ratedChargePower"
        assert (await battery.carve(16, 32, "FCR", 100, 100)).status_code == 201


class TestAncillaryBlock:
    async def test_cannot_be_met_by_a_full_store(self, make_battery):
        battery = await make_battery()
        assert (await battery.carve(16, 16, "AFRR_NEG", 500, 0)).status_code == 201  # room for 500 kWh
        assert (await battery.put([-500.0] * 4)).status_code == 200
        problem(await battery.put([-500.0], offset=4), 422, "energy-out-of-bounds")

    async def test_needs_its_energy_for_as_long_as_the_platform_asks(self, make_battery, monkeypatch):
        battery = await make_battery()  # 1000 kWh
        minutes = ReserveMinutes(fcr=90, afrr=120)
        monkeypatch.setitem(battery.edge.resources._by_type, ReserveMinutes, minutes)
        problem(await battery.carve(16, 16, "FCR", 700, 700), 409, "schedule-in-the-way")
        problem(await battery.carve(16, 16, "AFRR_POS", 0, 510), 409, "schedule-in-the-way")
        assert (await battery.carve(16, 16, "AFRR_POS", 0, 500)).status_code == 201

    async def test_is_refused_where_the_schedule_leaves_no_energy_for_it(self, make_battery):
        battery = await make_battery()
        assert (await battery.put([1000.0] * 3)).status_code == 200  # 211 kWh are left
        problem(await battery.carve(16, 16, "AFRR_POS", 0, 300), 409, "schedule-in-the-way")
        problem(await battery.carve(16, 16, "FCR", 900, 900), 409, "schedule-in-the-way")
        assert (await battery.carve(16, 16, "FCR", 800, 800)).status_code == 201

    async def test_takes_no_schedule(self, make_battery):
        battery = await make_battery()
        block = (await battery.carve(16, 16, "FCR", 300, 300)).json()
        answer = await battery.put([10], offset=16, url=f"{battery.url}/blocks/{block['id']}")
        problem(answer, 422, "block-without-schedule")

    async def test_given_back_restores_what_was(self, make_battery):
        battery = await make_battery()
        await battery.put([-200] * 4, offset=14)
        before = (await battery.client.get(battery.url)).headers["ETag"]
        carved = await battery.carve(16, 16, "FCR", 300, 300)
        block = carved.json()
        for etag, status in ((before, 412), (carved.headers["ETag"], 204)):
            answer = await battery.client.delete(f"{battery.url}/blocks/{block['id']}", headers={"If-Match": etag})
            assert answer.status_code == status
        (only,) = await battery.blocks()
        assert only["id"] == battery.asset["blockIDs"][0]
        assert only["ratedChargePower"] == 1000
        assert [point["power"] for point in only["schedule"]][13:19] == [0, -200, -200, -200, -200, 0]
        assert (await battery.client.get(f"{battery.url}/blocks/{block['id']}")).status_code == 404


class TestWholesaleBlock:
    async def test_given_back_hands_over_its_schedule(self, make_battery):
        battery = await make_battery()
        await battery.put([-900] * 4, offset=10)
        before = await battery.energies()
        block = (await battery.carve(8, 20, "WHOLESALE", 600, 600)).json()
        assert (await battery.client.delete(f"{battery.url}/blocks/{block['id']}")).status_code == 204
        (only,) = await battery.blocks()
        assert [point["power"] for point in only["schedule"]][9:15] == [0, -900, -900, -900, -900, 0]
        assert await battery.energies() == before
        told = await events_of(
            battery.edge.pool, battery.organisation.id, subject=f"virtual-assets/{battery.asset['id']}"
        )
        assert [one.type for one in told] == ["virtual-asset.allocated"] + ["schedule.updated"] * 3
        assert told[-1].data["blockID"] == block["id"]

    async def test_stays_when_it_is_the_last(self, make_battery):
        battery = await make_battery()
        problem(await battery.client.delete(battery.block_url), 409, "nothing-to-join")


class TestBlocksInThePast:
    async def test_are_neither_carved_out_nor_given_back(self, make_battery):
        start = floor_to_period(datetime.now(UTC)) - 8 * QUARTER
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=1)))
        refused = problem(await battery.carve(0, 40, "WHOLESALE", 100, 100), 409, "gate-closed")
        assert refused["errors"][0]["pointer"] == "/start"
        problem(await battery.client.delete(battery.block_url), 409, "gate-closed")

    async def test_are_seen_as_they_were(self, make_battery):
        battery = await make_battery()
        await battery.put([-100], offset=20)
        moment = (await battery.client.get(f"{battery.url}/schedule-history")).json()[0]["acceptedAt"]
        await battery.carve(16, 16, "FCR", 300, 300)
        params = {"as-of": moment, "start": battery.asset["start"], "end": battery.asset["end"]}
        (block,) = (await battery.client.get(f"{battery.url}/blocks", params=params)).json()
        assert block["end"] == battery.asset["end"]
        assert block["schedule"][20]["power"] == -100
        assert await battery.life(**{"as-of": moment}) == block, "by itself as well as in the list"
        [*_, reserve] = [one for one in await battery.blocks() if one["market"] == "FCR"]
        gone = await battery.client.get(f"{battery.url}/blocks/{reserve['id']}", params=params)
        assert gone.status_code == 404, "it was not there yet"

    async def test_have_each_the_schedule_that_they_had(self, make_battery):
        """Beside each other, so that each has a lane of its own; by itself as in the list."""
        battery = await make_battery()
        beside = (await battery.carve(0, 8, "WHOLESALE", 400, 500)).json()
        url = f"{battery.url}/blocks/{beside['id']}"
        assert (await battery.put([-100, 200])).status_code == 200
        assert (await battery.put([30, -40], url=url)).status_code == 200
        moment = (await battery.client.get(f"{battery.url}/schedule-history")).json()[0]["acceptedAt"]
        then = await battery.blocks()
        assert [[point["power"] for point in block["schedule"][:2]] for block in then[:2]] == [[-100, 200], [30, -40]]
        for one in (battery.block_url, url):
            assert (await battery.put([7, 8], url=one)).status_code == 200
        params = {"as-of": moment, "start": battery.asset["start"], "end": battery.asset["end"]}
        assert (await battery.client.get(f"{battery.url}/blocks", params=params)).json() == then
        assert [await battery.life(one, **{"as-of": moment}) for one in (battery.block_url, url)] == then[:2]


class TestTheList:
    async def test_goes_on_page_by_page_with_blocks_that_begin_together(self, make_battery):
        battery = await make_battery()
        for market, charge, discharge in (("FCR", 300, 300), ("AFRR_POS", 0, 200), ("AFRR_NEG", 100, 0)):
            assert (await battery.carve(16, 16, market, charge, discharge)).status_code == 201
        pages = [await battery.client.get(f"{battery.url}/blocks", params={"limit": 2})]
        while "next" in pages[-1].links:
            pages.append(await battery.client.get(pages[-1].links["next"]["url"]))
        seen = [block["id"] for page in pages for block in page.json()]
        assert seen == [block["id"] for block in await battery.blocks()]
        assert len(seen) == 6


class TestFormats:
    @pytest.mark.parametrize(
        "accept",
        ["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/json"],
    )
    async def test_are_negotiated(self, make_battery, accept):
        import io

        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        battery = await make_battery()
        await battery.put([-100, 50])
        params = {"start": battery.asset["start"], "end": wire(battery.start + 4 * QUARTER)}
        headers = {"Accept": accept}
        answers = {
            path: await battery.client.get(url, params=params, headers=headers)
            for path, url in {
                "block": battery.block_url,
                "charge": f"{battery.url}/state-of-charge",
                "projected": f"{battery.url}/state-of-energy/projected",
                "operational": f"{battery.url}/operational",
            }.items()
        }
        for answer in answers.values():
            assert answer.status_code == 200, answer.text
            assert answer.headers["Content-Type"].startswith(accept)
        if accept == "application/json":
            assert [point["power"] for point in answers["block"].json()["schedule"]] == [-100, 50, 0, 0]
            return
        read = {
            "text/csv": lambda body: pa.csv.read_csv(io.BytesIO(body)),
            "application/vnd.apache.arrow.stream": lambda body: pa.ipc.open_stream(body).read_all(),
            "application/vnd.apache.parquet": lambda body: pa.parquet.read_table(io.BytesIO(body)),
        }[accept]
        table = read(answers["block"].content)
        assert table["power"].to_pylist() == [-100, 50, 0, 0]
        assert read(answers["projected"].content)["energy"].to_pylist()[0] == 1000
        assert read(answers["charge"].content)["stateOfChargePercentage"].to_pylist()[0] == 50
        assert read(answers["operational"].content).num_columns == 15
