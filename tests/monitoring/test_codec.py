"""The codec gives back every bit it was given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gridloom.monitoring import codec

pytestmark = pytest.mark.pure

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
DECIMALS = st.integers(-(10**7), 10**7).flatmap(
    lambda number: st.sampled_from([number / 1, number / 10, number / 1000])
)
TIMES = arrays.arrays(np.int64, st.integers(1, 400), elements=st.integers(0, 4_102_444_800_000_000))


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


def round_trip(times: np.ndarray, values: np.ndarray) -> None:
    body = codec.encode(times, values)
    decoded_times, decoded_values = codec.decode(body)
    assert same_bits(decoded_times, times)
    assert same_bits(codec.decode_times(body), times)
    assert same_bits(decoded_values, values)
    assert same_bits(codec.decode_times(codec.encode_times(times)), times)
    assert same_bits(codec.list_times(codec.decode_grid(codec.encode_times(times))), times)
    assert same_bits(codec.PackedValues(codec.encode_values(values), 0, len(values)).decode(), values)


class TestARoundTrip:
    @given(arrays.arrays(np.float64, st.integers(1, 300), elements=FINITE))
    def test_keeps_any_finite_double(self, values: np.ndarray) -> None:
        round_trip(np.arange(len(values), dtype=np.int64), values)

    @given(st.lists(DECIMALS, min_size=1, max_size=300))
    def test_keeps_decimals(self, numbers: list[float]) -> None:
        round_trip(np.arange(len(numbers), dtype=np.int64), np.array(numbers))

    @pytest.mark.parametrize("lowest", [-70_000, -3, 0, 5_000, 2**40])
    def test_keeps_a_noise_around_any_level(self, lowest: int) -> None:
        noise = np.random.default_rng(5).integers(0, 200, 400)
        round_trip(np.arange(400, dtype=np.int64), (lowest + noise) / 10)

    @given(TIMES)
    def test_keeps_times_in_any_order(self, times: np.ndarray) -> None:
        round_trip(times, np.zeros(len(times)))

    @given(st.lists(st.one_of(DECIMALS, FINITE, st.just(-0.0)), min_size=1, max_size=300))
    def test_keeps_decimals_with_a_stranger_among_them(self, numbers: list[float]) -> None:
        round_trip(np.arange(len(numbers), dtype=np.int64), np.array(numbers))

    @pytest.mark.parametrize(
        "extreme", [-0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**53, 2.0**63, 0.1 + 0.2]
    )
    def test_keeps_the_extremes(self, extreme: float) -> None:
        for values in ([extreme], [extreme] * 100, [1.5] * 99 + [extreme], [extreme, 0.0] * 50):
            round_trip(np.arange(len(values), dtype=np.int64), np.array(values))

    def test_keeps_what_only_changes_its_sign(self) -> None:
        round_trip(np.arange(100, dtype=np.int64), np.array([-np.pi, np.pi] * 50))

    def test_keeps_whole_numbers_whose_sums_need_more_than_32_bits(self) -> None:
        """A ramp of long steps, and short steps about the largest number of 32 bits."""
        for values in (np.arange(400) * 8e6, -np.arange(400) * 8e6, 2.0**31 - 10 + np.arange(20) % 13 * 3):
            round_trip(np.arange(len(values), dtype=np.int64), values)

    def test_keeps_times_with_a_step_as_a_range(self) -> None:
        for steps in (range(5, 65, 10), range(7, 8), range(9, 11)):
            grid = codec.decode_grid(codec.encode_times(np.array(steps)))
            assert list(grid) == list(steps)
            assert isinstance(grid, range) == (len(steps) > 1)

    def test_lets_several_series_share_their_times(self) -> None:
        round_trip(np.arange(100, dtype=np.int64) * 1_000_000, np.linspace(0, 1, 300))


class TestValuesThatAreNoShortDecimals:
    def test_may_be_some_hundreds_among_many_thousands_that_are(self) -> None:
        values = np.arange(20_000) / 10
        values[7::64] += 1e-9
        body = codec.encode_values(values)
        assert codec.PackedValues(body, 0, len(values)).decode().tolist() == values.tolist()
        assert codec.PackedValues(body, 19_000, 19_500).decode().tolist() == values[19_000:19_500].tolist()


class TestAPartOfABody:
    @given(st.lists(st.one_of(DECIMALS, FINITE), min_size=1, max_size=300), st.data())
    def test_decodes_as_the_whole_does(self, numbers: list[float], data: st.DataObject) -> None:
        values = np.array(numbers)
        first = data.draw(st.integers(0, len(values) - 1))
        end = data.draw(st.integers(first + 1, len(values)))
        assert same_bits(codec.PackedValues(codec.encode_values(values), first, end).decode(), values[first:end])

    @pytest.mark.parametrize("step", [0.1, 7.0, 3e5, 4e8, 1e12])
    def test_decodes_whole_numbers_of_any_length(self, step: float) -> None:
        noise = np.random.default_rng(7)
        samples: list[codec.Values] = [
            np.round(step * noise.normal(size=2000), 1),
            np.cumsum(step * noise.normal(size=2000)).round(),
        ]
        for values in samples:
            assert same_bits(codec.PackedValues(codec.encode_values(values), 0, len(values)).decode(), values)
            assert same_bits(codec.PackedValues(codec.encode_values(values), 500, 1500).decode(), values[500:1500])


class TestSumsOfRows:
    @given(st.lists(st.integers(-(10**6), 10**6), min_size=12, max_size=300), st.sampled_from([1, 2, 5]), st.data())
    def test_are_exact(self, numbers: list[int], size: int, data: st.DataObject) -> None:
        first = data.draw(st.integers(0, len(numbers) - size))
        count = data.draw(st.integers(1, (len(numbers) - first) // size))
        packed = codec.encode_values(np.array(numbers) / 100)
        found = codec.PackedValues(packed, first, first + size * count).sum_rows(size)
        assert found is not None
        expected = np.array(numbers[first : first + size * count]).reshape(-1, size).sum(axis=1)
        assert ((found[0] / found[1]) == expected / 100).all()

    def test_are_exact_where_values_are_offsets_from_the_lowest(self) -> None:
        numbers = np.random.default_rng(7).integers(0, 200, 3000)
        found = codec.PackedValues(codec.encode_values(numbers / 10), 15, 2985).sum_rows(15)
        assert found is not None
        assert (found[0] == numbers[15:2985].reshape(-1, 15).sum(axis=1)).all()
        assert found[1] == 10.0

    @pytest.mark.parametrize("step", [5.0, 3000.0])
    def test_count_negative_zeros_as_zeros(self, step: float) -> None:
        values = np.round(step * np.sin(np.arange(1500) / 50), 1)
        values[::100] = -0.0
        found = codec.PackedValues(codec.encode_values(values), 30, 1470).sum_rows(15)
        assert found is not None
        assert (found[0] == np.rint(10 * values[30:1470]).reshape(-1, 15).sum(axis=1)).all()

    @pytest.mark.parametrize(
        "values",
        [
            np.random.default_rng(7).normal(size=60),
            np.arange(60) * 1e9,
            np.array([*range(300), -0.0, np.pi, *range(300)]) / 10,
        ],
    )
    def test_take_decoding_where_values_are_no_short_decimals(self, values: np.ndarray) -> None:
        packed = codec.PackedValues(codec.encode_values(values), 0, len(values))
        assert packed.sum_rows(15) is None
        assert same_bits(packed.decode(), values)


class TestABody:
    def test_holds_a_day_of_typical_telemetry_in_about_a_byte_a_point(self) -> None:
        minutes = np.arange(1440)
        noise = np.random.default_rng(7).normal(0, 2, 1440)
        power_kw = np.round(5000 * np.sin(minutes / 90) + noise, 1)
        assert len(codec.encode_values(power_kw)) < 1.5 * 1440

    def test_is_not_spoiled_by_negative_zeros(self) -> None:
        values = np.round(np.sin(np.arange(1440) / 50), 1).astype(np.float64)
        values[::100] = -0.0
        assert len(codec.encode_values(values)) < 1440

    def test_of_a_constant_is_tiny(self) -> None:
        assert len(codec.encode_values(np.full(1440, 49.98, dtype=np.float64))) < 64
