"""Whatever is cut into shares or buckets adds up to the whole again, cent by cent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.revenue.statement.rounding import cents_by_period, cents_of, split

pytestmark = pytest.mark.pure


class TestSplit:
    @given(
        st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=5),
        st.lists(st.floats(0.001, 1), min_size=1, max_size=8),
    )
    def test_loses_no_cent(self, totals: list[int], weights: list[float]) -> None:
        shares = [weight / sum(weights) for weight in weights]
        parts = split(np.array(totals), shares)
        assert sum(parts).tolist() == totals  # type: ignore[union-attr]
        largest = int(np.argmax(shares))
        for place, (part, share) in enumerate(zip(parts, shares, strict=True)):
            if place != largest:
                assert (np.abs(part - np.array(totals) * share) < 1 + 1e-3).all()

    def test_gives_the_odd_cents_to_the_largest_share(self) -> None:
        assert [part.tolist() for part in split(np.array([160001]), [0.35, 0.65])] == [[56000], [104001]]
        assert [part.tolist() for part in split(np.array([-100]), [0.3, 0.3, 0.4])] == [[-30], [-30], [-40]]
        assert [part.tolist() for part in split(np.array([1]), [0.5, 0.5])] == [[1], [0]]

    @pytest.mark.parametrize("percent", range(1, 50))
    def test_gives_a_share_that_is_a_whole_cent_exactly_that(self, percent: int) -> None:
        """29 % of a euro are 28.999999999999996 cents in doubles."""
        parts = split(np.array([100, -100, 10_000]), [percent / 100, 1 - percent / 100])
        assert parts[0].tolist() == [percent, -percent, 100 * percent]

    def test_cuts_what_is_less_than_a_cent_off_all_but_the_largest_share(self) -> None:
        assert [part.tolist() for part in split(np.array([199, -199]), [0.25, 0.75])] == [[49, -49], [150, -150]]


class TestCentsByPeriod:
    @given(st.lists(st.floats(-1000, 1000), min_size=6, max_size=6), st.integers(0, 6), st.integers(0, 6))
    def test_has_a_day_right_to_the_cent_whatever_it_is_cut_into(
        self, amounts: list[float], first: int, second: int
    ) -> None:
        low, high = sorted((first, second))
        cents = cents_by_period(np.array(amounts), np.array([0, 4, 6]))
        assert cents[:4].sum() == cents_of(np.array([np.cumsum(amounts)[3]]))[0]
        assert abs(cents[4:].sum() - 100 * sum(amounts[4:])) < 0.51
        assert cents[:low].sum() + cents[low:high].sum() + cents[high:].sum() == cents.sum()

    def test_rounds_what_has_run_up_and_not_each_piece(self) -> None:
        assert cents_by_period(np.array([0.004] * 5), np.array([0, 5])).tolist() == [0, 1, 0, 1, 0]
