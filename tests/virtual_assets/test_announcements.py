"""Until when an unavailability counts as announced, and what of a cut."""

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from gridloom.virtual_assets.gate_closure import revalidation
from gridloom.virtual_assets.gate_closure.revalidation import announced_before
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason

pytestmark = pytest.mark.pure


class TestTheLatestAnnouncement:
    @pytest.mark.parametrize(
        ("day", "moment"),
        [
            (date(2026, 1, 15), "2026-01-14T11:00:00+00:00"),
            (date(2026, 6, 15), "2026-06-14T10:00:00+00:00"),
            # The day before a clock change still has the old offset.
            (date(2026, 3, 29), "2026-03-28T11:00:00+00:00"),
            (date(2026, 3, 30), "2026-03-29T10:00:00+00:00"),
        ],
    )
    def test_is_at_noon_of_the_day_before_in_market_time(self, day: date, moment: str) -> None:
        assert announced_before(day) == datetime.fromisoformat(moment)


class TestACut:
    """By outages of which some were announced: those alone would leave 200 kW of charging and 500 kW of discharging."""

    @pytest.mark.parametrize(
        ("accepted_kw", "adjusted_kw", "announced_kw"),
        [
            pytest.param(-400.0, -100.0, -200.0, id="of charging, half of it announced"),
            pytest.param(-150.0, -100.0, -150.0, id="of charging, within what was announced to be left"),
            pytest.param(400.0, 100.0, 400.0, id="of discharging, within what was announced to be left"),
            pytest.param(700.0, 100.0, 500.0, id="of discharging, a part announced"),
            pytest.param(700.0, 600.0, 600.0, id="to more than was announced to be left"),
        ],
    )
    async def test_is_announced_as_far_as_announced_outages_alone_cut_its_direction(
        self, monkeypatch: pytest.MonkeyPatch, accepted_kw: float, adjusted_kw: float, announced_kw: float
    ) -> None:
        async def load_limits_kw(*_: Any) -> Any:
            return np.full(2, 200.0), np.full(2, 500.0)

        monkeypatch.setattr(revalidation, "_load_announced_limits_kw", load_limits_kw)
        cuts = [Adjustment(7, accepted_kw, adjusted_kw, AdjustmentReason.AVAILABILITY)]
        nothing: Any = None
        (found,) = await revalidation.with_announced(nothing, nothing, cuts, own_cycles=False)
        assert found.announced_kw == announced_kw

    @pytest.mark.parametrize(("own_cycles", "announced_kw"), [(True, 150.0), (False, 400.0)])
    async def test_by_a_limit_of_cycles_is_announced_where_the_limit_is_the_assets_own(
        self, monkeypatch: pytest.MonkeyPatch, own_cycles: bool, announced_kw: float
    ) -> None:
        """The batteries' own limits are not; each period is held to what was announced for itself."""
        asked: list[tuple[int, int]] = []

        async def load_limits_kw(_db: Any, _asset: Any, first: int, end: int) -> Any:
            asked.append((first, end))
            return np.array([10.0, 20.0, 30.0]), np.array([400.0, 500.0, 600.0])

        monkeypatch.setattr(revalidation, "_load_announced_limits_kw", load_limits_kw)
        cuts = [
            Adjustment(7, 700.0, 150.0, AdjustmentReason.CYCLE_LIMIT),
            Adjustment(9, 700.0, 150.0, AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES),
        ]
        nothing: Any = None
        found = await revalidation.with_announced(nothing, nothing, cuts, own_cycles=own_cycles)
        assert [one.announced_kw for one in found] == [announced_kw, 600.0]
        assert asked == [(7, 10)]
        assert await revalidation.with_announced(nothing, nothing, [], own_cycles=own_cycles) == []
