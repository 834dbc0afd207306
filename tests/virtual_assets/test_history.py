"""Which versions of a schedule the history lists."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.virtual_assets.conftest import MakeBattery

from gridloom.kernel.market_time import period_number
from gridloom.virtual_assets.history.store import write_adjustments
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
