"""A schedule replaces exactly the periods given, all or nothing, and never leaves the battery's bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.clock_changes import next_day_of
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.kernel.market_time import market_day_window
from gridloom.market_calendar import format_period
from gridloom.platform.http.paging import encode_cursor
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.rules import GateClosed, check_gate


def problem(answer, status, kind):
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["type"] == f"/docs/problems/{kind}", body
    return body


class TestScheduling:
    async def test_follows_the_formula(self, make_battery):
        battery = await make_battery()
        await battery.put([-800, 400])
        energies = await battery.energies()
        assert energies[0] == 1000
        assert energies[1] == pytest.approx(1000 + 0.25 * 800 * 0.9)
        assert energies[2] == pytest.approx(1000 + 0.25 * 800 * 0.9 - 0.25 * 400 / 0.95)
        assert energies[-1] == energies[2]

    async def test_works_on_days_with_23_and_25_hours(self, make_battery):
        for hours in (23, 25):
            day = market_day_window(next_day_of(hours, in_days=2))
            battery = await make_battery(start=wire(day.start), end=wire(day.end))
            powers = [-10.0] * (hours * 4)
            assert (await battery.put(powers)).status_code == 200
            assert [point["power"] for point in (await battery.life())["schedule"]] == powers
            asset = await battery.read()
            assert asset["imbalanceDischarge"] == pytest.approx(hours * 10 * 0.9)


class TestRefusals:
    """Each leaves everything as it was."""

    @pytest.fixture
    async def battery(self, make_battery):
        battery = await make_battery()
        await battery.put([-100] * 8)
        return battery

    @pytest.fixture
    async def unchanged(self, battery):
        before, history = await battery.life(), await battery.client.get(f"{battery.url}/schedule-history")

        async def check():
            assert await battery.life() == before
            assert (await battery.client.get(f"{battery.url}/schedule-history")).json() == history.json()

        return check

    async def test_of_an_empty_schedule(self, battery, unchanged):
        body = problem(await battery.client.put(battery.block_url, json={"schedule": []}), 400, "bad-request")
        assert body["errors"][0]["pointer"] == "/schedule"
        await unchanged()

    async def test_of_nan_and_infinity(self, battery, unchanged):
        for bad in ("NaN", "Infinity", "1e999", '"12"', "null", "true"):
            content = f'{{"schedule":[{{"time":"{battery.asset["start"]}","power":{bad}}}]}}'
            answer = await battery.client.put(
                battery.block_url, content=content, headers={"Content-Type": "application/json"}
            )
            problem(answer, 400, "bad-request")
        await unchanged()

    async def test_of_times_off_the_grid(self, battery, unchanged):
        body = battery.points([10, 10])
        body["schedule"][1]["time"] = body["schedule"][1]["time"].replace(":15:00Z", ":15:00.500Z")
        answer = problem(await battery.client.put(battery.block_url, json=body), 400, "bad-request")
        assert answer["errors"][0]["pointer"] == "/schedule/1/time"
        await unchanged()

    @pytest.mark.parametrize("offset", [-1, 192, 10_000_000])
    async def test_of_times_outside_the_block(self, battery, unchanged, offset):
        if offset == 10_000_000:
            body = {"schedule": [{"time": "9999-12-31T23:45:00Z", "power": 1}]}
        else:
            body = battery.points([10], offset)
        answer = problem(await battery.client.put(battery.block_url, json=body), 400, "bad-request")
        assert answer["errors"][0]["pointer"] == "/schedule/0/time"
        await unchanged()

    async def test_of_power_beyond_the_block_names_the_first_period(self, battery, unchanged):
        body = battery.points([100, -1000, 1200.01, -2000])
        body["schedule"].reverse()
        answer = problem(await battery.client.put(battery.block_url, json=body), 422, "power-beyond-available")
        assert answer["firstPeriod"] == wire(battery.start + 2 * QUARTER)
        assert (answer["periods"], answer["availableCharge"], answer["availableDischarge"]) == (2, 1000, 1200)
        assert answer["repair"] == f"{battery.url}/repairs"
        assert [error["pointer"] for error in answer["errors"]] == ["/schedule/1/power"]
        await unchanged()

    async def test_past_gate_closure_applies_nothing(self, make_battery):
        start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=1)))
        answer = problem(await battery.put([10.0] * 60), 409, "gate-closed")
        assert answer["firstPeriod"] == wire(start)
        assert [error["pointer"] for error in answer["errors"]] == ["/schedule/0/time"]
        now = datetime.now(UTC)
        first_open = datetime.fromisoformat(answer["firstOpenPeriod"])
        assert timedelta(seconds=475) <= first_open - now <= timedelta(seconds=480 + 900)
        assert {point["power"] for point in (await battery.life())["schedule"]} == {0}

    async def test_of_a_stale_version(self, battery):
        etag = (await battery.client.get(battery.block_url)).headers["ETag"]
        assert (await battery.put([5])).status_code == 200
        answer = await battery.client.put(battery.block_url, json=battery.points([6]), headers={"If-Match": etag})
        assert answer.status_code == 412
        fresh = (await battery.client.get(battery.url)).headers["ETag"]
        table = await battery.client.get(battery.block_url, headers={"Accept": "text/csv"})
        assert table.headers["ETag"] == fresh  # a reader of the table can change the schedule safely too
        answer = await battery.client.put(battery.block_url, json=battery.points([6]), headers={"If-Match": fresh})
        assert answer.status_code == 200

    async def test_of_unknown_and_foreign_assets(self, battery, make_battery, new_organisation):
        stranger = await new_organisation()
        assert (await stranger.trader.put(battery.block_url, json=battery.points([1]))).status_code == 403
        unknown = battery.block_url.rsplit("/", 1)[0] + "/01890000-0000-7000-8000-000000000000"
        assert (await battery.client.put(unknown, json=battery.points([1]))).status_code == 404
        assert (await battery.client.put(battery.block_url + "x", json=battery.points([1]))).status_code == 400
        assert (await battery.organisation.viewer.put(battery.block_url, json=battery.points([1]))).status_code == 403


class TestGate:
    @pytest.mark.parametrize(
        ("now", "first"),
        [
            ("2027-01-10T11:51:59.999999Z", "2027-01-10T12:00:00Z"),
            ("2027-01-10T11:52:00Z", "2027-01-10T12:15:00Z"),
            ("2027-01-10T11:52:00.000001Z", "2027-01-10T12:15:00Z"),
        ],
    )
    def test_is_closed_from_the_gate_closure_on(self, now, first):
        assert format_period(first_open_period(datetime.fromisoformat(now), 480)) == first

    def test_is_open_for_the_first_period_that_can_be_changed(self):
        check_gate(100, 100)
        with pytest.raises(GateClosed):
            check_gate(99, 100)


class TestHistory:
    async def test_answers_a_forged_cursor(self, make_battery):
        battery = await make_battery()
        for path in ("schedule-history", "adjustments"):
            for place in (2**31, -(2**31) - 1, 2**62):
                answer = await battery.client.get(f"{battery.url}/{path}", params={"cursor": encode_cursor(place)})
                assert answer.status_code == 200, answer.text
            answer = await battery.client.get(f"{battery.url}/{path}", params={"cursor": encode_cursor(2**63)})
            assert answer.status_code == 400

    async def test_answers_the_schedule_as_it_was_at_any_instant(self, make_battery):
        battery = await make_battery()
        moments, expected = [], []
        for power in (-100, 200, -300):
            several = battery.points([power, power], offset=abs(power) // 100)
            several["schedule"] += battery.points([power / 2], offset=10 + abs(power) // 100)["schedule"]
            assert (await battery.client.put(battery.block_url, json=several)).status_code == 200
            newest = (await battery.client.get(f"{battery.url}/schedule-history", params={"limit": 1})).json()[0]
            moments.append(newest["acceptedAt"])
            expected.append((await battery.life())["schedule"])
        for moment, schedule in zip(moments, expected, strict=True):
            assert (await battery.life(**{"as-of": moment}))["schedule"] == schedule
            for cut in (2, 3, 4):  # in the midst of what was put at once
                later = {"start": wire(battery.start + cut * QUARTER), "as-of": moment}
                assert (await battery.life(**later))["schedule"] == schedule[cut:]
        born = (await battery.life(**{"as-of": battery.asset["createdAt"]}))["schedule"]
        assert {point["power"] for point in born} == {0}
        early = await battery.client.get(battery.block_url, params={"as-of": "2020-01-01T00:00:00Z"})
        assert early.status_code == 404
