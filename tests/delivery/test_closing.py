"""A zone that its last virtual asset has left."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.delivery.zones import even_limits

from gridloom.delivery import plan_store
from gridloom.delivery.runs import release
from gridloom.kernel.market_time import market_day_window, period_number, period_start

pytestmark = pytest.mark.pure


class TestABatteryThatFollowsItsOwner:
    def test_has_the_cycles_of_each_day(self) -> None:
        """The last two quarter-hours of a market day and the first two of the next; 150 kWh may be exported a day."""
        first = period_number(market_day_window(date(2026, 7, 2)).start) - 2
        limits = replace(
            even_limits([1000], [2000], 4),
            own_kw=np.full((1, 4), 400.0),
            promised_kwh=np.zeros((1, 4)),
            daily_export_kwh=np.full((1, 4), 150.0),
        )
        dispatch = release._follow_owners(limits, first, first + 4)
        unlimited = release._follow_owners(replace(limits, daily_export_kwh=np.full((1, 4), np.inf)), first, first + 4)
        assert unlimited.own_kw[0].tolist() == pytest.approx([400.0] * 4)
        assert dispatch.own_kw[0].tolist() == pytest.approx([400.0, 200.0, 400.0, 200.0])


class TestAZoneThatCloses:
    @pytest.mark.parametrize(
        ("final_until", "finalised", "released_from"),
        [
            pytest.param(100, [(100, 104)], 104, id="what has closed is final as it was planned, the rest taken back"),
            pytest.param(106, [(106, 106)], 106, id="and nothing that was final already"),
            pytest.param(None, [], 104, id="where nothing was final yet, all that is to come is taken back"),
        ],
    )
    async def test_keeps_what_has_closed(
        self,
        monkeypatch: pytest.MonkeyPatch,
        final_until: int | None,
        finalised: list[tuple[int, int]],
        released_from: int,
    ) -> None:
        called: dict[str, list[Any]] = {"finalised": [], "released": [], "cleared": [], "deleted": []}

        async def finalise_periods(db: Any, plan: Any, first: int, end: int, now: Any) -> None:
            called["finalised"].append((first, end))

        async def release_batteries(db: Any, plan: Any, keys: Any, first: int, now: Any) -> None:
            called["released"].append((keys, first))

        async def clear_totals(db: Any, zone: str, plan: Any, first: int, now: Any) -> None:
            called["cleared"].append((zone, first))

        async def delete_plan(db: Any, zone: str) -> None:
            called["deleted"].append(zone)

        monkeypatch.setattr(release, "finalise_periods", finalise_periods)
        monkeypatch.setattr(release, "release_batteries", release_batteries)
        monkeypatch.setattr(release, "_clear_totals", clear_totals)
        monkeypatch.setattr(plan_store, "delete_plan", delete_plan)
        state: Any = SimpleNamespace(plan=SimpleNamespace(battery_keys=np.array([7, 8])), final_until=final_until)
        nothing: Any = None
        await release.close_zone(nothing, "TenneT", state, period_start(103) + timedelta(minutes=1))
        assert called == {
            "finalised": finalised,
            "released": [([7, 8], released_from)],
            "cleared": [("TenneT", released_from)],
            "deleted": ["TenneT"],
        }
