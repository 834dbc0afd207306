"""Which versions of a schedule the history lists."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.virtual_assets.conftest import QUARTER, MakeBattery, wire

from gridloom.kernel.market_time import period_number
from gridloom.virtual_assets.gate_closure.revalidation import adjust_unserved_periods
from gridloom.virtual_assets.history import routes
from gridloom.virtual_assets.history.store import (
    read_accepted_kw,
    read_cuts,
    write_adjustments,
)
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason
from gridloom.virtual_assets.schedule.change.apply import CLOSE_GATE
from gridloom.virtual_assets.store import lock_virtual_asset_by_key


class TestTheHistory:
    async def test_is_narrowed_to_versions_accepted_from_a_start_on_and_before_an_end(
        self, make_battery: MakeBattery
    ) -> None:
        battery = await make_battery()
        for power in (100, 200):
            assert (await battery.put([power])).status_code == 200
        url = f"{battery.url}/schedule-history"
        accepted = {one["version"]: one["acceptedAt"] for one in (await battery.client.get(url)).json()}
        for window, versions in (
            ({"start": accepted[2]}, [3, 2]),
            ({"end": accepted[3]}, [2, 1]),
            ({"start": accepted[2], "end": accepted[3]}, [2]),
        ):
            listed = (await battery.client.get(url, params=window)).json()
            assert [one["version"] for one in listed] == versions
        page = await battery.client.get(url, params={"limit": 2})
        rest = await battery.client.get(page.links["next"]["url"])
        assert [[one["version"] for one in each.json()] for each in (page, rest)] == [[3, 2], [1]], "each once"


class TestALongVersion:
    async def test_lists_its_periods_up_to_a_limit_and_alone_always(
        self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(routes, "MAX_LISTED_PERIODS", 2)
        battery = await make_battery()
        for powers in ([10.0, 20.0], [30.0, 40.0, 50.0]):
            assert (await battery.put(powers)).status_code == 200
        url = f"{battery.url}/schedule-history"
        (long,), (short,), *_ = [one["changes"] for one in (await battery.client.get(url)).json()]
        assert [point["power"] for point in short["schedule"]] == [10, 20]
        assert (long["schedule"], long["periods"], long["start"]) == (None, 3, battery.asset["start"])
        assert long["end"] == wire(battery.start + 3 * QUARTER)
        [alone] = (await battery.client.get(url, params={"version": 3})).json()
        assert [point["power"] for point in alone["changes"][0]["schedule"]] == [30, 40, 50]
        assert (await battery.client.get(url, params={"version": 4})).json() == []


class TestAVersionWithGaps:
    async def test_is_listed_block_by_block_and_as_a_table_period_by_period(self, make_battery: MakeBattery) -> None:
        """Between two blocks of one lane lies a reserve of all the power; what is set of each has a gap of its own."""
        battery = await make_battery(ratedDischargePower=1000)
        carved = await battery.carve(16, 16, "FCR", 1000, 1000)
        assert carved.status_code == 201, carved.text
        powers = {2: 10.0, 3: 20.0, 5: 30.0, 40: -5.0, 42: 15.0}
        points = [{"time": wire(battery.start + place * QUARTER), "power": kw} for place, kw in powers.items()]
        answer = await battery.client.put(f"{battery.url}/schedule", json={"schedule": points})
        assert answer.status_code == 200, answer.text
        url = f"{battery.url}/schedule-history"
        put, carving, made = (await battery.client.get(url)).json()
        early, late = (one["id"] for one in await battery.blocks() if one["market"] == "WHOLESALE")
        assert put["changes"] == [
            {
                "blockID": block,
                "periods": len(places),
                "start": points[places[0]]["time"],
                "end": wire(datetime.fromisoformat(str(points[places[-1]]["time"])) + QUARTER),
                "schedule": [points[place] for place in places],
            }
            for block, places in ((early, [0, 1, 2]), (late, [3, 4]))
        ]
        assert (carving["blockID"], carving["changes"]) == (carved.json()["id"], [])
        page = await battery.client.get(url, params={"limit": 2}, headers={"Accept": "text/csv"})
        rows = [dict(row) for row in csv.DictReader(io.StringIO(page.text))]
        assert [(row["blockID"], instant(row["time"]), row["power"] and float(row["power"])) for row in rows] == [
            *((early, instant(points[place]["time"]), points[place]["power"]) for place in (0, 1, 2)),
            *((late, instant(points[place]["time"]), points[place]["power"]) for place in (3, 4)),
            (carving["blockID"], None, ""),
        ]
        for version, some in ((put, rows[:5]), (carving, rows[5:])):
            assert {(row["version"], row["kind"], row["authorKind"], row["authorID"]) for row in some} == {
                (str(version["version"]), version["kind"], version["authorKind"], version["authorID"])
            }
            assert {instant(row["acceptedAt"]) for row in some} == {instant(version["acceptedAt"])}
        rest = await battery.client.get(page.links["next"]["url"], headers={"Accept": "text/csv"})
        assert [row["version"] for row in csv.DictReader(io.StringIO(rest.text))] == [str(made["version"])]


def instant(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


class TestAQuarterHourThatIsCutTwice:
    async def test_keeps_what_was_accepted_and_why_it_was_cut_first(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        assert (await battery.put([800])).status_code == 200
        period = period_number(battery.start)
        pool = battery.edge.pool
        key = await pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
        async with pool.acquire() as db, db.transaction():
            asset = await lock_virtual_asset_by_key(db, key)
            assert asset is not None
            for version, accepted_kw, adjusted_kw, reason in (
                (1, 800.0, 500.0, AdjustmentReason.AVAILABILITY),
                (2, 500.0, 300.0, AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES),
            ):
                left_kw = accepted_kw - 100
                twice = Adjustment(period, accepted_kw, adjusted_kw, reason, left_kw, left_kw)
                await write_adjustments(db, asset, version, [twice])
        cuts = await read_cuts(pool, key, period, period + 1)
        assert cuts.unannounced_kw.tolist() == [400], "what both have cut of the 700 kW that were to be left"
        [cut] = (await battery.client.get(f"{battery.url}/adjustments")).json()
        assert (cut["acceptedSchedule"], cut["adjustedSchedule"], cut["reason"]) == (800, 300, "AVAILABILITY")
        for first, accepted in (
            (period - 1, [1, 800]),
            (period, [800, 2]),
            (period + 1, [1, 2]),
            (period - 2, [1, 2]),
        ):
            assert (await read_accepted_kw(pool, key, first, np.array([1.0, 2.0]))).tolist() == accepted


class TestPeriodsThatTheBatteriesCouldNotServe:
    async def test_are_reduced_in_all_blocks_alike_and_no_other_is(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        carved = await battery.carve(0, 8, "WHOLESALE", 400, 300)
        assert carved.status_code == 201, carved.text
        block = f"{battery.url}/blocks/{carved.json()['id']}"
        assert (await battery.put([600, -200, 0, 300])).status_code == 200
        assert (await battery.put([200, -200, 0, 100], url=block)).status_code == 200
        pool = battery.edge.pool
        key = await pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
        periods = period_number(battery.start) + np.array([0, 1, 2])
        async with pool.acquire() as db, db.transaction():
            served_kw = np.array([400.0, -100.0, 0.0])
            await adjust_unserved_periods(db, key, periods, served_kw, AdjustmentReason.CYCLE_LIMIT)
            await adjust_unserved_periods(db, key, periods[:0], served_kw[:0], AdjustmentReason.CYCLE_LIMIT)
            await adjust_unserved_periods(db, -1, periods, served_kw, AdjustmentReason.CYCLE_LIMIT)
            jobs = "select count(*) from job where kind = $1 and key = $2"
            assert await db.fetchval(jobs, CLOSE_GATE, str(key)) == 1, "what is not exported may not fit later"
        own = [point["power"] for point in (await battery.life())["schedule"][:4]]
        other = [point["power"] for point in (await battery.life(block))["schedule"][:4]]
        assert (own, other) == ([600, -200, 0, 300], [200, -200, 0, 100]), "the schedule follows what is announced"
        cuts = (await battery.client.get(f"{battery.url}/adjustments")).json()
        assert [(cut["acceptedSchedule"], cut["adjustedSchedule"]) for cut in cuts[:2]] == [(800, 400), (-400, -100)]
        assert {cut["reason"] for cut in cuts} == {"CYCLE_LIMIT"}
        missed = await read_cuts(pool, key, int(periods[0]), int(periods[-1]) + 1)
        assert missed.unannounced_kw.tolist() == pytest.approx([400, -300, 0]), (
            "the batteries' own limits are the owners'"
        )
