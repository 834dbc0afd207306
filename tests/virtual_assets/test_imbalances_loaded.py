"""Imbalances and projections of assets: from which period on they can be cut, and what is read for them; pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from msgspec import structs

from gridloom.kernel.ids import BlockID, OrganisationID, VirtualAssetID
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.trajectory import DaySummaries
from gridloom.virtual_assets.model import AssetTerms, Block, Efficiency, Market, VirtualAsset
from gridloom.virtual_assets.schedule import projection_loading as loading

pytestmark = pytest.mark.pure

DAY = 96
FIRST = 20_000 * DAY
END = FIRST + 2 * DAY
NOTHING: Any = None
BATTERY = VirtualAsset(
    7,
    VirtualAssetID(UUID(int=7)),
    OrganisationID(UUID(int=1)),
    datetime(2024, 1, 1, tzinfo=UTC),
    AssetTerms(
        "Loom",
        Window(period_start(FIRST), period_start(END)),
        "TenneT",
        1000.0,
        800.0,
        2000.0,
        Efficiency(0.9, 0.8),
        (),
        gate_closure_s=480,
    ),
    (),
    1,
    1000.0,
)


def at(period: int) -> datetime:
    """An instant at which the gate of this period has just closed, and the next is the first that is open."""
    return period_start(period) - timedelta(seconds=480)


class TestTheFirstPeriodThatCanBeCut:
    @pytest.mark.parametrize(
        ("changes", "first_open", "found"),
        [
            pytest.param({}, FIRST + 5, FIRST + 5, id="is the first that is open"),
            pytest.param({}, FIRST - 5, FIRST, id="no earlier than the asset's life"),
            pytest.param({}, END + 5, END, id="no later than its end"),
            pytest.param({"judged_until": FIRST + 9}, FIRST + 5, FIRST + 9, id="after all that was judged"),
            pytest.param({"first_misfit": FIRST + 3}, FIRST + 5, FIRST + 3, id="the first that waits to be judged"),
            pytest.param({"first_misfit": FIRST + 8}, FIRST + 5, FIRST + 5, id="where that is closed already"),
            pytest.param({"first_misfit": FIRST + 3, "judged_until": FIRST + 4}, FIRST + 5, FIRST + 4, id="not again"),
        ],
    )
    def test_is(self, changes: dict[str, int], first_open: int, found: int) -> None:
        assert loading.first_cuttable_from(structs.replace(BATTERY, **changes), first_open) == found


class TestAProjection:
    async def test_is_of_what_is_available_from_the_first_period_that_can_be_cut(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An earlier cut leaves other energy for the periods that are asked for."""
        asked: list[tuple[int, int]] = []

        class EnoughError(Exception):
            pass

        async def load_available(db: Any, asset: Any, first: int, end: int) -> AvailableFraction:
            asked.append((first, end))
            raise EnoughError

        monkeypatch.setattr(loading, "load_available", load_available)
        for now, first, end in ((FIRST + 9, FIRST + 40, FIRST + 50), (FIRST + 60, FIRST + 40, FIRST + 50)):
            with pytest.raises(EnoughError):
                await loading.load_projection(NOTHING, BATTERY, at(now), first, end)
        assert asked == [(FIRST + 10, FIRST + 50), (FIRST + 50, FIRST + 50)]


class TestWhatCanStillBeRepaired:
    @pytest.mark.parametrize(
        ("end", "market", "is_known"),
        [
            pytest.param(END, Market.WHOLESALE, True, id="with a block that lasts until the end"),
            pytest.param(END - 1, Market.WHOLESALE, False, id="with none that ends before"),
            pytest.param(END, Market.FCR, False, id="with none of another market"),
        ],
    )
    def test_is_repaired_on_idle_days(self, end: int, market: Market, is_known: bool) -> None:
        blocks = [Block(BlockID(UUID(int=3)), 0, FIRST, end, market, 1000.0, 800.0)]
        found = loading.imbalance_from_summaries(BATTERY, at(FIRST), 1500.0, blocks, DaySummaries.zeros(2))
        assert (found is not None) is is_known
        if found is not None:
            assert found == loading.imbalance_at_end(BATTERY, 1500.0)

    def test_is_repaired_on_the_last_day_beside_its_schedule_and_from_what_is_stored_then(self) -> None:
        """The day charges 1440 kWh in its first two hours and keeps them: 500 too many, and in two quarter-hours they
        are drawn."""
        day_kw = np.zeros(DAY)
        day_kw[:8] = -800.0
        block = Block(BlockID(UUID(int=3)), 0, FIRST, END, Market.WHOLESALE, 1000.0, 800.0)
        efficiency = BATTERY.terms.efficiency
        idle, busy = np.zeros(DAY), DaySummaries.of(np.stack([np.zeros(DAY), day_kw]), efficiency)
        low = structs.replace(BATTERY, terms=replace(BATTERY.terms, initial_soc=0.03))
        days = {20_000: idle, 20_001: day_kw}
        for closed, is_known in ((END - 3, True), (END - 2, False), (END, False)):
            found = loading.imbalance_from_summaries(low, at(closed), 1500.0, [block], busy, days.get)
            assert (found is not None) is is_known, closed

    def test_is_shown_by_the_schedules_of_days_that_were_not_read(self) -> None:
        day_kw = np.full(DAY, -1.0)
        busy = DaySummaries.of(np.stack([day_kw, day_kw]), BATTERY.terms.efficiency)
        assert loading.imbalance_from_summaries(BATTERY, at(FIRST), 1500.0, [], busy, lambda _: None) is None
