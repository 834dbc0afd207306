"""What of a virtual asset its batteries fail to hold."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest

from gridloom.kernel.ids import PhysicalAssetID
from gridloom.virtual_assets.backing.shortfall import (
    Shortfalls,
    join_shortfalls,
    shortfall_intervals,
    sum_shortfalls,
)
from gridloom.virtual_assets.backing.store import ShortfallInterval
from gridloom.virtual_assets.model import Promise

pytestmark = pytest.mark.pure

WHOLE = (1.0, 1.0, 1.0)


def promise(key: int, share: float) -> Promise:
    return Promise(key, PhysicalAssetID(UUID(int=key)), share, 1000 * share, 1000 * share, 2000 * share)


class TestAShortfall:
    """Two batteries hold a quarter and three quarters; what is left of each is for charging, discharging and energy."""

    @pytest.mark.parametrize(
        ("first", "second", "missing", "by_battery"),
        [
            pytest.param(WHOLE, WHOLE, 0.0, (0.0, 0.0), id="none"),
            pytest.param((0.5, 0.5, 1.0), WHOLE, 0.125, (0.125, 0.0), id="of power"),
            pytest.param((1.0, 1.0, 0.5), WHOLE, 0.125, (0.125, 0.0), id="of energy"),
            pytest.param(
                (0.0, 1.0, 1.0), WHOLE, 0.125, (0.125, 0.0), id="of one direction, which is half of the power"
            ),
            pytest.param((0.0, 0.0, 0.5), WHOLE, 0.25, (0.25, 0.0), id="of both, where the greater counts"),
            pytest.param((0.0, 0.0, 1.0), (1.0, 1.0, 0.0), 0.75, (0.25, 0.75), id="of power here and of energy there"),
        ],
    )
    def test_is_the_greater_of_power_and_energy_by_share(
        self,
        first: tuple[float, float, float],
        second: tuple[float, float, float],
        missing: float,
        by_battery: tuple[float, float],
    ) -> None:
        remaining = {1: np.array([first]).T, 2: np.array([second]).T}
        found = sum_shortfalls([promise(1, 0.25), promise(2, 0.75)], remaining, 40, 41, (1000.0, 1000.0))
        assert found.missing == pytest.approx([missing])
        assert [found.by_battery[key][0] for key in (1, 2)] == pytest.approx(by_battery)


class TestIntervalsOfShortfalls:
    def test_join_periods_alike_and_name_the_batteries_that_fell_short(self) -> None:
        found = Shortfalls(
            40,
            np.array([0.0, 0.5, 0.5, 0.5, 0.25]),
            {1: np.array([0.0, 0.5, 0.5, 0.25, 0.25]), 2: np.array([0.0, 0.0, 0.0, 0.25, 0.0])},
        )
        assert shortfall_intervals(found) == [
            ShortfallInterval(41, 43, 0.5, {1: 0.5}),
            ShortfallInterval(43, 44, 0.5, {1: 0.25, 2: 0.25}),
            ShortfallInterval(44, 45, 0.25, {1: 0.25}),
        ]

    @pytest.mark.parametrize(
        ("first", "end", "missing", "of_second"),
        [
            pytest.param(40, 48, [0, 0.5, 0.5, 0.25, 0.1, 0.2, 0, 0], [0, 0, 0, 0.25, 0.1, 0.2, 0, 0], id="all"),
            pytest.param(42, 45, [0.5, 0.25, 0.1], [0, 0.25, 0.1], id="from within the first to within the rest"),
            pytest.param(43, 44, [0.25], [0.25], id="of one period"),
        ],
    )
    def test_count_before_the_seal_and_later_periods_as_computed(
        self, first: int, end: int, missing: list[float], of_second: list[float]
    ) -> None:
        """Sealed until 44; the last interval reaches beyond it, as one does that is being written.

        One that ended before all of these periods does not count, nor one that begins after them.
        """
        before, after = ShortfallInterval(30, 39, 0.9, {3: 0.9}), ShortfallInterval(48, 50, 0.9, {4: 0.9})
        within = [ShortfallInterval(41, 43, 0.5, {1: 0.5}), ShortfallInterval(43, 46, 0.25, {2: 0.25})]
        intervals = [before, *within, after]
        computed = np.array([0.1, 0.2])[: max(0, end - 44)]
        rest = Shortfalls(44, computed, {2: computed}) if len(computed) else None
        found = join_shortfalls(intervals, rest, first, end, sealed=44)
        assert found.first == first
        assert found.missing.tolist() == missing
        assert found.by_battery[2].tolist() == of_second
        assert found.by_battery.keys() <= {1, 2}
