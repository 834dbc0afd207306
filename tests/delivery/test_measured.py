"""What a quarter-hour's mean is made of, against a reckoning second by second."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.delivery.performance.measured import find_at_starts, measure
from gridloom.kernel.market_time import period_number
from gridloom.monitoring.model import EMPTY, SECOND_US, SignalSeries

pytestmark = pytest.mark.pure

FIRST = period_number(datetime(2027, 1, 14, 10, tzinfo=UTC))
START_S = FIRST * 900


def series_of(samples: dict[int, float]) -> SignalSeries:
    """Values at seconds after the first period's start."""
    seconds = sorted(samples)
    times = np.array([(START_S + second) * SECOND_US for second in seconds], dtype=np.int64)
    return SignalSeries(times, np.array([samples[second] for second in seconds], dtype=np.float64))


class TestTheMean:
    @given(
        st.dictionaries(st.integers(0, 4 * 900 - 1), st.floats(-10_000, 10_000), min_size=1, max_size=60),
    )
    def test_is_that_of_samples_which_hold_until_the_next_for_a_while_within_their_quarter_hour(self, samples):
        seconds = sorted(samples)
        steps = [later - earlier for earlier, later in itertools.pairwise(seconds)]
        hold_s = max(300.0, 3 * float(np.median(steps))) if steps else 300.0
        found = measure(series_of(samples), FIRST, FIRST + 4)
        for quarter in range(4):
            values = []
            for second in range(quarter * 900, (quarter + 1) * 900):
                own = [at for at in seconds if quarter * 900 <= at <= second]
                # Half a second steps of a median cut within a second: count the part.
                if own and second - own[-1] < hold_s:
                    values.append((samples[own[-1]], min(1.0, own[-1] + int(hold_s * 1e6) / 1e6 - second)))
            measured_s = sum(part for _, part in values)
            assert found.share[quarter] * 900 == pytest.approx(measured_s, abs=1e-3)
            if values:
                mean = sum(value * part for value, part in values) / measured_s
                assert found.mean[quarter] == pytest.approx(mean, abs=1e-3)
            else:
                assert np.isnan(found.mean[quarter])

    def test_never_reaches_into_the_next_quarter_hour(self):
        found = measure(series_of(dict.fromkeys(range(0, 900, 60), 5.0)), FIRST, FIRST + 2)
        assert found.share.tolist() == [1.0, 0.0]

    def test_holds_slow_samples_for_three_of_their_steps(self):
        slow = {quarter * 900: 7.0 for quarter in range(3)}
        assert measure(series_of(slow), FIRST, FIRST + 3).share.tolist() == [1.0, 1.0, 1.0]
        quick = {0: 7.0} | {900 + second: 7.0 for second in range(0, 900, 30)}
        assert measure(series_of(quick), FIRST, FIRST + 2).share.tolist() == [pytest.approx(1 / 3), 1.0]

    def test_of_one_sample_a_day_holds_for_five_minutes(self):
        found = measure(series_of({60: 3.0}), FIRST, FIRST + 1)
        assert (found.mean[0], found.share[0]) == (3.0, pytest.approx(1 / 3))

    def test_of_nothing_is_unknown_and_counts_as_assumed(self):
        found = measure(EMPTY, FIRST, FIRST + 2)
        assert np.isnan(found.mean).all()
        assert found.over(np.array([4.0, -4.0])).tolist() == [4.0, -4.0]


class TestTheStateOfCharge:
    def test_at_a_start_is_the_last_one_unless_it_is_older_than_a_quarter_hour(self):
        charge = series_of({-900: 40.0, 900: 50.0, 901: 60.0})
        assert find_at_starts(charge, FIRST, FIRST + 3).tolist() == [40.0, 50.0, 60.0]
        old = series_of({-901: 40.0, 950: 60.0})
        assert np.isnan(find_at_starts(old, FIRST, FIRST + 2)).all(), "one is a second too old, one is of later"
