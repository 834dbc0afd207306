"""Which figures are provisional: those with awards that are not settled yet."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from tests.revenue.reference import utc
from tests.revenue.world import World

from gridloom.kernel.window import Window
from gridloom.platform.http.application import Application
from gridloom.revenue.store import read_provisional_sources
from gridloom.settlements.measures import FactSource
from gridloom.settlements.model import AFRR_CAPACITY_AWARDS, FCR_AWARDS, AFRRCapacityAward, FCRAward, Origin

DAY = date(2026, 7, 1)


class TestProvisionalFigures:
    async def test_are_those_with_an_award_of_some_power_that_is_not_settled(
        self, world: World, app: Application, by_parts: Any
    ) -> None:
        id = await world.virtual_asset()
        key = await world.key_of(id)
        block: dict[str, Any] = {"asset_id": str(id), "delivery_day": DAY}

        async def find_sources() -> set[FactSource]:
            window = Window(utc(DAY, 0), utc(DAY, 24))
            found = await read_provisional_sources(world.pool, [key], window, None)
            with by_parts():
                assert await read_provisional_sources(app.pool, [key], window, None) == found, "by parts"
            return set(found)

        async def award_fcr(capacity: float, origin: Origin) -> None:
            row = FCRAward(**block, product="NEGPOS_04_08", capacity=capacity, settlement_price=10.0)
            await world.record(FCR_AWARDS, [row], origin)

        assert await find_sources() == set()
        await award_fcr(2.0, Origin.PROVISIONAL)
        afrr = AFRRCapacityAward(**block, product="POS_04_08", capacity=2.0, price=10.0)
        await world.record(AFRR_CAPACITY_AWARDS, [afrr], Origin.PROVISIONAL)
        assert await find_sources() == {FactSource.FCR, FactSource.AFRR_CAPACITY}
        before = DAY - timedelta(days=1)
        both = {FactSource.FCR, FactSource.AFRR_CAPACITY}
        after = DAY + timedelta(days=1)
        for start, end, sources in (
            (utc(before, 0), utc(before, 23), set()),
            (utc(before, 0), utc(DAY, 0), set()),
            (utc(before, 0), utc(DAY, 0) + timedelta(microseconds=1), both),
            (utc(before, 0), utc(DAY, 1), both),
            (utc(DAY, 23), utc(after, 2), both),
            (utc(after, 0), utc(after, 2), set()),
        ):
            window = Window(start, end)
            for as_of in (None, datetime(2099, 1, 1, tzinfo=UTC)):
                found = await read_provisional_sources(world.pool, [key], window, as_of)
                assert found == sources, ("by market days", window)
            with by_parts():
                assert await read_provisional_sources(app.pool, [key], window, None) == sources, ("by parts", window)
        await world.record(AFRR_CAPACITY_AWARDS, [afrr], Origin.OPERATOR)
        assert await find_sources() == {FactSource.FCR}
        await award_fcr(0.0, Origin.PROVISIONAL)
        assert await find_sources() == set(), "the result was corrected to nothing"
