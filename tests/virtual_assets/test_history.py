"""Which versions of a schedule the history lists."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.virtual_assets.conftest import MakeBattery

from gridloom.kernel.market_time import period_number
from gridloom.virtual_assets.gate_closure.revalidation import adjust_unserved_periods
from gridloom.virtual_assets.history.store import (
    UnannouncedCut,
    read_unannounced_cuts,
    read_unannounced_kw,
    write_adjustments,
)
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason
from gridloom.virtual_assets.store import lock_virtual_asset_by_key


class TestTheHistory:
    async def test_names_authors_to_their_own_organisation_and_to_the_operator(
        self, make_battery: MakeBattery, operator: Any
    ) -> None:
        """The operator has made the asset, and its holder the schedule."""
        battery = await make_battery()
        assert (await battery.put([100])).status_code == 200
        url = f"{battery.url}/schedule-history"
        seen = {}
        for reader in (battery.client, operator):
            listed = (await reader.get(url)).json()
            seen[reader] = {one["version"]: one["authorName"] for one in listed}
        assert seen[battery.client][1] is None
        assert seen[battery.client][2] == seen[operator][2] is not None
        assert seen[operator][1] is not None

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
                await write_adjustments(db, asset, version, [Adjustment(period, accepted_kw, adjusted_kw, reason)])
        [cut] = (await battery.client.get(f"{battery.url}/adjustments")).json()
        assert (cut["acceptedSchedule"], cut["adjustedSchedule"], cut["reason"]) == (800, 300, "AVAILABILITY")


class TestTheUnannouncedPartOfCuts:
    async def test_is_that_of_the_window_as_it_was_known(self, make_battery: MakeBattery) -> None:
        """Of −400 kW 150 are left and 250 were announced to be; a cut of which that is not known counts for nothing."""
        battery, other = await make_battery(), await make_battery()
        first, pool, reason = period_number(battery.start), battery.edge.pool, AdjustmentReason.AVAILABILITY
        keys = [
            await pool.fetchval("select key from asset where id = $1", UUID(one.asset["id"]))
            for one in (battery, other)
        ]
        assert (await battery.put([800, -400, 300, 600])).status_code == 200
        async with pool.acquire() as db, db.transaction():
            asset = await lock_virtual_asset_by_key(db, keys[0])
            assert asset is not None
            adjustments = [
                Adjustment(first, 800.0, 500.0, reason, announced_kw=800.0),
                Adjustment(first + 1, -400.0, -150.0, reason, announced_kw=-250.0),
                Adjustment(first + 2, 300.0, 0.0, reason),
                Adjustment(first + 3, 600.0, 500.0, reason, announced_kw=500.0),
            ]
            await write_adjustments(db, asset, asset.version, adjustments)
        accepted_at = await pool.fetchval(
            "select accepted_at from schedule_version where asset_key = $1 order by version desc limit 1", keys[0]
        )
        assert (await read_unannounced_kw(pool, keys[0], first - 1, first + 4)).tolist() == [0, 300, -100, 0, 0]
        assert (await read_unannounced_kw(pool, keys[0], first + 1, first + 3)).tolist() == [-100, 0]
        assert await read_unannounced_cuts(pool, keys, first + 1, first + 2) == {
            keys[0]: [UnannouncedCut(first + 1, -100.0)]
        }
        for moment, known in ((accepted_at, 2), (accepted_at - timedelta(milliseconds=1), 0)):
            assert np.count_nonzero(await read_unannounced_kw(pool, keys[0], first, first + 4, moment)) == known


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
        own = [point["power"] for point in (await battery.life())["schedule"][:4]]
        other = [point["power"] for point in (await battery.life(block))["schedule"][:4]]
        assert own == pytest.approx([300, -50, 0, 300])
        assert other == pytest.approx([100, -50, 0, 100])
        cuts = (await battery.client.get(f"{battery.url}/adjustments")).json()
        assert [(cut["acceptedSchedule"], cut["adjustedSchedule"]) for cut in cuts[:2]] == [(800, 400), (-400, -100)]
        assert {cut["reason"] for cut in cuts} == {"CYCLE_LIMIT"}
